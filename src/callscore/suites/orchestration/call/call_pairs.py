"""Pairs predicted calls with expected calls by the best assignment        C-115, Q21, Q22"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from callscore.metrics.graphs.assignment import Assignment
from callscore.suites.orchestration.scenario.model import DecodedCall

EqualValues = Callable[[DecodedCall, DecodedCall], int]
"""Predicted and expected call → the number of arguments with equal values."""


class CallPair(NamedTuple):
    """A predicted call and the expected one; one of them is None if the other has no partner."""

    predicted: DecodedCall | None
    expected: DecodedCall | None


def pair_calls(
    predicted: Sequence[DecodedCall], expected: Sequence[DecodedCall], equal_values: EqualValues
) -> list[CallPair]:
    """Maximise equal names, then shared keys, then equal values, over all pairs        C-115

    Values only break ties, as between five calls of one tool. Pairs are in the order of the
    expected calls, followed by surplus predictions.
    """
    if len(predicted) == len(expected) == 1:
        return [CallPair(predicted[0], expected[0])]
    weights = _weights(predicted, expected, equal_values)
    partner = _assign(weights, len(predicted), len(expected))
    pairs = [
        CallPair(predicted[partner[j]] if j in partner else None, call)
        for j, call in enumerate(expected)
    ]
    taken = set(partner.values())
    return pairs + [CallPair(call, None) for i, call in enumerate(predicted) if i not in taken]


def _weights(
    predicted: Sequence[DecodedCall], expected: Sequence[DecodedCall], equal_values: EqualValues
) -> list[list[int]]:
    """One integer per pair, scaled so that a name outweighs all keys, and a key all values."""
    scale = 1 + sum(len(call.arguments) for call in expected)
    return [
        [
            scale * (scale * (call.name == due.name) + len(call.arguments.keys() & due.arguments))
            + equal_values(call, due)
            for due in expected
        ]
        for call in predicted
    ]


def _assign(weights: list[list[int]], rows: int, columns: int) -> dict[int, int]:
    """The pairing with the greatest total weight: expected index → predicted index."""
    size = max(rows, columns)
    padded = [row + [0] * (size - columns) for row in weights]
    assignment = Assignment(padded + [[0] * size for _ in range(size - rows)])
    assignment.settle(0)
    partners = {assignment.column_of[row]: row for row in range(rows)}
    return {column: row for column, row in partners.items() if column < columns}
