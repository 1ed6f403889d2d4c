"""Least-cost assignment that breaks ties like the solver of the public evaluator.

If several assignments have the least cost, a solver may return any of them. The search of the
public graph library branches on the one that it gets, and with self-loops its result depends on
the order of branches. So the solver is reproduced: shortest augmenting paths, row by row, columns
from the last to the first, and a free column among equally near ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def least_assignment(costs: Sequence[Sequence[float]]) -> list[int]:
    """The column of every row of a square matrix."""
    size = len(costs)
    row_price, column_price = [0.0] * size, [0.0] * size
    column_of, row_of = [-1] * size, [-1] * size
    for start in range(size):
        distance, via = [math.inf] * size, [-1] * size
        waiting = list(range(size - 1, -1, -1))
        settled: list[int] = []
        row, least = start, 0.0
        while True:
            line, price = costs[row], row_price[row]
            nearest, chosen = math.inf, -1
            for place, column in enumerate(waiting):
                here = least + line[column] - price - column_price[column]
                if here < distance[column]:
                    distance[column], via[column] = here, row
                known = distance[column]
                if known < nearest or (known == nearest and row_of[column] < 0):
                    nearest, chosen = known, place
            least, found = nearest, waiting[chosen]
            waiting[chosen] = waiting[-1]
            waiting.pop()
            settled.append(found)
            if row_of[found] < 0:
                break
            row = row_of[found]
        row_price[start] += least
        for column in settled[:-1]:
            row_price[row_of[column]] += least - distance[column]
            column_price[column] -= least - distance[column]
        _shift(found, start, via, (column_of, row_of))
    return column_of


def _shift(column: int, start: int, via: list[int], pairs: tuple[list[int], list[int]]) -> None:
    """Follow the path back from its free column to its first row, and reassign its columns."""
    column_of, row_of = pairs
    while True:
        row = via[column]
        previous = column_of[row]
        row_of[column], column_of[row] = row, column
        if row == start:
            return
        column = previous
