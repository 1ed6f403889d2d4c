"""Translation measures (003 Task 4). Formulas only; weights, bands and gates live in spec.toml."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from callscore.core.measure import Measure, not_run, ratio, vacuous

_NOTHING_EXPECTED = vacuous(1.0)


def completeness(translated: int, total: int) -> Measure:
    """translated_sentence_count / total_source_sentences        003 Translation Metric 1, C-65"""
    return ratio(translated, total)


def meaning(similarities: Sequence[float | None]) -> Measure:
    """mean(clamp(cosine(model, expected), 0, 1))        003 Translation Metric 2, C-67

    One similarity for every expected sentence, None if it was not compared.
    """
    waiting = similarities.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(similarities)} sentences await a similarity")
    return ratio(math.fsum(min(1.0, max(0.0, s)) for s in similarities if s), len(similarities))


def fluency(ratings: Sequence[float | None], total: int) -> Measure:
    """mean(anchor of each translated sentence)        003 Translation Metric 3, C-69

    `ratings` has only translated sentences; None is not judged. A reply
    that translates none of its `total` sentences scores 0.
    """
    if not ratings:
        return ratio(0, total)
    waiting = ratings.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(ratings)} translated sentences await a verdict")
    return ratio(math.fsum(rating for rating in ratings if rating), len(ratings))


def preservation(correct: int, total: int) -> Measure:
    """correctly handled / expected terms, or nouns      003 Translation Metrics 4 and 5, C-70, C-72

    Nothing expected is 1, vacuous (C-73).
    """
    return ratio(correct, total) if total else _NOTHING_EXPECTED


class FactCount(msgspec.Struct, frozen=True, gc=False):
    """Critical facts of one reply: lost or added, of how many that are decided (C-75)."""

    drifted: int
    total: int
    """Expected facts that code or a verdict has decided."""
    is_approximate: bool = False
    """Whether no judge was asked about outcomes, or an estimate was counted."""
    added: int = 0
    awaiting: int = 0
    """Listed facts that await a verdict."""
    is_estimated: bool = False
    """Whether an estimated verdict was counted; gates do not use it."""

    @property
    def lost(self) -> int:
        """drifted − added: expected facts omitted or altered        C-75"""
        return self.drifted - self.added


def critical_facts(count: FactCount) -> Measure:
    """max(0, 1 − drifted / max(1, total))        003 Translation Metric 6, C-75"""
    kept = max(0, count.total - count.drifted) / max(1, count.total)
    return _fact_measure(count, kept if count.total or count.drifted else 1.0, is_drift=False)


def drift(count: FactCount) -> Measure:
    """100 × (lost + added facts) / max(1, total)        003 Translation Metric 6, C-14, C-75"""
    return _fact_measure(count, 100 * count.drifted / max(1, count.total), is_drift=True)


def _fact_measure(count: FactCount, value: float, *, is_drift: bool) -> Measure:
    """The value with its counts, which add up over calls; None while a listed fact is open."""
    bad = count.drifted if is_drift else count.total - count.drifted
    if count.awaiting:
        listed = count.total + count.awaiting
        awaits = "awaits" if count.awaiting == 1 else "await"
        return Measure(
            None,
            bad,
            count.total,
            absence="not_run",
            why=f"{count.awaiting} of {listed} facts {awaits} a verdict",
            awaiting=count.awaiting,
        )
    if not (count.drifted or count.total):
        return Measure(value, vacuous=True, approximate=count.is_approximate)
    return Measure(
        value,
        bad,
        count.total,
        approximate=count.is_approximate,
        estimated=count.is_estimated,
    )
