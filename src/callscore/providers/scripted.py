"""A provider that follows a script: for tests and trials, without a network."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b

import msgspec

from callscore.core.case import Prompt, Reply
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse

Script = Callable[[ProviderRequest, int], ProviderResponse | AttemptFailed]
"""From a request and the number of its attempt (from 1) to the result."""


def answer_ok(request: ProviderRequest, attempt: int) -> ProviderResponse:
    """Answer every request at once."""
    return ProviderResponse(Reply("ok", "stop", request.input_tokens, 1, model=request.model))


class ScriptedProvider:
    """Does what the script says after `latency_s`, and counts its requests."""

    def __init__(
        self, script: Script = answer_ok, *, name: str = "scripted", latency_s: float = 0.0
    ) -> None:
        self.name = name
        self._script = script
        self._latency_s = latency_s
        self.attempts: Counter[bytes] = Counter()
        """Attempts by the key of the request."""
        self.paid: Counter[bytes] = Counter()
        """Replies by the key of the request."""
        self.in_flight = 0
        self.most_in_flight = 0

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt."""
        body = msgspec.json.encode(prompt)
        key = blake2b(body + b"#%d" % repeat, key=self.name.encode()[:64], digest_size=32).digest()
        return ProviderRequest(key, self.name, body, len(body) // 4, 1)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """One attempt, as scripted."""
        self.attempts[request.key] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self._latency_s:
                await asyncio.sleep(self._latency_s)
            result = self._script(request, self.attempts[request.key])
        finally:
            self.in_flight -= 1
        if isinstance(result, ProviderResponse):
            self.paid[request.key] += 1
        return result

    async def close(self) -> None:
        """Nothing to close."""
