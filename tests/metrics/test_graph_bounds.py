"""The parts of the edit-distance bound: assignments that are repaired, pairings, twins."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from scipy.optimize import linear_sum_assignment

from callscore.metrics.graphs.assignment import Assignment, Matrix
from callscore.metrics.graphs.bounds import best_pairing
from callscore.metrics.graphs.distance import improve_by_swaps
from callscore.metrics.graphs.problem import make_problem, make_search_graph, twin_classes


def largest(gains: Matrix, rows: list[int], columns: list[int]) -> int:
    table = [[gains[row][column] for column in columns] for row in rows]
    picked = linear_sum_assignment(table, maximize=True)
    return sum(table[a][b] for a, b in zip(*picked, strict=True))


@pytest.mark.parametrize("spread", [1, 3, 1000])
def test_an_assignment_stays_the_largest_through_every_repair(spread: int) -> None:
    random = Random(spread)
    for _ in range(60):
        size = random.randrange(2, 9)
        rows = list(range(size))
        found = Assignment([[random.randrange(spread + 1) for _ in rows] for _ in rows])
        assert found.settle(0)
        while len(rows) > 1:
            before = found
            found = before.copy()
            row, column = random.choice(rows), random.choice(found.columns)
            found.close(row, column)
            rows.remove(row)
            for other in random.sample(rows, len(rows) // 2):
                found.change(other, [random.randrange(spread + 1) for _ in range(size)])
            assert found.settle(0)
            assert found.total == largest(found.gains, rows, found.columns)
            assert found.total == sum(found.gains[r][found.column_of[r]] for r in rows)
            assert before.total == largest(before.gains, [*rows, row], before.columns)


def test_an_assignment_says_when_it_falls_below_the_floor() -> None:
    gains = [[5, 1], [5, 1]]
    assert Assignment([*gains]).settle(6)
    assert not Assignment([*gains]).settle(7)


@pytest.mark.parametrize("near", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("far", [0, 1, 2, 3, 4])
def test_a_pairing_is_the_best_of_all_and_may_leave_edges_alone(near: int, far: int) -> None:
    random = Random(10 * near + far)
    for _ in range(50):
        weights = [[random.randrange(-3, 5) for _ in range(far)] for _ in range(near)]
        alone = [row + [0] * near for row in weights]
        best = max(
            sum(row[column] for row, column in zip(alone, columns, strict=True))
            for columns in permutations(range(far + near), near)
        )
        value, pairs = best_pairing(weights, range(near), range(far))
        assert value == best == sum(weights[e][f] for e, f in pairs)
        assert len({e for e, _ in pairs}) == len({f for _, f in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("edges", "classes"),
    [
        (set(), [0, 0, 0, 3]),
        ({(3, 0), (3, 1)}, [0, 0, 2, 3]),
        ({(0, 1), (1, 0)}, [0, 0, 2, 3]),
        ({(0, 1)}, [0, 1, 2, 3]),
        ({(0, 0), (1, 1)}, [0, 0, 2, 3]),
        ({(0, 1), (1, 2), (2, 0)}, [0, 1, 2, 3]),
    ],
)
def test_twins_can_change_places(edges: set[tuple[int, int]], classes: list[int]) -> None:
    assert twin_classes(make_search_graph(4, edges), ["same", "same", "same", "other"]) == classes


def test_swaps_untangle_a_map_and_use_the_node_left_over() -> None:
    chain = make_search_graph(3, {(0, 1), (1, 2)})
    longer = make_search_graph(4, {(3, 1), (1, 0), (0, 2)})
    task = make_problem([[0.0] * 4] * 3, chain, longer)
    better = improve_by_swaps(task, [0, 1, 2])
    assert task.gain(better) == task.unit * (3 * 2 + 2 * 2)
    assert len(set(better)) == 3
