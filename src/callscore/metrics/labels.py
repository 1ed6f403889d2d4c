"""Formulas over labels. A pair is (expected, predicted); predicted is None without a label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from callscore.core.measure import Measure, ratio, undefined

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
