"""Converse: what is sent, how it is signed, and what is made of its answers."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from urllib.parse import quote

import pytest

from callscore.core.case import Prompt, ToolCall
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
from stub_servers import Answer, Json, Request, always, converse_answer, serving

HELLO = [{"text": "hello"}]
ANSWER_TOOL = "record_the_answer"
MODEL = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.claude-v1:0"
WITH_SCHEMA = Prompt(PROMPT.messages, schema=SCHEMA)
ACCESS = {"AWS_REGION": "eu-west-1"}


def sent(prompt: Prompt = PROMPT, **params: Any) -> Json:
    with serving(always(Answer(converse_answer(HELLO)))) as stub:
        ask(spec("bedrock", stub.origin, params=params, model=MODEL), prompt)
    (request,) = stub.requests
    assert request.path == f"/model/{quote(MODEL, safe='')}/converse"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    return request.json


def test_a_plain_request_keeps_the_system_apart() -> None:
    assert sent() == {
        "messages": [{"role": "user", "content": [{"text": "CASE-1 says hello"}]}],
        "system": [{"text": "Be brief."}],
    }


def test_parameters_find_their_place() -> None:
    body = sent(max_tokens=99, temperature=0, top_k=5, serviceTier={"type": "flex"})
    assert body["inferenceConfig"] == {"maxTokens": 99, "temperature": 0}
    assert body["additionalModelRequestFields"] == {"top_k": 5}
    assert body["serviceTier"] == {"type": "flex"}
    model = spec("bedrock", "http://127.0.0.1:9", params={"max_tokens": 99})
    assert build_request(model).max_output_tokens == 99


def test_a_schema_may_be_carried_by_a_tool() -> None:
    config = sent(WITH_SCHEMA, structured_output="tool")["toolConfig"]
    (tool,) = config["tools"]
    assert tool["toolSpec"]["name"] == ANSWER_TOOL
    assert tool["toolSpec"]["inputSchema"] == {"json": SCHEMA}
    assert config["toolChoice"] == {"tool": {"name": ANSWER_TOOL}}
    assert sent(WITH_SCHEMA, structured_output="auto")["toolConfig"] == {"tools": [tool]}


def test_a_schema_is_an_output_format() -> None:
    body = sent(WITH_SCHEMA)
    held = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert held["name"] == "answer"
    assert '"score"' in held["schema"]
    assert "toolConfig" not in body


def test_a_schema_may_be_left_to_the_prompt() -> None:
    assert sent(WITH_SCHEMA, structured_output="none") == sent()


def test_tools_are_native() -> None:
    body = sent(Prompt(PROMPT.messages, schema=SCHEMA, tools=[WEATHER]))
    assert body["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "get_weather",
                    "description": "The weather of a city.",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                }
            }
        ]
    }


USE = {"toolUse": {"toolUseId": "1", "name": "get_weather", "input": {"city": "Köln"}}}
CARRIED = {"toolUse": {"toolUseId": "2", "name": ANSWER_TOOL, "input": {"score": 4}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hmm"}}}


@pytest.mark.parametrize(
    ("content", "reason", "text", "finish", "calls"),
    [
        (HELLO, "end_turn", "hello", "stop", 0),
        ([THOUGHT, *HELLO], "end_turn", "hello", "stop", 0),
        ([], "end_turn", "", "stop", 0),
        (HELLO, "max_tokens", "hello", "length", 0),
        (HELLO, "guardrail_intervened", "hello", "content_filter", 0),
        ([], "content_filtered", "", "content_filter", 0),
        (HELLO, "malformed_model_output", "hello", "stop", 0),
        (HELLO, "something_new", "hello", None, 0),
        ([*HELLO, USE, USE], "tool_use", "hello", "tool_calls", 2),
        ([CARRIED], "tool_use", '{"score":4}', "stop", 0),
    ],
)
def test_an_answer_is_read_as_it_was_given(
    content: list[Json], reason: str, text: str, finish: str | None, calls: int
) -> None:
    with serving(always(Answer(converse_answer(content, reason)))) as stub:
        reply = expect_response(ask(spec("bedrock", stub.origin))).reply
    assert (reply.text, reply.finish_reason) == (text, finish)
    assert tuple(reply.tool_calls) == (ToolCall("get_weather", '{"city":"Köln"}'),) * calls
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)


@pytest.mark.parametrize(
    ("status", "name", "expected"),
    [
        (429, "ThrottlingException", "rate_limited"),
        (400, "ServiceQuotaExceededException:http://internal.amazon.com/", "rate_limited"),
        (400, "ValidationException", "bad_request"),
        (403, "AccessDeniedException", "unauthorised"),
        (404, "ResourceNotFoundException", "not_found"),
        (408, "ModelTimeoutException", "timeout"),
        (424, "ModelErrorException", "server"),
        (503, "ServiceUnavailableException", "server"),
    ],
)
def test_errors_have_their_words(status: int, name: str, expected: str) -> None:
    body = {"message": "Too many tokens, please wait."}
    with serving(always(Answer(body, status, {"x-amzn-errortype": name}))) as stub:
        answer = expect_failure(ask(spec("bedrock", stub.origin)))
    assert answer.kind == expected
    assert "Too many tokens" in answer.message


@pytest.mark.parametrize("body", [{}, {"output": {}}, {"output": {"message": {"content": "x"}}}])
def test_what_is_no_answer_is_unreadable(body: Json) -> None:
    with serving(always(Answer(body))) as stub:
        assert expect_failure(ask(spec("bedrock", stub.origin))).kind == "unreadable"


def test_without_a_region_there_is_no_address() -> None:
    with pytest.raises(ConfigError, match="no region: set AWS_REGION"):
        make_provider(spec("bedrock", None), secrets(), Http())


def test_a_region_gives_the_address() -> None:
    one = make_provider(spec("bedrock", None), secrets(**ACCESS), Http())
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com"
    two = make_provider(spec("bedrock", url), secrets(), Http())
    assert one.request(PROMPT, 1).key == two.request(PROMPT, 1).key


def _signed(request: Request, secret: str, region: str) -> str:
    """AWS Signature Version 4, calculated apart from the code under test."""
    scheme, _, fields = request.headers["authorization"].partition(" ")
    parts = dict(field.strip().split("=", 1) for field in fields.split(","))
    names = parts["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            request.method,
            quote(request.path, safe="/~"),
            "",
            *(f"{name}:{request.headers[name]}" for name in names),
            "",
            parts["SignedHeaders"],
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    moment = request.headers["x-amz-date"]
    scope = f"{moment[:8]}/{region}/bedrock/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join([scheme, moment, scope, hashed])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


CREDENTIALS = {
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKIACANARYCANARY0000",
    "AWS_SECRET_ACCESS_KEY": "canary/secret+0123456789",
    "AWS_SESSION_TOKEN": "canary-session-token",
}


def test_without_a_key_requests_are_signed() -> None:
    pytest.importorskip("botocore", reason="signing needs the extra callscore[bedrock]")
    with serving(always(Answer(converse_answer(HELLO)))) as stub:
        model = spec("bedrock", stub.origin, model=MODEL, api_key_env=None)
        expect_response(ask(model, environment=CREDENTIALS))
    (request,) = stub.requests
    signature = request.headers["authorization"].rpartition("Signature=")[2]
    assert signature == _signed(request, CREDENTIALS["AWS_SECRET_ACCESS_KEY"], "eu-west-1")
    assert "/eu-west-1/bedrock/aws4_request" in request.headers["authorization"]
    assert request.headers["x-amz-security-token"] == "canary-session-token"
    assert request.headers["content-type"] == "application/json"


def test_credentials_that_an_error_echoes_are_redacted() -> None:
    pytest.importorskip("botocore", reason="signing needs the extra callscore[bedrock]")
    echo = {"message": f"The signature of {' '.join(CREDENTIALS.values())} does not match"}
    with serving(always(Answer(echo, 403))) as stub:
        model = spec("bedrock", stub.origin, model=MODEL, api_key_env=None)
        answer = expect_failure(ask(model, environment=CREDENTIALS))
    assert answer.kind == "unauthorised"
    assert "canary" not in answer.message.lower()
