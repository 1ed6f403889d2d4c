"""What happens where an API refuses the form of a request: the next best form is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from callscore.core.case import Message, Prompt
from callscore.core.errors import ConfigError
from callscore.providers.catalog import make_provider
from callscore.providers.http import Http
from provider_calls import (
    PROMPT,
    SCHEMA,
    WEATHER,
    ask,
    ask_times,
    build_request,
    expect_failure,
    expect_response,
    secrets,
    spec,
)
from strict_apis import (
    responses_only,
    strict_anthropic,
    strict_converse,
    strict_gemini,
    strict_template,
    without_schemas,
)
from stub_servers import Answer, Json, Request, openai_error, serving

OPEN: Json = {"type": "object", "additionalProperties": {"type": "number"}}
WITH_SCHEMA = Prompt(PROMPT.messages, schema=SCHEMA)
WITH_OPEN_SCHEMA = Prompt(PROMPT.messages, schema=OPEN)
HISTORY = Prompt(
    (
        Message("system", "Plan."),
        Message("assistant", "earlier"),
        Message("user", "one"),
        Message("user", "two"),
        Message("assistant", "three"),
        Message("assistant", ""),
        Message("assistant", "four"),
    ),
    tools=[WEATHER],
)
STRICT = {
    "anthropic": strict_anthropic,
    "bedrock": strict_converse,
    "gemini": strict_gemini,
    "openai": without_schemas,
}
PROMPTS = {"plain": PROMPT, "schema": WITH_SCHEMA, "open": WITH_OPEN_SCHEMA, "history": HISTORY}


@pytest.mark.parametrize("provider", STRICT)
@pytest.mark.parametrize("kind", PROMPTS)
def test_r08_current_apis_answer_every_kind_of_request(provider: str, kind: str) -> None:
    with serving(STRICT[provider]) as stub:
        expect_response(ask(spec(provider, stub.url), PROMPTS[kind]))


@pytest.mark.parametrize(
    ("provider", "prompt", "asked_as", "refused"),
    [
        ("anthropic", WITH_SCHEMA, None, 0),
        ("anthropic", WITH_OPEN_SCHEMA, "auto", 1),
        ("bedrock", WITH_SCHEMA, None, 0),
        ("bedrock", WITH_OPEN_SCHEMA, "auto", 1),
        ("openai", WITH_SCHEMA, "json", 1),
        ("gemini", WITH_OPEN_SCHEMA, None, 0),
    ],
)
def test_a_form_that_was_refused_is_not_tried_again_and_the_answer_says_so(
    provider: str, prompt: Prompt, asked_as: str | None, refused: int
) -> None:
    with serving(STRICT[provider]) as stub:
        answers = ask_times(5, spec(provider, stub.url), prompt)
    assert [expect_response(answer).reply.asked_as for answer in answers] == [asked_as] * 5
    assert len(stub.requests) == 5 + refused


def test_a_model_from_before_structured_outputs_is_held_by_a_forced_tool() -> None:
    def old(request: Request) -> Answer:
        if "tool_choice" in request.json:
            return strict_anthropic(_without_choice(request), takes_format=False)
        return strict_anthropic(request, takes_format=False)

    with serving(old) as stub:
        reply = expect_response(ask(spec("anthropic", stub.url), WITH_SCHEMA)).reply
    assert reply.asked_as == "tool"
    assert [sorted({"tool_choice", "output_config"} & r.json.keys()) for r in stub.requests] == [
        ["output_config"],
        ["tool_choice"],
    ]


def _without_choice(request: Request) -> Request:
    import json

    body = {key: value for key, value in request.json.items() if key != "tool_choice"}
    return Request(request.method, request.path, request.headers, json.dumps(body).encode())


def test_where_every_form_is_refused_the_call_fails_and_nothing_is_remembered() -> None:
    def never(request: Request) -> Answer:
        return Answer(openai_error("the prompt is too long for this tool and schema"), 400)

    with serving(never) as stub:
        answers = ask_times(2, spec("anthropic", stub.url), WITH_SCHEMA)
    assert [expect_failure(answer).kind for answer in answers] == ["bad_request"] * 2
    assert len(stub.requests) == 2 * 4
    assert [("output_config" in request.json) for request in stub.requests].count(True) == 2


def test_a_refusal_of_something_else_is_asked_once() -> None:
    with serving(lambda _: Answer(openai_error("max_tokens is too large"), 400)) as stub:
        expect_failure(ask(spec("anthropic", stub.url), WITH_SCHEMA))
    assert len(stub.requests) == 1


def test_every_schema_finds_its_own_form_in_whatever_order_they_are_asked() -> None:
    def forms(order: Sequence[Prompt]) -> list[str | None]:
        async def asked() -> list[str | None]:
            provider = make_provider(spec("anthropic", stub.url), secrets(), Http())
            try:
                calls = [provider.request(prompt, n) for n, prompt in enumerate(order)]
                found = await asyncio.gather(*(provider.attempt(call) for call in calls))
                return [expect_response(one).reply.asked_as for one in found]
            finally:
                await provider.close()

        return asyncio.run(asked())

    with serving(strict_anthropic) as stub:
        assert forms([WITH_SCHEMA, WITH_OPEN_SCHEMA] * 3) == [None, "auto"] * 3
        assert forms([WITH_OPEN_SCHEMA, WITH_SCHEMA] * 3) == ["auto", None] * 3


def test_a_form_that_no_schema_was_taken_in_is_given_up_for_the_model() -> None:
    """Cases may each have a schema of their own: not every one of them learns it anew."""
    names = [f"field {number}" for number in range(20)]
    prompts = [
        Prompt(PROMPT.messages, {**SCHEMA, "required": [name], "properties": {name: {}}})
        for name in names
    ]

    async def asked() -> None:
        provider = make_provider(spec("openai", stub.url), secrets(), Http())
        try:
            for prompt in prompts:
                reply = expect_response(await provider.attempt(provider.request(prompt, 1))).reply
                assert reply.asked_as == "json"
        finally:
            await provider.close()

    with serving(without_schemas) as stub:
        asyncio.run(asked())
    assert len(stub.requests) == len(prompts) + 3


def test_another_form_leaves_the_key_of_the_request_as_it_was() -> None:
    """Else a resumed run, which has not heard the refusal yet, would pay for the answer again."""
    model = spec("anthropic", "http://127.0.0.1:9")
    before = build_request(model, WITH_OPEN_SCHEMA).key
    with serving(strict_anthropic) as stub:
        ask(spec("anthropic", stub.url), WITH_OPEN_SCHEMA)
    assert build_request(model, WITH_OPEN_SCHEMA).key == before


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "gemini"])
def test_turns_of_one_role_are_merged_and_the_user_begins_and_ends(provider: str) -> None:
    with serving(STRICT[provider]) as stub:
        expect_response(ask(spec(provider, stub.url), HISTORY))
    body = stub.requests[0].json
    texts = [_text(turn) for turn in body.get("messages") or body["contents"]]
    assert texts == ["Begin.", "earlier", "one\n\ntwo", "three\n\nfour", "Continue."]


def _text(turn: Json) -> str:
    parts = turn.get("parts") or turn["content"]
    return parts if isinstance(parts, str) else "".join(part["text"] for part in parts)


def test_a_conversation_that_alternates_is_left_as_it_is() -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    with serving(strict_anthropic) as stub:
        expect_response(ask(spec("anthropic", stub.url), Prompt(turns)))
    assert [turn["content"] for turn in stub.requests[0].json["messages"]] == ["a", "b", "c"]


def test_a_chat_template_that_wants_alternating_turns_gets_them() -> None:
    with serving(strict_template) as stub:
        answers = ask_times(3, spec("openai", stub.url), HISTORY)
    assert [expect_response(answer).reply.asked_as for answer in answers] == [None] * 3
    assert len(stub.requests) == 4
    sent = [turn["content"] for turn in stub.requests[-1].json["messages"]]
    assert sent == ["Plan.", "Begin.", "earlier", "one\n\ntwo", "three\n\nfour", "Continue."]
    first = [turn["content"] for turn in stub.requests[0].json["messages"]]
    assert first == [message.content for message in HISTORY.messages]


# The second API of OpenAI


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({}, ["/v1/chat/completions", "/v1/responses", "/v1/responses"]),
        ({"api": "responses"}, ["/v1/responses"] * 2),
    ],
)
def test_a_model_that_needs_the_responses_api_is_asked_there(
    changes: dict[str, str], paths: list[str]
) -> None:
    with serving(responses_only) as stub:
        answers = ask_times(2, spec("openai", stub.url, **changes), WITH_SCHEMA)
    assert [expect_response(answer).reply.text for answer in answers] == ['{"score": 4}'] * 2
    assert [request.path for request in stub.requests] == paths


def test_whoever_wants_chat_completions_gets_nothing_else() -> None:
    with serving(responses_only) as stub:
        answer = expect_failure(ask(spec("openai", stub.url, api="chat")))
    assert (answer.kind, len(stub.requests)) == ("not_found", 1)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("o3-pro", "responses"),
        ("gpt-5-pro-2025-10-06", "responses"),
        ("gpt-5.3-codex", "responses"),
        ("o4-mini-deep-research", "responses"),
        ("gpt-4o", "chat/completions"),
        ("gpt-5.4", "chat/completions"),
    ],
)
def test_models_that_live_in_one_api_alone_are_known_by_name(model: str, path: str) -> None:
    def body(base_url: str | None, **changes: str) -> bytes:
        named = spec("openai", base_url, model=model, **changes)
        return make_provider(named, secrets(), Http()).request(PROMPT, 1).body

    api = "responses" if path == "responses" else "chat"
    assert body(None) == body(None, api=api)
    # another server may well offer a model of this name in the usual API
    assert body("https://proxy.example/v1") == body("https://proxy.example/v1", api="chat")


@pytest.mark.parametrize(
    ("provider", "api", "expected"),
    [
        ("openai", "completions", "expected chat or responses"),
        ("anthropic", "2024-01-01", "expected 2023-06-01 or 2026-10-21"),
        ("gemini", "v1", "there is no choice here"),
        ("bedrock", "invoke", "there is no choice here"),
    ],
)
def test_an_unknown_api_is_refused(provider: str, api: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        build_request(spec(provider, "http://127.0.0.1:9", api=api))


# The newer version of the messages API


def test_the_newer_version_of_the_messages_api_is_sent_where_it_is_asked_for() -> None:
    with serving(strict_anthropic) as stub:
        expect_response(ask(spec("anthropic", stub.url, api="2026-10-21"), WITH_SCHEMA))
        expect_response(ask(spec("anthropic", stub.url, params={"temperature": 0.2}), WITH_SCHEMA))
    versions = [request.headers["anthropic-version"] for request in stub.requests]
    assert versions == ["2026-10-21", "2023-06-01"]


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
def test_what_the_newer_version_refuses_is_refused_before_anything_is_sent(name: str) -> None:
    with pytest.raises(ConfigError, match=f"params.{name}: version 2026-10-21 of the API refuses"):
        build_request(spec("anthropic", "http://127.0.0.1:9", api="2026-10-21", params={name: 1}))


def test_another_version_is_another_request() -> None:
    keys = {
        build_request(spec("anthropic", "http://127.0.0.1:9", api=api)).key
        for api in (None, "2023-06-01", "2026-10-21")
    }
    assert len(keys) == 2
