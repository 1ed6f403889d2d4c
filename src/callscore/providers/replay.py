"""`replay`: recorded outputs instead of a model, from the files that `callscore score` reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from callscore.core.case import Case, Failed, Prompt, Reply, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.strict_json import with_calls_of_object
from callscore.core.task import SCENARIO

LABEL = "replay"
KEY_BYTES = 32
BYTES_A_TOKEN = 4

Recorded = Callable[[str, int], Reply | Failed | None]
"""The recorded reply to a case in a run; None if there is none."""


class _Recording(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a request: the recorded reply, or why there was none.

    Bytes are stored as text with a marker, so that the recording stays readable.
    """

    text: str = ""
    is_json: bool = False
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tool_calls: Sequence[ToolCall] = ()
    failed: str | None = None

    def reply(self) -> Reply:
        """The reply as it was recorded."""
        return Reply(
            text=self.text.encode() if self.is_json else self.text,
            finish_reason=self.finish_reason,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
            tool_calls=self.tool_calls,
            model=LABEL,
        )


_READ = msgspec.json.Decoder(_Recording)


class ReplayProvider:
    """Replies with what was recorded for the case."""

    def __init__(self, name: str, recorded: Recorded) -> None:
        self.name = name
        self._recorded = recorded

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """Recordings are found by case; a prompt alone has none."""
        raise ConfigError(f"{self.name}: replay answers cases, not prompts")

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest | None:
        """The recorded reply as a request; None if none was recorded."""
        found = self._recorded(case.id, repeat)
        if found is None:
            return None
        if case.task == SCENARIO and isinstance(found, Reply):
            found = with_calls_of_object(found)
        body = msgspec.json.encode(_record(found))
        known = f"{LABEL}\0{self.name}\0{case.id}\0{repeat}\0".encode()
        key = blake2b(known + body, digest_size=KEY_BYTES).digest()
        tokens = len(body) // BYTES_A_TOKEN + 1
        return ProviderRequest(key, self.name, body, input_tokens=0, max_output_tokens=tokens)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """The recorded reply; a recorded failure is not retried."""
        recorded = _READ.decode(request.body)
        if recorded.failed is not None:
            return AttemptFailed("bad_request", recorded.failed)
        return ProviderResponse(recorded.reply())

    async def close(self) -> None:
        """Nothing to close."""


def _record(found: Reply | Failed) -> _Recording:
    if isinstance(found, Failed):
        return _Recording(failed=" ".join(found.why.split()) or "a failure was recorded")
    is_json = isinstance(found.text, bytes)
    return _Recording(
        text=found.text.decode("utf-8", "replace") if isinstance(found.text, bytes) else found.text,
        is_json=is_json,
        finish_reason=found.finish_reason,
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cost_usd=found.cost_usd,
        tool_calls=found.tool_calls,
    )
