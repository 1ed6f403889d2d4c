"""Comparisons: paired by call, with the cases that changed, whatever the two come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

import callscore
from builders import Json, form, output, qa_case, question
from callscore.comparison.result_files import read_results
from callscore.core.comparison import Comparison
from callscore.core.errors import DataError, UsageError
from callscore.core.scorecard import Scorecard
from callscore.report.decision_statements import describe_separation, round_up_calls
from callscore.scorecard.decision import ModelDifference
from commands import run
from eval_files import eval_file, read_json

CALLS = 24
Side = tuple[Scorecard, Path]
"""A scorecard and its results file."""


def form_of(points: int) -> Json:
    return form(question("Q1", points, kind="SCORE"), question("Q2", 5, kind="SCORE"))


def cases() -> list[Json]:
    asked = [question("Q1", 5, kind="SCORE"), question("Q2", 5, kind="SCORE")]
    return [qa_case(asked, f"c{n}") for n in range(CALLS)]


def answers(model: str, points: Sequence[int]) -> list[Json]:
    return [output(f"c{n}", form_of(p), model) for n, p in enumerate(points)]


class Files:
    """Two scorecards with their results, on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, points: Sequence[int], model: str = "m") -> Scorecard:
        card = callscore.score(
            cases(),
            answers(model, points),
            results=self.folder / f"{name}.jsonl",
            weights={"qa": 1},
            judge="offline",
            embedder="none",
        )
        (self.folder / f"{name}.json").write_bytes(msgspec.json.encode(card))
        return card

    def compare(self, *, force: bool = False) -> Comparison:
        first, second = (self.folder / f"{name}.json" for name in ("old", "new"))
        results = (self.folder / "old.jsonl", self.folder / "new.jsonl")
        return callscore.compare(first, second, results=results, force=force)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_the_differences_are_those_of_the_two_cards(files: Files) -> None:
    old = files.add("old", [0] * 12 + [5] * 12).models[0]
    new = files.add("new", [5] * 20 + [0] * 4).models[0]
    found = files.compare()
    row = found.row("qa.question_score_accuracy")
    before, after = (m.tasks["qa"].metrics["qa.question_score_accuracy"].value for m in (old, new))
    assert before is not None
    assert after is not None
    assert (row.first, row.second) == pytest.approx((before, after))
    assert row.difference == pytest.approx(after - before)
    assert row.better is True
    assert (row.calls, row.discordant) == (CALLS, 16)
    assert row.ci95 is not None
    assert row.ci95[0] < after - before < row.ci95[1]
    assert found.row("final").difference == pytest.approx(
        (new.final.score or 0) - (old.final.score or 0)
    )


def test_cases_are_fixed_and_broken_and_the_weightiest_come_first(files: Files) -> None:
    files.add("old", [0] * 3 + [5] * 21)
    files.add("new", [5] * 3 + [5] * 20 + [0])
    found = files.compare()
    assert found.counts["fixed"] == 3
    assert found.counts["broken"] == 1
    assert [change.case_id for change in found.cases] == ["c0", "c1", "c2", "c23"]
    assert found.cases[0].metrics["qa.question_score_accuracy"] == (0.5, 1.0)


def test_stats3_a_clear_difference_is_distinguishable_and_a_small_one_is_not(files: Files) -> None:
    files.add("old", [0] * 20 + [5] * 4)
    files.add("new", [5] * 24)
    clear = files.compare()
    assert clear.distinguishable is True
    assert clear.conclusion.startswith("On 24 calls that both answered, new.json is 0.")
    assert "above old.json" in clear.conclusion
    files.add("old", [5] * 23 + [0])
    files.add("new", [0] + [5] * 21 + [0] * 2)
    small = files.compare()
    assert small.distinguishable is False
    assert "new.json and old.json cannot be distinguished" in small.conclusion
    assert small.row("final").calls_needed is None  # they may be equal
    assert small.conclusion.endswith(
        "; no number of calls is promised: the models may be equal; they differ in 2 calls, and no "
        "test can show anything below six."
    )


def test_equal_answers_give_an_interval_that_says_so(files: Files) -> None:
    files.add("old", [5] * 24)
    files.add("new", [5] * 24)
    row = files.compare().row("final")
    assert (row.difference, row.p, row.ci95_method) == (0.0, 1.0, "all_equal")
    assert row.ci95 == pytest.approx((-(1 - 0.025 ** (1 / 24)), 1 - 0.025 ** (1 / 24)))


def test_only_calls_that_both_answered_are_paired(files: Files, tmp_path: Path) -> None:
    files.add("old", [5] * 24)
    card = callscore.score(
        cases(),
        [*answers("m", [5] * 20), *[{"case_id": "c20", "model": "m", "error": "503"}]],
        results=tmp_path / "new.jsonl",
        weights={"qa": 1},
        judge="offline",
        embedder="none",
        settings={"coverage.required": 0.5},
    )
    (tmp_path / "new.json").write_bytes(msgspec.json.encode(card))
    found = files.compare(force=True)
    assert (found.calls, found.only_first, found.only_second) == (20, 4, 0)
    assert found.counts["became_error"] == 4
    assert found.not_comparable == ["settings: default and coverage.required=0.5"]


def test_a_broken_answer_is_a_new_blocker(files: Files, tmp_path: Path) -> None:
    files.add("old", [5] * 24)
    broken = [*answers("m", [5] * 23), output("c23", "no JSON")]
    card = callscore.score(
        cases(),
        broken,
        results=tmp_path / "new.jsonl",
        weights={"qa": 1},
        judge="offline",
        embedder="none",
    )
    (tmp_path / "new.json").write_bytes(msgspec.json.encode(card))
    found = files.compare()
    assert found.counts["new_blocker"] == 1
    assert found.new_blockers == ["qa.structure"]
    (change,) = found.cases
    assert (change.case_id, change.new_gates, change.second) == ("c23", ["qa.structure"], 0.0)
    structure = found.row("qa.structure")
    assert structure.test == "mcnemar"
    assert structure.p == 1.0


def test_cards_alone_are_compared_as_far_as_they_go(files: Files) -> None:
    old, new = files.add("old", [0] * 12 + [5] * 12), files.add("new", [5] * 24)
    found = callscore.compare(old, new)
    assert found.row("final").difference == pytest.approx(0.225)
    assert found.row("final").ci95 is None
    assert found.distinguishable is None
    assert "whether this is more than chance is unknown" in found.conclusion
    assert any("has no results of single calls" in note for note in found.notes)


def simulated(name: str, wrong: float) -> Json:
    return {"name": name, "provider": "simulated", "params": {"seed": 3, "wrong_scores": wrong}}


def stored(folder: Path) -> Path:
    """A store with one run of two models."""
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for case in cases():
            file.write(msgspec.json.encode(case).decode() + "\n")
    path = eval_file(
        folder,
        [simulated("old", 0.5), simulated("new", 0.0)],
        judge="offline",
        embedder="none",
        weights={"qa": 1},
    )
    assert run("run", path, cwd=folder).returncode == 0
    return path


def test_two_models_of_a_stored_run_are_compared_by_name(tmp_path: Path) -> None:
    path = stored(tmp_path)
    done = run("compare", f"{path}:old", f"{path}:new", "--json", "found.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "On 24 calls that both answered, new (simulated) is 0.357" in done.stdout
    assert "above old (simulated)." in done.stdout
    found = read_json(tmp_path / "found.json")
    assert found["distinguishable"] is True
    assert found["counts"]["fixed"] > 5
    by_id = callscore.compare("1:old", "1:new", store=tmp_path / ".callscore" / "runs.db")
    assert by_id.to_dict()["rows"] == found["rows"]


def test_a_run_with_several_models_asks_which(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with pytest.raises(UsageError, match=r"has no model 'x'; expected NAME:MODEL with one of"):
        callscore.compare(f"{path}:x", f"{path}:new")
    both = callscore.compare(path, path)
    assert {both.first.model, both.second.model} == {"old", "new"}
    named = callscore.compare(path, path, a="new", b="old")
    assert (named.first.model, named.second.model) == ("new", "old")


def test_24_10_two_models_of_a_card_are_compared_by_name() -> None:
    outputs = [
        output(case["id"], form(question(score=n)), m)
        for case in cases()
        for m, n in (("old", 0), ("new", 5), ("other", 5))
    ]
    card = callscore.score(cases(), outputs)
    found = callscore.compare(card, card, a="old", b="new")
    assert (found.first.model, found.second.model) == ("old", "new")
    with pytest.raises(UsageError, match="expected two of its models"):
        callscore.compare(card, card)
    assert repr(found).startswith("<Comparison old → new, ")
    assert "\n" not in repr(found) and len(repr(found)) < 400
    html = found._repr_html_()
    assert "old → new" in html and "Question Score Accuracy" in html and "<script" not in html
    assert all(line.why in html for line in found.decision) and found.decision


def test_hostile_names_stay_text_in_a_comment(tmp_path: Path) -> None:
    name = "<img src=x> @team | `x` [a](b)"
    files = Files(tmp_path)
    files.add("old", [0] * 24, name)
    files.add("new", [5] * 24, name)
    options = ["--results", "old.jsonl", "new.jsonl", "--markdown", "-"]
    done = run("compare", "old.json", "new.json", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    outside = "".join(done.stdout.split("`")[::2])
    assert "<img" not in outside
    assert "@team" not in outside
    assert done.stdout.startswith("### Callscore: `old.json` → `new.json`")


@pytest.mark.parametrize(
    ("above", "says"),
    [
        (ModelDifference(0.03, (0.01, 0.05), True), "a is 0.030 [0.010, 0.050] above b"),
        (ModelDifference(-0.03, (-0.05, -0.01), True), "b is 0.030 [0.010, 0.050] above a"),
        (ModelDifference(0.0, (0.0, 0.0)), "a and b have the same score"),
        (
            ModelDifference(0.01, (0.001, 0.03), calls_needed=2345),
            "a and b cannot be distinguished (+0.010 [0.001, 0.030]; the test that decides is"
            " stricter than this interval); about 2,400 calls would show a difference of 0.010",
        ),
        (
            ModelDifference(0.001, (-0.02, 0.02), calls_needed=2345),
            "a and b cannot be distinguished (+0.001 [-0.020, 0.020]); no number of calls is"
            " promised: the models may be equal",
        ),
    ],
)
def test_stats3_what_separates_two_models_is_said_in_words(
    above: ModelDifference, says: str
) -> None:
    assert describe_separation(above, "a", "b") == says
    assert round_up_calls(7) == "7"


def test_a_results_file_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"other": ' + b"[" * 5000 + b"]" * 5000 + b"}\n")
    with pytest.raises(DataError, match=r"results.jsonl:1: .* expected a line of --results"):
        read_results(path)


def scored_with_benchmarks(folder: Path, name: str, points: Sequence[int], **more: object) -> Side:
    """A scorecard of option A, and its results: the benchmarks that ran count."""
    results = folder / f"{name}.jsonl"
    card = callscore.score(
        cases(),
        answers("m", points),
        results=results,
        judge="offline",
        embedder="none",
        benchmarks=True,
        **{"settings": {"benchmarks.partial": "mean"}, **more},  # type: ignore[arg-type]
    )
    return card, results


def test_c79_the_official_option_of_both_is_compared(tmp_path: Path) -> None:
    (old, before), (new, after) = (
        scored_with_benchmarks(tmp_path, *of) for of in (("old", [5, 0] * 12), ("new", [5] * 24))
    )
    finals = [card.models[0].final for card in (old, new)]
    assert [final.option for final in finals] == ["A", "A"]
    assert finals[0].score != finals[0].b
    row = callscore.compare(old, new, results=(before, after)).row("final")
    assert (row.first, row.second) == pytest.approx([final.score for final in finals])


def test_c79_a_final_of_option_a_is_not_compared_with_one_of_option_b(tmp_path: Path) -> None:
    """The same settings, but the benchmarks of one model are incomplete."""
    (old, _), (new, _) = (scored_with_benchmarks(tmp_path, of, [5] * 24) for of in ("old", "new"))
    final = msgspec.structs.replace(new.models[0].final, option="B")
    model = msgspec.structs.replace(new.models[0], final=final)
    other = msgspec.structs.replace(new, models=[model])
    with pytest.raises(UsageError, match="differ in option of the Final Score: A and B"):
        callscore.compare(old, other)
