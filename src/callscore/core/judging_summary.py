"""The judge and the embedder of a scorecard, what they did and what that cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.interval import Interval


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
