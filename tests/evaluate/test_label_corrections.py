"""Labels of people correct the judged values        STATS §5"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import Json, form, output, qa_case, question, text_case, text_outcome
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Question
from callscore.core.scorecard import MetricScore, Scorecard
from callscore.judges.fakes import ScriptedJudge
from callscore.judges.panel import Panel, Seat
from callscore.report.cells import scorecard_rows
from callscore.report.decision_statements import state_decision
from callscore.scorecard.decision import corrected_breaches, models_in_question
from callscore.suites.registry import template_of
from commands import run
from fake_judges import best_word

EVIDENCE, INTENT = "qa.evidence_backed_reasoning", "text.call_intent"
FREE, HALLUCINATED = "text.fabrication_free", "text.hallucination_rate"
GOOD, BAD = "as_described", "vague"


class World:
    """Reasons of which people know whether they are good, and what the judge takes them for."""

    def __init__(
        self, calls: int, items: int, errs: Callable[[bool, random.Random], bool], seed: int = 1
    ) -> None:
        dice = random.Random(seed)
        self.dice = dice
        self.truth: dict[tuple[str, str], bool] = {}
        self.cases: list[Json] = []
        self.outputs: list[Json] = []
        for call in range(calls):
            asked = [question(f"Q{item}", reason="the human's") for item in range(items)]
            self.cases.append(qa_case(asked, f"c{call}"))
            answers = []
            for item in range(items):
                truth = dice.random() < 0.8
                self.truth[f"c{call}", f"Q{item}"] = truth
                seen = errs(truth, dice)
                reason = f"{'good' if seen else 'poor'} reason {call} {item}"
                answers.append(question(f"Q{item}", reason=reason))
            self.outputs.append(output(f"c{call}", form(*answers)))

    @property
    def mean(self) -> float:
        return sum(self.truth.values()) / len(self.truth)

    def labels(self, number: int, by: str = "") -> list[Json]:
        return [self.label(*key, by=by) for key in self.dice.sample(list(self.truth), number)]

    def label(self, case: str, item: str, by: str = "", model: str = "m") -> Json:
        return {
            "case_id": case,
            "model": model,
            "metric": EVIDENCE,
            "item": item,
            "verdict": GOOD if self.truth[case, item] else BAD,
            "by": by,
        }

    def score(self, labels: Iterable[Json] = (), **options: Any) -> Scorecard:
        return callscore.score(
            self.cases, self.outputs, labels=labels, judge=reader(), embedder="none", **options
        )


def reader() -> ScriptedJudge:
    words = {"good": GOOD, "poor": BAD}
    return ScriptedJudge(lambda asked: words[asked.text.split()[0]], name="scripted@1")


def perfect(truth: bool, dice: random.Random) -> bool:
    return truth


def lenient(truth: bool, dice: random.Random) -> bool:
    """Passes 60 % of what is wrong."""
    return truth or dice.random() < 0.6


def noisy(truth: bool, dice: random.Random) -> bool:
    return dice.random() < 0.8


def evidence(card: Scorecard) -> MetricScore:
    return card.models[0].tasks["qa"].metrics[EVIDENCE]


def test_stats_5_a_judged_row_without_labels_is_uncalibrated() -> None:
    world = World(20, 1, perfect)
    card = world.score()
    assert evidence(card).uncalibrated
    assert evidence(card).corrected is None
    rows = scorecard_rows(card, template_of(card))
    cell = next(row.cells[0] for row in rows if row.template.key == EVIDENCE)
    assert "uncalibrated" in cell.text
    assert not card.models[0].tasks["qa"].metrics["qa.question_score_accuracy"].uncalibrated
    given = [world.label(*key, by="ann@example.com") for key in world.truth]
    people = callscore.score(world.cases, world.outputs, verdicts=given)
    assert evidence(people).value == pytest.approx(world.mean)
    assert not evidence(people).uncalibrated  # people have no error to correct


def test_stats_5_labels_correct_a_lenient_judge() -> None:
    world = World(150, 2, lenient)
    card = world.score(world.labels(120))
    metric = evidence(card)
    assert metric.value is not None
    assert metric.value > world.mean + 0.05
    corrected = metric.corrected
    assert corrected is not None and corrected.ci95 is not None
    assert corrected.value == pytest.approx(world.mean, abs=0.06)
    assert corrected.ci95[0] < world.mean < corrected.ci95[1]
    assert (corrected.labels, corrected.helps) == (120, True)
    assert not metric.uncalibrated
    task, final = card.models[0].tasks["qa"], card.models[0].final
    assert task.corrected is not None and final.corrected is not None
    assert task.corrected.value == pytest.approx(0.9 + 0.1 * corrected.value)
    assert final.corrected.value == pytest.approx(task.corrected.value)
    assert card.notes[0].endswith("corrected by 120 human labels")
    assert " as judged; " in card.notes[0]


def test_stats_5_all_items_of_some_calls_are_as_good_as_items_of_many() -> None:
    world = World(120, 3, lenient)
    drawn = world.dice.sample(range(120), 40)
    labels = [world.label(f"c{call}", f"Q{item}") for call in drawn for item in range(3)]
    corrected = evidence(world.score(labels)).corrected
    assert corrected is not None and corrected.ci95 is not None
    assert (corrected.labels, corrected.calls) == (120, 40)
    assert corrected.ci95[0] < world.mean < corrected.ci95[1]


def test_stats_5_labels_on_everything_give_what_people_give() -> None:
    world = World(40, 2, lenient)
    card = world.score([world.label(*key) for key in world.truth])
    corrected = evidence(card).corrected
    assert corrected is not None
    assert corrected.value == pytest.approx(world.mean)
    assert corrected.trust == 0


def test_stats_5_a_judge_that_says_nothing_about_people_does_not_help() -> None:
    world = World(100, 1, noisy)
    card = world.score(world.labels(60))
    corrected = evidence(card).corrected
    assert corrected is not None
    assert corrected.helps is False
    assert any("the judge does not help" in note for note in card.notes)


def test_stats_5_agreement_on_every_label_is_not_certainty() -> None:
    world = World(150, 1, perfect)
    metric = evidence(world.score(world.labels(30)))
    assert metric.corrected is not None and metric.corrected.ci95 is not None
    assert metric.ci95 is not None
    assert metric.corrected.value == pytest.approx(metric.value)
    assert metric.corrected.ci95[0] < metric.ci95[0] - 0.02


def test_stats_5_few_labels_correct_nothing_and_the_card_says_so() -> None:
    world = World(30, 1, lenient)
    card = world.score(world.labels(9))
    assert evidence(card).corrected is None
    assert evidence(card).uncalibrated
    assert card.notes[0].startswith("the labels correct no row: at least 10 calls")


def test_stats_5_two_people_who_label_an_item_are_one_label() -> None:
    world = World(100, 1, lenient)
    labels = world.labels(40, by="ann")
    once, twice = world.score(labels), world.score(labels + [{**x, "by": "bob"} for x in labels])
    assert evidence(once).corrected == evidence(twice).corrected


def test_stats_5_labels_never_change_what_was_judged() -> None:
    world = World(60, 1, lenient)
    plain, labelled = world.score(), world.score(world.labels(40))
    one, other = evidence(plain), evidence(labelled)
    assert (one.value, one.rating, one.ci95) == (other.value, other.rating, other.ci95)
    assert plain.models[0].final.score == labelled.models[0].final.score


def test_c126_labels_are_part_of_the_signature() -> None:
    world = World(40, 1, lenient)
    labels = world.labels(20)
    signatures = [world.score(some).signature for some in ((), labels, labels[::-1], labels[1:])]
    assert "|labels:" not in signatures[0]
    assert signatures[1] == signatures[2]
    assert len(set(signatures)) == 3


def summaries(
    calls: int, invented: Callable[[int], bool], passes: Callable[[int], bool]
) -> tuple[list[Json], list[Json]]:
    """Summaries of two facts; the judge passes an invented one of some calls."""
    cases = [text_case(case_id=f"c{call}") for call in range(calls)]
    outputs = []
    for call in range(calls):
        answer = text_outcome()
        words = "GOOD" if not invented(call) or passes(call) else "BAD"
        info = {"customer_name": "Ana", "resolution": f"{words} ending {call}"}
        answer["summary"] = {**answer["summary"], "call_extracted_info": info}
        outputs.append(output(f"c{call}", answer))
    return cases, outputs


def claims_judge(asked: Question) -> str:
    if asked.metric in (FREE, HALLUCINATED) and "BAD" in asked.text:
        return "not_found"
    return best_word(asked)


def text_card(calls: int, labels: Callable[[int], Sequence[Json]]) -> Scorecard:
    """One call in three states an invention, and the judge passes it."""
    cases, outputs = summaries(calls, lambda call: call % 3 == 0, lambda call: True)
    judge = ScriptedJudge(claims_judge, name="scripted@1")
    given = [label for call in range(calls) for label in labels(call)]
    return callscore.score(cases, outputs, labels=given, judge=judge, embedder="none")


@pytest.fixture(scope="module")
def claim_items() -> tuple[str, ...]:
    """The claims of a summary that are judged."""
    seen: list[Question] = []

    def word(asked: Question) -> str:
        seen.append(asked)
        return claims_judge(asked)

    cases, outputs = summaries(1, lambda call: True, lambda call: True)
    callscore.score(cases, outputs, judge=ScriptedJudge(word, name="scripted@1"), embedder="none")
    return tuple(asked.item for asked in seen if asked.metric == FREE)


def test_stats_5_a_lenient_judge_hides_a_blocker_and_labels_show_it(
    claim_items: tuple[str, ...],
) -> None:
    (item,) = claim_items

    def label(call: int) -> list[Json]:
        word = "not_found" if call % 3 == 0 else "supported_by_transcript"
        about = {"case_id": f"c{call}", "model": "m", "metric": FREE}
        return [{**about, "item": item, "verdict": word}] if call < 100 else []

    silent, told = text_card(120, lambda call: []), text_card(120, label)
    free = silent.models[0].tasks["text"].metrics[FREE]
    assert (free.value, free.rating, free.uncalibrated) == (1.0, "Good", True)
    model = told.models[0]
    found = model.tasks["text"].metrics[FREE].corrected
    assert found is not None
    assert (found.rating, found.breached) == ("Blocker", True)
    rate = model.tasks["text"].metrics[HALLUCINATED].corrected
    assert rate is not None
    assert rate.value == pytest.approx(100 * (1 - found.value))
    assert corrected_breaches(model) == [FREE]
    (out,) = [line for line in told.decision if line.word == "OUT"]
    assert out.why.startswith("Text, Fabrication-Free Rate: 0.9")
    assert out.why.endswith("corrected by 100 labels, limit 0.97")
    assert [line.word for line in silent.decision if "OUT" in line.word] == []
    assert blocker_cell(told).startswith("Yes (")
    assert models_in_question(told) == []


def blocker_cell(card: Scorecard) -> str:
    return scorecard_rows(card, template_of(card))[-1].cells[0].text


def test_stats_5_people_who_find_another_intent_block_the_call() -> None:
    """The judge takes every purpose for the same; people find one in ten to be another."""
    cases = [text_case(case_id=f"c{call}") for call in range(60)]
    outputs = []
    for call in range(60):
        answer = text_outcome()
        answer["summary"] = {**answer["summary"], "call_purpose": f"Something else {call}"}
        outputs.append(output(f"c{call}", answer))
    labels = [
        {
            "case_id": f"c{call}",
            "model": "m",
            "metric": INTENT,
            "item": item,
            "verdict": word,
        }
        for call in range(60)
        for item, word in (
            ("call_purpose", "different" if call % 10 == 0 else "same"),
            ("call_purpose:other_goal", "no"),
        )
    ]
    judge = ScriptedJudge(best_word, name="scripted@1")
    asked = intent_items(cases[:1], outputs[:1])
    labels = [{**label, "item": asked[label["item"]]} for label in labels]
    card = callscore.score(cases, outputs, labels=labels, judge=judge, embedder="none")
    model = card.models[0]
    corrected = model.tasks["text"].metrics[INTENT].corrected
    assert corrected is not None
    assert corrected.value == pytest.approx(0.9)
    assert corrected.breached
    score, of_people = model.tasks["text"].score, model.tasks["text"].corrected
    assert score is not None and of_people is not None
    assert of_people.value < 0.92 * score


def intent_items(cases: list[Json], outputs: list[Json]) -> dict[str, str]:
    """The items of the two questions about a purpose."""
    seen: list[str] = []

    def word(asked: Question) -> str:
        if asked.metric == INTENT:
            seen.append(asked.item)
        return best_word(asked)

    callscore.score(cases, outputs, judge=ScriptedJudge(word, name="scripted@1"), embedder="none")
    purpose = next(item for item in seen if not item.endswith("other_goal"))
    other = next(item for item in seen if item.endswith("other_goal"))
    return {"call_purpose": purpose, "call_purpose:other_goal": other}


def panel_card(second: Callable[[bool], bool]) -> Scorecard:
    """A lenient judge, and a second one that sees the truth or errs in its own way."""
    world = World(150, 2, lenient)
    words = {"good": GOOD, "poor": BAD}

    def of_people(asked: Question) -> str:
        _, _, call, item = asked.text.split()
        return GOOD if second(world.truth[f"c{call}", f"Q{item}"]) else BAD

    first = ScriptedJudge(lambda asked: words[asked.text.split()[0]], name="first@1")
    panel = Panel([Seat(first, "gpt-x"), Seat(ScriptedJudge(of_people, "second@1"), "claude-x")])
    return callscore.score(world.cases, world.outputs, judge=panel, embedder="none")


def test_stats_5_a_second_judge_shows_that_the_first_is_lenient() -> None:
    card = panel_card(lambda truth: truth)
    judging = card.judging
    assert judging is not None and judging.disagreement is not None
    assert judging.audited >= 30
    assert judging.disagreement > 0.1
    assert (judging.lenient > 0, judging.strict) == (True, 0)
    assert judging.disagreement_ci95 is not None
    low, high = judging.disagreement_ci95
    assert low < judging.disagreement < high
    warned = [line.text for line in state_decision(card) if line.keyword == "JUDGES"]
    assert len(warned) == 1
    assert warned[0].startswith("the second one disagrees on 1")
    assert "the first judge is lenient (" in warned[0]


def test_stats_5_judges_that_agree_give_no_warning() -> None:
    world = World(60, 1, perfect)
    seats = [Seat(reader(), name) for name in ("gpt-x", "claude-x")]
    card = callscore.score(world.cases, world.outputs, judge=Panel(seats), embedder="none")
    assert card.judging is not None
    assert card.judging.disagreement == 0
    assert [line for line in state_decision(card) if line.keyword == "JUDGES"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"case_id": "c99"}, "'c99'"),
        ({"verdict": "splendid"}, "'splendid' was not offered"),
        ({"metric": "qa.nonsense"}, "is not a judged metric"),
        ({"approximate": True}, "is an estimate; expected a verdict of a person"),
        ({"verdict": None}, "expected either a word here or a `value`"),
    ],
)
def test_a_bad_label_is_refused_with_its_place(change: Json, message: str) -> None:
    world = World(12, 1, perfect)
    label = {**world.label("c0", "Q0"), **change}
    with pytest.raises(DataError, match="labels") as error:
        world.score([label])
    assert message in str(error.value)


def test_labels_of_another_model_are_counted_as_unused() -> None:
    world = World(12, 1, perfect)
    card = world.score([world.label("c0", "Q0", model="other"), world.label("c1", "Q0")])
    assert any(note.startswith("labels that were not used: 1;") for note in card.notes)


def test_labels_need_intervals() -> None:
    world = World(12, 1, perfect)
    with pytest.raises(UsageError, match="expected intervals"):
        world.score(world.labels(10), intervals=False)


def written(path: Path, lines: Iterable[Json]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> World:
    world = World(60, 2, lenient)
    written(tmp_path / "cases.jsonl", world.cases)
    written(tmp_path / "outputs.jsonl", world.outputs)
    world.score(save_verdicts=tmp_path / "judged.jsonl")
    return world


def test_a_sample_of_judged_items_is_drawn_filled_in_and_used(tmp_path: Path, files: World) -> None:
    judged, drawn = tmp_path / "judged.jsonl", tmp_path / "labels.jsonl"
    done = run("sample", judged, "-n", "40", "-o", drawn)
    assert done.returncode == 0, done.stderr
    assert "40 of 120 items, in 20 answers" in done.stdout
    lines = [json.loads(line) for line in drawn.read_text(encoding="utf-8").splitlines()]
    assert all(line["verdict"] is None and line["words"] for line in lines), "blind to the judge"
    filled = [
        {**line, "verdict": files.label(line["case_id"], line["item"])["verdict"]} for line in lines
    ]
    labels = written(drawn, filled)
    base = ("score", tmp_path / "cases.jsonl", "--outputs", tmp_path / "outputs.jsonl")
    card = tmp_path / "card.json"
    done = run(*base, "--verdicts", judged, "--labels", labels, "--json", card)
    assert done.returncode == 0, done.stderr
    assert "corrected by 40 human labels" in " ".join(done.stdout.split())
    model = json.loads(card.read_text(encoding="utf-8"))["models"][0]
    task = model["tasks"]["qa"]
    for found in (task["metrics"][EVIDENCE], task, model["final"]):
        assert found["corrected"]["labels"] == 40
    bad = written(tmp_path / "bad.jsonl", [{**filled[0], "verdict": "splendid"}])
    done = run(*base, "--verdicts", judged, "--labels", bad)
    assert done.returncode == 2
    assert "bad.jsonl:1: case " in done.stderr


def test_the_same_calls_are_drawn_for_every_model(tmp_path: Path) -> None:
    lines = [
        {"case_id": f"c{n}", "model": model, "metric": EVIDENCE, "item": "Q1", "verdict": GOOD}
        for n in range(30)
        for model in ("a", "b")
    ]
    done = run("sample", written(tmp_path / "v.jsonl", lines), "-n", "20", "-o", tmp_path / "l.csv")
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "l.csv").read_text(encoding="utf-8-sig").splitlines()[1:]
    drawn = [row.split(",")[:2] for row in rows]
    assert len(drawn) == 20
    calls = [{case for case, model in drawn if model == name} for name in ("a", "b")]
    assert calls[0] == calls[1]


def test_an_eval_file_names_its_labels_and_its_dossier_has_them(
    tmp_path: Path, files: World
) -> None:
    written(tmp_path / "labels.jsonl", files.labels(60))
    eval_file = tmp_path / "eval.yaml"
    entry = {"name": "m", "provider": "replay", "outputs": "outputs.jsonl"}
    config = {
        "data": "cases.jsonl",
        "models": [entry],
        "verdicts": "judged.jsonl",
        "labels": "labels.jsonl",
        "embedder": "none",
    }
    eval_file.write_text(json.dumps(config), encoding="utf-8")
    done = run("run", eval_file, "--json", "-")
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    assert card["models"][0]["final"]["corrected"]["labels"] == 60
    config.pop("labels")
    eval_file.write_text(json.dumps(config), encoding="utf-8")
    again = run("run", eval_file, "--labels", tmp_path / "labels.jsonl", "--json", "-")
    assert json.loads(again.stdout)["models"] == card["models"]
    config["labels"] = "labels.jsonl"
    eval_file.write_text(json.dumps(config), encoding="utf-8")
    dossier = tmp_path / "dossier.zip"
    store = ("--store", tmp_path / ".callscore" / "runs.db")
    done = run("report", "1", *store, "--eval", eval_file, "--format", "dossier", "-o", dossier)
    assert done.returncode == 0, done.stderr
    done = run("verify", dossier)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("whole_calls", [True, False])
def test_stats_5_the_corrected_interval_covers_what_people_would_give(whole_calls: bool) -> None:
    inside = claimed = 0
    for seed in range(200):
        world = World(150, 3, lenient, seed)
        if whole_calls:
            drawn = world.dice.sample(range(150), 40)
            labels = [world.label(f"c{call}", f"Q{item}") for call in drawn for item in range(3)]
        else:
            labels = world.labels(120)
        corrected = evidence(world.score(labels)).corrected
        assert corrected is not None and corrected.ci95 is not None
        inside += corrected.ci95[0] <= 0.8 <= corrected.ci95[1]
        assert corrected.claim is not None
        claimed += corrected.claim[0] <= 0.8
    assert inside >= 182  # 95 % less three standard errors
    assert claimed >= 188  # 94 %, one-sided
