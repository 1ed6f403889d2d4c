"""A random data set: cases of four tasks, the outputs of several models, and verdicts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

from exact_twin.text import claims
from random_calls.breakage import break_structure
from random_calls.dice import Json, chance, perfect_answer
from random_calls.tasks import TASKS
from random_calls.translation import reword_outcomes

EVIDENCE = ("as_described", "as_described", "as_described", "differs", "vague", "cannot_tell")
SUPPORT = ("supported_by_transcript", "supported_by_reference", "not_found", "contradicted")
CAPTURE = ("stated", "stated", "stated", "partly", "not_stated")
INTENT = ("same", "same", "same_domain_incomplete", "different")
FLUENCY = ("native", "native", "minor", "noticeable", "significant", "incomprehensible")


class Model(NamedTuple):
    """How a model behaves: its rates of errors, broken JSON and failures, and its prices."""

    name: str
    noise: float
    breaks: float
    fails: float
    judged: float
    prices: tuple[float | None, ...]
    runs: int
    rewords: bool
    """Whether it rewords outcomes, which get no verdict: its values are estimates (C-75)."""


class Dataset(NamedTuple):
    """The records of the three files."""

    cases: list[Json]
    outputs: list[Json]
    verdicts: list[Json]


def make_dataset(dice: Random, per_task: int) -> Dataset:
    """Make `per_task` cases per task, with answers of three or four models of different quality."""
    cases = [TASKS[t].make(dice, f"{t}-{n}") for t in TASKS for n in range(per_task)]
    found = Dataset(cases, [], [])
    for model in [_make_model(dice, name) for name in ("ada", "bob", "cyd")]:
        for case in cases:
            _add_answers(dice, model, case, found)
    if chance(dice, 0.5):
        _add_imitator(found, "ada", "dot")
    return found


def _make_model(dice: Random, name: str) -> Model:
    noise = dice.choice((0.0, 0.0, 0.003, 0.02, 0.1, 0.5))
    price = dice.choice((0.0, 0.001, 0.0025, 0.04))
    prices: tuple[float | None, ...] = (price, price, price * 2)
    if chance(dice, 0.15):
        prices = (None, price)
    is_flawed = noise > 0 and chance(dice, 0.5)
    return Model(
        name,
        noise,
        breaks=0.03 if is_flawed else 0.0,
        fails=0.02 if chance(dice, 0.15) else 0.0,
        judged=0.97 if chance(dice, 0.2) else 1.0,
        prices=prices,
        runs=dice.choice((1, 1, 2)),
        rewords=chance(dice, 0.3),
    )


def _add_answers(dice: Random, model: Model, case: Json, found: Dataset) -> None:
    if chance(dice, model.fails):
        if chance(dice, 0.5):
            line = {"case_id": case["id"], "model": model.name, "error": "HTTP 503"}
            found.outputs.append(line)
        return
    for run in range(1, model.runs + 1):
        answer = TASKS[case["task"]].mutate(dice, case, model.noise)
        if not model.noise:
            answer = perfect_answer(case)
        if model.rewords:
            reword_outcomes(answer)
        is_broken = chance(dice, model.breaks)
        line = {
            "case_id": case["id"],
            "model": model.name,
            "run": run,
            "output": break_structure(dice, answer) if is_broken else answer,
        }
        price = dice.choice(model.prices)
        found.outputs.append(line if price is None else line | {"cost_usd": price})
        address = {"case_id": case["id"], "model": model.name, "run": run}
        for verdict in make_verdicts(dice, case, answer):
            is_unasked = model.rewords and verdict["metric"] == "translation.critical_facts"
            if chance(dice, model.judged) and not is_unasked:
                found.verdicts.append(address | verdict)


def _add_imitator(found: Dataset, name: str, imitator: str) -> None:
    """Add a model with the answers of another one: both must have the same rank."""
    for records in (found.outputs, found.verdicts):
        same = [copy.deepcopy(record) for record in records if record["model"] == name]
        records += [record | {"model": imitator} for record in same]


def make_verdicts(dice: Random, case: Json, answer: Json) -> Iterator[Json]:
    """Make a verdict on every item that may be judged, needed or not, except facts in digits."""
    if case["task"] == "qa":
        for question in answer["questions"]:
            word = dice.choice(EVIDENCE)
            yield _verdict("qa.evidence_backed_reasoning", str(question["question_id"]), word)
    elif case["task"] == "text" and "summary" in answer:
        yield from _summary_verdicts(dice, case["expected_outcome"]["summary"], answer["summary"])
    elif case["task"] == "translation" and "sentence_translations" in answer:
        yield from _translation_verdicts(dice, case, answer)


def _verdict(metric: str, item: str, verdict: str, text: str = "") -> Json:
    return {"metric": metric, "item": item, "verdict": verdict, "text": text}


def _summary_verdicts(dice: Random, expected: Json, given: Json) -> Iterator[Json]:
    yield _verdict("text.call_intent", "call_purpose", dice.choice(INTENT))
    if chance(dice, 0.3):
        yield _verdict("text.call_intent", "call_purpose:other_goal", dice.choice(("no", "yes")))
    for at, _ in enumerate(expected.get("highlights", ())):
        word = dice.choice(CAPTURE)
        yield _verdict("text.highlight_recall", f"expected_highlights[{at}]", word)
    for at, _ in enumerate(given.get("highlights", ())):
        yield _verdict("text.highlight_correctness", f"highlights[{at}]", dice.choice(SUPPORT))
    for number, claim in enumerate(claims(given), start=1):
        yield _verdict("text.fabrication_free", f"claim:{number}", dice.choice(SUPPORT), claim)


def _translation_verdicts(dice: Random, case: Json, answer: Json) -> Iterator[Json]:
    for key in sorted({str(item["source_id"]) for item in answer["sentence_translations"]}):
        cosine = dice.randint(-10, 100) / 100
        yield {"metric": "translation.meaning", "item": key, "value": cosine}
        yield _verdict("translation.fluency", key, dice.choice(FLUENCY))
    for entry in case["expected_outcome"].get("named_entities_handled", ()):
        if chance(dice, 0.1):
            word = dice.choice(("same_name", "different_name"))
            yield _verdict("translation.proper_nouns", entry["entity"], word)
    for place, fact in enumerate(_listed_facts(case), start=1):
        form: Any = fact["expected"] if isinstance(fact, Mapping) else fact
        if not form.isdigit() and chance(dice, 0.8):
            word = dice.choice(("preserved", "altered", "omitted", "cannot_tell"))
            yield _verdict("translation.critical_facts", f"fact:{place}", word)


def _listed_facts(case: Json) -> list[Any]:
    return list(case.get("annotations", {}).get("critical_facts", ()))
