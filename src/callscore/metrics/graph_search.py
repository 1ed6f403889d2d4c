"""Branch and bound behind the graph edit distance: the best one-to-one map of the nodes.

With insert and delete at 1 and a substitution at most 2, mapping two nodes is never dearer than
deleting one and inserting the other, so every node of the smaller graph is mapped, and

    cost = |V1| + |E1| + |V2| + |E2| - gain
    gain = sum of (2 - substitution) over mapped nodes + 2 * edges that land on an edge

The search maximises the gain. Its bound is a linear assignment: an edge to a node already mapped
counts in full, an edge between two open nodes counts half at each end, and a node cannot keep
more open edges than its image has. Gains are whole numbers of a common unit, so sums are exact
and a bound is rounded down to the next gain that can occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

Matrix = list[list[int]]
FINEST = 2**30


class Outcome(NamedTuple):
    """The largest gain found, the gain no map exceeds, and the search nodes opened."""

    gain: float
    limit: float
    expansions: int


class Adjacency(NamedTuple):
    """One graph: successors and predecessors of every node, loops apart."""

    after: list[set[int]]
    before: list[set[int]]
    loops: set[int]


class Assigned(NamedTuple):
    """An optimal assignment and the prices that prove it: price + price >= gain everywhere."""

    total: int
    column_of: dict[int, int]
    row_price: dict[int, int]
    column_price: dict[int, int]


class State(NamedTuple):
    """A search node: the map so far, its gain, what is open, and the gain of each open pair."""

    image: dict[int, int]
    gained: int
    rows: list[int]
    columns: list[int]
    pairs: dict[int, list[int]]


def adjacency(count: int, edges: Iterable[tuple[int, int]]) -> Adjacency:
    """The neighbours of every node."""
    found = Adjacency([set() for _ in range(count)], [set() for _ in range(count)], set())
    for source, target in edges:
        if source == target:
            found.loops.add(source)
        else:
            found.after[source].add(target)
            found.before[target].add(source)
    return found


def in_whole_units(costs: Sequence[Sequence[float]]) -> tuple[int, Matrix]:
    """How many units make 1, and the costs in units.

    Fractions with small denominators (0.2, 0.8, 1/3) are kept exactly; others are rounded to
    one part in 2**30, far below anything a report shows.
    """
    unit = 1
    for cost in {cost for row in costs for cost in row}:
        near = Fraction(cost).limit_denominator(1000)
        unit = lcm(unit, near.denominator) if abs(near - Fraction(cost)) < 1e-12 else FINEST
        if unit >= FINEST:
            unit = FINEST
            break
    return unit, [[round(cost * unit) for cost in row] for row in costs]


def assign(rows: Sequence[int], columns: Sequence[int], pairs: dict[int, list[int]]) -> Assigned:
    """Hungarian method: largest sum of pairs[row][column], each row its own column."""
    row_price = {row: max(pairs[row][column] for column in columns) for row in rows}
    column_price = dict.fromkeys(columns, 0)
    row_of: dict[int, int] = {}
    for row in rows:
        _augment(row, pairs, row_of, row_price, column_price)
    column_of = {row: column for column, row in row_of.items()}
    total = sum(pairs[row][column] for row, column in column_of.items())
    return Assigned(total, column_of, row_price, column_price)


def _augment(
    start: int,
    pairs: dict[int, list[int]],
    row_of: dict[int, int],
    row_price: dict[int, int],
    column_price: dict[int, int],
) -> None:
    """Give row `start` a column along a path of least slack, moving other rows where needed."""
    slack = dict.fromkeys(column_price, 1 << 60)
    via: dict[int, int] = {}
    tree = {start: -1}
    row = start
    while True:
        gains, price = pairs[row], row_price[row]
        nearest, least = -1, 1 << 60
        for column, known in slack.items():
            here = price + column_price[column] - gains[column]
            if here < known:
                slack[column] = known = here
                via[column] = row
            if known < least:
                nearest, least = column, known
        if least:
            for member, entered in tree.items():
                row_price[member] -= least
                if entered >= 0:
                    column_price[entered] += least
            for column in slack:
                slack[column] -= least
        del slack[nearest]
        if nearest not in row_of:
            break
        row = row_of[nearest]
        tree[row] = nearest
    while nearest >= 0:
        row_of[nearest] = row = via[nearest]
        nearest = tree[row]


class Search:
    """One depth-first branch and bound over maps of the small graph into the large one."""

    def __init__(
        self, costs: Sequence[Sequence[float]], small: Adjacency, large: Adjacency, budget: int
    ) -> None:
        self.small, self.large, self.budget = small, large, budget
        self.unit, whole = in_whole_units(costs)
        self.own = [
            [
                2 * self.unit * (1 + (u in small.loops and v in large.loops)) - cost
                for v, cost in enumerate(row)
            ]
            for u, row in enumerate(whole)
        ]
        # Two maps of all rows differ by 2 per kept edge and by differences within rows.
        self.step = gcd(2 * self.unit, *(cost - row[0] for row in self.own for cost in row))
        self.best = -self.step
        self.unproven = -self.step
        self.expansions = 0

    def run(self) -> Outcome:
        """The best map within the budget, and what the unopened part might still hold."""
        rows, columns = list(range(len(self.own))), list(range(len(self.large.after)))
        pairs = {u: [self.own[u][v] + self._open_share(u, v) for v in columns] for u in rows}
        self._visit(State({}, 0, rows, columns, pairs))
        limit = max(self.best, self.unproven)
        return Outcome(self.best / self.unit, limit / self.unit, self.expansions)

    def _open_share(self, u: int, v: int) -> int:
        small, large = self.small, self.large
        return self.unit * (
            min(len(small.after[u]), len(large.after[v]))
            + min(len(small.before[u]), len(large.before[v]))
        )

    def _gain_of(self, image: dict[int, int]) -> int:
        kept = sum(
            image[target] in self.large.after[image[node]]
            for node, targets in enumerate(self.small.after)
            for target in targets
        )
        return 2 * self.unit * kept + sum(self.own[u][v] for u, v in image.items())

    def _visit(self, state: State) -> None:
        found = assign(state.rows, state.columns, state.pairs)
        bound = state.gained + found.total
        if bound < self.best + self.step:
            return
        self.best = max(self.best, self._gain_of(state.image | found.column_of))
        if bound < self.best + self.step:
            return
        if self.expansions >= self.budget:
            self.unproven = max(self.unproven, bound)
            return
        self.expansions += 1
        row, candidates = self._branch(state, found, bound)
        for limit, column in candidates:
            if limit >= self.best + self.step:
                self._visit(self._child(state, row, column))

    def _branch(
        self, state: State, found: Assigned, bound: int
    ) -> tuple[int, list[tuple[int, int]]]:
        """The row with the fewest columns that may still beat the best, most promising first."""
        target = self.best + self.step
        fewest: tuple[int, list[tuple[int, int]]] = (-1, [])
        for row in state.rows:
            gains, price = state.pairs[row], bound - found.row_price[row]
            limits = [(price + gains[v] - found.column_price[v], v) for v in state.columns]
            alive = [pair for pair in limits if pair[0] >= target]
            if fewest[0] < 0 or len(alive) < len(fewest[1]):
                fewest = (row, alive)
        return fewest[0], sorted(fewest[1], key=lambda pair: -pair[0])

    def _child(self, state: State, row: int, column: int) -> State:
        """Map row to column: its edges to open nodes are settled when those are mapped."""
        small, large, image = self.small, self.large, state.image
        kept = sum(image[w] in large.after[column] for w in small.after[row] if w in image)
        kept += sum(image[w] in large.before[column] for w in small.before[row] if w in image)
        gained = state.gained + self.own[row][column] + 2 * self.unit * kept
        rows = [w for w in state.rows if w != row]
        columns = [x for x in state.columns if x != column]
        image = {**image, row: column}
        pairs = {w: [0] * len(large.after) for w in rows}
        taken = set(image.values())
        for w in rows:
            for x in columns:
                pairs[w][x] = self._pair(w, x, image, taken)
        return State(image, gained, rows, columns, pairs)

    def _pair(self, u: int, v: int, image: dict[int, int], taken: set[int]) -> int:
        small, large = self.small, self.large
        share = 0
        for near, far in ((small.after[u], large.after[v]), (small.before[u], large.before[v])):
            settled = [w for w in near if w in image]
            open_near = len(near) - len(settled)
            open_far = len(far) - len(far & taken)
            share += 2 * sum(image[w] in far for w in settled) + min(open_near, open_far)
        return self.own[u][v] + self.unit * share
