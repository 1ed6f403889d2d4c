"""`baseline`: rules only, no model. A floor for real models."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from callscore.core.case import Case, Prompt, Reply
from callscore.core.errors import ConfigError
from callscore.core.noise import Rules
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse

LABEL = "baseline"
VERSION = 3
"""Part of the cache key: raised with every change of the rules."""
KEY_BYTES = 32


class _Question(msgspec.Struct, frozen=True):
    """The body of a request: the task decides which rules answer the prompt."""

    task: str
    prompt: Prompt


_READ = msgspec.json.Decoder(_Question)


class BaselineProvider:
    """Answers a prompt by the rules of its task: keywords, word lists, simple heuristics."""

    def __init__(self, name: str, rules: Callable[[str], Rules]) -> None:
        """`rules` returns the rules of a task; it raises NoRules if there are none."""
        self.name = name
        self._rules = rules

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """Raises ConfigError: a prompt alone does not tell its task."""
        raise ConfigError(f"model {self.name!r}: baseline answers cases, not single prompts")

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The task and the prompt, without the expected outcome; raises NoRules."""
        self._rules(case.task)
        body = msgspec.json.encode(_Question(case.task, prompt), order="deterministic")
        known = f"{LABEL}\0{VERSION}\0{repeat}\0".encode()
        key = blake2b(known + body, digest_size=KEY_BYTES).digest()
        return ProviderRequest(key, LABEL, body, input_tokens=0, max_output_tokens=0)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """The answer of the rules."""
        asked = _READ.decode(request.body)
        answer = self._rules(asked.task)(asked.prompt)
        return ProviderResponse(
            Reply(
                answer.text,
                finish_reason="tool_calls" if answer.tool_calls else "stop",
                input_tokens=0,
                output_tokens=0,
                tool_calls=answer.tool_calls,
                model=LABEL,
            )
        )

    async def close(self) -> None:
        """Nothing to close."""
