"""The Responses API: what is sent, and what is made of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.case import Message, Prompt, ToolCall
from callscore.core.errors import ConfigError
from callscore.providers.responses import Responses
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
from strict_apis import response
from stub_servers import Answer, Json, always, serving

WITH_SCHEMA = Prompt(PROMPT.messages, schema=SCHEMA)


def sent(prompt: Prompt = PROMPT, **params: Any) -> Json:
    with serving(always(Answer(response()))) as stub:
        ask(spec("openai", stub.url, api="responses", params=params), prompt)
    (request,) = stub.requests
    assert request.path == "/v1/responses"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    return request.json


def test_the_conversation_is_the_input_and_the_server_keeps_nothing() -> None:
    assert sent() == {
        "model": "stub-1",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "CASE-1 says hello"},
        ],
        "store": False,
    }


def test_a_schema_is_the_format_of_the_text() -> None:
    held = {"type": "json_schema", "name": "answer", "strict": True, "schema": SCHEMA}
    assert sent(WITH_SCHEMA)["text"] == {"format": held}
    assert sent(WITH_SCHEMA, verbosity="low")["text"] == {"format": held, "verbosity": "low"}
    assert sent(WITH_SCHEMA, structured_output="json")["text"] == {
        "format": {"type": "json_object"}
    }
    assert "text" not in sent(WITH_SCHEMA, structured_output="none")


def test_parameters_of_chat_completions_find_their_place() -> None:
    body = sent(WITH_SCHEMA, max_tokens=99, reasoning_effort="low", response_format=None, top_p=0.5)
    assert (body["max_output_tokens"], body["top_p"]) == (99, 0.5)
    assert body["reasoning"] == {"effort": "low"}
    assert "text" not in body
    assert "response_format" not in body
    model = spec("openai", "http://127.0.0.1:9", api="responses", params={"max_tokens": 99})
    assert build_request(model).max_output_tokens == 99
    given = {"type": "json_schema", "json_schema": {"name": "mine", "schema": {}}}
    assert sent(WITH_SCHEMA, response_format=given)["text"] == {
        "format": {"type": "json_schema", "name": "mine", "schema": {}}
    }


@pytest.mark.parametrize("params", [{"input": "x"}, {"text": "x"}, {"stream": True}])
def test_what_cannot_be_set_is_refused(params: Json) -> None:
    with pytest.raises(ConfigError, match=r"params\."):
        Responses("m", params)


def test_tools_are_native_and_not_strict() -> None:
    assert sent(Prompt([Message("user", "hi")], tools=[WEATHER]))["tools"] == [
        {
            "type": "function",
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


CALL = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": '{"a":1}'}
REFUSED = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}
CUT = {"reason": "max_output_tokens"}


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (response("hello"), "hello", "stop"),
        (response("hel", status="incomplete", incomplete_details=CUT), "hel", "length"),
        (
            response("", status="incomplete", incomplete_details={"reason": "content_filter"}),
            "",
            "content_filter",
        ),
        (response(output=[REFUSED]), "no", "refusal"),
        (response(output=[CALL]), "", "tool_calls"),
        (response(output=[]), "", "stop"),
    ],
)
def test_an_answer_is_read_as_it_was_given(body: Json, text: str, finish: str) -> None:
    with serving(always(Answer(body))) as stub:
        reply = expect_response(ask(spec("openai", stub.url, api="responses"))).reply
    assert (reply.text, reply.finish_reason) == (text, finish)
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert reply.model == "stub-2026-01-01"
    if finish == "tool_calls":
        assert reply.tool_calls == (ToolCall("get_weather", '{"a":1}'),)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (response(status="failed", error={"code": "server_error", "message": "oops"}), "server"),
        (response(status="in_progress"), "server"),
        ({"id": "resp_1"}, "unreadable"),
        ({"output": "text"}, "unreadable"),
    ],
)
def test_what_is_no_answer_is_a_failure(body: Json, kind: str) -> None:
    with serving(always(Answer(body))) as stub:
        assert expect_failure(ask(spec("openai", stub.url, api="responses"))).kind == kind
