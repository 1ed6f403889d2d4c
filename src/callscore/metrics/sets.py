"""Precision, recall and F1 of one set against another, from counts.

A formula without a denominator is undefined; suites define the value of an empty set. Numerators
and denominators are kept, so that values of several cases can be pooled.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from callscore.core.measure import Measure, undefined

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
