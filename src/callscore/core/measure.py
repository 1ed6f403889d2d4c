"""A measure: a number with its counts, or the reason why there is none; intervals of numbers."""

from __future__ import annotations

from typing import Literal

import msgspec

Absence = Literal["", "undefined", "not_run", "absent", "malformed", "failed"]
"""Why a measure has no value.

undefined   the formula has no denominator on this case
not_run     a verdict or a similarity that the formula needs was not given
absent      the reference declares this part absent (C-127), so the case does not take part
malformed   the model's answer has the wrong structure
failed      a provider, judge or embedder could not answer
"""

UNDECIDED: tuple[Absence, ...] = ("failed", "not_run")
"""Why a case with a reply has no value yet: an item of it is not decided."""


class Measure(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One value of one formula on one case, or why there is none."""

    value: float | None
    numerator: float = 0.0
    denominator: float = 0.0
    absence: Absence = ""
    why: str = ""
    vacuous: bool = False
    approximate: bool = False
    estimated: bool = False
    """Depends on an estimated verdict, which neither triggers nor clears a gate (C-125)."""
    unrated: bool = False
    """Whether no rating rests on it: a substitute for a judge or an embedder serves its metric, for
    this reply or another (C-68, C-125)."""
    awaiting: int = 0
    """Number of items that await a verdict, for a measure without a value; the counts cover the
    others."""
    left_out: float = 0.0
    """Items in favour of the reply that are left out of both counts (C-136)."""

    def reason(self) -> str | None:
        """The reason in words, as reports print it; None if there is a value."""
        if self.value is not None:
            return None
        word = "not_run" if self.absence == "absent" else self.absence
        return f"{word}: {self.why}" if self.why else word


def ratio(numerator: float, denominator: float) -> Measure:
    """numerator / denominator, keeping both; the denominator must not be 0"""
    return Measure(numerator / denominator, numerator, denominator)


def percent(numerator: float, denominator: float) -> Measure:
    """100 × numerator / denominator, keeping both; the denominator must not be 0        C-14"""
    return Measure(100 * numerator / denominator, numerator, denominator)


def plain_share(numerator: float, denominator: float, left_out: float, unit: str) -> float:
    """The share with the items that were left out, all in favour of the reply        C-136

    A percentage counts what is wrong, every other share what is right.
    """
    total = denominator + left_out
    return 100 * numerator / total if unit == "percent" else (numerator + left_out) / total


def count(number: int) -> Measure:
    """A plain count (unit `count`)        C-14"""
    return Measure(float(number), float(number), 1.0)


def vacuous(value: float) -> Measure:
    """A value defined for an empty case, marked as such        C-13"""
    return Measure(value, vacuous=True)


def undefined(why: str) -> Measure:
    """No value: the formula has no denominator here"""
    return Measure(None, absence="undefined", why=why)


def not_run(why: str) -> Measure:
    """No value: a verdict or a similarity that the formula needs was not given"""
    return Measure(None, absence="not_run", why=why)


def failed(why: str) -> Measure:
    """No value: a provider, judge or embedder could not answer"""
    return Measure(None, absence="failed", why=why)


ABSENT = Measure(None, absence="absent", why="the reference declares this part absent")
MALFORMED = Measure(None, absence="malformed", why="the answer has the wrong structure")


Interval = tuple[float, float]
"""The limits of a 95 % interval for future calls; the scored calls are a sample of them."""
ClaimLimits = tuple[float, float]
"""Two limits, each one-sided at 95 %, that reckon with failures that no call has shown (STATS §2).
"""
FEW_CALLS = 15
"""Intervals from fewer calls are marked as rough (STATS §2)."""


class GateClaim(msgspec.Struct, frozen=True):
    """Whether the data show that a rate meets its gate, one-sided at 95 % (STATS §2)."""

    holds: bool
    limit: float
    bound: float
    """The claim limit: what the rate meets with 95 % confidence, in the unit of the row."""
    n: int
    """Calls with something to count."""
    errors: int
    """Calls with an error."""
    needed: int
    """Calls that would show it without further errors, at least."""


class IntervalMethod(msgspec.Struct, frozen=True):
    """How the intervals of a scorecard were computed (STATS §1, §2)."""

    level: float
    about: str
    """`future calls`: the scored calls are a sample of them."""
    calls: int
    units: int
    """Number of resampled units: calls, or random groups of calls if there are very many."""
    resamples: int
    seed: int
