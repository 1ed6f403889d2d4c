"""What a card says about two models if its judge is perfect, 80 % right, or lenient        STATS §5

The judges are scripted and know which claims are wrong; the cards are those of `callscore score`.
`python -m bench judge_errors` prints the table of docs/judge.md.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import callscore
from callscore.core.judging import Judge, Question
from callscore.core.scorecard import MetricScore, Scorecard
from callscore.judges.fakes import ScriptedJudge
from callscore.judges.panel import Panel, Seat
from callscore.labelling.sampling import draw_answers
from callscore.report.decision import state_decision
from callscore.report.numbers import show, show_interval

CALLS, CLAIMS, LABELS, SEED = 150, 2, 100, 11
WRONG = {"careful": 0.005, "careless": 0.07}
"""By model, the share of claims that are wrong; the limit of the framework is 3 %."""
ROW = "text.fabrication_free"
GOOD, BAD = "supported_by_transcript", "not_found"
FIELDS = ("resolution", "next_step")
Json = dict[str, Any]
Sees = Callable[[bool, random.Random], bool]


class World(NamedTuple):
    """Calls, the answers of both models, and which claims are right."""

    cases: Sequence[Json]
    outputs: Sequence[Json]
    truth: dict[str, bool]
    """By the text of the claim."""

    def share(self, model: str) -> float:
        """The share of right claims of a model: what people would find."""
        own = [right for text, right in self.truth.items() if text.startswith(f"{model} ")]
        return sum(own) / len(own)


def make_world() -> World:
    """Summaries whose every fact is reworded, so that only a judge can decide it."""
    dice = random.Random(SEED)
    cases, outputs, truth = [], [], {}
    for call in range(CALLS):
        expected = {name: f"the expected {name} of call {call}" for name in FIELDS}
        cases.append({"id": f"c{call}", "task": "text", "transcript": "Customer: I was charged twice",
                      "config": {}, "expected_outcome": _outcome(expected)})  # fmt: skip
        for model, wrong in WRONG.items():
            facts = {name: f"{model} fact {call} {at}" for at, name in enumerate(FIELDS)}
            truth |= {text: dice.random() >= wrong for text in facts.values()}
            outputs.append({"case_id": f"c{call}", "model": model, "output": _outcome(facts)})
    return World(cases, outputs, truth)


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
    return right if dice.random() < 0.95 else not right


JUDGES = {"perfect": perfect, "80 % right": mostly_right, "lenient": lenient}


def scripted(world: World, sees: Sees, name: str) -> Judge:
    """A judge that decides each claim once, by what it sees of the truth."""
    dice = random.Random(f"{SEED} {name}")
    seen = {text: sees(right, dice) for text, right in world.truth.items()}

    def say(asked: Question) -> str:
        text = next((fact for fact in seen if asked.text.endswith(fact)), "")
        return GOOD if seen.get(text, True) else BAD

    return ScriptedJudge(say, name=f"{name}@1")


def make_labels(world: World, judge: Judge) -> list[Json]:
    """People's verdicts on a sample of what a judge was asked, as `callscore sample` draws it."""
    items: dict[tuple[str, str | None, int, str], list[Question]] = {}
    for case in world.cases:
        for output in world.outputs:
            if output["case_id"] == case["id"]:
                asked = _asked(case, output)
                items[case["id"], output["model"], 1, ROW] = asked
    sizes = {answer: len(questions) for answer, questions in items.items()}
    drawn = draw_answers(sizes, len(WRONG) * LABELS, SEED)
    return [
        {"case_id": answer[0], "model": answer[1], "metric": ROW, "item": question.item,
         "verdict": GOOD if _is_right(world, question) else BAD}
        for answer in drawn
        for question in items[answer]
    ]  # fmt: skip


def _is_right(world: World, asked: Question) -> bool:
    return next(right for text, right in world.truth.items() if asked.text.endswith(text))


def _asked(case: Json, output: Json) -> list[Question]:
    """The claims of an answer that a judge is asked about."""
    seen: list[Question] = []

    def note(asked: Question) -> str:
        seen.append(asked)
        return GOOD

    judge = ScriptedJudge(note, name="noting@1")
    callscore.score([case], [output], judge=judge, embedder="none", intervals=False)
    return [asked for asked in seen if asked.metric == ROW]


class Line(NamedTuple):
    """One line of the table."""

    judge: str
    checked: str
    values: Sequence[str]
    says: str


def lines() -> Iterator[Line]:
    """What the card says about both models, for each judge and each check of it."""
    world = make_world()
    labels = make_labels(world, scripted(world, perfect, "perfect"))
    for name, sees in JUDGES.items():
        first = scripted(world, sees, name.replace(" ", "-").replace("%", "percent"))
        second = scripted(world, second_judge, "second")
        panel = Panel([Seat(first, "first"), Seat(second, "second")])
        for checked, judge, given in (
            ("not at all", first, ()),
            (f"by {LABELS} labels per model", first, labels),
            ("by a second judge", panel, ()),
        ):
            card = callscore.score(
                world.cases, world.outputs, labels=given, judge=judge, embedder="none"
            )
            values = [_value(card.model(model).tasks["text"].metrics[ROW]) for model in WRONG]
            yield Line(name, checked, values, _says(card))


def _value(metric: MetricScore) -> str:
    judged = f"{show(metric.value or 0.0)} {metric.rating}"
    if metric.uncalibrated:
        judged += ", uncalibrated"
    if metric.corrected is None:
        return judged
    limits = "" if metric.corrected.ci95 is None else f" {show_interval(metric.corrected.ci95)}"
    return f"{judged}; corrected {show(metric.corrected.value)}{limits} {metric.corrected.rating}"


def _says(card: Scorecard) -> str:
    """The words of the decision, and the warning about the judges."""
    shown = []
    for statement in state_decision(card):
        if statement.keyword == "JUDGES":
            shown.append(f"JUDGES {statement.text.partition(' audited')[0]} audited items …")
        elif statement.keyword not in ("HOW SURE", "BEST QUALITY", "RANK 1"):
            shown.append(f"{statement.keyword} {statement.text.partition(':')[0]}")
    return "; ".join(shown)


def table() -> str:
    """The table as Markdown."""
    world = make_world()
    truth = [f"{model} (people: {world.share(model):.3f})" for model in WRONG]
    rows = [["judge", "checked", *truth, "the header says"], ["---"] * (3 + len(WRONG))]
    rows += [[line.judge, line.checked, *line.values, line.says] for line in lines()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows).replace("| --- ", "|---").replace(
        "|--- |", "|---|"
    )


def main() -> None:
    print(table())


if __name__ == "__main__":
    main()
