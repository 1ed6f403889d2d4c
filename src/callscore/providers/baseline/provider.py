"""`baseline`: rules only, no model. A floor for real models."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from callscore.core.case import Prompt, Reply, ToolCall
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.providers.baseline import calls, steps

LABEL = "baseline"
VERSION = 2
"""Part of the cache key: raised with every change of the rules."""
KEY_BYTES = 32

_READ = msgspec.json.Decoder(Prompt)


class BaselineProvider:
    """Answers a prompt by keyword spotting, a lexicon and simple heuristics."""

    def __init__(self, name: str) -> None:
        self.name = name

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The prompt itself; the rules need nothing else."""
        body = msgspec.json.encode(prompt, order="deterministic")
        known = f"{LABEL}\0{VERSION}\0{repeat}\0".encode()
        key = blake2b(known + body, digest_size=KEY_BYTES).digest()
        return ProviderRequest(key, LABEL, body, input_tokens=0, max_output_tokens=0)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """The answer of the rules."""
        prompt = _READ.decode(request.body)
        if prompt.schema is not None:
            answer = calls.answer(prompt.schema, _document(prompt))
            return ProviderResponse(_reply(msgspec.json.encode(answer).decode()))
        if not prompt.tools:
            return ProviderResponse(_reply(steps.plan(prompt.messages)))
        made = steps.act(prompt.messages, prompt.tools)
        return ProviderResponse(_reply(steps.ASKS_BACK) if made is None else _reply("", made))

    async def close(self) -> None:
        """Nothing to close."""


def _reply(text: str, *made: ToolCall) -> Reply:
    reason = "tool_calls" if made else "stop"
    return Reply(
        text, finish_reason=reason, input_tokens=0, output_tokens=0, tool_calls=made, model=LABEL
    )


def _document(prompt: Prompt) -> dict[str, Any]:
    """The JSON document in the last message; empty if there is none."""
    try:
        found = msgspec.json.decode(prompt.messages[-1].content)
    except (msgspec.MsgspecError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}
