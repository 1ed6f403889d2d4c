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
    return ratio(sum([expected == predicted for expected, predicted in pairs]), len(pairs))


def macro_f1(pairs: Sequence[Pair], classes: Sequence[str], averaging: Averaging) -> Measure:
    """Σ F1 of each class / number of classes; F1 = 2 TP / (expected + predicted)        C-52

    A class that occurs on one side only has F1 0. A predicted word that is no class is a false
    negative of the true class and a false positive of none.
    """
    if not pairs:
        return NOTHING_LABELLED
    expected, predicted = zip(*pairs, strict=True)
    scores: list[float] = []
    for name in classes:
        either = expected.count(name) + predicted.count(name)
        if either:
            scores.append(2 * pairs.count((name, name)) / either)
    return ratio(math.fsum(scores), len(scores) if averaging == "present_classes" else len(classes))
