"""Chat completions: what is sent, and what is made of every answer a server may give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Message, Prompt, ToolCall
from callscore.core.errors import ConfigError
from callscore.providers.openai import ChatCompletions
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
from stub_servers import Answer, Json, always, chat, chat_completion, openai_error, serving

URL = "http://127.0.0.1:9/v1"


def sent(prompt: Prompt = PROMPT, **params: Any) -> Json:
    with serving(chat()) as stub:
        ask(spec("openai", stub.url, params=params), prompt)
    (request,) = stub.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["content-type"] == "application/json"
    return request.json


@pytest.mark.parametrize(
    ("params", "limits"),
    [
        ({}, {"max_tokens": 64}),
        ({"max_tokens": 20}, {"max_tokens": 20}),
        ({"max_completion_tokens": 900}, {"max_completion_tokens": 64}),
    ],
)
def test_a_limit_of_the_prompt_lowers_the_limit_of_the_parameters(
    params: Json, limits: Json
) -> None:
    prompt = Prompt((Message("user", "ok?"),), max_tokens=64)
    body = sent(prompt, **params)
    assert {key: value for key, value in body.items() if key.startswith("max_")} == limits


@pytest.mark.parametrize(
    ("usage", "text", "counts"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 0}, "ok", (None, None)),
        ({"prompt_tokens": 11, "completion_tokens": 0}, "ok", (11, None)),
        ({"prompt_tokens": 11, "completion_tokens": 0}, "", (11, 0)),
        ({"prompt_tokens": 11, "completion_tokens": 7}, "ok", (11, 7)),
    ],
)
def test_a_count_of_no_tokens_for_a_text_is_unknown(
    usage: Json, text: str, counts: tuple[int | None, int | None]
) -> None:
    with serving(always(Answer(chat_completion(text) | {"usage": usage}))) as stub:
        reply = expect_response(ask(spec("openai", stub.url))).reply
    assert (reply.input_tokens, reply.output_tokens) == counts


def test_a_plain_request_holds_model_and_messages_and_nothing_else() -> None:
    assert sent() == {
        "model": "stub-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "CASE-1 says hello"},
        ],
    }


def test_parameters_are_passed_through() -> None:
    body = sent(temperature=0, max_completion_tokens=900, seed=7, reasoning_effort="low")
    assert (body["temperature"], body["seed"], body["reasoning_effort"]) == (0, 7, "low")
    assert body["max_completion_tokens"] == 900


def test_a_schema_that_fits_is_asked_for_strictly() -> None:
    body = sent(Prompt(PROMPT.messages, schema=SCHEMA))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {**SCHEMA, "required": []},
        {**SCHEMA, "properties": {"score": {"type": "object"}}},
        {**SCHEMA, "properties": {"score": {"type": "array", "items": {"type": "object"}}}},
        {**SCHEMA, "properties": {"score": {"anyOf": [{"type": "object"}]}}},
        {**SCHEMA, "properties": {"score": {"oneOf": [{"type": "string"}]}}},
        {"type": "array", "items": {"type": "string"}},
    ],
)
def test_a_schema_that_strict_mode_refuses_is_sent_as_a_hint(schema: Json) -> None:
    body = sent(Prompt(PROMPT.messages, schema=schema))
    assert body["response_format"]["json_schema"] == {
        "name": "answer",
        "strict": False,
        "schema": schema,
    }


def test_the_order_of_a_schema_is_kept_because_models_answer_in_it() -> None:
    properties = {"reason": {"type": "string"}, "a": {"type": "number"}}
    schema = {**SCHEMA, "properties": properties, "required": ["reason", "a"]}
    body = sent(Prompt(PROMPT.messages, schema=schema))
    held = body["response_format"]["json_schema"]["schema"]
    assert list(held["properties"]) == ["reason", "a"]


def test_a_null_parameter_leaves_its_field_out() -> None:
    assert "response_format" not in sent(
        Prompt(PROMPT.messages, schema=SCHEMA), response_format=None
    )


def test_a_server_without_schemas_can_be_asked_for_any_json() -> None:
    wanted = {"type": "json_object"}
    body = sent(Prompt(PROMPT.messages, schema=SCHEMA), response_format=wanted)
    assert body["response_format"] == wanted


def test_tools_are_native() -> None:
    body = sent(Prompt(PROMPT.messages, tools=[WEATHER]), tool_choice="required")
    assert body["tool_choice"] == "required"
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "The weather of a city.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]


@pytest.mark.parametrize("name", ["model", "messages", "stream", "n", "tools"])
def test_a_parameter_that_is_ours_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"model 'm': params.{name}: set by callscore"):
        build_request(spec("openai", URL, params={name: 2}))


@pytest.mark.parametrize("name", ["api_key", "Authorization", "headers"])
def test_a_key_among_the_parameters_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(ConfigError, match="environment") as refused:
        build_request(spec("openai", URL, params={name: KEY}))
    assert KEY not in str(refused.value)


def test_azure_gets_its_version_and_its_own_header() -> None:
    with serving(chat()) as stub:
        base = f"{stub.origin}/openai/deployments/gpt?api-version=2024-10-21"
        ask(spec("openai", base))
    (request,) = stub.requests
    assert request.path == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers


def test_a_base_url_may_already_hold_the_path() -> None:
    with serving(chat()) as stub:
        ask(spec("openai", f"{stub.url}/chat/completions"))
    assert stub.requests[0].path == "/v1/chat/completions"


def called(*calls: Json) -> Json:
    return {"tool_calls": [{"id": "1", "type": "function", "function": call} for call in calls]}


WORDS = [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]
NO = [{"type": "refusal", "refusal": "I will not."}]
NO_USAGE = {k: v for k, v in chat_completion().items() if k != "usage"}


@pytest.mark.parametrize(
    ("answer", "text", "finish", "calls"),
    [
        (chat_completion("hello"), "hello", "stop", ()),
        (chat_completion(""), "", "stop", ()),
        (chat_completion(None), "", "stop", ()),
        (chat_completion("half", "length"), "half", "length", ()),
        (chat_completion(None, "content_filter"), "", "content_filter", ()),
        (chat_completion("mixed", "model_length"), "mixed", "length", ()),
        (chat_completion("hello", None), "hello", None, ()),
        (chat_completion("hello", "something_new"), "hello", None, ()),
        (chat_completion(WORDS), "two parts", "stop", ()),
        (chat_completion([]), "", "stop", ()),
        (chat_completion(NO), "I will not.", "refusal", ()),
        (chat_completion(None, refusal="I will not."), "I will not.", "refusal", ()),
        (chat_completion("hello", refusal=None, annotations=[]), "hello", "stop", ()),
        (chat_completion("a \ud83d cut"), "a \ufffd cut", "stop", ()),
        (
            chat_completion(None, "tool_calls", **called({"name": "f", "arguments": '{"a": 1}'})),
            "",
            "tool_calls",
            (ToolCall("f", '{"a": 1}'),),
        ),
        (
            chat_completion(None, "tool_calls", **called({"name": "f", "arguments": '{"a": '})),
            "",
            "tool_calls",
            (ToolCall("f", '{"a": '),),
        ),
        (
            chat_completion(
                "both",
                "stop",
                **called({"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": None}),
            ),
            "both",
            "tool_calls",
            (ToolCall("f", '{"a":1}'), ToolCall("g", "")),
        ),
        (
            chat_completion(None, "length", **called({"name": "f", "arguments": "{"})),
            "",
            "length",
            (ToolCall("f", "{"),),
        ),
    ],
)
def test_an_answer_is_read_as_it_was_given(
    answer: Json, text: str, finish: str | None, calls: tuple[ToolCall, ...]
) -> None:
    with serving(always(Answer(answer))) as stub:
        reply = expect_response(ask(spec("openai", stub.url))).reply
    assert (reply.text, reply.finish_reason, tuple(reply.tool_calls)) == (text, finish, calls)
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert reply.model == "stub-2026-01-01"
    assert reply.cost_usd is None


def test_of_several_choices_the_first_counts() -> None:
    answer = chat_completion("first")
    answer["choices"] += chat_completion("second")["choices"]
    with serving(always(Answer(answer))) as stub:
        assert expect_response(ask(spec("openai", stub.url))).reply.text == "first"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None)),
        ({}, (None, None)),
        ("free", (None, None)),
        ({"prompt_tokens": None, "completion_tokens": 3}, (None, 3)),
        ({"prompt_tokens": -4, "completion_tokens": 3}, (None, 3)),
        ({"prompt_tokens": "11", "completion_tokens": True}, (None, None)),
    ],
)
def test_an_odd_usage_is_unknown_and_costs_no_answer(
    usage: object, expected: tuple[int | None, int | None]
) -> None:
    with serving(always(Answer({**NO_USAGE, "usage": usage}))) as stub:
        reply = expect_response(ask(spec("openai", stub.url))).reply
    assert reply.text == "ok"
    assert (reply.input_tokens, reply.output_tokens) == expected


def test_a_missing_usage_is_unknown() -> None:
    with serving(always(Answer(NO_USAGE))) as stub:
        reply = expect_response(ask(spec("openai", stub.url))).reply
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def test_a_prompt_that_the_filter_stops_is_the_answer_of_that_model() -> None:
    stopped = openai_error("The response was filtered", "content_filter")
    with serving(always(Answer(stopped, 400))) as stub:
        reply = expect_response(ask(spec("openai", stub.url))).reply
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def test_an_outage_in_the_finish_reason_is_no_answer() -> None:
    cut = chat_completion("half", "insufficient_system_resource")
    with serving(always(Answer(cut))) as stub:
        answer = expect_failure(ask(spec("openai", stub.url)))
    assert answer.kind == "server"


SAME = spec("openai", URL, params={"temperature": 0, "seed": 1})


@pytest.mark.parametrize(
    "other",
    [
        spec("openai", URL, params={"temperature": 0.1, "seed": 1}),
        spec("openai", URL, params={"temperature": 0}),
        spec("openai", URL, params={"temperature": 0, "seed": 1}, model="stub-2"),
        spec("openai", "http://127.0.0.1:9/v2", params={"temperature": 0, "seed": 1}),
        spec("openai", "http://127.0.0.1:8/v1", params={"temperature": 0, "seed": 1}),
        spec("anthropic", URL, params={"temperature": 0, "seed": 1}),
    ],
)
def test_whatever_determines_the_answer_changes_the_key(other: Any) -> None:
    assert build_request(SAME).key != build_request(other).key


def test_prompt_and_repeat_change_the_key() -> None:
    keys = {
        build_request(SAME).key,
        build_request(SAME, repeat=2).key,
        build_request(SAME, repeat=12).key,
        build_request(SAME, Prompt([*PROMPT.messages, Message("user", "and then?")])).key,
        build_request(SAME, Prompt(PROMPT.messages, schema=SCHEMA)).key,
        build_request(SAME, Prompt(PROMPT.messages, tools=[WEATHER])).key,
    }
    assert len(keys) == 6


def test_what_does_not_determine_the_answer_leaves_the_key() -> None:
    renamed = spec("openai", URL, name="other", params={"seed": 1, "temperature": 0})
    elsewhere = spec("openai", f"{URL}/", api_key_env=None, params={"temperature": 0, "seed": 1})
    assert build_request(SAME).key == build_request(renamed).key == build_request(elsewhere).key
    assert build_request(SAME).body == build_request(renamed).body


@pytest.mark.parametrize(
    ("params", "expected"),
    [({}, 8192), ({"max_tokens": 50}, 50), ({"max_completion_tokens": 60, "max_tokens": 50}, 60)],
)
def test_the_most_output_tokens_are_part_of_the_request(params: Json, expected: int) -> None:
    call = build_request(spec("openai", URL, params=params))
    assert call.max_output_tokens == expected
    assert call.model == "stub-1"


@pytest.mark.parametrize(
    ("text", "low", "high"), [("word " * 800, 950, 1100), ("हिन्दी " * 500, 2800, 5000)]
)
def test_input_tokens_are_estimated_from_the_bytes(text: str, low: int, high: int) -> None:
    call = build_request(spec("openai", URL), Prompt([Message("user", text)]))
    assert low < call.input_tokens < high


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_raise(raw: bytes) -> None:
    ChatCompletions("m", {}).read(raw)
