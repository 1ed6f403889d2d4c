"""What stands under `x_extension`: repeated runs, breakdowns, error taxonomy."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.suites.orchestration.call.schema import Difference
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.extra_statistics import (
    EVIDENCE_SHOWN,
    breakdowns,
    decision_statistics,
    error_taxonomy,
    flip_rate,
    pass_hat_k,
    plan_statistics,
    progress_rate,
    run_consistency,
)
from callscore.suites.orchestration.plan.parse import READING_REPAIRS
from callscore.suites.orchestration.step_record import StepRecord


def record(case: str, run: int, success: bool, *kinds: str) -> StepRecord:
    differences = tuple(Difference(kind, "here") for kind in kinds)
    return StepRecord(
        f"EN/{case}", run, case.partition("#")[0], "call", "desk_agent", "book",
        success=success, confusion=Confusion(fc_fc=1), differences=differences,
    )  # fmt: skip


def test_pass_hat_k_of_two_scenarios_with_two_runs() -> None:
    assert pass_hat_k([[True, True], [True, False]]) == {"1": 0.75, "2": 0.5}
    assert pass_hat_k([]) == {}


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=8))
def test_pass_hat_k_never_rises_with_k_and_ends_with_all(outcomes: list[list[bool]]) -> None:
    found = pass_hat_k(outcomes)
    assert found["1"] >= found["2"] >= found["3"]
    assert found["3"] == pytest.approx(sum(map(all, outcomes)) / len(outcomes))
    assert found["2"] == pytest.approx(
        sum(comb(sum(runs), 2) / 3 for runs in outcomes) / len(outcomes)
    )


def test_flip_rate_counts_steps_that_change_their_mind() -> None:
    assert flip_rate([[True, False], [True, True]]) == 0.5
    assert flip_rate([[True]]) is None


def test_the_interval_of_a_flip_rate_is_over_scenarios_not_steps() -> None:
    records = [
        record(f"{scenario}#{step}", run, run == 1 or scenario > 2)
        for scenario in range(1, 9)
        for step in range(5)
        for run in (1, 2)
    ]
    found = run_consistency(records)
    assert found["flip_rate"] == 0.25
    low, high = found["flip_rate_ci95"]
    assert low <= 0.0319 and high >= 0.6509  # Clopper-Pearson of 2 in 8 scenarios, not 10 in 40


def test_a_scenario_succeeds_only_with_all_its_steps() -> None:
    records = [record("1#2", 1, True), record("1#3", 1, False), record("2#2", 1, True)]
    assert run_consistency(records) == {
        "scenario_success": 0.5,
        "pass_hat_k": {"1": 0.5},
        "flip_rate": None,
        "flip_rate_ci95": None,
        "progress_rate": 0.75,
    }


def test_progress_is_the_share_of_steps_before_the_first_wrong_one() -> None:
    steps = [("1#2", True), ("1#10", True), ("1#9", False), ("1#11", True), ("2#3", False)]
    records = [record(case, 1, success) for case, success in steps]
    assert progress_rate(records) == (1 / 4 + 0) / 2
    assert progress_rate([record("1#2", run, run == 1) for run in (1, 2)]) == 1 / 2
    assert progress_rate([]) is None


def test_errors_are_counted_completely_and_shown_in_part() -> None:
    records = [record(f"1#{n}", 1, False, "wrong_tool") for n in range(EVIDENCE_SHOWN + 5)]
    found = error_taxonomy([*records, record("2#1", 1, False, "overaction")])
    assert list(found) == ["wrong_tool", "overaction"]
    assert found["wrong_tool"]["count"] == EVIDENCE_SHOWN + 5
    assert len(found["wrong_tool"]["evidence"]) == EVIDENCE_SHOWN
    assert found["overaction"]["evidence"] == [{"case_id": "EN/2#1", "run": 1, "detail": "here"}]


def test_breakdown_by_agent_and_tool() -> None:
    found = breakdowns([record("1#2", 1, True), record("1#3", 1, False)])
    assert found["by_agent"] == {"desk_agent": {"steps": 2, "success": 0.5, "called": 1.0}}
    assert list(found["by_tool"]) == ["book"]
    assert found["by_plan_size"] == found["by_rejection_type"] == {}


def test_failures_are_split_by_what_was_due() -> None:
    found = decision_statistics(Confusion(fc_failed=2, reject_failed=1, reject_same_type=1), ())
    assert (found["failed_on_fc"], found["failed_on_reject"]) == (2, 1)
    assert found["reject_recall_strict"] == 0.5


def test_nothing_measured_is_none_and_not_zero() -> None:
    found = plan_statistics(())
    assert found["node_f1"] is None
    assert found["exact_plan_rate"] is None


def test_c_128_plans_that_were_repaired_are_listed_by_repair() -> None:
    first, second = READING_REPAIRS[:2]
    flags = {"EN/1#1": (first,), "EN/2#1": (), "EN/3#1": (first, second, "cycle")}
    steps = [
        StepRecord(case, 1, case[3], "plan", "planner", flags=given)
        for case, given in flags.items()
    ]
    found = plan_statistics(steps)["read_leniently"]
    assert found == {first: ["EN/1#1", "EN/3#1"], second: ["EN/3#1"]}
