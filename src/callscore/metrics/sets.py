"""Precision, recall and F1 of one set against another, from counts.

A formula without a denominator is undefined here; what an empty set is worth is for a suite to
say. Numerators and denominators are kept, so that values of several cases can be pooled.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from callscore.core.measure import Measure, ratio, undefined


class Counts(msgspec.Struct, frozen=True, gc=False):
    """How a found set stands to an expected one: found and expected, found only, missed."""

    tp: int
    fp: int
    fn: int


def counts(expected: AbstractSet[str], found: AbstractSet[str]) -> Counts:
    """TP = |expected ∩ found|, FP = |found − expected|, FN = |expected − found|"""
    tp = len(expected & found)
    return Counts(tp, len(found) - tp, len(expected) - tp)


def precision(c: Counts) -> Measure:
    """TP / (TP + FP); undefined where nothing was found"""
    if c.tp + c.fp == 0:
        return undefined("nothing was found")
    return ratio(c.tp, c.tp + c.fp)


def recall(c: Counts) -> Measure:
    """TP / (TP + FN); undefined where nothing was expected"""
    if c.tp + c.fn == 0:
        return undefined("nothing was expected")
    return ratio(c.tp, c.tp + c.fn)


def f1(c: Counts) -> Measure:
    """2 TP / (2 TP + FP + FN); undefined where nothing was expected and nothing found

    Equal to 2 P R / (P + R) wherever that has a value, and 0 where P + R is 0.
    """
    denominator = 2 * c.tp + c.fp + c.fn
    if denominator == 0:
        return undefined("nothing was expected and nothing found")
    return ratio(2 * c.tp, denominator)
