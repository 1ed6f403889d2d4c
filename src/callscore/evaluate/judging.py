"""Asks a judge and an embedder what code cannot decide, and returns their verdicts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from callscore.core.case import Case, Failed, Reply, turns
from callscore.core.judging import (
    Audit,
    Embedder,
    Item,
    Judge,
    JudgeRequest,
    JudgeResult,
    Judging,
    Question,
    Verdict,
    Verdicts,
)
from callscore.core.measure import Interval
from callscore.core.strict_json import Parsed, read_object
from callscore.evaluate.model_identity import ModelIdentities
from callscore.stats.contributions import call_key

if TYPE_CHECKING:
    from asyncio import Semaphore

DEFAULT_CONCURRENCY = 16
NEVER_SHOWN = frozenset({"critical_facts"})
"""Parts of a config that would answer the questions to the judge (C-123)."""
UNITS_PER_DOLLAR = 2**1074
"""Costs are added as integers in this unit, so that sums are exact in any order."""


class Judgement(msgspec.Struct, frozen=True):
    """The verdicts on questions about one reply, and by metric why some are missing."""

    verdicts: Verdicts = {}
    failures: Mapping[str, str] = {}
    flags: Sequence[str] = ()
    audit: Mapping[str, Audit] = {}
    """By metric, what a second judge checked."""


NO_JUDGEMENT = Judgement()
CHRF = "lexical:chrf"
"""The signature of chrF begins with it."""


class JudgingCost(msgspec.Struct):
    """Counts and cost of judging so far, without the evaluated models (C-83).

    It adds up whole numbers, answer by answer, and keeps flips and audits by call. `Judging` is
    what a card shows of it in the end: shares, intervals and names, which do not add up.
    """

    items: int = 0
    verdicts: int = 0
    """Items that the judge decided, or abstained on."""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_units: int | None = None
    disputed: int = 0
    rejudged: int = 0
    flipped: int = 0
    failed: int = 0
    similarities: int = 0
    substituted: dict[str, int] = msgspec.field(default_factory=dict)
    """Comparisons by a measure other than LaBSE and mUSE, by its signature (C-68)."""
    flags: dict[str, int] = msgspec.field(default_factory=dict)
    """How many judge requests raised each flag."""
    stored: int = 0
    """Answers of the judge that came from the store; all other counts are of this run (C-140)."""
    unusable: dict[str, int] = msgspec.field(default_factory=dict)
    """By reason: answers of the judge that could not be used, entirely or in part."""
    flips: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)
    """By call with items that were judged twice: how many changed, of how many."""
    audits: dict[int, Audit] = msgspec.field(default_factory=dict)
    """By call with items that a second judge checked in a random sample."""

    def add(self, judged: JudgeResult | Failed, items: int, call: int) -> None:
        """Add one judge request about a call."""
        self.items += items
        if judged.cost_usd is not None:
            above, below = judged.cost_usd.as_integer_ratio()
            self.cost_units = (self.cost_units or 0) + above * (UNITS_PER_DOLLAR // below)
        self.requests += judged.requests
        self.input_tokens += judged.input_tokens
        self.output_tokens += judged.output_tokens
        self.stored += judged.stored
        for why, number in judged.unusable.items():
            self.unusable[why] = self.unusable.get(why, 0) + number
        if isinstance(judged, Failed):
            self.failed += 1
            return
        self.verdicts += len(judged.verdicts)
        self.failed += bool(judged.void)
        self.disputed += len(judged.disputed)
        if judged.rejudged:
            self.rejudged += judged.rejudged
            self.flipped += judged.flipped
            flipped, rejudged = self.flips.get(call, (0, 0))
            self.flips[call] = (flipped + judged.flipped, rejudged + judged.rejudged)
        for audit in judged.audit.values():
            self.audits[call] = self.audits.get(call, Audit()) + audit
        for flag in judged.flags:
            self.flags[flag] = self.flags.get(flag, 0) + 1

    def __iadd__(self, other: JudgingCost) -> JudgingCost:
        """Add other requests; every sum is exact, so their order does not matter."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.cost_units is not None:
            self.cost_units = (self.cost_units or 0) + other.cost_units
        for counts, more in (
            (self.substituted, other.substituted),
            (self.flags, other.flags),
            (self.unusable, other.unusable),
        ):
            for key, number in more.items():
                counts[key] = counts.get(key, 0) + number
        for call, (flipped, rejudged) in other.flips.items():
            own = self.flips.get(call, (0, 0))
            self.flips[call] = (own[0] + flipped, own[1] + rejudged)
        for call, audit in other.audits.items():
            self.audits[call] = self.audits.get(call, Audit()) + audit
        return self

    def without(self, other: JudgingCost) -> JudgingCost:
        """The same without requests that it counts: every sum is exact."""
        sums = {name: getattr(self, name) - getattr(other, name) for name in _SUMS}
        units = self.cost_units
        if units is not None and other.cost_units is not None:
            units -= other.cost_units
        flips = dict(self.flips)
        for call, (flipped, rejudged) in other.flips.items():
            flips[call] = (flips[call][0] - flipped, flips[call][1] - rejudged)
        audits = dict(self.audits)
        for call, audit in other.audits.items():
            audits[call] = audits[call] - audit
        return JudgingCost(
            **sums,
            cost_units=units,
            substituted=_difference(self.substituted, other.substituted),
            flags=_difference(self.flags, other.flags),
            unusable=_difference(self.unusable, other.unusable),
            flips={call: found for call, found in flips.items() if found[1]},
            audits={call: found for call, found in audits.items() if found.items},
        )

    @property
    def audit(self) -> Audit:
        """The audits of all calls."""
        return sum(self.audits.values(), Audit())

    @property
    def cost_usd(self) -> float | None:
        """The known part of the cost of judging; None if nothing is known."""
        return None if self.cost_units is None else self.cost_units / UNITS_PER_DOLLAR


_SUMS = (
    *("items", "verdicts", "requests", "input_tokens", "output_tokens", "disputed", "rejudged"),
    *("flipped", "failed", "similarities", "stored"),
)


def _difference(counts: Mapping[str, int], part: Mapping[str, int]) -> dict[str, int]:
    """Counts without a part of them; what is left of none is left out."""
    found = {key: number - part.get(key, 0) for key, number in counts.items()}
    return {key: number for key, number in found.items() if number}


class JudgedBlock(msgspec.Struct, frozen=True):
    """What judging the cases of a block has cost, and what the reader should know."""

    spent: JudgingCost
    caveats: set[str]
    why_failed: str | None


def author_name(signature: str) -> str:
    """The short name of the author of a similarity."""
    return "chrF" if signature.startswith(CHRF) else signature.partition(";")[0]


class ComparedTexts(NamedTuple):
    """Texts that an embedder compares."""

    questions: Sequence[Question]
    language: str | None
    answer: Reply | None
    """The reply that they are about; None if it is the case itself."""


class JudgeRunner:
    """A judge, an embedder, or both; each sees only the questions that it can answer."""

    def __init__(
        self,
        judge: Judge | None,
        embedder: Embedder | None,
        closing: Sequence[Callable[[], Awaitable[None]]] = (),
        models: Sequence[str] = (),
        concurrency: int | None = None,
    ) -> None:
        self.judge = judge
        self.embedder = embedder
        self.models = models
        self.spent = JudgingCost()
        self.caveats: set[str] = set()
        self.answered_by = ModelIdentities()
        """The names under which the judging models replied."""
        self.why_failed: str | None = None
        """One reason for missing verdicts: of several, the first in alphabetical order."""
        self.concurrency = concurrency or DEFAULT_CONCURRENCY
        """The most replies that are judged concurrently."""
        self._closing = closing
        self._room: Semaphore | None = None

    async def ask(
        self,
        case: Case,
        questions: Sequence[Question],
        answer: Reply | None = None,
        language: str | None = None,
    ) -> Judgement:
        """Verdicts on the questions about one reply, as far as judge and embedder give them.

        `language` is that of the compared texts, if it is not the language of the case.
        """
        worded = [question for question in questions if question.offered]
        compared = [question for question in questions if not question.offered]
        parts: list[Judgement] = []
        if worded and self.judge is not None:
            request = judge_request_of(case, worded, answer)
            parts.append(await self._ask_judge(self.judge, request, case))
        if compared and self.embedder is not None:
            texts = ComparedTexts(compared, language or case.lang, answer)
            parts.append(await self._compare(self.embedder, texts))
        if len(parts) == 1:
            return parts[0]
        return Judgement(
            {item: given for part in parts for item, given in part.verdicts.items()},
            {metric: why for part in parts for metric, why in part.failures.items()},
            [flag for part in parts for flag in part.flags],
            {metric: audit for part in parts for metric, audit in part.audit.items()},
        )

    def expect(self, replies: int) -> None:
        """Tell the judge how many replies each model has, if it asks for that (`Panel`)."""
        if callable(expect := getattr(self.judge, "expect", None)):
            expect(replies)

    @property
    def judges_whole(self) -> bool:
        """Whether the judge scores metrics as the framework's prompt asks, not items (C-100)."""
        return getattr(self.judge, "judges_whole", False)

    def without_embedder(self) -> JudgeRunner:
        """The same judge with its own cost account and no embedder."""
        own = JudgeRunner(self.judge, None, self._closing, self.models, self.concurrency)
        own.answered_by = self.answered_by
        return own

    @property
    def judge_signature(self) -> str | None:
        """The judge in the signature, with the names of models that replied in place of others."""
        if self.judge is None:
            return None
        names = "+".join(self.answered_by.identities())
        return f"{self.judge.signature}(answered by {names})" if names else self.judge.signature

    def is_related(self, model: str) -> bool:
        """Whether a judge is of the family of this model."""
        if not self.models:
            return False
        from callscore.judges.panel import overlaps

        return overlaps(model, self.models)

    def failure_notes(self) -> Iterator[str]:
        """Notes on answers of the judge that could not be used, by reason, and on missing
        verdicts.
        """
        spent, why_failed = self.spent, self.why_failed
        if spent.unusable:
            answers = spent.requests + spent.stored
            reasons = sorted(spent.unusable.items(), key=lambda reason: (-reason[1], reason[0]))
            counts = "; ".join(f"in {n} of {answers} requests {why}" for why, n in reasons)
            yield (
                f"judge: {counts}. A judge that is not able to do this is tested with `callscore "
                "judge check`; `items_per_request` makes its requests smaller"
            )
        if why_failed is not None and not why_failed.startswith(tuple(spent.unusable)):
            yield f"items got no verdict, for example: {why_failed}"

    def comparison_notes(self) -> Iterator[str]:
        """Notes on comparisons by measures for which the limits do not hold        C-68"""
        for by, number in sorted(self.spent.substituted.items()):
            total = self.spent.similarities
            yield (
                f"{author_name(by)} made {number} of {total} comparisons of texts"
                f" ({100 * number / total:.0f} %), because neither mUSE nor a LaBSE on this machine"
                " reads them; their rows have no rating. For LaBSE: `pip install"
                " 'callscore[labse]'` and its weights, or a server (docs/embeddings.md)"
            )

    def begin_block(self) -> None:
        """Forget vectors of earlier blocks: texts that are encoded together change each other in
        the last digit, so a block must not depend on the blocks before it.
        """
        if callable(forget := getattr(self.embedder, "forget", None)):
            forget()

    def take_block(self) -> JudgedBlock:
        """What was judged since the last call."""
        found = JudgedBlock(self.spent, self.caveats, self.why_failed)
        self.spent, self.caveats, self.why_failed = JudgingCost(), set(), None
        return found

    def join(self, block: JudgedBlock) -> None:
        """Add what was judged in another process."""
        self.spent += block.spent
        self.caveats |= block.caveats
        if block.why_failed is not None:
            self.why_failed = min(self.why_failed or block.why_failed, block.why_failed)

    async def close(self) -> None:
        """Close connections."""
        self._room = None  # it belongs to the event loop that ends
        for close in self._closing:
            await close()

    async def _ask_judge(self, judge: Judge, judge_request: JudgeRequest, case: Case) -> Judgement:
        import asyncio  # imported only with a judge

        if self._room is None:
            self._room = asyncio.Semaphore(self.concurrency)
        async with self._room:
            judged = await judge.judge(judge_request)
        if caveat := getattr(judge, "caveat", ""):
            self.caveats.add(caveat)
        questions = judge_request.questions
        self.spent.add(judged, len(questions), call_key(case.call_id, case.id))
        if isinstance(judged, Failed):
            return self._note_failure(judged.why, questions)
        for void in judged.void:
            self.why_failed = min(self.why_failed or void.why, void.why)
        failures = {void.item.metric: void.why for void in judged.void}
        return Judgement(_by_item(judged.verdicts), failures, judged.flags, judged.audit)

    async def _compare(self, embedder: Embedder, texts: ComparedTexts) -> Judgement:
        questions = texts.questions
        pairs = [(question.text, question.reference) for question in questions]
        found = await embedder.similarities(pairs, texts.language)
        self.spent.similarities += len(pairs)
        if isinstance(found, Failed):
            return self._note_failure(found.why, questions)
        self.caveats.update(s.caveat for s in found if s.caveat)
        for similarity in found:
            if similarity.approximate:
                counts = self.spent.substituted
                counts[similarity.by] = counts.get(similarity.by, 0) + 1
        return Judgement(
            _by_item(
                Verdict(q.metric, q.item, value=s.value, by=s.by, approximate=s.approximate)
                for q, s in zip(questions, found, strict=True)
            )
        )

    def _note_failure(self, why: str, questions: Sequence[Question]) -> Judgement:
        self.why_failed = min(self.why_failed or why, why)
        return Judgement(failures={question.metric: why for question in questions})


def judging_of(
    judge_runner: JudgeRunner, overlap: Sequence[str], *, intervals: bool = True
) -> Judging:
    """The judge, and what judging has cost so far."""
    spent = judge_runner.spent
    audit = spent.audit
    return Judging(
        judge=judge_runner.judge.name if judge_runner.judge is not None else None,
        embedder=judge_runner.embedder.name if judge_runner.embedder is not None else None,
        items=spent.items,
        requests=spent.requests,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_usd=spent.cost_usd,
        disputed=spent.disputed,
        rejudged=spent.rejudged,
        flip_rate=spent.flipped / spent.rejudged if spent.rejudged else None,
        failed=spent.failed,
        similarities=spent.similarities,
        overlap=overlap,
        flags=dict(sorted(spent.flags.items())),
        stored=spent.stored,
        verdicts=spent.verdicts,
        unusable=dict(sorted(spent.unusable.items())),
        answered_by=judge_runner.answered_by.identities(),
        audited=audit.items,
        lenient=audit.lenient,
        strict=audit.strict,
        disagreement_ci95=_disagreement_interval(spent) if intervals else None,
        flip_rate_ci95=_flip_interval(spent) if intervals else msgspec.UNSET,
    )


def _disagreement_interval(spent: JudgingCost) -> Interval | None:
    """The interval of the share of audited items on which two judges disagree        STATS §2"""
    if len(spent.audits) < 2:
        return None
    from callscore.stats.rates import interval_of_counts  # numpy

    found = interval_of_counts(
        {call: (audit.lenient + audit.strict, audit.items) for call, audit in spent.audits.items()}
    )
    return None if found is None else (found.low, found.high)


def _flip_interval(spent: JudgingCost) -> Interval | msgspec.UnsetType:
    """The interval of the flip rate, from the counts of each call        STATS §2"""
    if len(spent.flips) < 2:  # a single call has no interval
        return msgspec.UNSET
    from callscore.stats.rates import interval_of_counts  # numpy

    found = interval_of_counts(spent.flips)
    return msgspec.UNSET if found is None else (found.low, found.high)


def judge_request_of(
    case: Case, questions: Sequence[Question], answer: Reply | None = None
) -> JudgeRequest:
    """What a judge may see of a reply; never its model, its cost or other replies        C-103"""
    return JudgeRequest(
        task=case.task,
        turns=turns(case.transcript),
        config={key: value for key, value in case.config.items() if key not in NEVER_SHOWN},
        expected_outcome=case.expected_outcome,
        questions=questions,
        lang=case.lang,
        model_output=as_json(answer) if answer is not None else None,
    )


def as_json(answer: Reply) -> Any:
    """The reply as JSON; None if it is not JSON."""
    parsed = read_object(answer, "fenced")
    return parsed.value if isinstance(parsed, Parsed) else None


def _by_item(verdicts: Iterable[Verdict]) -> Verdicts:
    found: dict[Item, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(Item(verdict.metric, verdict.item), []).append(verdict)
    return found
