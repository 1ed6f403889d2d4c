"""C-28 … C-39 and the QA examples of document 003; each test carries its entry's id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import evidence_verdicts, form, output, qa_case, question, score
from callscore.core.measure import Measure
from callscore.core.spec import rate
from callscore.report.numbers import show
from callscore.scorecard.formula import task_score
from callscore.suites.calls import spec
from callscore.suites.calls.qa import measures as qa
from callscore.suites.calls.qa.measures import Mark
from callscore.suites.calls.qa.reference import ExpectedQuestion

MARGIN = spec.make_settings().score_margin_fraction


def mark(
    expected: float,
    given: float | None,
    max_score: float = 5,
    kind: str = "PASS_FAIL",
    *,
    model_max: float | None = None,
) -> Mark:
    """A mark as `read` would make it."""
    asked = ExpectedQuestion("Q1", expected, max_score, kind == "PASS_FAIL", kind, "")
    top = max_score if model_max is None else model_max
    is_full = given is not None and (given >= max_score or given >= top)
    return Mark(asked, given, top == max_score, is_full)


def one(expected: dict[str, Any], given: dict[str, Any], tmp_path: Path) -> Any:
    return score([qa_case([expected])], [output("c1", form(given))], tmp_path)


def rated(slug: str, value: float) -> str | None:
    metric = spec.load_spec().metrics[slug]
    return rate(value, metric.bands, metric.otherwise)


def test_examples_question_score_accuracy_w_qa_1() -> None:
    marks = [mark(5, 5)] * 18 + [mark(5, 0)] * 2
    accuracy = qa.question_score_accuracy(marks, MARGIN)
    assert accuracy == Measure(0.9, 18, 20)  # W-QA-1
    assert rated("qa.question_score_accuracy", 0.9) == "Acceptable"


def test_examples_score_gap_accuracy_w_qa_2() -> None:
    marks = [mark(5, 4), mark(2, 1, 2), mark(9, 8, 10, "SCORE")]
    assert sum(map(qa.normalised_gap, marks)) / 3 == pytest.approx(4 / 15)  # W-QA-2a
    accuracy = qa.score_gap_accuracy(marks).value
    assert accuracy == pytest.approx(11 / 15)  # W-QA-2b
    assert accuracy is not None
    assert show(accuracy) == "0.733"
    assert rated("qa.score_gap_accuracy", accuracy) == "Fail"


@pytest.mark.parametrize(
    ("points", "value"),
    [pytest.param([2], 1.0, id="W-QA-3a"), pytest.param([0], 0.0, id="W-QA-3b")],
)
def test_examples_evidence(points: list[int | None], value: float) -> None:
    assert qa.evidence_backed_reasoning(points).value == value


def test_examples_false_pass_w_qa_4() -> None:
    rate_ = qa.false_pass_rate([mark(0, 5)]).value
    assert rate_ == 100.0  # W-QA-4
    assert rated("qa.false_pass_rate", 100.0) == "Blocker"


def test_examples_qa_score_w_qa_6() -> None:
    values = {
        "qa.question_score_accuracy": 0.93,
        "qa.score_gap_accuracy": 0.73,
        "qa.evidence_backed_reasoning": 0.85,
    }
    total = task_score(spec.load_spec().scores["qa"], values)
    assert total == pytest.approx(0.882)  # W-QA-6
    assert total is not None
    assert show(total) == "0.882"


def test_c28_missing_questions_are_wrong_by_the_whole_scale(tmp_path: Path) -> None:
    expected = [question(f"Q{i}") for i in range(20)]
    scored = score([qa_case(expected)], [output("c1", form(*expected[:18]))], tmp_path)
    assert scored.value("qa.question_score_accuracy") == pytest.approx(0.9)
    assert scored.value("qa.score_gap_accuracy") == pytest.approx(0.9)


def test_c29_a_partial_mark_on_pass_fail_is_incorrect(tmp_path: Path) -> None:
    scored = one(question(score=5), question(score=4.9), tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0
    assert scored.value("qa.score_gap_accuracy") == pytest.approx(0.98)
    assert "partial_on_pass_fail" in scored.results[0]["flags"]


def test_c29_a_partial_mark_is_no_false_pass(tmp_path: Path) -> None:
    scored = one(question(score=0), question(score=4), tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0
    assert scored.value("qa.false_pass_rate") == 0


@pytest.mark.parametrize(
    ("maximum", "expected", "given", "correct"),
    [(5, 5, 4.5, 1), (5, 5, 4.4, 0), (10, 9, 8, 1), (2, 2, 1.5, 0), (5, 0.6, 1.1, 1)],
)
def test_c30_the_margin_is_a_tenth_of_the_scale(
    maximum: float, expected: float, given: float, correct: int
) -> None:
    accuracy = qa.question_score_accuracy([mark(expected, given, maximum, "SCORE")], MARGIN)
    assert accuracy.value == correct


@pytest.mark.parametrize(
    ("expected", "given", "model_max", "false_pass"),
    [(0, 7, 5, 100), (5, 10, 10, 0), (0, 4, 4, 100)],
)
def test_c31_another_scale_or_a_score_off_the_scale_is_wrong(
    tmp_path: Path, expected: float, given: float, model_max: float, false_pass: float
) -> None:
    scored = one(question(score=expected), question(score=given, max_score=model_max), tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0
    assert scored.value("qa.score_gap_accuracy") == 0
    assert scored.value("qa.false_pass_rate") == false_pass


@pytest.mark.parametrize(
    ("expected", "given", "maximum"), [(0.3, 0.1 + 0.2, 0.3), (5, 5 + 1e-10, 5), (0, -1e-10, 5)]
)
@pytest.mark.parametrize("kind", ["PASS_FAIL", "SCORE"])
def test_c08_an_end_of_the_scale_is_met_within_the_tolerance(
    tmp_path: Path, expected: float, given: float, maximum: float, kind: str
) -> None:
    scored = one(
        question(score=expected, max_score=maximum, kind=kind),
        question(score=given, max_score=maximum, kind=kind),
        tmp_path,
    )
    assert scored.value("qa.question_score_accuracy") == 1.0
    assert scored.value("qa.score_gap_accuracy") == 1.0
    assert scored.results[0]["flags"] == []


@pytest.mark.parametrize(
    ("given", "false_pass"), [(10**400, 100), (-(10**400), 0)], ids=["above", "below"]
)
def test_c31_a_score_that_no_float_holds_is_off_the_scale(
    tmp_path: Path, given: int, false_pass: float
) -> None:
    text = json.dumps(form(question(score=given)))
    scored = score([qa_case([question(score=0)])], [output("c1", text)], tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0
    assert scored.value("qa.score_gap_accuracy") == 0
    assert scored.value("qa.false_pass_rate") == false_pass
    assert "score_out_of_range" in scored.results[0]["flags"]


def test_c31_the_margin_admits_no_score_above_the_scale() -> None:
    marks = [mark(5, 5.4, 5, "SCORE"), mark(5, 4.6, 5, "SCORE")]
    assert qa.question_score_accuracy(marks, MARGIN).value == 0.5


def test_c31_the_model_s_maximum_must_be_a_number(tmp_path: Path) -> None:
    scored = one(question(), question(max_score="5"), tmp_path)
    assert scored.value("qa.question_score_accuracy") == 0
    assert "max_score_differs" in scored.results[0]["flags"]


def test_c32_the_margin_does_not_close_a_gap() -> None:
    marks = [mark(5, 4.5, 5, "SCORE")]
    assert qa.question_score_accuracy(marks, MARGIN).value == 1
    assert qa.score_gap_accuracy(marks).value == pytest.approx(0.9)


def test_c33_questions_that_do_not_apply_leave_every_denominator(tmp_path: Path) -> None:
    expected = [question(f"Q{i}", None if i < 2 else 5) for i in range(20)]
    given = form(question("Q0", 5), *expected[1:])
    scored = score([qa_case(expected)], [output("c1", given)], tmp_path)
    assert scored.value("qa.question_score_accuracy") == 1.0
    assert scored.value("qa.evidence_backed_reasoning") == 1.0
    assert scored.results[0]["flags"] == ["na_scored"]


def test_c34_the_model_s_type_is_only_a_warning(tmp_path: Path) -> None:
    scored = one(question(), question(kind="SCORE"), tmp_path)
    assert scored.value("qa.question_score_accuracy") == 1
    assert scored.results[0]["flags"] == ["type_differs"]


def test_c35_false_passes_are_a_share_of_all_pass_fail_questions(tmp_path: Path) -> None:
    expected = [question(f"P{i}", 0 if i < 4 else 5) for i in range(10)]
    expected += [question(f"S{i}", 0 if i == 0 else 5, kind="SCORE") for i in range(10)]
    given = form(
        question("P0", 5), *expected[1:10], question("S0", 5, kind="SCORE"), *expected[11:]
    )
    metric = (
        score([qa_case(expected)], [output("c1", given)], tmp_path)
        .task()
        .metrics["qa.false_pass_rate"]
    )
    assert metric.value == pytest.approx(10)
    assert metric.secondary == {"false_pass_rate_of_failures": 25.0, "score_type_false_passes": 1}


@pytest.mark.parametrize(
    ("wrong", "total", "rating"),
    [
        (1, 100, "Good"),
        (2, 100, "Acceptable"),
        (3, 100, "Acceptable"),
        (4, 100, "Blocker"),
        (1, 33, "Blocker"),
        (1, 34, "Acceptable"),
    ],
)
def test_c36_the_false_pass_rate_is_pooled_over_calls(
    tmp_path: Path, wrong: int, total: int, rating: str
) -> None:
    # one question a call, so that the mean of calls would be the same; then one call more
    # without PASS_FAIL questions, which must not move it
    cases = [qa_case([question(score=0)], f"c{i}") for i in range(total)]
    cases.append(qa_case([question(kind="SCORE")], "score-only"))
    outputs = [output(f"c{i}", form(question(score=5 if i < wrong else 0))) for i in range(total)]
    outputs.append(output("score-only", form(question(kind="SCORE"))))
    scored = score(cases, outputs, tmp_path)
    assert scored.value("qa.false_pass_rate") == pytest.approx(100 * wrong / total)
    assert scored.rating("qa.false_pass_rate") == rating
    assert (scored.task().status == "invalid") == (rating == "Blocker")


def test_c36_the_interval_and_the_smallest_rate_are_reported(tmp_path: Path) -> None:
    cases = [qa_case([question(score=0)], f"c{i}") for i in range(34)]
    outputs = [output(f"c{i}", form(question(score=0 if i else 5))) for i in range(34)]
    metric = score(cases, outputs, tmp_path).task().metrics["qa.false_pass_rate"]
    assert metric.ci95 is not None
    assert metric.resolution == pytest.approx(100 / 34)
    for p in (metric.ci95[0] / 100, metric.ci95[1] / 100):  # 2.5 % lie beyond either end
        none, one = (1 - p) ** 34, 34 * p * (1 - p) ** 33
        assert min(1 - none, none + one) == pytest.approx(0.025)


def test_c36_no_pass_fail_question_means_no_gate(tmp_path: Path) -> None:
    scored = one(question(kind="SCORE"), question(kind="SCORE"), tmp_path)
    metric = scored.task().metrics["qa.false_pass_rate"]
    assert metric.value is None
    assert metric.why.startswith("undefined")
    assert scored.task().status == "valid"


@pytest.mark.parametrize(
    ("verdict", "value"), [("vague", 0.0), ("as_described", 1.0), ("absent", 0.5), ("differs", 0.5)]
)
def test_c37_a_reason_earns_none_one_or_two_points(
    tmp_path: Path, verdict: str, value: float
) -> None:
    case = qa_case([question(reason="The agent opened with a greeting")])
    given = [output("c1", form(question(reason="Agent said 'Good morning'")))]
    scored = score([case], given, tmp_path, evidence_verdicts("c1", "Q1", verdict=verdict))
    assert scored.value("qa.evidence_backed_reasoning") == value


def test_c37_two_verdicts_on_one_reason_are_read_together(tmp_path: Path) -> None:
    case = qa_case([question(reason="The agent opened with a greeting")])
    given = [output("c1", form(question(reason="Agent said 'Good morning'")))]
    first = evidence_verdicts("c1", "Q1", verdict="specific")
    assert score([case], given, tmp_path, first).value("qa.evidence_backed_reasoning") is None
    both = [*first, *evidence_verdicts("c1", "Q1", verdict="as_described")]
    assert score([case], given, tmp_path, both).value("qa.evidence_backed_reasoning") == 1


def test_c38_empty_and_placeholder_reasons_count_and_score_nothing(tmp_path: Path) -> None:
    expected = [question(f"Q{i}") for i in range(4)]
    given = form(expected[0], expected[1], question("Q2", reason=""), question("Q3", reason="N/A"))
    scored = score([qa_case(expected)], [output("c1", given)], tmp_path)
    assert scored.value("qa.evidence_backed_reasoning") == 0.5


def test_c38_reasons_without_a_verdict_are_not_run_and_the_task_is_incomplete(
    tmp_path: Path,
) -> None:
    scored = one(question(), question(reason="Agent greeted with 'Good morning'"), tmp_path)
    metric = scored.task().metrics["qa.evidence_backed_reasoning"]
    assert metric.value is None
    assert metric.why == "not_run: 0 of 1 calls decided; 1 await a verdict"
    assert scored.task().status == "incomplete"
    assert scored.task().reasons == ["qa.evidence_backed_reasoning"]


@pytest.mark.parametrize("reason", ["At 00:12.", "00:12", "[00:12]"])
def test_c39_a_time_alone_is_no_evidence(tmp_path: Path, reason: str) -> None:
    scored = one(question(), question(reason=reason), tmp_path)
    assert scored.value("qa.evidence_backed_reasoning") == 0


@pytest.mark.parametrize(
    ("expected", "given", "is_flagged"),
    [
        ([5, 5, 0], [5, 5, 5], True),
        ([5, 5, 0], [0, 0, 0], True),
        ([5, 5, 0], [5, 5, 0], False),  # the marks differ
        ([5, 5, 5], [5, 5, 5], False),  # so people marked, too
        ([5, 0], [5, 5], False),  # two marks are equal by chance
    ],
)
def test_c29_three_marks_that_are_one_share_are_flagged_where_people_differ(
    expected: list[int], given: list[int], is_flagged: bool, tmp_path: Path
) -> None:
    asked = [question(f"Q{n}", value) for n, value in enumerate(expected)]
    answers = [question(f"Q{n}", value) for n, value in enumerate(given)]
    scored = score([qa_case(asked)], [output("c1", form(*answers))], tmp_path)
    assert ("equal_marks" in scored.results[0]["flags"]) == is_flagged
