"""A judge that is a language model: one request per case, checked verdicts, one retry.

A request that the judge cannot cope with is split: after a wrong verdict on a canary, a truncated
answer or one in the wrong form, it is asked about half as many items at a time, down to one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Failed, Message, Prompt, Reply
from callscore.core.judging import (
    INJECTION_SUSPECTED,
    Item,
    JudgeRequest,
    JudgeResult,
    Unjudged,
    Verdict,
)
from callscore.core.provider import (
    NEVER_REPEATED,
    AttemptFailed,
    Provider,
    ProviderRequest,
    ProviderResponse,
)
from callscore.core.strict_json import is_truncated
from callscore.judges.evidence import QuoteSources, sources_of
from callscore.judges.injection import suspicions
from callscore.judges.judge_items import JudgeItem, sort_questions
from callscore.judges.judge_prompt import DEFAULT_ASKING, Asking, Composer, JudgePrompt
from callscore.judges.judge_reply import ParsedAnswer, parse_answer, verdicts_of
from callscore.judges.prompt_blocks import LONGEST_TEXT
from callscore.judges.rubric import Library, built_in_library

STAGE = "judge"
MISLED = "judge_misled"
"""A flag: a wrong verdict on a canary, in a request with text that seems to address the judge."""
HALVED = "request_split"
"""A flag: the judge was asked about fewer items at a time than a request may hold."""
CUT_OFF = "the answer was cut off at the token limit"
SAME_VERDICT = "every item got the same verdict"
WRONG_CANARY = "an item with a known verdict got another one"
WRONG_WHERE_ADDRESSED = f"{WRONG_CANARY}, where a text seems to address the judge"
ITEM_CUT = "item_cut"
# Of `send_with_retries`, for judges without a client; in a run, the engine repeats requests.
ATTEMPTS = 4
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
PROBE = Prompt((Message("user", "signature"),))
"""Any prompt: the key of its request identifies a model with its settings."""

CarryOut = Callable[[Provider, ProviderRequest], Awaitable[ProviderResponse | AttemptFailed]]
"""How a request is sent: directly, or through an engine with a cache."""


class JudgeUsage(msgspec.Struct, frozen=True):
    """The requests, tokens and cost of a judge in this run; usages can be added."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    stored: int = 0
    """Answers that came from the store: nothing was sent or paid for them (C-140)."""
    unusable: Mapping[str, int] = {}
    """By reason: answers that could not be used, entirely or in part."""

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        unusable = dict(self.unusable)
        for why, number in other.unusable.items():
            unusable[why] = unusable.get(why, 0) + number
        return JudgeUsage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            math.fsum(costs) if costs else None,
            self.stored + other.stored,
            unusable,
        )

    @classmethod
    def of(cls, result: JudgeResult | Failed) -> JudgeUsage:
        """The usage of one result of a judge, or of a failure."""
        return cls(
            result.requests,
            result.input_tokens,
            result.output_tokens,
            result.cost_usd,
            result.stored,
            result.unusable,
        )

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
            stored=self.stored,
            unusable=self.unusable,
        )

    def to_failed(self, why: str) -> Failed:
        """A failure with this usage: the judge gave no usable verdict."""
        return Failed(
            STAGE,
            why,
            self.cost_usd,
            self.requests,
            self.input_tokens,
            self.output_tokens,
            self.stored,
            self.unusable,
        )


class Attempt(msgspec.Struct, frozen=True):
    """The result of one request to the model, retry included."""

    verdicts: Sequence[Verdict]
    void: Sequence[Unjudged]
    """Items without a usable verdict."""
    flags: Sequence[str]
    usage: JudgeUsage
    is_too_much: bool = False
    """Whether the judge could not cope with as many items as it was asked about."""


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
        if response.is_stored:
            return reply, JudgeUsage(cost_usd=None if reply.cost_usd is None else 0.0, stored=1)
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
        asking: Asking = DEFAULT_ASKING,
    ) -> None:
        self.library = library or built_in_library()
        self.name = provider.name
        probe = provider.request(PROBE, 0)
        self.model = probe.model
        made_of = f"{probe.key.hex()[:12]}+{self.library.digest[:12]}{asking.signature}"
        self.signature = f"{self.name}@{made_of}"
        self._sender = Sender(provider, carry_out)
        self._composer = Composer(self.library, asking)

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """A valid verdict on every question, or why there is none (C-102)."""
        items = sort_questions(judge_request, self.library)
        if items.without_rubric:
            return Failed(STAGE, f"no rubric for {', '.join(items.without_rubric)}")
        prompts = self._composer.compose(judge_request, items.asked)
        sources = prompts[0].sources if prompts else sources_of(judge_request)
        flags = set(_request_flags(judge_request, sources))
        session = _Session(self, judge_request, is_suspected=INJECTION_SUSPECTED in flags)
        attempts = await _gather([session.ask(prompt) for prompt in prompts])
        usage = sum((attempt.usage for attempt in attempts), JudgeUsage())
        verdicts = [verdict for attempt in attempts for verdict in attempt.verdicts]
        void = [item for attempt in attempts for item in attempt.void]
        flags.update(flag for attempt in attempts for flag in attempt.flags)
        if void and not verdicts:
            flagged = f" ({', '.join(sorted(flags))})" if flags else ""
            return usage.to_failed(void[0].why + flagged)
        ordered = _sort_by_question(judge_request, [*items.decided, *verdicts])
        return usage.to_result(ordered, sorted(flags), void)

    async def send(self, request: JudgePrompt, repeat: int, *, is_suspected: bool) -> Attempt:
        """Send a request and, if its answer is invalid, once more with the errors."""
        reply, usage = await self._sender.send(request.prompt, repeat)
        if isinstance(reply, AttemptFailed):
            why = f"{reply.kind}: {reply.message}"
            return Attempt((), _void(request, why), (), usage)
        if is_truncated(reply):
            return _void_attempt(request, CUT_OFF, usage, is_too_much=True)
        first = parse_answer(reply_text(reply), request)
        if not (first.is_clean or first.wrong_canary):
            prompt = self._composer.compose_retry(request, first.problems())
            reply, retry_usage = await self._sender.send(prompt, repeat)
            usage += retry_usage
            if not isinstance(reply, AttemptFailed):
                second = parse_answer(reply_text(reply), request)
                first = first if second.broken else second
        return self._finish(request, first, usage, is_suspected=is_suspected)

    def compose_part(self, judge_request: JudgeRequest, items: Sequence[JudgeItem]) -> JudgePrompt:
        """One request about some of the items."""
        (prompt,) = self._composer.compose(judge_request, items, len(items))
        return prompt

    def _finish(
        self, request: JudgePrompt, final: ParsedAnswer, usage: JudgeUsage, *, is_suspected: bool
    ) -> Attempt:
        canaries = [key for key, asked in request.items.items() if asked.canary]
        if final.broken:
            return _void_attempt(request, final.broken, usage, is_too_much=True)
        if final.wrong_canary or any(key in final.faults for key in canaries):
            if is_suspected:
                return _void_attempt(request, WRONG_WHERE_ADDRESSED, usage, (MISLED,))
            why = SAME_VERDICT if final.is_uniform else WRONG_CANARY
            return _void_attempt(request, why, usage, is_too_much=True)
        verdicts: list[Verdict] = []
        flags: set[str] = set()
        for key, asked in request.items.items():
            if key not in final.faults:
                verdicts += verdicts_of(asked, final.entries[key], self.signature)
                if not asked.canary:
                    flags.update(final.entries[key].find_flags())
        reasons = dict.fromkeys((_reason(why) for why in final.faults.values()), 1)
        usage += JudgeUsage(unusable=reasons)
        return Attempt(verdicts, _unjudged_items(request, final.faults), sorted(flags), usage)


class _Session:
    """One judge request: its prompts are split where the judge cannot cope with them."""

    def __init__(self, judge: LLMJudge, judge_request: JudgeRequest, *, is_suspected: bool) -> None:
        self._judge = judge
        self._request = judge_request
        self._is_suspected = is_suspected

    async def ask(self, prompt: JudgePrompt) -> Attempt:
        """The answer to a prompt, if need be in parts of half as many items, down to one.

        The size that worked is kept for the rest of the prompt. A judge that fails on a single item
        before it has answered any is not asked about the others.
        """
        attempt = await self._send(prompt)
        waiting = prompt.asked
        if not attempt.is_too_much or len(waiting) == 1:
            return attempt
        total, size = Attempt((), (), (), attempt.usage), -(-len(waiting) // 2)
        while waiting:
            part = self._judge.compose_part(self._request, waiting[:size])
            attempt = await self._send(part)
            if attempt.is_too_much and size > 1:
                total = _add(total, Attempt((), (), (), attempt.usage))
                size = -(-min(size, len(waiting)) // 2)
                continue
            waiting = waiting[size:]
            total = _add(total, attempt)
            if attempt.is_too_much and not total.verdicts:
                return _add(total, _unasked(waiting, attempt.void[0].why))
        return _add(total, Attempt((), (), (HALVED,), JudgeUsage()))

    async def _send(self, prompt: JudgePrompt) -> Attempt:
        return await self._judge.send(prompt, self._request.repeat, is_suspected=self._is_suspected)


async def _gather(attempts: Sequence[Coroutine[Any, Any, Attempt]]) -> Sequence[Attempt]:
    if len(attempts) == 1:
        return [await attempts[0]]
    return await asyncio.gather(*attempts)


def _add(one: Attempt, other: Attempt) -> Attempt:
    return Attempt(
        [*one.verdicts, *other.verdicts],
        [*one.void, *other.void],
        sorted({*one.flags, *other.flags}),
        one.usage + other.usage,
    )


def _unasked(items: Sequence[JudgeItem], why: str) -> Attempt:
    return Attempt((), [void for item in items for void in _unjudged(item, why)], (), JudgeUsage())


def reply_text(reply: Reply) -> str:
    """The text of a reply."""
    return reply.text if isinstance(reply.text, str) else reply.text.decode(errors="replace")


def _reason(why: str) -> str:
    """Why an answer could not be used, without what differs from answer to answer."""
    return why.partition(";")[0]


def _void_attempt(
    request: JudgePrompt,
    why: str,
    usage: JudgeUsage,
    flags: Sequence[str] = (),
    *,
    is_too_much: bool = False,
) -> Attempt:
    usage += JudgeUsage(unusable={_reason(why): 1})
    return Attempt((), _void(request, why), flags, usage, is_too_much)


def _void(request: JudgePrompt, why: str) -> Sequence[Unjudged]:
    return _unjudged_items(request, dict.fromkeys(request.items, why))


def _unjudged_items(request: JudgePrompt, faults: Mapping[str, str]) -> Sequence[Unjudged]:
    return [void for key, why in faults.items() for void in _unjudged(request.items[key], why)]


def _unjudged(item: JudgeItem, why: str) -> Sequence[Unjudged]:
    return [Unjudged(Item(asked.metric, asked.item), why) for asked in item.questions]


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
