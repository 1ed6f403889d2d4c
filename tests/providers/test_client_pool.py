"""Models behind APIs are opened in one place: over shared connections, or not to be asked."""

from __future__ import annotations

import asyncio

import pytest

from callscore.core.case import Message, Prompt
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, ProviderResponse
from callscore.core.run import ModelSpec
from callscore.providers.client_pool import ClientPool
from commands import run_python
from stub_servers import Hang, always, chat, serving

KEYS = {"STUB_KEY": "sk-test-9f8e7d6c5b4a3928"}
PROMPT = Prompt([Message("user", "?")])


def spec(url: str) -> ModelSpec:
    return ModelSpec("m", "openai", "stub", base_url=url, api_key_env="STUB_KEY")


def test_the_models_of_one_opener_share_connections_and_are_closed_together() -> None:
    async def ask_two_in_turn(url: str) -> list[object]:
        online = ClientPool(KEYS)
        try:
            models = [online.provider(spec(url)), online.provider(spec(url))]
            return [await model.attempt(model.request(PROMPT, 1)) for model in models]
        finally:
            await online.close()

    with serving(chat("yes")) as stub:
        found = asyncio.run(ask_two_in_turn(stub.url))
        assert [type(one) for one in found] == [ProviderResponse, ProviderResponse]
        assert stub.connections == 1


def test_an_attempt_ends_when_the_opener_says_so() -> None:
    async def ask(url: str) -> object:
        online = ClientPool(KEYS, attempt_seconds=0.05)
        try:
            model = online.provider(spec(url))
            return await model.attempt(model.request(PROMPT, 1))
        finally:
            await online.close()

    with serving(always(Hang())) as stub:
        found = asyncio.run(ask(stub.url))
    assert isinstance(found, AttemptFailed) and found.kind == "timeout"


def test_a_model_that_is_not_to_be_asked_needs_no_key() -> None:
    online = ClientPool({})
    with pytest.raises(ConfigError, match="STUB_KEY is not set"):
        online.provider(spec("https://example.com/v1"))
    model = online.provider(spec("https://example.com/v1"), sending=False)
    assert isinstance(asyncio.run(model.attempt(model.request(PROMPT, 1))), AttemptFailed)


def test_nothing_that_sends_is_imported_before_a_model_is_opened() -> None:
    code = (
        "import sys; from callscore.providers.client_pool import ClientPool; ClientPool({});"
        "sys.exit('aiohttp' in sys.modules)"
    )
    assert run_python(code).returncode == 0
