"""Scoring stored outputs without a judge: outputs per CPU second, and memory from 1k to 100k cases.

10,000 outputs each time, all with the four tasks mixed, the case results written and the scorecard
as JSON. *Brief* calls are as small as a case can be: one question, one entity, one sentence, one
fact. *Short* calls are one or two sentences long. Both come as models are compared (four models,
each with answers of its own, on 2,500 calls) and with one model on 10,000 calls. *Sample* calls are
the bundled ones with the answers of one sample model, repeated under new ids: 8 to 16 turns in
three languages. The floor beside them reads the same files, computes a token F1 and writes one line
an output, with nothing checked.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from bench.measuring import sized, usage_of

Json = dict[str, Any]

MODEL = "sample-large"
MODELS = ("model-1", "model-2", "model-3", "model-4")
OUTPUTS = sized(10_000, 40)
AIM = 10_000
Records = Callable[[int, int], tuple[Json, Json]]
"""The case of a number, and what the model of a number answers to it."""
TURNS = sized(5, 1)
FEW, MANY = sized(1_000, 40), sized(100_000, 80)
TASKS = ("qa", "entity", "text", "translation")
FLOOR = """
import json, sys
cases, outputs, results = sys.argv[1:]
with open(cases) as c, open(outputs) as o, open(results, "w") as r:
    case = {"id": None}
    for output_line in o:
        output = json.loads(output_line)
        while case["id"] != output["case_id"]:
            case = json.loads(next(c))
            expected = set(json.dumps(case["expected_outcome"]).split())
        given = set(output["output"].split())
        same = len(expected & given)
        score = 2 * same / (len(expected) + len(given))
        r.write(json.dumps({"id": case["id"], "score": score}) + "\\n")
"""


class Way(NamedTuple):
    """How one model answers: a little otherwise than people did, and than the other models."""

    score: int
    reason: str
    entity: str
    label: str
    purpose: str
    wish: str


WAYS = (
    Way(4, "She says hello.", "card", "neutral", "refund", "I would like"),
    Way(5, "She greets the customer.", "billing", "negative", "wants a refund", "I need"),
    Way(0, "No greeting.", "phone", "positive", "a refund, please", "Give me"),
    Way(3, "", "Refund", "negative", "Refund", "I want to have"),
)


def brief_records(number: int, model: int) -> tuple[Json, Json]:
    """One case of a task in turn with one item of everything, and an answer nearly right."""
    way = WAYS[model]
    task = TASKS[number % len(TASKS)]
    expected: Json
    if task == "qa":
        item = {"question_id": "Q1", "max_score": 5, "type": "SCORE", "reason": "She says hello."}
        expected = {"questions": [{**item, "score": 5}]}
        answer: Json = {"questions": [{**item, "score": way.score, "reason": way.reason}]}
    elif task == "entity":
        expected = {
            "detected_keywords": ["refund"],
            "detected_topics": ["billing"],
            "valid_entity_set": ["refund", "billing", "card"],
        }
        answer = {**expected, "detected_keywords": ["refund", way.entity]}
    elif task == "text":
        sentence = {"sentence_id": 1, "text": "I want a refund."}
        expected = {
            "sentiment": [{**sentence, "label": "negative"}],
            "summary": {
                "call_purpose": "refund",
                "highlights": ["wants a refund"],
                "call_extracted_info": {"amount": f"${number}"},
            },
            "emotion": {"anger": 60, "neutral": 40},
        }
        told = {**expected["summary"], "call_purpose": way.purpose}
        said = [{**sentence, "label": way.label}]
        answer = {**expected, "sentiment": said, "summary": told}
    else:
        pair = {"source_id": 1, "source_text": f"Quiero {number} euros"}
        rest: Json = {"domain_terms_handled": [], "named_entities_handled": []}
        human, other = f"I want {number} euros", f"{way.wish} {number} euros"
        expected, answer = (
            {
                "full_translation": text,
                "sentence_translations": [{**pair, "translated_text": text}],
                **rest,
            }
            for text in (human, other)
        )
    case = {
        "id": f"case-{number}",
        "task": task,
        "transcript": "I want a refund.",
        "config": {"target_language": "en"},
        "expected_outcome": expected,
    }
    return case, {"case_id": case["id"], "output": json.dumps(answer)}


def short_records(number: int, model: int) -> tuple[Json, Json]:
    """One short case of a task in turn, and an answer that is right in most respects."""
    way = WAYS[model]
    task = TASKS[number % len(TASKS)]
    words = f"word{number % 97}", f"word{number % 89}"
    said = f"Agent: Good morning, this is {words[0]}. Customer: I want a refund of ${number}."
    expected: Json
    if task == "qa":
        items = [
            {
                "question_id": f"Q{i}",
                "score": 5,
                "max_score": 5,
                "type": "PASS_FAIL",
                "reason": said,
            }
            for i in (1, 2)
        ]
        expected = {"questions": items}
        second = {**items[1], "score": way.score, "reason": way.reason}
        answer: Json = {"questions": [items[0], second]}
    elif task == "entity":
        expected = {
            "detected_keywords": ["refund", words[0]],
            "detected_topics": ["billing"],
            "valid_entity_set": ["refund", "billing", *words],
        }
        answer = {**expected, "detected_keywords": ["refund", words[1], way.entity]}
    elif task == "text":
        expected = {
            "sentiment": [
                {"sentence_id": i, "text": said, "label": "neutral"} for i in range(1, 4)
            ],
            "summary": {
                "call_purpose": f"refund of ${number}",
                "highlights": [f"refund {words[0]}"],
                "call_extracted_info": {"name": words[0]},
            },
            "emotion": {"anger": 60, "neutral": 40},
        }
        told = {**expected["summary"], "call_purpose": way.purpose}
        answer = {**expected, "summary": told, "emotion": {"anger": 10, "neutral": 90}}
    else:
        sentence = {
            "source_id": 1,
            "source_text": f"Quiero {words[0]}, {number} euros",
            "translated_text": f"I want {words[0]}, {number} euros",
        }
        expected = {
            "full_translation": sentence["translated_text"],
            "sentence_translations": [sentence],
            "domain_terms_handled": [{"term": words[0], "handled_as": words[0]}],
            "named_entities_handled": [],
        }
        other = {**sentence, "translated_text": f"{way.wish} {words[0]}, {number} euros"}
        answer = {**expected, "sentence_translations": [other]}
    case = {
        "id": f"case-{number}",
        "task": task,
        "transcript": said,
        "config": {"target_language": "en"},
        "expected_outcome": expected,
    }
    return case, {"case_id": case["id"], "output": json.dumps(answer)}


def sample_records() -> Records:
    """The bundled sample, repeated, each time under its own id."""
    sample = resources.files("callscore.demo").joinpath("calls")

    def records(name: str) -> list[Json]:
        text = sample.joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    originals = records("cases")
    answers = {r["case_id"]: r for r in records("outputs") if r["model"] == MODEL}

    def numbered(number: int, _: int) -> tuple[Json, Json]:
        case = originals[number % len(originals)]
        new_id = f"{case['id']}#{number}"
        return {**case, "id": new_id}, {**answers[case["id"]], "case_id": new_id}

    return numbered


def write_workload(
    folder: Path, name: str, cases: int, records: Records, models: Sequence[str] = (MODEL,)
) -> tuple[Path, Path]:
    """So many cases, and the outputs of the models to them, in two files."""
    paths = folder / f"{name}-cases-{cases}.jsonl", folder / f"{name}-outputs-{cases}.jsonl"
    with paths[0].open("w", encoding="utf-8") as c, paths[1].open("w", encoding="utf-8") as o:
        for number in range(cases):
            answered = [records(number, model) for model in range(len(models))]
            c.write(json.dumps(answered[0][0], ensure_ascii=False) + "\n")
            for model, (_, answer) in zip(models, answered, strict=True):
                o.write(json.dumps({**answer, "model": model}, ensure_ascii=False) + "\n")
    return paths


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample = sample_records()
        ways = (
            ("brief", brief_records, MODELS),
            ("sample", sample, (MODEL,)),
            ("short", short_records, MODELS),
            ("brief", brief_records, MODELS[:1]),
            ("short", short_records, MODELS[:1]),
        )
        for kind, records, models in ways[: sized(5, 2)]:
            _report_speed(folder, kind, records, models)
        peaks = []
        for number in (FEW, MANY):
            cases, outputs = write_workload(folder, "short", number, short_records)
            peaks.append(usage_of(_ours(folder, cases, outputs)).peak_mb)
            print(f"peak memory, {number:>7,} cases {peaks[-1]:8.1f} MB")
        print(f"growth from 1k to 100k      {peaks[1] - peaks[0]:8.1f} MB")


def _ours(folder: Path, cases: Path, outputs: Path) -> list[str]:
    command = [sys.executable, "-m", "callscore", "score", str(cases), "--outputs", str(outputs)]
    return [*command, "--results", str(folder / "results.jsonl"), "--json", "-"]


def _report_speed(folder: Path, kind: str, records: Records, models: Sequence[str]) -> None:
    calls = OUTPUTS // len(models)
    cases, outputs = write_workload(folder, kind, calls, records, models)
    size = (cases.stat().st_size + outputs.stat().st_size) / OUTPUTS
    results = str(folder / "results.jsonl")
    command = [sys.executable, "-c", FLOOR, str(cases), str(outputs), results]
    # one after the other, so that a slow minute of the machine strikes both
    pairs = [
        (usage_of(_ours(folder, cases, outputs)).cpu_seconds, usage_of(command).cpu_seconds)
        for _ in range(TURNS)
    ]
    scored, floor = (min(column) for column in zip(*pairs, strict=True))
    met = f"; {'met' if OUTPUTS / scored >= AIM else 'missed'}" if kind != "sample" else ""
    print(f"{kind} calls, {calls:,} x {len(models)} models, {size:,.0f} bytes an output")
    print(
        f"  ours              {OUTPUTS / scored:10,.0f} outputs a CPU second, start included{met}"
    )
    print(f"  floor (token F1)  {OUTPUTS / floor:10,.0f} outputs a CPU second")
    print(f"  ours / floor      {scored / floor:10.2f}")
