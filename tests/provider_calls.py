"""Send single requests to a model on a stub server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.case import Message, Prompt, Tool
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.run import ModelSpec
from callscore.providers.catalog import make_provider
from callscore.providers.http import Http
from callscore.providers.secrets import Secrets

KEY = "sk-canary-7f3kQ29xLmZ0aa"
VARIABLE = "STUB_KEY"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score"],
    "properties": {"score": {"type": "number"}},
}
WEATHER = Tool("get_weather", "The weather of a city.", {"type": "object", "properties": {}})
PROMPT = Prompt([Message("system", "Be brief."), Message("user", "CASE-1 says hello")])


def spec(provider: str, base_url: str | None, **changes: Any) -> ModelSpec:
    """A model on a stub server, with a key."""
    fields = {"name": "m", "model": "stub-1", "api_key_env": VARIABLE, **changes}
    return ModelSpec(provider=provider, base_url=base_url, **fields)


def secrets(**environment: str) -> Secrets:
    return Secrets({VARIABLE: KEY, **environment})


def build_request(model: ModelSpec, prompt: Prompt = PROMPT, repeat: int = 1) -> ProviderRequest:
    """Build a request without sending it."""
    return make_provider(model, secrets(), Http()).request(prompt, repeat)


def ask(
    model: ModelSpec,
    prompt: Prompt = PROMPT,
    *,
    environment: Mapping[str, str] | None = None,
    attempt_seconds: float = 10.0,
    max_bytes: int = 1_000_000,
) -> ProviderResponse | AttemptFailed:
    """Make one attempt."""
    (answer,) = ask_times(
        1, model, prompt, Http(attempt_seconds=attempt_seconds, max_bytes=max_bytes), environment
    )
    return answer


def ask_times(
    times: int,
    model: ModelSpec,
    prompt: Prompt = PROMPT,
    http: Http | None = None,
    environment: Mapping[str, str] | None = None,
) -> Sequence[ProviderResponse | AttemptFailed]:
    """Make several attempts in sequence, with one connection pool."""

    async def attempts() -> Sequence[ProviderResponse | AttemptFailed]:
        provider = make_provider(model, secrets(**(environment or {})), http or Http())
        try:
            call = provider.request(prompt, 1)
            return [await provider.attempt(call) for _ in range(times)]
        finally:
            await provider.close()

    return asyncio.run(attempts())


def expect_failure(answer: ProviderResponse | AttemptFailed) -> AttemptFailed:
    assert isinstance(answer, AttemptFailed), answer
    return answer


def expect_response(answer: ProviderResponse | AttemptFailed) -> ProviderResponse:
    assert isinstance(answer, ProviderResponse), answer
    return answer
