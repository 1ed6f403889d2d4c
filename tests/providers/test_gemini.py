"""generateContent: what is sent, and what is made of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.case import Message, Prompt, ToolCall
from callscore.core.errors import ConfigError
from callscore.providers.catalog import make_provider
from callscore.providers.http import Http
from provider_calls import (
    KEY,
    PROMPT,
    SCHEMA,
    WEATHER,
    ask,
    build_request,
    expect_failure,
    expect_response,
    secrets,
    spec,
)
from stub_servers import Answer, Json, always, gemini_answer, serving

HELLO = [{"text": "hello"}]
URL = "http://127.0.0.1:9"


def sent(prompt: Prompt = PROMPT, **params: Any) -> Json:
    with serving(always(Answer(gemini_answer(HELLO)))) as stub:
        ask(spec("gemini", f"{stub.origin}/v1beta", params=params), prompt)
    (request,) = stub.requests
    assert request.path == "/v1beta/models/stub-1:generateContent"
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.path
    return request.json


def test_a_plain_request_keeps_the_system_apart() -> None:
    assert sent() == {
        "contents": [{"role": "user", "parts": [{"text": "CASE-1 says hello"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
    }


def test_the_assistant_is_called_model() -> None:
    body = sent(Prompt([Message("user", "a"), Message("assistant", "b"), Message("user", "c")]))
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert "systemInstruction" not in body


def test_a_schema_asks_for_json() -> None:
    body = sent(Prompt(PROMPT.messages, schema=SCHEMA), temperature=0)
    assert body["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "temperature": 0,
    }


def test_a_schema_may_be_left_to_the_prompt() -> None:
    prompt = Prompt(PROMPT.messages, schema=SCHEMA)
    body = sent(prompt, responseJsonSchema=None, responseMimeType=None)
    assert "generationConfig" not in body


def test_parameters_find_their_place() -> None:
    body = sent(
        max_tokens=99,
        top_p=0.5,
        stop="X",
        seed=3,
        thinkingConfig={"thinkingBudget": 0},
        safetySettings=[{"category": "c", "threshold": "t"}],
    )
    assert body["generationConfig"] == {
        "maxOutputTokens": 99,
        "topP": 0.5,
        "stopSequences": ["X"],
        "seed": 3,
        "thinkingConfig": {"thinkingBudget": 0},
    }
    assert body["safetySettings"] == [{"category": "c", "threshold": "t"}]
    assert build_request(spec("gemini", URL, params={"max_tokens": 99})).max_output_tokens == 99


def test_tools_are_declared_and_leave_no_room_for_a_schema() -> None:
    body = sent(Prompt(PROMPT.messages, schema=SCHEMA, tools=[WEATHER]))
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "get_weather",
                    "description": "The weather of a city.",
                    "parametersJsonSchema": {"type": "object", "properties": {}},
                }
            ]
        }
    ]
    assert "generationConfig" not in body


@pytest.mark.parametrize("name", ["contents", "candidateCount", "tools"])
def test_a_parameter_that_is_ours_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="set by callscore"):
        build_request(spec("gemini", URL, params={name: 2}))


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-x", "/models/gemini-x:generateContent"),
        ("models/gemini-x", "/models/gemini-x:generateContent"),
        ("tunedModels/a b", "/tunedModels/a%20b:generateContent"),
        ("x?key=1", "/models/x%3Fkey%3D1:generateContent"),
    ],
)
def test_the_model_stands_in_the_path_and_stays_there(model: str, path: str) -> None:
    with serving(always(Answer(gemini_answer(HELLO)))) as stub:
        ask(spec("gemini", stub.origin, model=model))
    assert stub.requests[0].path == path


def test_vertex_gets_a_bearer_token() -> None:
    url = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google"
    provider = make_provider(spec("gemini", url), secrets(), Http())
    assert "x-goog-api-key" not in repr(vars(provider))


CALL = {"functionCall": {"name": "get_weather", "args": {"city": "Köln"}}}
THOUGHT = {"text": "hmm", "thought": True}


@pytest.mark.parametrize(
    ("parts", "reason", "text", "finish", "calls"),
    [
        (HELLO, "STOP", "hello", "stop", 0),
        ([*HELLO, *HELLO], "STOP", "hellohello", "stop", 0),
        ([THOUGHT, *HELLO], "STOP", "hello", "stop", 0),
        ([], "STOP", "", "stop", 0),
        (HELLO, "MAX_TOKENS", "hello", "length", 0),
        ([], "SAFETY", "", "content_filter", 0),
        ([], "RECITATION", "", "content_filter", 0),
        ([], "PROHIBITED_CONTENT", "", "content_filter", 0),
        ([], "SPII", "", "content_filter", 0),
        ([], "MALFORMED_FUNCTION_CALL", "", "stop", 0),
        (HELLO, "OTHER", "hello", None, 0),
        (HELLO, None, "hello", None, 0),
        ([CALL], "STOP", "", "tool_calls", 1),
        ([*HELLO, CALL, CALL], "STOP", "hello", "tool_calls", 2),
    ],
)
def test_an_answer_is_read_as_it_was_given(
    parts: list[Json], reason: str | None, text: str, finish: str | None, calls: int
) -> None:
    with serving(always(Answer(gemini_answer(parts, reason)))) as stub:
        reply = expect_response(ask(spec("gemini", stub.url))).reply
    assert (reply.text, reply.finish_reason) == (text, finish)
    assert tuple(reply.tool_calls) == (ToolCall("get_weather", '{"city":"Köln"}'),) * calls
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert reply.model == "gemini-stub-001"


def test_a_candidate_without_content_is_an_empty_answer() -> None:
    body = {"candidates": [{"finishReason": "MAX_TOKENS", "index": 0}]}
    with serving(always(Answer(body))) as stub:
        reply = expect_response(ask(spec("gemini", stub.url))).reply
    assert (reply.text, reply.finish_reason, reply.input_tokens) == ("", "length", None)


def test_a_blocked_prompt_is_an_answer() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    with serving(always(Answer(body))) as stub:
        reply = expect_response(ask(spec("gemini", stub.url))).reply
    assert (reply.text, reply.finish_reason, reply.input_tokens) == ("", "content_filter", 9)


NEITHER = [{}, {"candidates": []}, {"candidates": "x"}, {"promptFeedback": {}}]


@pytest.mark.parametrize("body", NEITHER)
def test_what_holds_neither_candidate_nor_reason_is_unreadable(body: Json) -> None:
    with serving(always(Answer(body))) as stub:
        assert expect_failure(ask(spec("gemini", stub.url))).kind == "unreadable"


def test_a_wrong_key_is_told_with_a_400_and_still_stops_the_model() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    body = {
        "error": {
            "code": 400,
            "message": "API key not valid.",
            "status": "INVALID_ARGUMENT",
            "details": [detail],
        }
    }
    with serving(always(Answer(body, 400))) as stub:
        assert expect_failure(ask(spec("gemini", stub.url))).kind == "unauthorised"


def test_how_long_to_wait_may_stand_in_the_body() -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    body = {
        "error": {
            "code": 429,
            "message": "Quota exceeded",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "other"}, delay],
        }
    }
    with serving(always(Answer(body, 429))) as stub:
        answer = expect_failure(ask(spec("gemini", stub.url)))
    assert (answer.kind, answer.retry_after_s) == ("rate_limited", 34.5)
