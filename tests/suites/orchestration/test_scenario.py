"""Scenarios, cards and recordings: every irregularity of the public data, in small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callscore.core.case import Tool
from callscore.core.errors import DataError
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.orchestration.call.schema import schema_violations
from callscore.suites.orchestration.scenario.annotation import Note, read_annotation
from callscore.suites.orchestration.scenario.cards import (
    Card,
    argument_schema,
    index_cards,
    read_card,
)
from callscore.suites.orchestration.scenario.data import read_cards
from callscore.suites.orchestration.scenario.model import (
    CallsDue,
    DecodedCall,
    RawStep,
    RejectionDue,
    Scenario,
)
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    decode_output,
    read_recording,
    steps_of_label,
)
from callscore.suites.orchestration.scenario.parse import (
    ScenarioKey,
    interpret_steps,
    read_scenario,
)

PLACE = ScenarioKey("EN", "7")
BOOK = CallsDue((DecodedCall("book", {"day": "2025-07-01"}),), "book")
TWO = CallsDue((DecodedCall("get", {"month": 4}), DecodedCall("get", {"month": 5})), "get")


@pytest.mark.parametrize(
    ("content", "due", "notes"),
    [
        (
            'tool: book\narguments:\n  day: "2025-07-01"\ntool_call_result:\n  ok: true\n',
            BOOK,
            [],
        ),
        ("tool: book\narguments:\n  day: 2025-07-01\n", BOOK, []),
        ("tool: ping\ntool_call_result: pong\n", CallsDue((DecodedCall("ping", {}),), "ping"), []),
        (
            "tool_call:\n- tool: get\n  arguments: {month: 4}\n"
            "- tool: get\n  arguments: {month: 5}\n",
            TWO,
            [],
        ),
        (
            "- tool: get\n  arguments: {month: 4}\n  tool_call_result: 1\n"
            "- tool: get\n  arguments: {month: 5}\n",
            TWO,
            ["list_shaped_call"],
        ),
        ("name: book\nparameters:\n  day: 2025-07-01\n", BOOK, ["name_instead_of_tool"]),
        ("tool_call_result:\n  data: {day: 1}\n", None, ["call_without_name"]),
        (
            "tool: book\narguments:\n  text: |\n     a\n    b\n  x: 1\n",
            CallsDue(tool="book"),
            ["unreadable_arguments"],
        ),
        ("arguments: [unclosed\n", None, ["unreadable_call"]),
        (
            'tool: book\narguments:\n  day: 2025-07-01\ntool_call_result:\n  bad: "a "b" c"\n',
            BOOK,
            [],
        ),
        (
            "status: AWAITING_USER_INPUT\nrequired_info: which tool?",
            RejectionDue("AWAITING_USER_INPUT"),
            [],
        ),
        (
            "status: TOOL_CONSTRAINT_VIOLATION\nviolation: not AWAITING_USER_INPUT",
            RejectionDue("TOOL_CONSTRAINT_VIOLATION"),
            [],
        ),
        ("The destination is needed.", RejectionDue("GENERAL_REJECTION"), ["untyped_rejection"]),
    ],
)
def test_what_a_sub_agent_step_says(
    content: str, due: CallsDue | RejectionDue | None, notes: list[str]
) -> None:
    said = read_annotation(content)
    assert said.due == due
    assert [note.kind for note in said.notes] == notes


def test_plain_words_are_not_taken_for_booleans_or_times() -> None:
    said = read_annotation(
        "tool: set\narguments:\n  a: no\n  b: 1:30\n  c: 010\n  d: true\n  e: 1.5\n"
    )
    assert isinstance(said.due, CallsDue)
    assert said.due.calls[0].arguments == {"a": "no", "b": "1:30", "c": "010", "d": True, "e": 1.5}


CARDS = index_cards(
    [
        Card("desk_agent", tools=(Tool("book", "", {}),)),
        Card("till_agent", tools=(Tool("pay", "", {}),)),
    ]
)


def scenario_of(*steps: RawStep) -> Scenario:
    return interpret_steps(steps, PLACE, CARDS)


def test_a_misspelt_agent_is_read_as_the_nearest_card() -> None:
    scenario = scenario_of(RawStep(2, "desk_agant", "tool: book\narguments: {}\n"))
    assert scenario.agent_steps[0].agent == "desk_agent"
    assert not scenario.agent_steps[0].has_card
    assert [f.kind for f in scenario.findings] == ["unknown_agent"]


def test_a_tool_of_another_agent_is_noted() -> None:
    scenario = scenario_of(RawStep(2, "desk_agent", "tool: pay\narguments: {}\n"))
    assert [(f.case_id, f.kind, f.action) for f in scenario.findings] == [
        ("EN/7#2", "tool_of_another_agent", "noted")
    ]


def test_an_unreadable_plan_is_set_aside() -> None:
    scenario = scenario_of(RawStep(2, "main", "workflow_1:\n  - : [\n"))
    assert scenario.plans == ()
    assert [(f.kind, f.action) for f in scenario.findings] == [("unreadable_plan", "set_aside")]


def test_utterances_are_neither_plans_nor_steps() -> None:
    scenario = scenario_of(RawStep(1, "user", "workflow_1: x"), RawStep(2, "main", "Done."))
    assert (scenario.plans, scenario.agent_steps) == ((), ())


YAML = """
steps:
- {workflow_id: system, step_id: 1, agent: main, agent_type: main, data: {content: "- Today: x"}}
- {workflow_id: null, step_id: 2, agent: user, agent_type: user, data: {content: Hello}}
- workflow_id: workflow_1
  step_id: 3
  agent: desk_agent
  agent_type: agent
  data: {content: "tool: book\\narguments: {}"}
"""


def test_a_scenario_file_becomes_its_steps() -> None:
    scenario = read_scenario(YAML, PLACE, CARDS)
    assert [(step.agent, step.workflow) for step in scenario.raw] == [
        ("system", "system"),
        ("user", ""),
        ("desk_agent", "workflow_1"),
    ]
    assert scenario.agent_steps[0].due == CallsDue((DecodedCall("book", {}),), "book")


@pytest.mark.parametrize("text", ["", "steps: 3", "a: [", "- 1"])
def test_what_is_no_scenario_is_a_data_error(text: str) -> None:
    with pytest.raises(DataError, match="expected a scenario"):
        read_scenario(text, PLACE, CARDS)


def test_a_card_without_an_id_is_a_data_error() -> None:
    with pytest.raises(DataError, match=r"agent_card\.agent_id"):
        read_card(b'{"agent_card": {"name": "Desk"}}')


def test_two_cards_of_one_agent_are_a_data_error_with_both_files(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.json").write_text('{"agent_card": {"agent_id": "a"}}')
    with pytest.raises(
        DataError, match=r"second\.json: field agent_card\.agent_id: .* next to first\.json"
    ):
        read_cards(tmp_path, SCENARIO_FILES)


def test_a_tool_that_a_card_has_twice_is_a_data_error() -> None:
    with pytest.raises(DataError, match=r"tools\[1\]\.name: 't' is also tools\[0\]"):
        read_card(b'{"agent_card": {"agent_id": "a"}, "tools": [{"name": "t"}, {"name": "t"}]}')


def test_each_of_two_agents_has_the_tool_of_its_own() -> None:
    def card(agent: str, argument: str) -> Card:
        schema = {"properties": {argument: {"type": "integer"}}, "required": [argument]}
        return Card(agent, tools=(Tool("find", "", schema),))

    cards = index_cards([card("desk", "people"), card("bar", "drinks"), Card("main")])
    text = "steps:\n  - user: hi\n  - bar: {tool: find, arguments: {drinks: 1}}\n"
    assert read_scenario(text, PLACE, cards).findings == ()
    text = text.replace("drinks", "people").replace("bar", "desk")
    assert read_scenario(text, PLACE, cards).findings == ()
    text = text.replace("desk", "main")
    (found, *_) = read_scenario(text.replace("main", "bar"), PLACE, cards).findings
    assert found.detail == "calls[0].drinks: required, and missing"


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("size", "huge", "calls[0].size: 'huge' is not one of the allowed values"),
        ("size", None, ""),
        ("guest", {"name": 5}, "calls[0].guest.name: expected string, not int"),
        ("guest", {"name": "Ada", "friends": [{"name": "Bob"}]}, ""),
        ("count", [1], "calls[0].count: fits none of the forms of the schema"),
        ("count", "three", ""),
        ("exact", 1e999, "calls[0].exact: expected integer, not float"),
    ],
)
def test_c_141_a_schema_is_checked_behind_its_references_and_choices(
    argument: str, value: Any, says: str
) -> None:
    """As pydantic writes the schemas of MCP tools."""
    schema = {
        "properties": {
            "size": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "default": None},
            "guest": {"$ref": "#/$defs/Guest"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "exact": {"type": "integer"},
        },
        "$defs": {
            "Size": {"enum": ["small", "large"], "type": "string"},
            "Guest": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "friends": {"type": "array", "items": {"$ref": "#/$defs/Guest"}},
                },
            },
        },
    }
    cards = index_cards([Card("a", tools=(Tool("find", "", schema),))])
    found = schema_violations([DecodedCall("find", {argument: value})], (), cards.tools_of("a"))
    assert [each.detail for each in found] == ([says] if says else [])
    assert cards.by_id["a"].tools[0].parameters is schema, "a model is sent what the card says"


@pytest.mark.parametrize(
    ("written", "nearest"),
    [("desk_agant", "desk_agent"), ("desk_agen", "desk_agent"), ("chef_agent", None)],
)
def test_the_nearest_card_is_one_letter_away(written: str, nearest: str | None) -> None:
    assert CARDS.nearest(written) == nearest


LABEL = {
    "1": {"role": "system", "content": "- Today"},
    "2": {"role": "user", "content": "Hello"},
    "10": {"role": "assistant", "content": "Bye"},
    "3": {"role": "assistant", "agent_id": "desk_agent", "content": "status: AWAITING_USER_INPUT"},
    "3-1": {"role": "assistant", "agent_id": "desk_agent", "content": ""},
    "4": {"role": "tool", "content": {"not": "text"}},
    "5": "broken",
}


def test_a_label_gives_its_steps_in_order() -> None:
    assert [(step.step_id, step.agent) for step in steps_of_label(LABEL)] == [
        (1, "system"),
        (2, "user"),
        (3, "desk_agent"),
        (10, "main"),
    ]


def test_a_bad_entry_costs_itself_alone() -> None:
    entries: list[Any] = [
        None,
        {"content": "no step"},
        {"step_id": True, "content": "x"},
        {"step_id": "3", "content": "kept"},
        {"step_id": 3, "content": "later"},
    ]
    recording = read_recording(
        {"history": {"run #1": {"label": LABEL, "sub_agent_history": entries}}}, "7"
    )
    assert recording.runs[0].steps == {3: RecordedReply("later")}
    assert len(recording.runs[0].stray) == 4


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"history": {}},
        {"history": {"run #1": 3}},
        {"history": {"run #1": {"label": []}}},
        {"callscore": "orchestration-1"},
        {"callscore": "orchestration-1", "scenario": {"steps": [{"step_id": "x"}]}, "runs": []},
    ],
)
def test_a_file_without_its_frame_is_a_data_error(value: Any) -> None:
    with pytest.raises(DataError):
        read_recording(value, "7")


def test_our_own_form_reads_the_same() -> None:
    ours = {
        "callscore": "orchestration-1",
        "scenario": {
            "steps": [
                {"step_id": 1, "agent": "user", "content": "Hello"},
                {"step_id": 2, "agent": "main", "content": "workflow_1:\n  steps: []\n"},
                {"step_id": 3, "agent": "desk_agent", "content": "tool: book\narguments: {}\n"},
            ]
        },
        "runs": [{"run": 1, "answers": [{"step": 2, "content": "a"}, {"step": 3, "error": "503"}]}],
    }
    recording = read_recording(ours, "7")
    assert recording.runs[0].plans == {2: RecordedReply("a")}
    assert recording.runs[0].steps == {3: RecordedReply(error="503")}


def test_a_file_with_nan_can_still_be_read() -> None:
    assert list(decode_output(b'{"a": NaN}')) == ["a"]
    with pytest.raises(DataError, match="not JSON"):
        decode_output(b"{")
    with pytest.raises(DataError, match="not JSON"):
        decode_output(b"[" * 100_000)


def test_notes_say_what_was_done() -> None:
    assert read_annotation("name: a\narguments: {}\n").notes == (
        Note("name_instead_of_tool", "repaired", "a"),
    )


def test_a_card_keeps_its_tools() -> None:
    raw = {
        "agent_card": {"agent_id": "a", "skills": [{"id": "s", "examples": []}]},
        "tools": [{"name": "t", "parameters": {"properties": {"x": {"type": "string"}}}}],
    }
    card = read_card(json.dumps(raw).encode())
    assert argument_schema(card.tools[0], "x") == {"type": "string"}
    assert argument_schema(card.tools[0], "y") == argument_schema(None, "x") == {}
    assert index_cards([card]).other_owner("t", "b") == "a"
    assert index_cards([card]).other_owner("t", "a") is None


@pytest.mark.parametrize("name", ["inputSchema", "input_schema"])
def test_a_card_with_the_schema_of_another_api_is_refused(name: str) -> None:
    card = {"agent_card": {"agent_id": "desk"}, "tools": [{"name": "book", name: {}}]}
    with pytest.raises(DataError, match=r"expected it as parameters"):
        read_card(json.dumps(card).encode())
