"""What a card says about two models if its judge is perfect, 80 % right, or lenient        STATS §5

The judges are scripted and know which claims are wrong; the cards are those of `callscore score`.
`python -m bench judge_errors` prints the table of docs/judge.md.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import callscore
from bench.measuring import sized
from callscore.core.judging import Judge, Question
from callscore.core.scorecard import MetricScore, Scorecard
from callscore.judges.fakes import ScriptedJudge
from callscore.judges.panel import Panel, Seat
from callscore.labelling.sampling import Answer, draw_answers
from callscore.report.decision_statements import state_decision
from callscore.report.numbers import show, show_interval

CALLS, LABELS, SEED = sized(150, 30), sized(100, 20), 2
WRONG = {"careful": 0.01, "careless": 0.08}
"""By model, the share of its two reworded facts that are wrong."""
ROW = "text.fabrication_free"
GOOD, BAD = "supported_by_transcript", "not_found"
FIELDS = ("resolution", "next_step")
Json = dict[str, Any]
Sees = Callable[[bool, random.Random], bool]


class World(NamedTuple):
    """Calls, the answers of both models, and which of their facts are right."""

    cases: list[Json]
    outputs: list[Json]
    truth: dict[str, bool]
    """By the text of the fact."""


def make_world() -> World:
    """Summaries whose facts are reworded, so that only a judge can decide them."""
    dice = random.Random(SEED)
    world = World([], [], {})
    for call in range(CALLS):
        expected = {name: f"the {name} that people wrote down in call {call}" for name in FIELDS}
        case = {"id": f"c{call}", "task": "text", "config": {}}
        spoken = "Customer: I was charged twice"
        world.cases.append({**case, "transcript": spoken, "expected_outcome": _outcome(expected)})
        for model, wrong in WRONG.items():
            facts = {name: f"{model} c{call} fact {at}" for at, name in enumerate(FIELDS)}
            world.truth.update({text: dice.random() >= wrong for text in facts.values()})
            output = {"case_id": f"c{call}", "model": model, "output": _outcome(facts)}
            world.outputs.append(output)
    return world


def _outcome(facts: dict[str, str]) -> Json:
    return {
        "sentiment": [{"sentence_id": 1, "text": "I was charged twice", "label": "negative"}],
        "summary": {
            "call_purpose": "Customer asks for a refund of a duplicate charge",
            "highlights": ["Duplicate charge confirmed"],
            "call_extracted_info": facts,
        },
        "emotion": {"anger": 60, "neutral": 40},
    }


def perfect(right: bool, dice: random.Random) -> bool:
    return right


def mostly_right(right: bool, dice: random.Random) -> bool:
    return right if dice.random() < 0.8 else not right


def lenient(right: bool, dice: random.Random) -> bool:
    """Passes 60 % of what is wrong."""
    return right or dice.random() < 0.6


def second_judge(right: bool, dice: random.Random) -> bool:
    return right if dice.random() < 0.98 else not right


JUDGES = {"perfect": perfect, "80 % right": mostly_right, "lenient": lenient}


def scripted(world: World, sees: Sees, name: str) -> Judge:
    """A judge that decides each fact once, by what it sees of the truth."""
    dice = random.Random(f"{SEED} {name}")
    seen = {text: sees(right, dice) for text, right in world.truth.items()}

    def say(asked: Question) -> str:
        fact = _fact(asked)
        return GOOD if fact is None or seen[fact] else BAD

    return ScriptedJudge(say, name=f"{name}@1")


def _fact(asked: Question) -> str | None:
    """The reworded fact that a claim states: `resolution: careful c1 fact 0`."""
    fact = asked.text.rpartition(": ")[2]
    return fact if " fact " in fact else None


def make_labels(world: World) -> list[Json]:
    """People's verdicts on a sample of the judged items, drawn as `callscore sample` draws it."""
    items: dict[Answer, list[tuple[str, str]]] = {}

    def note(asked: Question) -> str:
        if asked.metric == ROW and (fact := _fact(asked)) is not None:
            model, call, _, _ = fact.split()
            items.setdefault((call, model, 1, ROW), []).append((asked.item, fact))
        return GOOD

    judge = ScriptedJudge(note, name="noting@1")
    callscore.score(world.cases, world.outputs, judge=judge, embedder="none", intervals=False)
    sizes = {answer: len(found) for answer, found in items.items()}
    return [
        {
            "case_id": answer[0],
            "model": answer[1],
            "metric": ROW,
            "item": item,
            "verdict": GOOD if world.truth[fact] else BAD,
        }
        for answer in draw_answers(sizes, len(WRONG) * LABELS, SEED)
        for item, fact in items[answer]
    ]


class Line(NamedTuple):
    """One line of the table."""

    judge: str
    checked: str
    values: Sequence[str]
    says: str


def lines(world: World) -> Iterator[Line]:
    """What the card says about both models, for each judge and each check of it."""
    labels = make_labels(world)
    second = scripted(world, second_judge, "second")
    for name, sees in JUDGES.items():
        first = scripted(world, sees, name.replace(" % ", "-percent-"))
        panel = Panel([Seat(first, "first"), Seat(second, "second")])
        for checked, judge, given in (
            ("not at all", first, ()),
            (f"{LABELS} labels per model", first, labels),
            ("a second judge", panel, ()),
        ):
            card = _score(world, judge, given)
            yield Line(name, checked, [_value(_row(card, model)) for model in WRONG], _says(card))


def _score(world: World, judge: Judge, labels: Sequence[Json] = ()) -> Scorecard:
    return callscore.score(world.cases, world.outputs, labels=labels, judge=judge, embedder="none")


def _row(card: Scorecard, model: str) -> MetricScore:
    return card.model(model).tasks["text"].metrics[ROW]


def _value(metric: MetricScore) -> str:
    judged = f"{show(metric.value or 0.0)} {metric.rating}"
    if metric.uncalibrated:
        judged += ", uncalibrated"
    corrected = metric.corrected
    if corrected is None:
        return judged
    limits = "" if corrected.ci95 is None else f" {show_interval(corrected.ci95)}"
    return f"{judged}; corrected {show(corrected.value)}{limits} {corrected.rating}"


def _says(card: Scorecard) -> str:
    """The words of the decision with their models, and the warnings about the judges."""
    shown = []
    for statement in state_decision(card):
        if statement.keyword == "JUDGES":
            shown.append(f"JUDGES: {statement.text.removesuffix('; see --labels.')}")
        elif statement.keyword not in ("HOW SURE", "BEST QUALITY", "RANK 1"):
            shown.append(f"{statement.keyword}: {statement.text.partition(':')[0]}")
    return "; ".join(shown)


def table() -> str:
    """The table as Markdown."""
    world = make_world()
    truth = _score(world, scripted(world, perfect, "perfect"))
    heads = [f"{model} (in truth {show(_row(truth, model).value or 0.0)})" for model in WRONG]
    rows = [["judge", "checked by", *heads, "the header says"]]
    rows += [[line.judge, line.checked, *line.values, line.says] for line in lines(world)]
    shown = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([shown[0], "|---" * len(rows[0]) + "|", *shown[1:]])


def main() -> None:
    print(table())


if __name__ == "__main__":
    main()
