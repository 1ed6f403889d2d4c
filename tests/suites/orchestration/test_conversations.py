"""Conversations: the model acts on its own until the user has nothing more to say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from callscore.core.case import Reply, ToolCall
from callscore.core.errors import DataError
from callscore.core.run import ModelSpec
from callscore.core.scenarios import TOOLS, USER, LiveTool, ScenarioSettings, StopRules
from callscore.suites.orchestration.conversation import FreeConversation, check_conversation
from callscore.suites.orchestration.conversation_scorer import count_calls
from callscore.suites.orchestration.scenario.cards import Cards, index_cards, read_card
from callscore.suites.orchestration.scenario.parse import ScenarioKey, read_scenario
from callscore.suites.orchestration.scenario.protocol import bundled_protocol

CARD = {
    "agent_card": {"agent_id": "desk", "name": "Desk"},
    "tools": [
        {
            "name": "find",
            "parameters": {
                "type": "object",
                "required": ["people"],
                "properties": {"people": {"type": "integer"}, "note": {"type": "string"}},
            },
        },
        {"name": "book", "parameters": {"type": "object", "properties": {}}},
    ],
}
STEPS: list[dict[str, Any]] = [
    {"user": "A table for four."},
    {"desk": {"tool": "find", "arguments": {"people": 4}, "tool_call_result": {"tables": [12]}}},
    {"desk": {"tool": "book", "arguments": {"table": 12}, "tool_call_result": {"ok": True}}},
    {"main": "Table 12 is yours."},
]
BOOKED: list[dict[str, Any]] = [
    {"called": "book", "arguments": {"table": 12}},
    {"said": "table 12"},
]
LIVE = {"*": LiveTool(python="desk.py:call")}
OWN = ScenarioSettings(history="own")
PLAYED = ModelSpec("(user)", "simulated")


def cards() -> Cards:
    return index_cards([read_card(json.dumps(CARD).encode())])


def begin(
    settings: ScenarioSettings = OWN,
    steps: Sequence[Mapping[str, Any]] = STEPS,
    expect: Sequence[Mapping[str, Any]] = BOOKED,
    **more: Any,
) -> FreeConversation:
    text = json.dumps({"steps": steps, "expect": expect, **more})
    scenario = read_scenario(text, ScenarioKey("EN", "one"), cards())
    check_conversation(scenario, cards(), settings)
    return FreeConversation(scenario, cards(), bundled_protocol("callscore"), settings, "m", 1)


def call(name: str, **arguments: Any) -> Reply:
    return Reply("", "tool_calls", tool_calls=(ToolCall(name, json.dumps(arguments)),))


def results(*texts: str, is_error: bool = False) -> Reply:
    return Reply(json.dumps([{"text": text, "is_error": is_error} for text in texts]))


def talk(conversation: FreeConversation, *replies: Reply) -> FreeConversation:
    for reply in replies:
        conversation.add(reply)
    return conversation


def test_a_call_that_the_scenario_has_returns_the_recorded_result() -> None:
    talked = talk(begin(), call("find", people="4"))
    assert talked.request is not None
    *_, made, result = talked.request.prompt.messages
    assert [(each.name, each.arguments) for each in made.calls] == [("find", '{"people": "4"}')]
    assert (result.role, result.content) == ("tool", '{"tables":[12]}')
    assert result.call == made.calls[0]


def test_a_conversation_that_reaches_the_expected_end_is_right() -> None:
    talked = talk(begin(), call("find", people=4), call("book", table=12), Reply("TABLE  12."))
    assert (talked.request, talked.stopped, talked.is_right()) == (None, "finished", True)


def test_a_conversation_without_an_expected_fact_is_wrong() -> None:
    talked = talk(begin(), Reply("Table 12 is booked."))
    assert [check.holds for check in talked.facts()] == [False, True]
    assert not talked.is_right()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (call("cancel"), "UNKNOWN_TOOL"),
        (call("find"), "INVALID_ARGUMENTS"),
        (call("book", table=3), "NO_RECORDED_RESULT"),
        (Reply("", tool_calls=(ToolCall("find", "{people"),)), "INVALID_ARGUMENTS"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_an_error_that_the_model_sees(
    reply: Reply, error: str
) -> None:
    talked = talk(begin(), reply)
    assert talked.request is not None
    assert json.loads(talked.request.prompt.messages[-1].content)["error"] == error
    assert count_calls(talked.calls) == (1, 0, 1, True)


def test_other_calls_are_carried_out_by_the_tools_of_the_eval_file() -> None:
    talked = begin(ScenarioSettings(history="own", tools=LIVE))
    talk(talked, call("find", people=4), call("book", table=3))
    assert talked.request is not None
    assert (talked.request.model, talked.request.case.id) == (TOOLS, "EN/one#2/tools/m")
    order = talked.request.case.config
    assert order["calls"] == [{"name": "book", "arguments": {"table": 3}}]
    talk(talked, results('{"ok":true}'), call("book", table=4))
    assert talked.request.case.config["before"] == order["calls"]
    assert [made.source for made in talked.calls] == ["recorded", "live"]


def test_a_tool_that_keeps_state_carries_out_every_call() -> None:
    tools = {"find": LiveTool(python="desk.py:find", recorded=False)}
    talked = talk(begin(ScenarioSettings(history="own", tools=tools)), call("find", people=4))
    assert talked.request is not None
    assert talked.request.model == TOOLS


def test_a_fact_about_the_end_is_asked_of_the_tool() -> None:
    fact = {"tool": "find", "arguments": {"people": 4}, "result": {"tables": []}}
    settings = ScenarioSettings(history="own", tools=LIVE)
    for found, holds in (('{"tables":[],"n":0}', True), ('{"tables":[12]}', False)):
        talked = talk(begin(settings, expect=[fact]), Reply("Bye."))
        assert talked.request is not None
        assert talked.request.case.id == "EN/one#1/end/m"
        assert talk(talked, results(found)).is_right() is holds


def test_the_same_step_again_and_again_is_a_loop() -> None:
    again = [call("book", table=3)] * 3
    talked = talk(begin(), *again)
    assert (talked.stopped, talked.is_right()) == ("loop", False)
    assert count_calls(talked.calls) == (3, 2, 3, True)


@pytest.mark.parametrize(
    ("rules", "replies", "why"),
    [
        (StopRules(steps=1), [call("find", people=4)], "steps"),
        (StopRules(bytes=1_000), [call("find", people=4, note="x" * 1_000)], "bytes"),
        (StopRules(), [Reply(" ")], "silent"),
    ],
)
def test_a_limit_ends_a_conversation(rules: StopRules, replies: list[Reply], why: str) -> None:
    assert talk(begin(ScenarioSettings(history="own", stop=rules)), *replies).stopped == why


def test_a_scripted_user_says_the_next_message_until_there_is_none() -> None:
    steps = [*STEPS[:1], {"user": "At seven."}]
    talked = talk(begin(steps=steps), Reply("When?"))
    assert talked.request is not None
    assert [m.content for m in talked.request.prompt.messages[1:]] == [
        "A table for four.",
        "When?",
        "At seven.",
    ]
    assert talk(talked, Reply("Done.")).stopped == "finished"
    limited = ScenarioSettings(history="own", stop=StopRules(user_turns=1))
    assert talk(begin(limited, steps), Reply("When?")).stopped == "user_turns"


def test_a_model_plays_the_user_with_a_goal_and_the_facts_it_may_reveal() -> None:
    settings = ScenarioSettings(history="own", user=PLAYED)
    talked = begin(settings, user={"goal": "Eat out.", "facts": {"name": "Kim"}})
    talk(talked, Reply("<think>hm</think>What name?"))
    assert talked.request is not None
    assert talked.request.model == USER
    system, *turns = talked.request.prompt.messages
    assert "Eat out." in system.content and "- name: Kim" in system.content
    said = [(turn.role, turn.content) for turn in turns[1:]]
    assert said == [("assistant", "A table for four."), ("user", "What name?")]
    talk(talked, Reply("Kim."))
    assert talked.request.prompt.messages[-1].content == "Kim."
    assert talk(talked, Reply("Fine."), Reply("[END]")).stopped == "finished"


def test_a_simulated_model_gets_the_next_step_of_the_script() -> None:
    talked = begin()
    expected = []
    for reply in (call("book", table=9), call("find", people=4), call("book", table=12)):
        assert talked.request is not None
        expected.append(talked.request.case.expected_outcome)
        talked.add(reply)
    assert [step["calls"][0]["name"] for step in expected] == ["find", "find", "book"]
    assert talked.request is not None
    assert talked.request.case.expected_outcome == {"text": "Table 12 is yours."}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"expect": []}, "expect"),
        ({"expect": [{"said": ""}]}, "expect[0].said"),
        ({"expect": [{"called": "find", "tool": "book"}]}, "expect[0]"),
        ({"expect": [{"tool": "find", "arguments": {}}]}, "expect[0].result"),
        ({"expect": [{"called": "fnd"}]}, "expect[0].called"),
        ({"expect": [{"tool": "find", "result": 1}]}, "expect[0].tool"),
        ({"user": {"facts": []}}, "user.goal"),
        ({"user": {"goal": "x", "facts": [1]}}, "user.facts"),
        ({"steps": STEPS[1:]}, "steps"),
    ],
)
def test_an_unusable_end_is_refused_with_its_field(more: dict[str, Any], field: str) -> None:
    with pytest.raises(DataError) as caught:
        begin(**more)
    assert caught.value.field == field


def test_the_size_of_a_conversation_bounds_what_a_request_adds_to_the_first() -> None:
    talked = begin(ScenarioSettings(history="own", tools=LIVE))
    assert talked.request is not None
    first = len(msgspec.json.encode(talked.request.prompt))
    for reply in (call("find", people=4), call("book", table=3), results('{"a":"é"}')):
        talked.add(reply)
    assert talked.request is not None
    assert len(msgspec.json.encode(talked.request.prompt)) <= first + talked.size
