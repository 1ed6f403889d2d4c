"""A judge that is a language model: one request per case, strict parsing, one retry."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from callscore.core.case import Failed, Message, Prompt, Reply
from callscore.core.judging import Item, JudgeRequest, JudgeResult, Unjudged, Verdict
from callscore.core.provider import (
    NEVER_REPEATED,
    AttemptFailed,
    Provider,
    ProviderRequest,
    ProviderResponse,
)
from callscore.judges.delimiters import LONGEST_TEXT
from callscore.judges.evidence import QuoteSources, sources_of
from callscore.judges.injection import INJECTION_SUSPECTED, suspicions
from callscore.judges.items import sort_questions
from callscore.judges.parse import ParsedAnswer, parse_answer, verdicts_of
from callscore.judges.prompt import Composer, JudgePrompt
from callscore.judges.rubric import Library, built_in_library

STAGE = "judge"
MISLED = "judge_misled"
ITEM_CUT = "item_cut"
ATTEMPTS = 4
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
PROBE = Prompt((Message("user", "signature"),))
"""Any prompt: the key of its request identifies a model with its settings."""

CarryOut = Callable[[Provider, ProviderRequest], Awaitable[ProviderResponse | AttemptFailed]]
"""How a request is sent: directly, or through an engine with a cache."""


class JudgeUsage(msgspec.Struct, frozen=True):
    """The requests, tokens and cost of a judge; usages can be added."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return JudgeUsage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            math.fsum(costs) if costs else None,
        )

    @classmethod
    def of(cls, result: JudgeResult | Failed) -> JudgeUsage:
        """The usage of one result of a judge, or of a failure."""
        return cls(result.requests, result.input_tokens, result.output_tokens, result.cost_usd)

    def to_result(
        self, verdicts: Sequence[Verdict], flags: Sequence[str], void: Sequence[Unjudged]
    ) -> JudgeResult:
        """A result with this usage."""
        return JudgeResult(
            verdicts,
            flags,
            self.requests,
            self.input_tokens,
            self.output_tokens,
            self.cost_usd,
            void,
        )

    def to_failed(self, why: str) -> Failed:
        """A failure with this usage: the judge gave no usable verdict."""
        return Failed(
            STAGE, why, self.cost_usd, self.requests, self.input_tokens, self.output_tokens
        )


class Attempt(msgspec.Struct, frozen=True):
    """The result of one request to the model, retry included."""

    verdicts: Sequence[Verdict]
    void: Sequence[Unjudged]
    """Items without a usable verdict."""
    flags: Sequence[str]
    usage: JudgeUsage


async def send_with_retries(
    provider: Provider, request: ProviderRequest
) -> ProviderResponse | AttemptFailed:
    """Send a request until it is answered or fails for good."""
    wait = FIRST_WAIT_S
    for attempt in range(1, ATTEMPTS + 1):
        response = await provider.attempt(request)
        if (
            isinstance(response, ProviderResponse)
            or response.kind in NEVER_REPEATED
            or attempt == ATTEMPTS
        ):
            return response
        await asyncio.sleep(min(LONGEST_WAIT_S, response.retry_after_s or wait))
        wait *= 2
    raise AssertionError("the last attempt returns")


class Sender:
    """Sends prompts to one model; once it has refused a schema, it gets prompts without one."""

    def __init__(self, provider: Provider, carry_out: CarryOut = send_with_retries) -> None:
        self.provider = provider
        self._carry_out = carry_out
        self._sends_schema = True

    async def send(self, prompt: Prompt, repeat: int) -> tuple[Reply | AttemptFailed, JudgeUsage]:
        """The reply to a prompt, and its usage."""
        provider = self.provider
        if not self._sends_schema:
            prompt = Prompt(prompt.messages)
        response = await self._carry_out(provider, provider.request(prompt, repeat))
        if isinstance(response, AttemptFailed) and response.kind == "bad_request" and prompt.schema:
            plain = provider.request(Prompt(prompt.messages), repeat)
            response = await self._carry_out(provider, plain)
            self._sends_schema = not isinstance(response, ProviderResponse)
        if isinstance(response, AttemptFailed):
            return response, JudgeUsage(0 if response.kind == "not_sent" else 1)
        reply = response.reply
        return reply, JudgeUsage(
            1, reply.input_tokens or 0, reply.output_tokens or 0, reply.cost_usd
        )


class LLMJudge:
    """Sends the open items of a reply to a model, and accepts only verdicts that can be checked."""

    def __init__(
        self,
        provider: Provider,
        library: Library | None = None,
        carry_out: CarryOut = send_with_retries,
    ) -> None:
        self.library = library or built_in_library()
        self.name = provider.name
        probe = provider.request(PROBE, 0)
        self.model = probe.model
        self.signature = f"{self.name}@{probe.key.hex()[:12]}+{self.library.digest[:12]}"
        self._sender = Sender(provider, carry_out)
        self._composer = Composer(self.library)

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """A valid verdict on every question, or why there is none (C-102)."""
        items = sort_questions(judge_request, self.library)
        if items.without_rubric:
            return Failed(STAGE, f"no rubric for {', '.join(items.without_rubric)}")
        requests = self._composer.compose(judge_request, items.asked)
        attempts = await self._send_all(requests, judge_request.repeat)
        usage = sum((attempt.usage for attempt in attempts), JudgeUsage())
        verdicts = [verdict for attempt in attempts for verdict in attempt.verdicts]
        void = [item for attempt in attempts for item in attempt.void]
        flags = {flag for attempt in attempts for flag in attempt.flags}
        sources = requests[0].sources if requests else sources_of(judge_request)
        flags.update(_request_flags(judge_request, sources))
        if void and not verdicts:
            flagged = f" ({', '.join(sorted(flags))})" if flags else ""
            return usage.to_failed(void[0].why + flagged)
        ordered = _sort_by_question(judge_request, [*items.decided, *verdicts])
        return usage.to_result(ordered, sorted(flags), void)

    async def _send_all(self, requests: Sequence[JudgePrompt], repeat: int) -> Sequence[Attempt]:
        if len(requests) == 1:
            return [await self._send(requests[0], repeat)]
        return await asyncio.gather(*(self._send(request, repeat) for request in requests))

    async def _send(self, request: JudgePrompt, repeat: int) -> Attempt:
        """Send a request and, if its answer is invalid, once more with the errors."""
        reply, usage = await self._sender.send(request.prompt, repeat)
        if isinstance(reply, AttemptFailed):
            return _void_attempt(request, f"{reply.kind}: {reply.message}", usage)
        first = parse_answer(reply_text(reply), request)
        if first.is_clean or first.is_misled:
            return self._finish(request, first, usage)
        prompt = self._composer.compose_retry(request, first.problems())
        reply, retry_usage = await self._sender.send(prompt, repeat)
        if isinstance(reply, AttemptFailed):
            return self._finish(request, first, usage + retry_usage)
        second = parse_answer(reply_text(reply), request)
        return self._finish(request, first if second.broken else second, usage + retry_usage)

    def _finish(self, request: JudgePrompt, final: ParsedAnswer, usage: JudgeUsage) -> Attempt:
        canaries = [key for key, asked in request.items.items() if asked.canary]
        if final.broken:
            return _void_attempt(request, final.broken, usage)
        if final.is_misled or any(key in final.faults for key in canaries):
            why = "an item with a known answer came back wrong"
            return _void_attempt(request, why, usage, (MISLED,))
        verdicts: list[Verdict] = []
        for key, asked in request.items.items():
            if key not in final.faults:
                verdicts += verdicts_of(asked, final.entries[key], self.signature)
        return Attempt(verdicts, _unjudged_items(request, final.faults), (), usage)


def reply_text(reply: Reply) -> str:
    """The text of a reply."""
    return reply.text if isinstance(reply.text, str) else reply.text.decode(errors="replace")


def _void_attempt(
    request: JudgePrompt, why: str, usage: JudgeUsage, flags: Sequence[str] = ()
) -> Attempt:
    return Attempt((), _unjudged_items(request, dict.fromkeys(request.items, why)), flags, usage)


def _unjudged_items(request: JudgePrompt, faults: Mapping[str, str]) -> Sequence[Unjudged]:
    return [
        Unjudged(Item(question.metric, question.item), why)
        for key, why in faults.items()
        for question in request.items[key].questions
    ]


def _request_flags(judge_request: JudgeRequest, sources: QuoteSources) -> Iterable[str]:
    if suspicions(judge_request, sources):
        yield INJECTION_SUSPECTED
    if any(
        len(q.text) > LONGEST_TEXT or len(q.reference) > LONGEST_TEXT
        for q in judge_request.questions
    ):
        yield ITEM_CUT


def _sort_by_question(
    judge_request: JudgeRequest, verdicts: Iterable[Verdict]
) -> Sequence[Verdict]:
    """Verdicts in the order of their questions; a prompt has the items in random order."""
    order = {Item(q.metric, q.item): index for index, q in enumerate(judge_request.questions)}
    return sorted(verdicts, key=lambda verdict: order[Item(verdict.metric, verdict.item)])
