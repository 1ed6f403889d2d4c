"""The messages API: what is sent, and what is made of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.case import Message, Prompt, ToolCall
from callscore.core.errors import ConfigError
from callscore.providers.anthropic import Messages
from provider_calls import (
    KEY,
    PROMPT,
    SCHEMA,
    WEATHER,
    ask,
    build_request,
    expect_failure,
    expect_response,
    spec,
)
from stub_servers import Answer, Json, always, anthropic_message, serving

HELLO = [{"type": "text", "text": "hello"}]
WITH_SCHEMA = Prompt(PROMPT.messages, schema=SCHEMA)
ANSWER_TOOL = "record_the_answer"


def sent(prompt: Prompt = PROMPT, **params: Any) -> Json:
    with serving(always(Answer(anthropic_message(HELLO)))) as stub:
        ask(spec("anthropic", stub.url, params=params), prompt)
    (request,) = stub.requests
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers
    return request.json


def test_system_stands_apart_and_a_maximum_is_always_sent() -> None:
    assert sent() == {
        "model": "stub-1",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": "CASE-1 says hello"}],
        "system": "Be brief.",
    }


def test_a_conversation_keeps_its_order_and_system_messages_are_joined() -> None:
    roles = ("system", "user", "assistant", "user", "system")
    body = sent(Prompt([Message(role, f"{role}.") for role in roles]))  # type: ignore[arg-type]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["system"] == "system.\n\nsystem."


def test_without_a_system_message_there_is_no_system() -> None:
    assert "system" not in sent(Prompt([Message("user", "hello")]))


def test_parameters_are_passed_through_under_their_names_here() -> None:
    body = sent(max_tokens=99, temperature=0.5, stop=["X"], thinking={"type": "disabled"})
    assert (body["max_tokens"], body["temperature"]) == (99, 0.5)
    assert body["stop_sequences"] == ["X"]
    assert body["thinking"] == {"type": "disabled"}


def test_a_schema_is_an_output_format_beside_the_users_output_settings() -> None:
    body = sent(WITH_SCHEMA, output_config={"effort": "low"})
    assert body["output_config"] == {
        "format": {"type": "json_schema", "schema": SCHEMA},
        "effort": "low",
    }
    assert "tools" not in body


def test_a_schema_may_be_carried_by_a_forced_tool() -> None:
    body = sent(WITH_SCHEMA, structured_output="tool")
    (tool,) = body["tools"]
    assert (tool["name"], tool["input_schema"]) == (ANSWER_TOOL, SCHEMA)
    assert body["tool_choice"] == {"type": "tool", "name": ANSWER_TOOL}
    assert "output_config" not in body
    assert "structured_output" not in body


OPEN = {**SCHEMA, "properties": {"score": {"type": "object", "additionalProperties": True}}}
BOUNDED = {**SCHEMA, "properties": {"score": {"type": "number", "minimum": 0}}}
OPTIONAL = {**SCHEMA, "required": []}
NAMED_LIKE_BOUNDS = {
    **SCHEMA,
    "required": ["minimum"],
    "properties": {"minimum": {"type": "array", "items": {"type": "string"}}},
}


def test_a_schema_that_the_format_would_refuse_is_carried_by_the_tool() -> None:
    body = sent(Prompt(PROMPT.messages, schema=OPEN))
    assert body["tools"][0]["input_schema"] == OPEN
    assert "output_config" not in body


@pytest.mark.parametrize(
    ("schema", "held"),
    [
        (BOUNDED, SCHEMA),
        (OPTIONAL, OPTIONAL),
        (NAMED_LIKE_BOUNDS, NAMED_LIKE_BOUNDS),
    ],
    ids=["bounded", "optional", "named like bounds"],
)
def test_bounds_are_left_out_of_the_format_which_would_refuse_them(
    schema: Json, held: Json
) -> None:
    body = sent(Prompt(PROMPT.messages, schema=schema))
    assert body["output_config"]["format"]["schema"] == held
    assert "tools" not in body


def test_every_schema_gets_its_own_treatment() -> None:
    model = Messages("m", {})
    for _ in range(2):
        assert "output_config" in model.body(WITH_SCHEMA)
        assert "tool_choice" in model.body(Prompt(PROMPT.messages, schema=OPEN))
        assert len(model.body(PROMPT)) == 4


def test_a_schema_may_be_left_to_the_prompt() -> None:
    assert sent(WITH_SCHEMA, structured_output="none") == sent()


def test_an_unknown_way_to_hold_the_schema_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected format, tool, auto or none"):
        build_request(
            spec("anthropic", "http://127.0.0.1:9", params={"structured_output": "maybe"})
        )


def test_tools_are_native() -> None:
    assert sent(Prompt(PROMPT.messages, tools=[WEATHER]))["tools"] == [
        {
            "name": "get_weather",
            "description": "The weather of a city.",
            "input_schema": {"type": "object", "properties": {}},
        }
    ]


USE = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Köln"}}
CARRIED = {"type": "tool_use", "id": "t2", "name": ANSWER_TOOL, "input": {"score": 4}}
THOUGHT = {"type": "thinking", "thinking": "hmm", "signature": "s"}


@pytest.mark.parametrize(
    ("content", "reason", "text", "finish", "calls"),
    [
        (HELLO, "end_turn", "hello", "stop", ()),
        ([*HELLO, *HELLO], "stop_sequence", "hellohello", "stop", ()),
        ([THOUGHT, *HELLO], "end_turn", "hello", "stop", ()),
        ([], "end_turn", "", "stop", ()),
        ([{"type": "new_block", "data": 1}], "end_turn", "", "stop", ()),
        (HELLO, "max_tokens", "hello", "length", ()),
        (HELLO, "model_context_window_exceeded", "hello", "length", ()),
        (HELLO, "refusal", "hello", "refusal", ()),
        (HELLO, None, "hello", None, ()),
        (HELLO, "something_new", "hello", None, ()),
        ([*HELLO, USE], "tool_use", "hello", "tool_calls", ("get_weather",)),
        ([USE, USE], "tool_use", "", "tool_calls", ("get_weather", "get_weather")),
        ([CARRIED], "tool_use", '{"score":4}', "stop", ()),
        ([*HELLO, CARRIED], "max_tokens", '{"score":4}', "length", ()),
    ],
)
def test_an_answer_is_read_as_it_was_given(
    content: list[Json], reason: str | None, text: str, finish: str | None, calls: tuple[str, ...]
) -> None:
    with serving(always(Answer(anthropic_message(content, reason)))) as stub:
        reply = expect_response(ask(spec("anthropic", stub.url))).reply
    assert (reply.text, reply.finish_reason) == (text, finish)
    assert tuple(reply.tool_calls) == tuple(ToolCall(name, '{"city":"Köln"}') for name in calls)
    assert (reply.input_tokens, reply.output_tokens) == (15, 7)
    assert reply.model == "claude-stub-1"


@pytest.mark.parametrize("body", [{"content": "text"}, {"type": "message"}, {"content": [{}]}])
def test_what_is_no_message_is_unreadable(body: Json) -> None:
    with serving(always(Answer(body))) as stub:
        assert expect_failure(ask(spec("anthropic", stub.url))).kind == "unreadable"


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (429, "rate_limit_error", "Too many", "rate_limited"),
        (401, "authentication_error", f"invalid x-api-key {KEY}", "unauthorised"),
        (400, "invalid_request_error", "max_tokens: too large", "bad_request"),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            "unauthorised",
        ),
        (
            400,
            "invalid_request_error",
            "You have reached your specified API usage limits.",
            "unauthorised",
        ),
        (404, "not_found_error", "model: nonesuch", "not_found"),
        (500, "api_error", "Internal server error", "server"),
    ],
)
def test_errors_have_their_words(status: int, kind: str, message: str, expected: str) -> None:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}
    with serving(always(Answer(body, status))) as stub:
        answer = expect_failure(ask(spec("anthropic", stub.url)))
    assert (answer.kind, answer.status) == (expected, status)
    assert message.split(" sk-")[0] in answer.message
    assert KEY not in answer.message


def test_rate_limits_reset_at_a_moment_of_the_servers_clock() -> None:
    headers = {
        "date": "Tue, 03 Mar 2026 10:00:00 GMT",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-tokens-remaining": "7000",
        "anthropic-ratelimit-requests-reset": "2026-03-03T10:00:12Z",
        "anthropic-ratelimit-tokens-reset": "2026-03-03T10:01:00Z",
    }
    with serving(always(Answer(anthropic_message(HELLO), headers=headers))) as stub:
        answer = expect_response(ask(spec("anthropic", stub.url)))
    assert (answer.requests_left, answer.tokens_left, answer.reset_s) == (49, 7000, 60.0)
