"""Document 001 and C-104 … C-121, example by example."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callscore.core.measure import Measure, ratio
from callscore.metrics.graphs import Graph
from callscore.suites.orchestration import result_format
from callscore.suites.orchestration.call.measures import measure_calls
from callscore.suites.orchestration.decision.confusion import (
    Confusion,
    call_decision,
    call_failed_rate,
    cell,
    error_patterns,
    recall_strict,
    reject_decision,
    rejection_type_accuracy,
)
from callscore.suites.orchestration.decision.parse import (
    NoDecision,
    Rejection,
    ToolCalls,
    read_prediction,
)
from callscore.suites.orchestration.overall import (
    OverallStatistics,
    mean_defined,
    overall_statistics,
)
from callscore.suites.orchestration.plan.measures import structural_similarity
from callscore.suites.orchestration.result import ResultMetadata, standard_result
from callscore.suites.orchestration.result_format import four_decimals
from callscore.suites.orchestration.rows import CallRow, FailedRow, PlanRow, ResultRow
from callscore.suites.orchestration.scenario.model import (
    GENERAL,
    VIOLATION,
    CallsDue,
    DecodedCall,
    RejectionDue,
)
from callscore.suites.orchestration.scenario.output_file import RecordedReply
from callscore.suites.orchestration.scenario_tally import score_tally, tally_scenarios
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation

W_OB_2 = Confusion(6, 2, 1, 3, 4, 1, 2)
METADATA = ResultMetadata("outputs/EN", "EN", "sample", "none", "", "0")


def a_row(
    confusion: Confusion = W_OB_2, plan: PlanRow | None = None, call: CallRow | None = None
) -> ResultRow:
    one = Measure(1.0)
    return ResultRow(
        "outputs/EN/1_out.json",
        plan if plan is not None else PlanRow(one, one, one, one, 0, 1),
        call if call is not None else CallRow(one, one, one, one),
        confusion,
        confusion.call_cases,
        confusion.rejection_cases,
    )


def totals_of(row: ResultRow) -> OverallStatistics:
    return overall_statistics([row], score_tally(tally_scenarios([row])))


def test_w_ob_1_headline_of_the_document() -> None:
    assert four_decimals((0.0667 + 0.8382) / 2) == 0.4524


def test_c_104_the_field_shows_an_f1_and_not_a_recall() -> None:
    decision = reject_decision(Confusion(reject_fc=27, reject_same_type=1))
    assert decision.recall.value == pytest.approx(1 / 28)
    assert decision.f1.value == pytest.approx(2 / 29)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("AWAITING_USER_INPUT: which date?", Rejection("AWAITING_USER_INPUT")),
        ("Sure!", NoDecision("plain_text")),
        ("", NoDecision("empty_answer")),
        (None, NoDecision("empty_answer")),
        ("<think>AWAITING_USER_INPUT</think> Sure!", NoDecision("plain_text")),
        ("<think>AWAITING_USER_INPUT and no end", NoDecision("empty_answer")),
        (
            "TOOL_CONSTRAINT_VIOLATION <status>AWAITING_USER_INPUT</status>",
            Rejection("AWAITING_USER_INPUT"),
        ),
        (
            "neither AWAITING_USER_INPUT nor TOOL_CONSTRAINT_VIOLATION",
            Rejection("TOOL_CONSTRAINT_VIOLATION"),
        ),
    ],
)
def test_c_105_text_answers(content: str | None, expected: object) -> None:
    assert read_prediction(RecordedReply(content, [])) == expected


def test_c_105_a_well_formed_call_wins_over_a_rejection_marker() -> None:
    call = {"function": {"name": "book", "arguments": '{"day": "Friday"}'}}
    answer = read_prediction(RecordedReply("<status>AWAITING_USER_INPUT</status>", [call]))
    assert answer == ToolCalls((DecodedCall("book", {"day": "Friday"}),), (), ("call_and_reject",))


@pytest.mark.parametrize("arguments", ["[1]", "null", None, "{", '{"a": 1} {"b": 2}', "", 3])
def test_c_105_arguments_that_are_not_one_object_are_no_call(arguments: object) -> None:
    call = {"function": {"name": "book", "arguments": arguments}}
    assert read_prediction(RecordedReply("", [call])) == NoDecision("malformed_call")


def test_c_106_failing_on_a_rejection_is_a_true_negative_of_fc() -> None:
    assert W_OB_2.tn_fc == 7


def test_c_107_recall_ignores_failures_and_the_strict_one_does_not() -> None:
    assert reject_decision(W_OB_2).recall.value == 5 / 8
    assert recall_strict(W_OB_2).value == 5 / 10


def test_c_108_two_accuracies_have_two_denominators() -> None:
    assert reject_decision(W_OB_2).accuracy == ratio(11, 16)
    assert call_decision(W_OB_2).accuracy == ratio(13, 19)


def test_w_ob_2_every_number() -> None:
    c, reject, fc = W_OB_2, reject_decision(W_OB_2), call_decision(W_OB_2)
    assert (c.tp_reject, c.tn_reject, c.fp_reject, c.fn_reject) == (5, 6, 2, 3)
    assert (c.tp_fc, c.fp_fc, c.fn_fc, c.tn_fc) == (6, 3, 3, 7)
    assert (c.type_mismatch, c.failed) == (1, 3)
    assert reject.precision.value == pytest.approx(5 / 7)
    assert reject.f1.value == pytest.approx(2 / 3)
    assert fc.precision.value == fc.recall.value == fc.f1.value == pytest.approx(2 / 3)
    assert totals_of(a_row(c)).key_metrics.classification.value == pytest.approx(2 / 3)


def test_c_110_errors_are_shared_out_to_one() -> None:
    patterns = error_patterns(W_OB_2)
    assert patterns.overaction.value == 0.5
    assert patterns.underaction.value == pytest.approx(1 / 3)
    assert patterns.type_mismatch.value == pytest.approx(1 / 6)


def test_c_110_without_errors_all_three_are_written_as_zero() -> None:
    written = result_format.document("d", totals_of(a_row(Confusion(fc_fc=1))), (), four_decimals)
    scores = written["overall_statistics"]["score_details"]["call_rejection_scores"]
    assert set(scores["error_patterns"].values()) == {0.0}


def test_c_111_the_type_does_not_matter_where_a_call_was_due() -> None:
    assert cell(CallsDue(tool="book"), Rejection(VIOLATION)) == Confusion(fc_reject=1)


def test_c_111_a_general_rejection_is_never_a_mismatch() -> None:
    assert cell(RejectionDue(GENERAL), Rejection(VIOLATION)) == Confusion(reject_same_type=1)
    assert cell(RejectionDue(VIOLATION), Rejection(GENERAL)) == Confusion(reject_other_type=1)


def test_c_112_rejection_type_accuracy() -> None:
    assert rejection_type_accuracy(W_OB_2).value == 0.8
    assert rejection_type_accuracy(Confusion(fc_fc=1)).absence == "undefined"


def test_c_113_data_without_rejections_shows_zero_and_warns() -> None:
    only_calls = a_row(Confusion(fc_fc=10))
    outcome = standard_result(METADATA, [ScenarioEvaluation(only_calls, (), (), True, True)], ())
    written = outcome.document()
    statistics = written["overall_statistics"]
    scores = statistics["score_details"]["call_rejection_scores"]
    assert scores["fc_decision_performance"]["f1"] == 1.0
    assert scores["reject_decision_performance"]["f1"] == 0.0
    assert statistics["key_metrics"]["Call Rejection Classification Accuracy"] == 0.5
    path = "overall_statistics.score_details.call_rejection_scores.reject_decision_performance.f1"
    assert path in written["x_extension"]["undefined"]
    assert any("no rejection was due" in warning for warning in outcome.warnings)


@pytest.mark.parametrize(
    ("exact", "shown"), [(0.45245, 0.4524), (0.45255, 0.4526), (0.45246, 0.4525), (2 / 3, 0.6667)]
)
def test_c_114_four_decimals_ties_to_even(exact: float, shown: float) -> None:
    assert four_decimals(exact) == shown


def test_c_114_the_average_is_not_computed_from_rounded_parts() -> None:
    third = Measure(1 / 3)
    row = a_row(
        Confusion(fc_fc=1), PlanRow(third, third, third, third, 0, 1), CallRow(third, third, third)
    )
    metrics = totals_of(row).key_metrics
    assert metrics.average.value == pytest.approx((0.5 + 1 / 3 + 1 / 3) / 3, abs=1e-15)


def test_c_115_nothing_on_both_sides_is_one() -> None:
    measured = measure_calls(
        [DecodedCall("ping", {})], [DecodedCall("ping", {})], (), {}, lambda _: None
    )
    assert (measured.name, measured.key, measured.value) == (1.0, 1.0, 1.0)


def test_c_115_a_wrong_name_does_not_force_keys_and_values_to_zero() -> None:
    mine, due = DecodedCall("cancel", {"day": "Friday"}), DecodedCall("book", {"day": "friday"})
    measured = measure_calls([mine], [due], (), {}, lambda _: None)
    assert (measured.name, measured.key, measured.value) == (0.0, 1.0, 1.0)


def test_c_116_successful_calls_are_those_made_where_due() -> None:
    assert call_failed_rate(W_OB_2).value == pytest.approx(1 / 3)
    assert totals_of(a_row()).successful_calls == 6
    assert call_failed_rate(Confusion()).absence == "undefined"


def test_c_117_chain_of_two_against_chain_of_three() -> None:
    two = Graph(("a", "b"), frozenset({(0, 1)}))
    three = Graph(("a", "b", "c"), frozenset({(0, 1), (1, 2)}))
    assert structural_similarity(two, three).similarity == 0.75


def test_c_117_two_empty_graphs_are_equal() -> None:
    assert structural_similarity(Graph(), Graph()).similarity == 1.0


def test_c_119_three_scenarios_of_219_that_we_failed_make_it_incomplete() -> None:
    rows = [ScenarioEvaluation(a_row(), (), (), True, True)] * 216
    failed = [FailedRow(f"outputs/EN/{n}_out.json", "the judge did not answer") for n in range(3)]
    outcome = standard_result(METADATA, rows, failed)
    written = outcome.document()
    assert written["overall_statistics"]["failed_evaluations"] == 3
    assert written["x_extension"]["status"] == "incomplete"
    assert len(written["x_extension"]["failed_evaluations"]) == 3
    assert standard_result(METADATA, rows, failed[:2]).overall.complete


def test_c_119_quality_is_a_mean_over_scenarios_that_have_a_pair() -> None:
    assert mean_defined([Measure(0.5), Measure(None), Measure(1.0)]).value == 0.75


def test_c_120_without_plans_the_average_is_null() -> None:
    all_missing = PlanRow(Measure(0.0), failed=3)
    outcome = standard_result(
        METADATA, [ScenarioEvaluation(a_row(plan=all_missing), (), (), False, True)], ()
    )
    written = outcome.document()
    metrics = written["overall_statistics"]["key_metrics"]
    assert metrics["Plan"] is None
    assert written["overall_statistics"]["total_failed_workflow_generation"] == 0
    assert metrics["Average"] is None
    assert metrics["FC"] == 1.0
    assert "overall_statistics.key_metrics.Average" in written["x_extension"]["undefined"]
    assert any("Average is unavailable" in warning for warning in outcome.warnings)


LAYOUT = {
    "overall_statistics": [
        "total_files",
        "successful_evaluations",
        "failed_evaluations",
        "total_failed_workflow_generation",
        "total_comparison_steps_evaluated",
        "key_metrics",
        "score_details",
    ],
    "overall_statistics.key_metrics": [
        "Average",
        "Call Rejection Classification Accuracy",
        "FC",
        "Plan",
    ],
    "overall_statistics.score_details": [
        "workflow_scores",
        "function_call_scores",
        "call_rejection_scores",
        "raw_confusion_matrix",
    ],
    "overall_statistics.score_details.workflow_scores": [
        "workflow_evaluation_with_failure",
        "workflow_evaluation_without_failure",
        "average_structural_GED",
        "average_component_GED",
    ],
    "overall_statistics.score_details.function_call_scores": [
        "function_name_accuracy",
        "arguments_key_score",
        "arguments_value_score_not_count_rejection",
        "overall_function_call_failed_rate",
        "total_fc_successful_calls",
        "total_function_call_cases",
    ],
    "overall_statistics.score_details.call_rejection_scores": [
        "total_rejection_cases",
        "reject_decision_performance",
        "fc_decision_performance",
        "error_patterns",
        "rejection_type_accuracy",
        "total_rejection_type_mismatch",
        "total_failed_generation",
    ],
    "detailed_results.0": [
        "file_path",
        "workflow_evaluation_with_failure",
        "workflow_evaluation_without_failure",
        "average_structural_GED",
        "average_component_GED",
        "failed_workflow_generation",
        "total_comparison_steps_evaluated",
        "arguments_key_score",
        "arguments_value_score_not_count_rejection",
        "total_fc_successful_calls",
        "total_rejection_cases",
        "total_true_positive_reject",
        "total_true_negative_reject",
        "total_false_positive_reject",
        "total_false_negative_reject",
        "total_true_positive_fc",
        "total_false_positive_fc",
        "total_false_negative_fc",
        "total_true_negative_fc",
        "total_function_call_cases",
        "function_name_accuracy",
        "total_rejection_type_mismatch",
        "total_failed_generation",
        "detail",
    ],
}


@pytest.mark.parametrize("path", LAYOUT)
def test_c_121_names_and_nesting(path: str) -> None:
    found: Any = standard_result(
        METADATA, [ScenarioEvaluation(a_row(), (), (), True, True)], ()
    ).document()
    for key in path.split("."):
        found = found[int(key)] if key.isdigit() else found[key]
    assert list(found) == LAYOUT[path]


def test_c_121_round_trip_and_types() -> None:
    written = standard_result(
        METADATA, [ScenarioEvaluation(a_row(), (), (), True, True)], ()
    ).document()
    assert json.loads(json.dumps(written)) == written
    assert list(written) == ["directory", "overall_statistics", "detailed_results", "x_extension"]
    cells = written["overall_statistics"]["score_details"]["raw_confusion_matrix"]
    assert {type(count) for count in cells.values()} == {int}


def test_c_121_rows_are_sorted_by_number() -> None:
    paths = [f"EN/{n}_out.json" for n in (10, 9, 100, 1)]
    rows = [FailedRow(path, "unreadable") for path in paths]
    written = standard_result(METADATA, [], rows).document()
    assert [row["file_path"] for row in written["detailed_results"]] == [
        f"EN/{n}_out.json" for n in (1, 9, 10, 100)
    ]
