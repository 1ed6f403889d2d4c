"""Several judges: a second one if a verdict matters much, a third if two disagree.

The second is of another family if possible. Without a majority the stricter verdict counts, and the
item is marked for review. Errors of judges are correlated, so n judges are never counted as n
independent votes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from callscore.core.case import Failed
from callscore.core.judging import (
    INJECTION_SUSPECTED,
    Audit,
    Item,
    Judge,
    JudgeRequest,
    JudgeResult,
    Question,
    Unjudged,
    Verdict,
)
from callscore.core.lazy import lazy_regex
from callscore.judges.judge_reply import QUOTE_UNRELATED
from callscore.judges.llm import JudgeUsage
from callscore.judges.prompt_blocks import NONCE_BYTES, encode_json, fingerprint
from callscore.judges.rubric import CANNOT_TELL, Library, Rubric, built_in_library, settle

_STEMS: Mapping[str, str] = {
    "openai": r"gpt|chatgpt|o[1-9](?![a-z0-9])|davinci|openai",
    "anthropic": r"claude|anthropic",
    "google": r"gemini|gemma|palm|bison|google",
    "meta": r"llama|meta",
    "mistral": r"mistral|mixtral|ministral|codestral|magistral|pixtral|devstral",
    "qwen": r"qwen|qwq|qvq|tongyi",
    "deepseek": r"deepseek",
    "cohere": r"command|aya|cohere",
    "microsoft": r"phi(?=-?[0-9])|wizardlm|microsoft",
    "xai": r"grok",
    "amazon": r"nova|titan|amazon",
    "zhipu": r"glm|chatglm|zhipu",
    "moonshot": r"kimi|moonshot",
    "nvidia": r"nemotron|nvidia",
    "ibm": r"granite",
    "ai21": r"jamba|ai21",
    "lg": r"exaone",
    "kakao": r"kanana",
    "naver": r"hyperclova",
    "upstage": r"solar",
    "baidu": r"ernie",
    "tencent": r"hunyuan",
    "bytedance": r"doubao|seed",
    "minimax": r"minimax|abab",
    "01": r"yi(?=-)",
    "tii": r"falcon",
}
_FAMILIES = {
    family: lazy_regex(rf"(?<![a-z0-9])(?:{stems})", re.IGNORECASE)
    for family, stems in _STEMS.items()
}


def families(model: str) -> frozenset[str]:
    """The families in a model's name; a distilled model may have two."""
    return frozenset(name for name, stems in _FAMILIES.items() if stems.search(model))


def are_related(one: str, other: str) -> bool:
    """Whether two models share a family, or an unknown name."""
    return one.casefold() == other.casefold() or bool(families(one) & families(other))


def overlaps(model: str, judges: Iterable[str]) -> bool:
    """Whether a judge is related to the model under evaluation: the flag `judge_overlap`."""
    return any(are_related(model, judge) for judge in judges)


REPEATED_SHARE = 0.05
"""The share of replies that the first judge gets twice."""
AUDITED_SHARE = 0.05
"""The least share of replies that the second judge checks completely, passes and failures."""
AUDITED_REPLIES = 30
"""Of few replies a larger share is checked: about this many of each model."""
DISPUTED = "judges_disagree"
RELATED = "judges_related"

Words = Mapping[Item, Verdict]


class Seat(NamedTuple):
    """A judge and the name of its model, which determines its family."""

    judge: Judge
    model: str


class Panel:
    """Several judges as one, in the order in which they are asked."""

    def __init__(self, seats: Sequence[Seat], library: Library | None = None) -> None:
        self._seats = seats
        self._library = library or built_in_library()
        self.name = "+".join(seat.judge.name for seat in seats)
        self.signature = "+".join(seat.judge.signature for seat in seats)
        self.models = [seat.model for seat in seats]
        self._audited_share = AUDITED_SHARE

    def expect(self, replies: int) -> None:
        """Prepare for this many replies of each model: an audit of a few would show nothing."""
        self._audited_share = max(AUDITED_SHARE, min(1.0, AUDITED_REPLIES / max(1, replies)))

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """The first judge's verdicts, checked by others if needed."""
        session = _Session(judge_request, self._library)
        rest = list(self._seats)
        why = "no judge is configured"
        while rest:
            first = rest.pop(0)
            answer = await session.ask(first.judge, judge_request.questions)
            if isinstance(answer, JudgeResult):
                break
            why = answer.why
        else:
            return session.spent.to_failed(why)
        session.take(answer)
        await self._consult_others(session, first, rest)
        return session.result()

    async def _consult_others(self, session: _Session, first: Seat, rest: list[Seat]) -> None:
        if session.is_sampled(REPEATED_SHARE):
            await session.rejudge(first.judge)
        audited = session.is_sampled(self._audited_share)
        risky = session.risky_questions(everything=audited)
        if not risky or not rest:
            return
        rest.sort(key=lambda seat: are_related(seat.model, first.model))
        if are_related(rest[0].model, first.model):
            session.flags.add(RELATED)
        second = await session.ask(rest[0].judge, risky)
        if isinstance(second, Failed):
            return
        disagreeing = session.compare(second, audited=audited)
        third: JudgeResult | Failed | None = None
        if disagreeing and len(rest) > 1:
            third = await session.ask(rest[1].judge, disagreeing)
        session.settle(disagreeing, second, third if isinstance(third, JudgeResult) else None)


class _Session:
    """One request to a panel: the verdicts so far, and their usage."""

    def __init__(self, judge_request: JudgeRequest, library: Library) -> None:
        self._request = judge_request
        self._library = library
        self._verdicts: dict[Item, Verdict] = {}
        self._void: dict[Item, str] = {}
        self._disputed: list[Item] = []
        self._rejudged = self._flips = 0
        self._audit: dict[str, Audit] = {}
        self.spent = JudgeUsage()
        self.flags: set[str] = set()

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> JudgeResult | Failed:
        """Send some of the questions to a judge."""
        judge_request = self._request
        if questions is not judge_request.questions:
            judge_request = msgspec.structs.replace(judge_request, questions=questions)
        answer = await judge.judge(judge_request)
        self.spent += JudgeUsage.of(answer)
        if isinstance(answer, JudgeResult):
            self.flags.update(answer.flags)
        return answer

    def take(self, answer: JudgeResult) -> None:
        """Accept the first judge's verdicts for now."""
        self._verdicts = dict(_by_item(answer))
        self._void = {void.item: void.why for void in answer.void}

    def is_sampled(self, share: float) -> bool:
        """Whether this reply belongs to a random sample of this share; deterministic per reply."""
        if self._request.repeat:
            return False
        return self._drawn < share

    @cached_property
    def _drawn(self) -> float:
        """A number from 0 to 1 that depends on the request only."""
        seed = fingerprint(encode_json("audit"), encode_json(msgspec.to_builtins(self._request)))
        return int.from_bytes(seed) / (1 << 8 * NONCE_BYTES)

    async def rejudge(self, judge: Judge) -> None:
        """Send the same request to the same judge again, and count the verdicts that change."""
        again = msgspec.structs.replace(self._request, repeat=self._request.repeat + 1)
        answer = await judge.judge(again)
        self.spent += JudgeUsage.of(answer)
        if isinstance(answer, Failed):
            return
        for item, verdict in _by_item(answer).items():
            if item in self._verdicts:
                self._rejudged += 1
                self._flips += not self._agree(item, verdict)

    def risky_questions(self, *, everything: bool) -> Sequence[Question]:
        """The questions that one judge alone must not decide, and those that it left open."""
        everything = everything or INJECTION_SUSPECTED in self.flags
        return [
            question
            for question in self._request.questions
            if question.offered and self._is_risky(question, everything)
        ]

    def compare(self, second: JudgeResult, *, audited: bool) -> Sequence[Question]:
        """The questions on which the second judge disagrees; its verdicts replace void ones."""
        words = _by_item(second)
        for question in self._request.questions if audited else ():
            found = self._audit.get(question.metric, Audit()) + self._check(question, words)
            self._audit[question.metric] = found
        for item in [item for item in self._void if item in words]:
            self._verdicts[item] = words[item]
            del self._void[item]
        return [
            question
            for question in self._request.questions
            if (item := _item(question)) in words and not self._agree(item, words[item])
        ]

    def _check(self, question: Question, others: Words) -> Audit:
        """Whether the first judge is more lenient or stricter than the second on one item."""
        item = _item(question)
        if item not in self._verdicts or item not in others:
            return Audit()
        first, second = _word(self._verdicts[item]), _word(others[item])
        if CANNOT_TELL in (first, second):
            return Audit()
        rubric = self._rubric(question)
        if rubric.counts_as(first) == rubric.counts_as(second):
            return Audit(1)
        is_lenient = rubric.strictness(first) < rubric.strictness(second)
        return Audit(1, int(is_lenient), int(not is_lenient))

    def settle(
        self, questions: Sequence[Question], second: JudgeResult, third: JudgeResult | None
    ) -> None:
        """The verdict of the majority, else the strictest, marked for review."""
        opinions = [_by_item(second), *([_by_item(third)] if third else [])]
        for question in questions:
            item, rubric = _item(question), self._rubric(question)
            given = [self._verdicts[item], *(words[item] for words in opinions if item in words)]
            found = settle(rubric, [_word(verdict) for verdict in given])
            if not found.is_majority:
                self._disputed.append(item)
            self._verdicts[item] = given[found.place]

    def result(self) -> JudgeResult:
        """The result of the panel."""
        if self._disputed:
            self.flags.add(DISPUTED)
        items = [_item(question) for question in self._request.questions]
        return JudgeResult(
            [self._verdicts[item] for item in dict.fromkeys(items) if item in self._verdicts],
            sorted(self.flags),
            self.spent.requests,
            self.spent.input_tokens,
            self.spent.output_tokens,
            self.spent.cost_usd,
            [Unjudged(item, why) for item, why in self._void.items()],
            self._disputed,
            self._rejudged,
            self._flips,
            self.spent.stored,
            self.spent.unusable,
            self._audit,
        )

    def _is_risky(self, question: Question, everything: bool) -> bool:
        item = _item(question)
        if item in self._void:
            return True
        if item not in self._verdicts:
            return False
        verdict = self._verdicts[item]
        word = _word(verdict)
        if everything or word == CANNOT_TELL or verdict.note == QUOTE_UNRELATED:
            return True
        return word in self._rubric(question).second_opinion

    def _agree(self, item: Item, other: Verdict) -> bool:
        question = next(q for q in self._request.questions if _item(q) == item)
        rubric = self._rubric(question)
        return rubric.counts_as(_word(self._verdicts[item])) == rubric.counts_as(_word(other))

    def _rubric(self, question: Question) -> Rubric:
        rubric = self._library.rubric_for(question)
        assert rubric is not None  # a judge has answered it
        return rubric


def _by_item(answer: JudgeResult) -> Words:
    return {Item(verdict.metric, verdict.item): verdict for verdict in answer.verdicts}


def _item(question: Question) -> Item:
    return Item(question.metric, question.item)


def _word(verdict: Verdict) -> str:
    return verdict.verdict or CANNOT_TELL
