"""How a bound divides the gain of an open edge between its two ends.

Mapping u -> v gains at most own + 2 for every kept edge to a mapped node + the shares of edges to
open nodes. If the shares of an edge add up to its gain of 2, the best assignment over these sums is
a bound on every map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from callscore.metrics.graphs.assignment import Assignment, Matrix
from callscore.metrics.graphs.problem import Problem, SearchGraph

Pairing = tuple[int, list[tuple[int, int]]]


class Shares(Protocol):
    """The gains of open pairs, and how they change when a pair is mapped."""

    def gains(self) -> Matrix:
        """By node of the small graph, by node of the large one."""

    def map_pair(self, pair: tuple[int, int], rows: Sequence[int], bound: Assignment) -> Self:
        """The shares after u -> v; changes the gains of the open `rows` in `bound`."""

    def open_pairs(self) -> int:
        """The number of pairs of open edges that `map_pair` visits."""


class Degrees(NamedTuple):
    """Open edges of each node in one direction, in the small and in the large graph."""

    near: list[int]
    far: list[int]

    def remove_edges(
        self, near: set[int], far: set[int], rows: Sequence[int], gains: Matrix, unit: int
    ) -> Degrees:
        """The degrees with one edge less at `near` and `far`; updates the gains of the open rows.

        A pair loses its halves of the edge, and gains 2 if both nodes have it.
        """
        for row in rows:
            degree = self.near[row]
            if row in near:
                changed = [
                    gain - unit if degree <= other else gain
                    for gain, other in zip(gains[row], self.far, strict=True)
                ]
                for column in far:
                    changed[column] += 2 * unit if degree <= self.far[column] else unit
                gains[row] = changed
            elif degree:
                losing = [column for column in far if self.far[column] <= degree]
                if losing:
                    gains[row] = changed = gains[row][:]
                    for column in losing:
                        changed[column] -= unit
        return Degrees(_decrement(self.near, near), _decrement(self.far, far))


def _decrement(degrees: list[int], nodes: set[int]) -> list[int]:
    fewer = degrees[:]
    for node in nodes:
        fewer[node] -= 1
    return fewer


class EvenShares(NamedTuple):
    """Half an edge at each end: a node keeps at most min(its, its image's) open edges.

    Weak, but mapping a pair costs microseconds.
    """

    problem: Problem
    leaving: Degrees
    entering: Degrees

    @classmethod
    def initial(cls, problem: Problem) -> EvenShares:
        """Nothing mapped yet."""
        small, large = problem.small, problem.large
        leaving = Degrees([len(e) for e in small.leaving], [len(e) for e in large.leaving])
        entering = Degrees([len(e) for e in small.entering], [len(e) for e in large.entering])
        return cls(problem, leaving, entering)

    def open_pairs(self) -> int:
        """0: degrees are enough."""
        return 0

    def gains(self) -> Matrix:
        """The own gain + min(out-degrees) + min(in-degrees)"""
        unit, far = self.problem.unit, list(zip(self.leaving.far, self.entering.far, strict=True))
        near = zip(self.problem.own, self.leaving.near, self.entering.near, strict=True)
        return [
            [
                own + unit * ((a if a < x else x) + (b if b < y else y))
                for own, (x, y) in zip(row, far, strict=True)
            ]
            for row, a, b in near
        ]

    def map_pair(self, pair: tuple[int, int], rows: Sequence[int], bound: Assignment) -> EvenShares:
        """Only pairs next to u or v change."""
        (u, v), (small, large, _, unit, _) = pair, self.problem
        gains = bound.gains[:]
        leaving = self.leaving.remove_edges(small.before[u], large.before[v], rows, gains, unit)
        entering = self.entering.remove_edges(small.after[u], large.after[v], rows, gains, unit)
        for row in rows:
            if gains[row] is not bound.gains[row]:
                bound.change(row, gains[row])
        return EvenShares(self.problem, leaving, entering)


class OpenEdges(NamedTuple):
    """The edges of a graph with two open ends, by node."""

    leaving: list[list[int]]
    entering: list[list[int]]

    def remove_node(self, node: int, graph: SearchGraph) -> OpenEdges:
        """The open edges after `node` was mapped."""
        leaving, entering = self.leaving[:], self.entering[:]
        for other in graph.before[node]:
            leaving[other] = [edge for edge in leaving[other] if graph.edges[edge][1] != node]
        for other in graph.after[node]:
            entering[other] = [edge for edge in entering[other] if graph.edges[edge][0] != node]
        return OpenEdges(leaving, entering)


class TunedShares(NamedTuple):
    """Separate shares for each pair of edges: a bound close to that of a linear program.

    `tail[e][f]` counts if the sources of e and f are paired, `head[e][f]` if their targets are;
    together always 2. A pair of nodes keeps at most the best pairing of its open edges.
    """

    problem: Problem
    tail: Matrix
    head: Matrix
    fixed: Matrix
    near: OpenEdges
    far: OpenEdges

    @classmethod
    def initial(cls, problem: Problem) -> TunedShares:
        """Nothing mapped, nothing tuned yet."""
        small, large, own, unit, _ = problem
        tail, head = ([[unit] * len(large.edges) for _ in small.edges] for _ in range(2))
        near = OpenEdges(small.leaving, small.entering)
        return cls(problem, tail, head, own, near, OpenEdges(large.leaving, large.entering))

    def copy(self) -> TunedShares:
        """The current shares, independent of further tuning."""
        tail, head = ([row[:] for row in matrix] for matrix in (self.tail, self.head))
        return self._replace(tail=tail, head=head)

    def open_pairs(self) -> int:
        """Open edges of the small graph times open edges of the large one."""
        return sum(map(len, self.near.leaving)) * sum(map(len, self.far.leaving))

    def gains(self) -> Matrix:
        """The own gain + best pairing of leaving edges + best pairing of entering edges"""
        columns = range(len(self.far.leaving))
        return [[self.gain(row, column) for column in columns] for row in range(len(self.fixed))]

    def gain(self, row: int, column: int) -> int:
        """The gain of one pair."""
        total = self.fixed[row][column]
        near, far = self.near.leaving[row], self.far.leaving[column]
        if near and far:
            total += best_pairing(self.tail, near, far)[0]
        near, far = self.near.entering[row], self.far.entering[column]
        if near and far:
            total += best_pairing(self.head, near, far)[0]
        return total

    def kept_pairs(self, image: Sequence[int]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
        """The pairs of edges that the bound keeps at their tails, and at their heads."""
        near, far = self.near, self.far
        tails: set[tuple[int, int]] = set()
        heads: set[tuple[int, int]] = set()
        for row, column in enumerate(image):
            tails.update(best_pairing(self.tail, near.leaving[row], far.leaving[column])[1])
            heads.update(best_pairing(self.head, near.entering[row], far.entering[column])[1])
        return tails, heads

    def map_pair(
        self, pair: tuple[int, int], rows: Sequence[int], bound: Assignment
    ) -> TunedShares:
        """Edges at u and v are decided: 2 if both have one, else nothing."""
        (u, v), (small, large, _, unit, _) = pair, self.problem
        fixed = self.fixed[:]
        for near, far in ((small.before[u], large.before[v]), (small.after[u], large.after[v])):
            for row in near:
                fixed[row] = changed = fixed[row][:]
                for column in far:
                    changed[column] += 2 * unit
        child = self._replace(
            fixed=fixed, near=self.near.remove_node(u, small), far=self.far.remove_node(v, large)
        )
        next_to_u = small.before[u] | small.after[u]
        next_to_v = [x for x in bound.columns if x in large.before[v] or x in large.after[v]]
        for row in rows:
            gains = bound.gains[row][:]
            for column in bound.columns if row in next_to_u else next_to_v:
                gains[column] = child.gain(row, column)
            if gains != bound.gains[row]:
                bound.change(row, gains)
        return child


def best_pairing(weights: Matrix, near: Sequence[int], far: Sequence[int]) -> Pairing:
    """Largest sum of weights over pairs of a near and a far edge; any edge may stay alone.

    Nodes of a plan have few edges: one or two rows are special cases, which halves tuning.
    """
    if not near or not far:
        return 0, []
    if len(near) == 1:
        row = weights[near[0]]
        best = max(far, key=row.__getitem__)
        return (row[best], [(near[0], best)]) if row[best] > 0 else (0, [])
    if len(far) == 1:
        column = far[0]
        best = max(near, key=lambda edge: weights[edge][column])
        weight = weights[best][column]
        return (weight, [(best, column)]) if weight > 0 else (0, [])
    if len(near) == 2:
        return _two_rows(weights, near, far)
    return _many_rows(weights, near, far)


def _two_rows(weights: Matrix, near: Sequence[int], far: Sequence[int]) -> Pairing:
    one, two = near
    of_one, of_two = weights[one], weights[two]
    first, second = max(far, key=of_one.__getitem__), max(far, key=of_two.__getitem__)
    if first == second:
        rest = [edge for edge in far if edge != first]
        other_first = max(rest, key=of_one.__getitem__)
        other_second = max(rest, key=of_two.__getitem__)
        lost_one = of_one[first] - max(0, of_one[other_first])
        lost_two = of_two[second] - max(0, of_two[other_second])
        if lost_one < lost_two:
            first = other_first
        else:
            second = other_second
    pairs = [(e, f) for e, f in ((one, first), (two, second)) if weights[e][f] > 0]
    return sum([weights[e][f] for e, f in pairs]), pairs


def _many_rows(weights: Matrix, near: Sequence[int], far: Sequence[int]) -> Pairing:
    size = max(len(near), len(far))
    pad = [0] * (size - len(far))
    square = [[max(0, weights[e][f]) for f in far] + pad for e in near]
    square += [[0] * size] * (size - len(near))
    found = Assignment(square)
    found.settle(0)
    chosen = zip(near, found.column_of, strict=False)
    pairs = [(e, far[c]) for e, c in chosen if c < len(far) and weights[e][far[c]] > 0]
    return found.total, pairs


# Measured on 16-node pairs: a fast decay suits edited plans, a slow one unrelated plans.
FIRST_PACE = 0.6
MOMENTUM = 0.4
PATIENCE = 4
SLOWER = 0.7
FORGOTTEN = 0.05


class TuningResult(NamedTuple):
    """The best shares found, their bound, the best gain found on the way, and the rounds."""

    shares: TunedShares
    bound: int
    best: int
    rounds: int


def pad_rows(gains: Matrix, columns: int) -> Matrix:
    """The gains with a row of 0 for every node of the large graph that must be inserted."""
    return gains + [[0] * columns] * (columns - len(gains))


def tune(problem: Problem, best: int, rounds: int) -> TuningResult:
    """Move weight of each edge pair that only one end keeps towards the other end.

    Every assignment on the way is a map, so tuning also finds good maps. Steps are Polyak's, with a
    little momentum, slowed down when the bound no longer falls.
    """
    shares = TunedShares.initial(problem)
    bound = Assignment(pad_rows(shares.gains(), len(problem.large.after)))
    bound.settle(0)
    tuned = TuningResult(shares.copy(), bound.total, best, 0)
    velocity: dict[tuple[int, int], float] = {}
    pace, stale = FIRST_PACE, 0
    for spent in range(rounds):
        image = bound.column_of[: len(problem.own)]
        best = max(best, problem.gain(image))
        stale += 1
        if bound.total < tuned.bound:
            stale = stale if tuned.bound - bound.total < problem.unit // 100 else 0
            tuned = TuningResult(shares.copy(), bound.total, best, spent)
        if stale >= PATIENCE:
            pace, stale = pace * SLOWER, 0
        tails, heads = shares.kept_pairs(image)
        if tails == heads or tuned.bound < best + problem.step:
            break
        velocity = _push(velocity, tails, heads)
        _move(shares, bound, velocity, pace * (bound.total - best))
    return tuned._replace(best=best, rounds=spent + 1)


def _push(
    velocity: dict[tuple[int, int], float], tails: set[tuple[int, int]], heads: set[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    """The velocity with a push: less at the end that keeps the pair, more at the other."""
    pushed = {pair: MOMENTUM * speed for pair, speed in velocity.items()}
    for pair in sorted(tails ^ heads):
        pushed[pair] = pushed.get(pair, 0.0) + (1 if pair in heads else -1)
    return {pair: speed for pair, speed in pushed.items() if abs(speed) > FORGOTTEN}


def _move(
    shares: TunedShares, bound: Assignment, velocity: dict[tuple[int, int], float], size: float
) -> None:
    small, large = shares.problem.small.edges, shares.problem.large.edges
    length = size / sum([speed * speed for speed in velocity.values()])
    touched: dict[int, set[int]] = {}
    for (e, f), speed in velocity.items():
        moved = int(length * speed)
        shares.tail[e][f] += moved
        shares.head[e][f] -= moved
        for row, column in zip(small[e], large[f], strict=True):
            touched.setdefault(row, set()).add(column)
    for row, columns in touched.items():
        gains = bound.gains[row][:]
        for column in columns:
            gains[column] = shares.gain(row, column)
        bound.change(row, gains)
    bound.settle(0)
