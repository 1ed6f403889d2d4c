"""Formulas over labels. A pair is (expected, predicted); predicted None means no label given."""

from __future__ import annotations

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


def f1(hits: int, expected: int, predicted: int) -> float:
    """2 TP / (2 TP + FP + FN), from TP, TP + FN and TP + FP; 0 where nothing was hit"""
    return 2 * hits / (expected + predicted) if hits else 0.0


def macro_f1(pairs: Sequence[Pair], classes: Sequence[str], averaging: Averaging) -> Measure:
    """Σ F1 of each class / number of classes        C-52

    A class that occurs on one side only has F1 0. A predicted word that is no class is a false
    negative of the true class and a false positive of none.
    """
    if not pairs:
        return NOTHING_LABELLED
    expected = [pair[0] for pair in pairs]
    predicted = [pair[1] for pair in pairs]
    hits = [pair[0] for pair in pairs if pair[0] == pair[1]]
    total, present = 0.0, 0
    for name in classes:
        wanted, given = expected.count(name), predicted.count(name)
        present += bool(wanted or given)
        total += f1(hits.count(name), wanted, given)
    return ratio(total, present if averaging == "present_classes" else len(classes))
