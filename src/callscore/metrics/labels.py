"""Formulas over labels. A pair is (expected, predicted); predicted None means no label given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from callscore.core.measure import Measure, ratio, undefined

Pair = tuple[str, str | None]

Averaging = Literal["present_classes", "divide_by_3"]
"""Which classes a macro average divides by: those that occur on either side, or all there are."""

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

    A class that occurs on one side only has F1 0. A predicted word that is no class is a false
    negative of the true class and a false positive of none.
    """
    if not pairs:
        return NOTHING_LABELLED
    either: dict[str | None, int] = {}
    both: dict[str, int] = {}
    for expected, predicted in pairs:
        either[expected] = either.get(expected, 0) + 1
        either[predicted] = either.get(predicted, 0) + 1
        if expected == predicted:
            both[expected] = both.get(expected, 0) + 1
    scores: list[float] = []
    for name in classes:
        if name in either:
            scores.append(2 * both.get(name, 0) / either[name])
    return ratio(math.fsum(scores), len(scores) if averaging == "present_classes" else len(classes))
