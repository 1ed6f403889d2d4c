"""Cases of other origin: calls with accepted values, action lists, graphs of sub-tasks."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from callscore.core.case import Case, Malformed, Reply, ToolCall
from callscore.core.errors import DataError
from callscore.core.judging import Item, Verdict
from callscore.core.task import Measured
from callscore.suites.orchestration.call.questions import METRIC
from callscore.suites.orchestration.single_turn.graph import SubTasks, measure_graph, read_graph
from callscore.suites.orchestration.single_turn.task import SCORE, OrchestrationTask
from orchestration_data import needs_cases
from shared_cases import shared_cases

TASK = OrchestrationTask()


def case(expected: Any, **config: Any) -> Case:
    return Case("c", "orchestration", "Please", config, expected)


def scored(expected: Any, output: Any, **config: Any) -> Measured:
    reference = TASK.reference(case(expected, **config))
    return TASK.measure(reference, TASK.read(reference, Reply(json.dumps(output))), {})


def value(measured: Measured, name: str) -> float | None:
    return measured.measures[f"orchestration.{name}"].value


CALLS = {"calls": [{"find": {"id": ["rs1", "RS-1"], "species": ["human", ""]}}]}


@pytest.mark.parametrize(
    "call",
    [
        {"name": "find", "arguments": {"id": "rs1"}},
        {"name": "find", "arguments": '{"id": "rs-1", "species": "Human"}'},
        {"find": {"id": "rs1"}},
        {"function": {"name": "find", "arguments": {"id": "rs1"}}},
        {"name": "find", "kwargs": {"id": "rs1"}},
    ],
)
def test_any_accepted_value_in_any_usual_form(call: Any) -> None:
    assert scored(CALLS, {"calls": [call]}).measures[SCORE].value == 1.0


FIND = {"name": "gene.find", "parameters": {"type": "dict", "properties": {"p": {"type": "any"}}}}
GENE = {"calls": [{"gene.find": {"id": ["rs1"]}}]}


@pytest.mark.parametrize("name", ["gene.find", "gene_find"])
def test_the_same_calls_score_the_same_as_text_and_as_tool_calls(name: str) -> None:
    reference = TASK.reference(case(GENE, tools=[{"type": "function", "function": FIND}]))
    as_text = Reply(
        '{"tool_calls": [{"function": {"name": "gene.find", "arguments": {"id": "rs1"}}}]}'
    )
    as_calls = Reply("", "tool_calls", tool_calls=(ToolCall(name, '{"id": "rs1"}'),))
    for reply in (as_text, as_calls):
        found = TASK.measure(reference, TASK.read(reference, reply), {})
        assert found.measures[SCORE].value == 1.0


def test_a_case_with_tools_sends_them_in_a_form_that_every_api_takes() -> None:
    prompt = TASK.prompt(case(GENE, tools=[FIND]))
    (tool,) = prompt.tools
    assert tool.name == "gene_find"
    assert tool.parameters == {"type": "object", "properties": {"p": {}}}
    assert "JSON" not in prompt.messages[0].content
    assert TASK.prompt(case(GENE)).tools == ()


@pytest.mark.parametrize(
    ("text", "finish", "score"),
    [
        ("None of my tools can do that.", None, 1.0),
        ('{"calls": []}', None, 1.0),
        ('{"calls": [', None, 0.0),
        ("None of my", "length", 0.0),
    ],
)
def test_plain_text_makes_no_call_if_tools_are_offered(
    text: str, finish: str | None, score: float
) -> None:
    reference = TASK.reference(case({"calls": []}, tools=[FIND]))
    output = TASK.read(reference, Reply(text, finish))
    assert TASK.measure(reference, output, {}).measures[SCORE].value == score


def test_truncated_tool_calls_count_as_malformed() -> None:
    reference = TASK.reference(case(GENE, tools=[FIND]))
    reply = Reply("", "length", tool_calls=(ToolCall("gene_find", '{"id": "rs1"}'),))
    assert isinstance(TASK.read(reference, reply), Malformed)


def test_a_wrong_value_lowers_values_alone() -> None:
    found = scored(CALLS, {"calls": [{"find": {"id": "rs2"}}]})
    assert (value(found, "function_name_f1"), value(found, "arguments_key_f1")) == (1.0, 1.0)
    assert value(found, "arguments_value_f1") == 0.0
    assert value(found, "exact_calls") == 0.0
    assert value(found, "node_f1") is None


def test_the_score_is_the_same_to_the_last_digit_on_every_python() -> None:
    """The built-in `sum` adds 1, 2/7 and 2/7 differently before Python 3.12."""
    surplus = dict.fromkeys("bcdef", "x")
    found = scored({"calls": [{"find": {"a": "x"}}]}, {"calls": [{"find": {"a": "x", **surplus}}]})
    assert value(found, "arguments_key_f1") == value(found, "arguments_value_f1") == 2 / 7
    assert found.measures[SCORE].value == 11 / 21


def test_a_verdict_decides_a_free_text() -> None:
    reference = TASK.reference(case({"calls": [{"go": {"to": ["New York City"]}}]}))
    output = TASK.read(reference, Reply('{"calls": [{"go": {"to": "NYC"}}]}'))
    assert not isinstance(output, Malformed)
    (question,) = TASK.ask(reference, output)
    unanswered = TASK.measure(reference, output, {})
    assert unanswered.flags == ("undecided_values",)
    assert unanswered.measures["orchestration.arguments_value_f1"].approximate
    verdicts = {Item(METRIC, question.item): [Verdict(METRIC, question.item, verdict="same")]}
    assert TASK.measure(reference, output, verdicts).measures[SCORE].value == 1.0


ACTIONS = {
    "actions": [{"name": "cancel", "kwargs": {"id": "K1"}}, {"name": "get_user", "kwargs": {}}]
}


def test_looking_things_up_is_not_counted_in_action_lists() -> None:
    looked = {
        "actions": [{"name": "think", "kwargs": {}}, {"name": "cancel", "kwargs": {"id": "k1"}}]
    }
    assert value(scored(ACTIONS, looked), "exact_calls") == 1.0
    assert value(scored(ACTIONS, {"calls": []}), "exact_calls") == 0.0


GRAPH: dict[str, Any] = {
    "nodes": [{"id": 1, "text": "Find the flight"}, {"id": 2, "text": "Book the flight"}],
    "edges": [["START", "1"], ["1", "2"], ["2", "END"]],
}


def test_the_same_graph_under_other_ids_is_exact() -> None:
    other = {
        "nodes": [{"id": "b", "text": "book the flight."}, {"id": "a", "text": "find the flight"}],
        "edges": [["START", "a"], ["a", "b"], ["b", "END"]],
    }
    found = scored(GRAPH, other)
    assert value(found, "exact_plan") == 1.0
    assert value(found, "plan_similarity") == 1.0
    assert not found.measures["orchestration.node_f1"].approximate


def test_a_missing_edge_and_a_strange_node() -> None:
    other = {"nodes": ["Find the flight", "Sing"], "edges": [["START", 1], [1, "END"]]}
    found = scored(GRAPH, other)
    assert value(found, "node_f1") == 0.5
    assert value(found, "edge_f1") == pytest.approx(2 / 5)
    assert value(found, "plan_similarity") == pytest.approx(1 - 2 / 5)


def test_texts_matched_by_words_are_marked_approximate() -> None:
    other = {**GRAPH, "nodes": [{"id": 1, "text": "Find a flight"}, GRAPH["nodes"][1]]}
    found = scored(GRAPH, other)
    assert found.flags == ("nodes_matched_by_words",)
    assert found.measures["orchestration.node_f1"].approximate


@pytest.mark.parametrize(
    "output",
    [
        {"nodes": [], "edges": 3},
        {"nodes": [{"id": 1}], "edges": []},
        {"nodes": ["a"], "edges": [["a"]]},
        {"nodes": ["a"], "edges": [["1", "9"]]},
        {"calls": []},
    ],
)
def test_a_graph_of_the_wrong_shape_is_malformed(output: Any) -> None:
    found = scored(GRAPH, output)
    assert found.flags == ("structure",)
    assert found.measures[SCORE].value == 0.0


def test_two_empty_graphs_are_equal() -> None:
    nothing = SubTasks({}, frozenset())
    assert measure_graph(nothing, nothing).similarity == 1.0
    assert read_graph({"nodes": [], "edges": []}) == nothing


@pytest.mark.parametrize(
    "expected", [{}, {"calls": {}}, {"calls": [{"a": {}, "b": {}}]}, {"calls": [{"a": 1}]},
                 {"actions": [{"name": "a"}]}, {"steps": []}]
)  # fmt: skip
def test_an_unknown_form_is_a_data_error(expected: Any) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(case(expected))
    assert error.value.field.startswith("expected_outcome")


def test_without_tools_the_prompt_shows_the_form_of_the_answer() -> None:
    prompt = TASK.prompt(case(CALLS))
    system, user = (message.content for message in prompt.messages)
    assert '"calls"' in system
    assert "rs1" not in system + user


def _read(name: str) -> list[tuple[Case, dict[str, Any]]]:
    return [(msgspec.convert(raw, Case), raw) for raw in shared_cases(f"{name}.jsonl")]


def _chosen(alternatives: Any) -> Any:
    """The first accepted value; what may be left out is left out."""
    first = next((value for value in alternatives if value != ""), "")
    if isinstance(first, dict):
        return {key: _chosen(inner) for key, inner in first.items() if "" not in inner}
    if isinstance(first, list):
        return [
            {k: _chosen(v) for k, v in element.items()} if isinstance(element, dict) else element
            for element in first
        ]
    return first


@needs_cases
def test_every_bfcl_case_can_be_answered_perfectly() -> None:
    for loaded, raw in _read("orch_bfcl"):
        calls = [
            {name: {k: _chosen(v) for k, v in arguments.items() if "" not in v}}
            for call in raw["expected_outcome"]["calls"]
            for name, arguments in call.items()
        ]
        reference = TASK.reference(loaded)
        output = TASK.read(reference, Reply(json.dumps({"calls": calls})))
        assert TASK.measure(reference, output, {}).measures[SCORE].value == 1.0, loaded.id


@needs_cases
def test_every_worfbench_case_equals_itself() -> None:
    for loaded, raw in _read("orch_worfbench"):
        reference = TASK.reference(loaded)
        output = TASK.read(reference, Reply(json.dumps(raw["expected_outcome"])))
        assert TASK.measure(reference, output, {}).measures[SCORE].value == 1.0, loaded.id


@needs_cases
def test_tau_runs_agree_with_the_benchmark_s_own_reward() -> None:
    """The reward compares the database afterwards, so it may forgive what a call list cannot."""
    agreement: Counter[bool] = Counter()
    for loaded, raw in _read("orch_tau_airline"):
        reference = TASK.reference(loaded)
        output = TASK.read(reference, Reply(json.dumps(raw["model_output"])))
        exact = TASK.measure(reference, output, {}).measures["orchestration.exact_calls"].value
        agreement[exact == raw["human"]["reward"]] += 1
    assert agreement[True] >= 0.9 * agreement.total()
