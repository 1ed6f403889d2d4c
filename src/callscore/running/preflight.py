"""One small request a model before anything is spent: wrong keys and names show at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from callscore.core.calling import NEVER_REPEATED, Answered, AttemptFailed, Provider
from callscore.core.case import Message, Prompt
from callscore.core.run_words import Price

PROMPT = Prompt((Message("user", "Reply with the word ok."),))
ATTEMPTS = 5
FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 5.0


class Preflight(msgspec.Struct, frozen=True):
    """What one small request to a model came to."""

    model: str
    failure: AttemptFailed | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """What it cost; None where nothing was answered, or nobody knows."""

    def priced(self, price: Price | None) -> Preflight:
        """The same with what it cost at this price."""
        if self.failure is not None or price is None:
            return self
        cost = price.of(self.input_tokens, self.output_tokens)
        return msgspec.structs.replace(self, cost_usd=cost)


async def preflight(providers: Mapping[str, Provider], timeout_s: float) -> list[Preflight]:
    """Ask every model at once; a passing trouble is tried again a few times."""
    return list(
        await asyncio.gather(
            *(_ask(name, provider, timeout_s) for name, provider in providers.items())
        )
    )


async def _ask(name: str, provider: Provider, timeout_s: float) -> Preflight:
    call = provider.call(PROMPT, 1)
    wait = FIRST_WAIT_S
    failure = AttemptFailed("timeout", f"no answer within {timeout_s:g} s")
    for attempt in range(ATTEMPTS):
        try:
            async with asyncio.timeout(timeout_s):
                answer = await provider.attempt(call)
        except TimeoutError:
            continue
        if isinstance(answer, Answered):
            reply = answer.reply
            return Preflight(name, None, reply.input_tokens or 0, reply.output_tokens or 0)
        failure = answer
        if answer.kind in NEVER_REPEATED or attempt == ATTEMPTS - 1:
            break
        await asyncio.sleep(min(max(wait, answer.retry_after_s or 0), LONGEST_WAIT_S))
        wait *= 2
    return Preflight(name, failure)
