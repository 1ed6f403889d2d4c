"""Precision, recall, F1 and accuracy, from counts of sets and from pairs of labels.

A formula without a denominator is undefined; suites define the value of an empty set. Numerators
and denominators are kept, so that values of several cases can be pooled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

import msgspec

from callscore.core.measure import Measure, ratio, undefined

NO_JUDGEMENT = undefined("nothing was found")
NOTHING_EXPECTED = undefined("nothing was expected")
NOTHING_AT_ALL = undefined("nothing was expected and nothing found")


class Counts(msgspec.Struct, frozen=True, gc=False):
    """Found and expected, found only, expected only."""

    tp: int
    fp: int
    fn: int


def counts(expected: AbstractSet[str], found: AbstractSet[str]) -> Counts:
    """TP = |expected ∩ found|, FP = |found − expected|, FN = |expected − found|"""
    tp = len(expected & found)
    return Counts(tp, len(found) - tp, len(expected) - tp)


def precision(c: Counts) -> Measure:
    """TP / (TP + FP); undefined if nothing was found"""
    found = c.tp + c.fp
    return Measure(c.tp / found, c.tp, found) if found else NO_JUDGEMENT


def recall(c: Counts) -> Measure:
    """TP / (TP + FN); undefined if nothing was expected"""
    expected = c.tp + c.fn
    return Measure(c.tp / expected, c.tp, expected) if expected else NOTHING_EXPECTED


def f1(c: Counts) -> Measure:
    """2 TP / (2 TP + FP + FN); undefined if nothing was expected and nothing found

    Equal to 2 P R / (P + R) if that has a value, and 0 if P + R is 0.
    """
    agreed = 2 * c.tp
    either = agreed + c.fp + c.fn
    return Measure(agreed / either, agreed, either) if either else NOTHING_AT_ALL


Pair = tuple[str, str | None]

Averaging = Literal["present_classes", "divide_by_3"]
"""The divisor of a macro average: the classes that occur on either side, or all three."""

NOTHING_LABELLED = undefined("no item has an expected label")


def accuracy(pairs: Sequence[Pair]) -> Measure:
    """correct labels / expected labels"""
    if not pairs:
        return NOTHING_LABELLED
    correct = 0
    for expected, predicted in pairs:
        correct += expected == predicted
    return ratio(correct, len(pairs))


def macro_f1(pairs: Sequence[Pair], classes: Sequence[str], averaging: Averaging) -> Measure:
    """Σ F1 of each class / number of classes; F1 = 2 TP / (expected + predicted)        C-52

    A class that occurs on one side only has F1 0. A predicted word that is not a class is a false
    negative of the expected class, and no false positive.
    """
    if not pairs:
        return NOTHING_LABELLED
    right: list[str] = []
    wrong: list[str | None] = []
    for expected, predicted in pairs:
        if expected == predicted:
            right.append(expected)
        else:
            wrong += (expected, predicted)
    scores: list[float] = []
    for name in classes:
        true_positives = right.count(name)
        on_either_side = 2 * true_positives + wrong.count(name)
        if on_either_side:
            scores.append(2 * true_positives / on_either_side)
    return ratio(math.fsum(scores), len(scores) if averaging == "present_classes" else len(classes))


def multiset_counts(expected: Iterable[Hashable], found: Iterable[Hashable]) -> Counts:
    """TP = |expected ∩ found| of multisets: an item counts as often as both sides have it"""
    first, second = Counter(iter(expected)), Counter(iter(found))
    shared = (first & second).total()
    return Counts(shared, second.total() - shared, first.total() - shared)


def f1_or_one(counts: Counts) -> float:
    """2 TP / (2 TP + FP + FN); nothing expected and nothing found → 1        C-115"""
    value = f1(counts).value
    return 1.0 if value is None else value
