"""F1 of this suite: over multisets, and 1 if both sides are empty (C-115)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from callscore.metrics.classification import Counts, f1


def multiset_counts(expected: Iterable[Hashable], found: Iterable[Hashable]) -> Counts:
    """TP = |expected ∩ found| of multisets: an item counts as often as both sides have it"""
    first, second = Counter(iter(expected)), Counter(iter(found))
    shared = (first & second).total()
    return Counts(shared, second.total() - shared, first.total() - shared)


def f1_or_one(counts: Counts) -> float:
    """2 TP / (2 TP + FP + FN); nothing expected and nothing found → 1        C-115"""
    value = f1(counts).value
    return 1.0 if value is None else value
