"""An orchestration result as text: n/a for nothing, and nothing that steers a terminal."""

from __future__ import annotations

import msgspec

from callscore.core.measure import Measure
from callscore.report.orchestration_terminal import result_text
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.result import (
    LanguageResult,
    ResultMetadata,
    combine_languages,
    compat_result,
    standard_result,
)
from callscore.suites.orchestration.rows import CallRow, FailedRow, PlanRow, ResultRow
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation

METADATA = ResultMetadata("runs/EN", "EN", "my-model", "none", "abc", "0.1.0")
HALF = Measure(0.5)
CONFUSION = Confusion(6, 2, 1, 3, 4, 1, 2)
ROW = ResultRow(
    "runs/EN/1_out.json",
    PlanRow(HALF, HALF, HALF, HALF, 1, 2),
    CallRow(HALF, HALF, HALF),
    CONFUSION,
    CONFUSION.call_cases,
    CONFUSION.rejection_cases,
)


def outcome(*, plans: bool = True, failed: tuple[FailedRow, ...] = ()) -> LanguageResult:
    return standard_result(METADATA, [ScenarioEvaluation(ROW, (), (), plans, True)], failed)


def test_the_picture_shows_all_seven_counts() -> None:
    lines = result_text(outcome().document()).splitlines()
    assert "  │ FC               6   2                                  1" in lines
    assert "  │ Reject           3   5 (1 of another type)              2" in lines


def test_what_was_not_run_is_not_a_number() -> None:
    text = result_text(outcome(plans=False).document())
    assert f"{'Average':44}{'n/a':>12}" in text
    assert f"{'  Plan':44}{'n/a':>12}" in text
    assert "warning      Plan is unavailable" in text
    assert "structural similarity" not in text, "0.0 without a plan is no number"


def test_a_scenario_that_failed_is_named() -> None:
    text = result_text(outcome(failed=(FailedRow("runs/EN/2_out.json", "not JSON"),)).document())
    assert "status       incomplete" in text
    assert "not scored   runs/EN/2_out.json: not JSON" in text


def test_languages_are_side_by_side_with_their_mean() -> None:
    korean = msgspec.structs.replace(
        outcome(), metadata=msgspec.structs.replace(METADATA, language="KO")
    )
    text = result_text(combine_languages([outcome(), korean]))
    assert f"{'':44}{'EN':>12}{'KO':>12}{'mean':>12}" in text
    assert f"{'  Plan':44}{'0.5000':>12}{'0.5000':>12}{'0.5000':>12}" in text


def test_compat_says_what_it_is() -> None:
    text = result_text(compat_result(METADATA, [ROW], ()).document())
    assert "compat mode" in text
    assert "never rank it with standard results" in text


def test_names_from_outside_cannot_steer_the_terminal() -> None:
    metadata = msgspec.structs.replace(METADATA, model="\x1b[2Jred\u202e\nnext", language="E\x07")
    bad = (FailedRow("a\x1b]0;title\x07", "\r\nforged line"),)
    text = result_text(
        standard_result(metadata, [ScenarioEvaluation(ROW, (), (), True, True)], bad).document()
    )
    assert not any(character in text for character in "\x1b\x07\r\u202e")
    assert "forged line" in text
    assert not any(line.startswith("forged") for line in text.splitlines())
