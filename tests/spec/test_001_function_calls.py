"""Document 001, FC: every step in which a call is due counts, however it was answered (C-115)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callscore.suites.orchestration.call.compare import Match, compare
from callscore.suites.orchestration.call.questions import NoVerdicts
from callscore.suites.orchestration.result import ResultMetadata, standard_result
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.output_file import read_recording
from callscore.suites.orchestration.scenario.parse import ScenarioKey
from callscore.suites.orchestration.scenario_tally import score_tally
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation, evaluate_scenario

METADATA = ResultMetadata("outputs/EN", "EN", "sample", "none", "", "0")
DUE = "tool: book\narguments:\n  day: '2025-01-03'\n"
REFUSED = {"content": "<status>AWAITING_USER_INPUT</status>"}
SILENT = {"content": ""}
PROSE = {"content": "I will look into it."}
PLAN = "workflow_1:\n  steps:\n  - name: desk_agent\n    status: pending\n"

Json = dict[str, Any]


def called(name: str = "book", **arguments: Any) -> Json:
    return {
        "content": "",
        "tool_calls": [{"function": {"name": name, "arguments": json.dumps(arguments)}}],
    }


def evaluated(replies: list[Json], due: str = DUE, scenario: str = "1") -> ScenarioEvaluation:
    """One scenario in which every step needs the call `due`, with these replies in order."""
    label = {"1": {"role": "user", "content": "Book it"}}
    for step in range(2, len(replies) + 2):
        label[str(step)] = {"role": "assistant", "agent_id": "desk_agent", "content": due}
    answers = [{"step_id": str(step), **reply} for step, reply in enumerate(replies, 2)]
    history = {"run #1": {"sub_agent_history": answers, "label": label}}
    recording = read_recording({"history": history}, scenario)
    key = ScenarioKey("EN", scenario)
    return evaluate_scenario(recording, key, Cards(), NoVerdicts(), f"{scenario}_out.json")


def document(*scenarios: ScenarioEvaluation) -> Json:
    return standard_result(METADATA, scenarios, ()).document()


def call_scores(written: Json) -> tuple[float, float, float]:
    scores = written["overall_statistics"]["score_details"]["function_call_scores"]
    return (
        scores["function_name_accuracy"],
        scores["arguments_key_score"],
        scores["arguments_value_score_not_count_rejection"],
    )


RIGHT = called(day="2025-01-03")


@pytest.mark.parametrize("answer", [REFUSED, SILENT, PROSE, called(" ")])
def test_c115_one_right_call_and_nine_without_one_score_a_tenth(answer: Json) -> None:
    written = document(evaluated([RIGHT, *[answer] * 9]))
    assert call_scores(written) == (0.1, 0.1, 0.1)
    assert written["overall_statistics"]["key_metrics"]["FC"] == 0.1
    assert written["x_extension"]["value_score_answered_only"] == 1.0


def test_c115_nine_calls_of_a_wrong_tool_score_a_tenth_by_name() -> None:
    written = document(evaluated([RIGHT, *[called("cancel", day="2025-01-03")] * 9]))
    assert call_scores(written) == (0.1, 1.0, 1.0)


@pytest.mark.parametrize("answer", [REFUSED, SILENT, PROSE])
def test_c115_neither_silence_nor_refusal_beats_a_wrong_attempt(answer: Json) -> None:
    wrong = document(evaluated([called("cancel", hour="12")] * 4))
    without = document(evaluated([answer] * 4))
    assert call_scores(without) == call_scores(wrong) == (0.0, 0.0, 0.0)
    assert without["overall_statistics"]["key_metrics"]["FC"] == 0.0
    assert without["x_extension"]["value_score_answered_only"] is None


@pytest.mark.parametrize("answer", [REFUSED, SILENT, PROSE])
def test_c115_a_call_without_arguments_that_is_not_made_scores_zero(answer: Json) -> None:
    written = document(evaluated([answer], due="tool: ping\narguments: {}\n"))
    assert call_scores(written) == (0.0, 0.0, 0.0)


def test_c115_a_due_call_that_was_not_made_has_zeros_in_the_records() -> None:
    (record,) = evaluated([REFUSED]).records
    assert record.call is not None
    assert (record.call.name, record.call.key, record.call.value) == (0.0, 0.0, 0.0)
    assert not record.success


def test_c115_a_rejection_that_is_due_takes_no_part() -> None:
    found = evaluated([REFUSED], due="status: AWAITING_USER_INPUT\nrequired_info: the day\n")
    assert found.row.call.value.value is None


def test_c115_zeros_are_included_in_the_mean_of_a_scenario() -> None:
    written = document(evaluated([RIGHT, called(day="2025-01-04")]))
    assert call_scores(written)[2] == 0.5
    assert written["x_extension"]["value_score_positive_only"] == 1.0
    assert written["x_extension"]["value_score_answered_only"] == 0.5


def test_c115_an_undecided_value_is_unequal_counted_and_makes_fc_approximate() -> None:
    due = "tool: book\narguments:\n  note: by the window\n"
    found = standard_result(METADATA, [evaluated([called(note="at a window")], due)], ())
    written = found.document()
    assert call_scores(written) == (1.0, 1.0, 0.0)
    assert written["x_extension"]["undecided"]["count"] == 1
    assert written["x_extension"]["approximate"] is True
    rows = score_tally(found.tally).metrics
    assert [name for name, row in rows.items() if row.approximate] == ["scenario.value"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Cafe\u0301 Mu\u0308ller", "café müller"),
        ("서울", "\u1109\u1165\u110b\u116e\u11af"),
        ("STRASSE 5", "straße  5"),
    ],
)
def test_c115_texts_are_compared_as_nfc_and_without_case(given: str, expected: str) -> None:
    assert compare(given, expected) is Match.EQUAL
    assert compare(expected, given, {"enum": [given]}) is Match.EQUAL


def test_c119_calls_are_a_mean_over_scenarios_in_which_one_is_due() -> None:
    rejection = "status: AWAITING_USER_INPUT\nrequired_info: the day\n"
    written = document(
        evaluated([RIGHT, RIGHT, SILENT, SILENT], scenario="1"),
        evaluated([RIGHT], scenario="2"),
        evaluated([SILENT], scenario="3"),
        evaluated([REFUSED], rejection, scenario="4"),
    )
    assert call_scores(written) == (0.5, 0.5, 0.5)


def _planned(contents: list[str], runs: int = 1) -> ScenarioEvaluation:
    label = {"1": {"role": "user", "content": "Hello"}}
    for step in range(2, len(contents) + 2):
        label[str(step)] = {"role": "assistant", "content": PLAN}
    answers = [{"step_id": step, "content": content} for step, content in enumerate(contents, 2)]
    history = {
        f"run #{run}": {"main_agent_history": answers, "label": label} for run in range(1, runs + 1)
    }
    recording = read_recording({"history": history}, "1")
    return evaluate_scenario(recording, ScenarioKey("EN", "1"), Cards(), NoVerdicts(), "1_out.json")


@pytest.mark.parametrize("runs", [1, 3])
def test_c118_one_and_four_fifths_and_a_failure(runs: int) -> None:
    other_agent = PLAN.replace("desk_agent", "night_agent")
    plan = _planned([PLAN, other_agent, "I cannot do that."], runs).row.plan
    assert plan.without_failure.value == pytest.approx(0.9)
    assert plan.with_failure.value == pytest.approx(0.6)
    assert plan.structural.value == 1.0
    assert plan.component.value == pytest.approx(0.8)


def test_c118_without_a_plan_the_fields_are_zero_and_plan_and_average_null() -> None:
    written = document(evaluated([RIGHT]))
    overall = written["overall_statistics"]
    workflow = overall["score_details"]["workflow_scores"]
    assert set(workflow.values()) == {0.0}
    assert overall["key_metrics"]["Plan"] is None
    assert overall["key_metrics"]["Average"] is None
    paths = {f"overall_statistics.score_details.workflow_scores.{name}" for name in workflow}
    assert paths <= set(written["x_extension"]["undefined"])
