"""The protocols of judges and embedders, with their questions, verdicts and similarities.

The judge classifies items; code counts (C-100).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from callscore.core.case import Failed, JsonObject, Turn
from callscore.core.measure import Interval

INJECTION_SUSPECTED = "injection_suspected"
"""The flag of a reply that may give orders to the judge."""


class Item(NamedTuple):
    """What a verdict is about: a metric, and a part of the output or of the reference."""

    metric: str
    item: str


class Question(msgspec.Struct, frozen=True):
    """One item that code cannot decide, with the words that can answer it.

    `offered` is empty if the answer is a number (a cosine), not a word.
    """

    metric: str
    item: str
    text: str
    reference: str = ""
    offered: Sequence[str] = ()
    compared_with: str = ""
    """The path of `reference` if it is a whole part (`model_output.summary.highlights`)."""


class Verdict(msgspec.Struct, frozen=True):
    """The answer to one item: one of the words offered, or a value (cosines only).

    `approximate` marks the verdict of a built-in rule: an estimate, never official (C-125).
    """

    metric: str
    item: str
    verdict: str | None = None
    value: float | None = None
    text: str = ""
    quote: str = ""
    source: str = ""
    by: str = ""
    note: str = ""
    approximate: bool = False
    expected_outcome_field: str = ""
    """The path of the reference field that the verdict relies on, if it names one."""
    model_output_field: str = ""
    """The path of the output field, likewise."""
    review: bool = False
    """Whether a person reviewed this item of a judged reply: it takes the place of the other
    verdicts on the item, and of nothing else."""


Verdicts = Mapping[Item, Sequence[Verdict]]
"""All verdicts on one reply. An item may have several (`specific`, then `as_described`)."""

NO_VERDICTS: Verdicts = {}


def without_reviews(verdicts: Verdicts) -> Verdicts:
    """The verdicts that take the place of a judge, which a review of one item does not."""
    return {item: given for item, given in verdicts.items() if not reviews_in(given)}


def reviews_in(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The reviews among the verdicts on one item."""
    return [verdict for verdict in verdicts if verdict.review]


class JudgeRequest(msgspec.Struct, frozen=True):
    """What a judge sees of a reply; never its model, its cost or other replies (C-103)."""

    task: str
    turns: Sequence[Turn]
    config: JsonObject
    expected_outcome: JsonObject
    questions: Sequence[Question]
    lang: str | None = None
    repeat: int = 0
    """Above 0 if the same request is sent again, to see whether the verdicts are stable."""
    model_output: Any = None
    """The output as JSON; None if there is none, or none to show."""


class Unjudged(NamedTuple):
    """An item without a usable verdict, and why: its metric has failed for this reply (C-102)."""

    item: Item
    why: str


class Audit(msgspec.Struct, frozen=True):
    """Items that a second judge checked in a random sample, and how often the first differs."""

    items: int = 0
    lenient: int = 0
    """The first judge has the more lenient verdict."""
    strict: int = 0
    """The first judge has the stricter verdict."""

    def __add__(self, other: Audit) -> Audit:
        """The sum of both audits."""
        return Audit(
            self.items + other.items, self.lenient + other.lenient, self.strict + other.strict
        )

    def __sub__(self, other: Audit) -> Audit:
        """The same without a part of it."""
        return Audit(
            self.items - other.items, self.lenient - other.lenient, self.strict - other.strict
        )


class JudgeResult(msgspec.Struct, frozen=True):
    """The verdicts on the questions of a request that offer words, and what they cost.

    `void` lists the questions without a usable verdict. `disputed` lists the items without a
    majority among the judges: the stricter verdict counts, and people should review it. `rejudged`
    counts the items that were sent to the same judge twice, `flipped` those with two different
    verdicts.
    """

    verdicts: Sequence[Verdict]
    flags: Sequence[str] = ()
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    void: Sequence[Unjudged] = ()
    disputed: Sequence[Item] = ()
    rejudged: int = 0
    flipped: int = 0
    stored: int = 0
    """Answers that came from the store; `requests`, tokens and cost are those sent (C-140)."""
    unusable: Mapping[str, int] = {}
    """By reason: how many answers of the judge could not be used, entirely or in part."""
    audit: Mapping[str, Audit] = {}
    """By metric, the items that a second judge checked in a random sample of answers."""


class Similarity(msgspec.Struct, frozen=True):
    """The similarity of two texts; approximate if no embedder supports their language."""

    value: float
    by: str
    approximate: bool = False
    caveat: str = ""
    """A note for readers of scores that use this value."""


class Judge(Protocol):
    """Classifies items.

    `signature` identifies everything that determines its verdicts (model, prompts, rubrics); it is
    part of the signature of every result (C-126).
    """

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def signature(self) -> str:
        """Changes with anything that can change a verdict."""
        ...

    async def judge(self, request: JudgeRequest, /) -> JudgeResult | Failed:
        """A verdict on every question that offers words, or why there is none."""
        ...


class Embedder(Protocol):
    """Compares the meaning of two texts."""

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def signature(self) -> str:
        """Changes with anything that can change a similarity."""
        ...

    def reads(self, lang: str | None) -> bool:
        """Whether it supports this language; None if the language is unknown."""
        ...

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """The cosine of each pair, in order, or why there is none."""
        ...


class Judging(msgspec.Struct, frozen=True):
    """Judge and embedder with their counts and cost; never part of a model's cost (C-83)."""

    judge: str | None
    embedder: str | None
    items: int
    requests: int
    """Sent in this run, as are the tokens and the cost (C-140)."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    disputed: int
    rejudged: int
    flip_rate: float | None
    """The share of items judged twice by the same judge whose verdict changed."""
    failed: int
    """Answers with an item without a usable verdict."""
    similarities: int
    overlap: Sequence[str] = ()
    """Models that were judged by a model of their own family."""
    flags: Mapping[str, int] = {}
    """Flags of the judge (`injection_suspected`), with the number of answers."""
    answered_by: Sequence[str] = ()
    """Model names other than the requested ones under which judges replied (R-26)."""
    stored: int = 0
    """Answers of the judge that came from the store; nothing was sent for them (C-140)."""
    verdicts: int | None = None
    """How many of the items have a usable verdict; None if that was not counted."""
    unusable: Mapping[str, int] = {}
    """By reason: answers of the judge that could not be used, entirely or in part."""
    audited: int = 0
    """Items of a random sample of answers that a second judge checked, whatever the verdict."""
    lenient: int = 0
    """How many of them the first judge decided more leniently than the second."""
    strict: int = 0
    """How many of them the first judge decided more strictly than the second."""
    at_risk: Sequence[str] = ()
    """Gates that a model keeps only if the first judge is right, in words."""
    disagreement_ci95: Interval | None = None
    """The 95 % interval of the share on which they disagree."""
    flip_rate_ci95: Interval | msgspec.UnsetType = msgspec.UNSET
    """The 95 % interval of `flip_rate`; absent if there is none or none was requested."""

    @property
    def disagreement(self) -> float | None:
        """(lenient + strict) / audited items; None if nothing was audited."""
        return (self.lenient + self.strict) / self.audited if self.audited else None

    @property
    def is_silent(self) -> bool:
        """Whether a judge was asked and gave no usable verdict; built-in rules may abstain."""
        by_rules = self.judge is not None and self.judge.startswith("offline")
        return self.items > 0 and self.verdicts == 0 and not by_rules
