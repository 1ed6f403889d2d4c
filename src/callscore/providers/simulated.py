"""`simulated`: the expected answer, made worse at stated rates. No model is asked.

For trying out a set-up, for demonstrations and for tests of the tool itself. Everything it
answers is named `simulated`, and depends on the case, the rates, the seed and the repeat only.
"""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from callscore.core.case import Case, Prompt, Reply, ToolCall
from callscore.core.noise import Degrade, FakeReply, Noise, Rates
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse

LABEL = "simulated"
VERSION = 1
"""Part of the key: raised whenever answers are made worse in another way than before."""
BYTES_A_TOKEN = 4
KEY_BYTES = 32
REFUSAL = "I'm sorry, but I can't help with that."


class SimulatedParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be set under `params` of a simulated model; rates are shares from 0 to 1."""

    seed: int = 0
    wrong_scores: float = 0.0
    """Share of scores, labels, amounts and argument values that are changed."""
    missing_labels: float = 0.0
    """Share of items that are left out."""
    fabricated_facts: float = 0.0
    """Share of answers and reasons to which something invented is added."""
    broken_json: float = 0.0
    """Share of answers that are cut off in the middle."""
    refusals: float = 0.0
    """Share of answers that decline."""
    latency_ms: float = 0.0
    """Mean time an answer takes."""

    def __post_init__(self) -> None:
        for name in Rates.__struct_fields__ + ("broken_json", "refusals"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        if not 0 <= self.latency_ms <= 600_000:
            raise ValueError("latency_ms must be between 0 and 600000")


class _Gold(msgspec.Struct, frozen=True):
    """The body of a request: all that the answer depends on."""

    case_id: str
    task: str
    expected: Mapping[str, Any]
    params: SimulatedParams
    model: str
    repeat: int


_READ = msgspec.json.Decoder(_Gold)


class SimulatedProvider:
    """Answers with the gold of the case, degraded."""

    def __init__(
        self, name: str, model: str, params: Mapping[str, Any], noise: Callable[[str], Degrade]
    ) -> None:
        """`noise` says how the answers of a task get worse; it raises if nothing does."""
        self.name = name
        self._noise = noise
        self._model = model
        self._params = msgspec.convert(params, SimulatedParams)

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """A prompt without its case: nothing could be degraded, so the answer is empty."""
        return self.request_for(Case("", "", "", {}, {}), prompt, repeat)

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The case with its gold, as a request; raises NoNoise for a task it cannot degrade."""
        if case.task:
            self._noise(case.task)
        gold = _Gold(case.id, case.task, case.expected_outcome, self._params, self._model, repeat)
        body = msgspec.json.encode(gold, order="deterministic")
        key = blake2b(f"{LABEL}\0{VERSION}\0".encode() + body, digest_size=KEY_BYTES).digest()
        said = sum(len(message.content.encode()) for message in prompt.messages)
        return ProviderRequest(
            key=key,
            model=LABEL,
            body=body,
            input_tokens=said // BYTES_A_TOKEN + 1,
            max_output_tokens=2 * len(body) // BYTES_A_TOKEN + 1,
        )

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """The degraded answer, after the stated time."""
        gold = _READ.decode(request.body)
        chance = random.Random(request.key)
        latency = gold.params.latency_ms
        if latency:
            await asyncio.sleep(latency / 1000 * chance.uniform(0.5, 1.5))
        degrade = self._noise(gold.task) if gold.task else None
        return ProviderResponse(_reply(gold, chance, request.input_tokens, degrade))

    async def close(self) -> None:
        """There is nothing to give back."""


def _reply(gold: _Gold, chance: random.Random, input_tokens: int, degrade: Degrade | None) -> Reply:
    params = gold.params
    calls: tuple[ToolCall, ...] = ()
    if chance.random() < params.refusals:
        text, reason = REFUSAL, "stop"
    else:
        rates = Rates(params.wrong_scores, params.missing_labels, params.fabricated_facts)
        outcome = copy.deepcopy(dict(gold.expected))
        degraded = degrade(outcome, Noise(rates, chance)) if degrade is not None else None
        answer = degraded or FakeReply(msgspec.json.encode(outcome).decode())
        text, calls, reason = answer.text, answer.tool_calls, "stop"
        if chance.random() < params.broken_json:
            text, calls, reason = text[: len(text) // 2], (), "length"
    said = len(text.encode()) + sum(len(call.arguments) for call in calls)
    return Reply(
        text=text,
        finish_reason="tool_calls" if calls else reason,
        input_tokens=input_tokens,
        output_tokens=said // BYTES_A_TOKEN + 1,
        tool_calls=calls,
        model=LABEL,
    )
