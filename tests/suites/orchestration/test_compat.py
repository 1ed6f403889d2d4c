"""The public evaluator's quirks one by one, where the fixtures do not reach."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.errors import DataError
from callscore.core.judging import Question, Verdict
from callscore.report.orchestration_terminal import result_text
from callscore.suites.orchestration.call.questions import NoVerdicts, VerdictSource
from callscore.suites.orchestration.compat.evaluation import decode_public, evaluate_file
from callscore.suites.orchestration.compat.plan import component_graph, score_runs, structural_graph
from callscore.suites.orchestration.compat.plan_text import extract_plan
from callscore.suites.orchestration.result import ResultMetadata, compat_result
from callscore.suites.orchestration.rows import ResultRow
from callscore.suites.orchestration.scenario.output_file import steps_of_label
from callscore.suites.orchestration.scenario.public_label import label_of
from orchestration_data import load, needs_fixtures, output_files

PLAN = "workflow_1:\n  steps:\n  - name: a\n    status: pending\n"
TOOLS = {
    "book": {
        "properties": {
            "day": {"type": "string"},
            "seats": {"type": "integer"},
            "price": {"type": "number"},
            "kind": {"type": "string", "enum": ["x", "y"]},
            "code": {"type": "string", "pattern": "^A"},
            "odd": {"type": "null"},
        }
    }
}


def file_of(*entries: Any, due: str = "", plans: list[Any] | None = None) -> dict[str, Any]:
    label: dict[str, Any] = {
        "1": {"role": "user", "content": "Hello"},
        "2": {"role": "assistant", "content": PLAN},
        "3": {"role": "assistant", "agent_id": "a", "content": due or "tool"},
    }
    if due:
        function = {"name": "book", "arguments": due}
        label["3-1"] = {"role": "assistant", "tool_calls": [{"function": function}]}
    run = {"main_agent_history": plans or [], "sub_agent_history": list(entries), "label": label}
    return {"history": {"run #1": run}}


def call(arguments: Any, name: Any = "book") -> dict[str, Any]:
    return {"step_id": "3", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def row(data: Any, answers: VerdictSource | None = None) -> ResultRow:
    return evaluate_file(data, "f", TOOLS, answers or NoVerdicts(), "EN/1")


def test_q2_an_unreadable_plan_fails_twice_and_a_missing_one_once() -> None:
    unreadable = row(file_of(plans=[{"step_id": 2, "content": "Sure!"}])).plan
    assert (unreadable.evaluated, unreadable.failed) == (1, 2)
    missing = row(file_of()).plan
    assert (missing.evaluated, missing.failed) == (1, 1)


@pytest.mark.parametrize(
    "plan",
    [
        '{"workflow_1": "text"}',
        '{"workflow_1": {"steps": "oops"}}',
        '{"workflow_1": {"depends_on": 3}}',
        '{"workflow_1": {"depends_on": [null]}}',
        '{"workflow_1": {"steps": [{"name": ["a"]}]}}',
        "workflow_1: {}\n3: {}\n",
    ],
)
def test_q5_a_wrong_type_drops_the_whole_run(plan: str) -> None:
    assert score_runs(file_of(plans=[{"step_id": 2, "content": plan}])) == []


def test_q1_only_the_plural_spelling_draws_a_structural_edge() -> None:
    plan = {"workflow_1": {}, "workflow_2": {"depend_on": "workflow_1"}}
    assert structural_graph(plan).edges == set()
    plural = {"workflow_1": {}, "workflow_2": {"depends_on": ["workflow_1"]}}
    assert len(structural_graph(plural).edges) == 1


def test_q9_a_dependency_given_as_text_is_read_by_letter() -> None:
    assert structural_graph({"workflow_1": {"depends_on": "aab"}}).labels == (
        "workflow_1",
        "a",
        "b",
    )


def test_a_dependency_between_equal_pairs_is_a_loop() -> None:
    step = {"name": "a", "status": "x"}
    plan = {
        "workflow_1": {"steps": [step, step]},
        "workflow_2": {"steps": [step], "depend_on": ["workflow_1"]},
    }
    assert component_graph(plan).edges == {(0, 0)}


@pytest.mark.parametrize(
    "entry",
    [
        {"step_id": "3", "tool_calls": None},
        {"step_id": "3", "tool_calls": [], "content": None},
        call("[1, 2]"),
        call(None),
        {"step_id": "3", "tool_calls": [{"function": {"arguments": "{}"}}]},
        {"tool_calls": []},
        call("{}", name={"un": "hashable"}),
    ],
)
def test_q25_one_bad_entry_zeroes_the_calls_of_the_file(entry: dict[str, Any]) -> None:
    found = row(file_of(entry, due="{}"))
    assert found.crash
    assert found.call_cases == 0
    assert found.confusion.call_cases == 0


def test_q24_broken_arguments_count_by_the_length_of_the_error_text() -> None:
    value = row(file_of(call('{"day"'), due='{"day": "x"}')).call.value.value
    assert value == 0.0
    found = row(file_of(call("{"), call('{"day": "x"}'), due='{"day": "x"}'))
    assert found.call.value.value == 1.0  # the mean leaves out zeros (Q15)


def test_q28_garbage_is_a_function_call() -> None:
    found = row(file_of({"step_id": "3", "tool_calls": [], "content": "Hm."}, due="{}"))
    assert found.confusion.fc_fc == 1
    assert found.call.name.value == 0.0
    assert found.call.key.value == 1.0


class Yes:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        self.asked.append(question.item)
        return Verdict(question.metric, question.item, verdict="same")


@pytest.mark.parametrize(
    ("key", "predicted", "expected", "asked"),
    [
        ("day", "Fri", "Friday", True),
        ("seats", "2", "3", True),
        ("seats", "two", "2", False),
        ("price", 1.5, 2.5, False),
        ("kind", "x", "y", False),
        ("code", "A1", "A2", True),
        ("code", "B1", "A2", False),
        ("unknown", "p", "q", True),
        ("day", "Fri", "Fri", False),
    ],
)
def test_q23_what_reaches_the_judge(key: str, predicted: Any, expected: Any, asked: bool) -> None:
    judge = Yes()
    data = file_of(call(json.dumps({key: predicted})), due=json.dumps({key: expected}))
    found = row(data, judge)
    assert judge.asked == ([f"{key}[0~0]"] if asked else [])
    assert found.call.value.value == (1.0 if asked or predicted == expected else 0.0)


def test_q16_what_was_equal_already_is_dropped_next_to_a_question() -> None:
    entry = {
        "step_id": "3",
        "tool_calls": [
            {"function": {"name": "book", "arguments": json.dumps({"day": day})}}
            for day in ("Mon", "Tue")
        ],
    }
    data = file_of(entry, due='{"day": "Mon"}')
    label = data["history"]["run #1"]["label"]
    second = {"function": {"name": "book", "arguments": '{"day": "Wed"}'}}
    label["3-1"]["tool_calls"].append(second)
    assert row(data).call.value.value == 0.0


def test_an_unknown_type_in_a_card_falls_back_to_the_keys() -> None:
    found = row(file_of(call('{"odd": "a"}'), due='{"odd": "b"}'))
    assert found.call.value.value == 1.0
    assert found.call.without_values == ("run #1",)


@pytest.mark.parametrize("data", [[], {}, None, 0, "", False])
def test_q42_a_file_that_holds_nothing_is_left_out_of_the_means(data: Any) -> None:
    with pytest.raises(DataError, match="Failed to load data from f"):
        row(data)


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf{}", '{"a": 1}'.encode("utf-16"), b"{", b"\xff"])
def test_q42_what_is_not_plain_utf_8_json_does_not_load(raw: bytes) -> None:
    assert decode_public(raw) is None


def test_a_file_loads_with_what_only_python_calls_json() -> None:
    assert decode_public(b'{"a": Infinity, "b": "\\ud800"}') == {"a": math.inf, "b": "\ud800"}


@pytest.mark.parametrize(
    ("data", "plan_error"),
    [
        ({"history": []}, False),
        ({"history": {}}, False),
        ({"a": 1}, False),
        ({"history": 3}, True),
        ({"history": None}, True),
        ([1], True),
        ("text", True),
    ],
)
def test_q47_a_file_without_runs_is_a_row_of_zeros_with_its_errors(
    data: Any, plan_error: bool
) -> None:
    found = row(data)
    assert found.plan.evaluated == 0
    assert found.crash
    assert bool(found.plan_crash) == plan_error
    written = compat_result(ResultMetadata("d", "EN", "m", "none", "", ""), [found], ()).document()
    detail = written["detailed_results"][0]["detail"]
    assert ("error" in detail["workflow_detail"]) == plan_error
    missing = {
        "total_perfect_function_calls",
        "total_fc_successful_calls",
        "total_rejection_type_mismatch",
        "total_failed_generation",
    }
    assert not missing & set(detail["arguments_detail"])


def test_c_128_a_dependency_between_equal_agents_is_undercounted_and_exact_next_to_it() -> None:
    def plan(second: str) -> str:
        steps = [{"name": name, "status": "pending"} for name in ("travel_agent", second)]
        return json.dumps(
            {
                "workflow_1": {"steps": steps[:1]},
                "workflow_2": {"depend_on": "workflow_1", "steps": steps[1:]},
            }
        )

    data = file_of(plans=[{"step_id": 2, "content": plan("weather_agent")}])
    data["history"]["run #1"]["label"]["2"]["content"] = plan("travel_agent")
    scored = compat_result(
        ResultMetadata("d", "EN", "m", "none", "", ""), [row(data)], ()
    ).document()
    assert scored["overall_statistics"]["key_metrics"]["Plan"] == 0.9
    exact = scored["x_extension"]["plan"]
    assert exact["exact"]["workflow_evaluation_with_failure"] == 0.7
    assert exact["undercounted"][0]["workflow_evaluation_with_failure"] == 0.7
    assert "EN exact plan   0.7000: self-loops are undercounted in 1 scenario" in result_text(
        scored
    )


@pytest.mark.parametrize("text", ["1" * 5000, "[" * 20_000, "workflow_1: " + "[" * 20_000])
def test_q41_text_that_no_reader_expects_drops_the_run(text: str) -> None:
    data = file_of(plans=[{"step_id": 2, "content": text}])
    assert score_runs(data) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"x": {"role": "user", "content": "a key that is no number"}},
        {"2-1": "no object"},
        {"2-1": {"tool_calls": [{"function": {"arguments": {}}}]}},
        {"2-1": {"tool_calls": [{"function": {"arguments": '{"refinedQuery": 1}'}}]}},
    ],
)
def test_a_label_that_the_judge_s_history_cannot_hold_costs_the_calls(broken: Any) -> None:
    data = file_of(call("{}"), due="{}")
    data["history"]["run #1"]["label"] |= broken
    assert row(data).crash


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('```json\n{"workflow_1": {}}\n```', ["workflow_1"]),
        ('so: {"workflow_1": {"steps": []}} there', ["workflow_1"]),
        ('{"workflow_1": {}}, {"workflow_2": {}}', ["workflow_1"]),
        ('{"a": {"workflow_1": {}}}', ["workflow_1"]),
        ("```yaml\nworkflow_1: {}\n```", ["workflow_1"]),
        ("a</think>workflow_1: {}", ["workflow_1"]),
        ('{"interrupt_workflow_1": {}}', []),
        ("workflow_1", ["workflow_1"]),
        ("a workflow_1", []),
        ('{"workflow_1": {"a": "}"}}', ["workflow_1"]),
        (None, []),
    ],
)
def test_finding_a_plan_as_the_public_evaluator_does(text: Any, names: list[str]) -> None:
    assert list(extract_plan(text)) == names


@given(st.text(alphabet='{}",:`json\nyaml workflow_1', max_size=120))
def test_extraction_raises_only_what_drops_a_run(text: str) -> None:
    with suppress(ValueError, AttributeError, TypeError):
        assert isinstance(extract_plan(text), dict)


@pytest.mark.parametrize("text", ['{"workflow_' * 20_000, "```json {" * 20_000, "{" * 300_000])
def test_hostile_text_costs_linear_time(text: str) -> None:
    assert extract_plan(text) == {}


@needs_fixtures
@pytest.mark.parametrize("lang", ["EN", "KO"])
def test_our_labels_are_those_of_the_public_runner(lang: str) -> None:
    for path in output_files("perfect_prompt", lang):
        label = load(path)["history"]["run #1"]["label"]
        theirs = {key: _calls(entry) for key, entry in label.items()}
        ours = {key: _calls(entry) for key, entry in label_of(steps_of_label(label)).items()}
        assert ours == theirs, path.name


def _calls(entry: dict[str, Any]) -> tuple[Any, ...]:
    functions = [call["function"] for call in entry.get("tool_calls", [])]
    calls = [(function["name"], json.loads(function["arguments"])) for function in functions]
    return entry["role"], entry["content"], entry.get("agent_id"), "tool_calls" in entry, calls
