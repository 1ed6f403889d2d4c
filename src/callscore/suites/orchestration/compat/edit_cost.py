"""The edit cost that the public evaluator's graph library finds for plans with self-loops (Q6).

networkx 3.5 maps one node after the other. With each pair (u, v) it settles the edges between u
and the nodes mapped before it against those of v. Two of its rules make the cost too low:

- a loop may replace any edge that is settled in the same step, at no cost;
- the first pair settles nothing: its loops are settled with the second pair, and never charged if
  there is none.

So the cost of a mapping depends on the order of its pairs, which is the order of the search: the
first open node of the first graph with its partner in a least assignment of the open nodes, then
(if the first graph has at most as many open nodes as the second) every other node for that
partner, or else every other partner for that node. The result is the least cost in this tree;
bounds only save work. Without loops every order costs the same, and the exact search is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callscore.metrics.graphs import Graph, Substitution
from callscore.suites.orchestration.compat.assignment import least_assignment

NONE = -1
TOLERANCE = 1e-9
TYPICAL_NODES, MOST_NODES = 16, 64


class PublicCost(NamedTuple):
    """The least cost in the tree, and whether the whole tree was searched within the budget."""

    cost: float
    complete: bool
    opened: int


class Partners(NamedTuple):
    """A least assignment of the open nodes: partner of each node of the first graph, and its cost.

    A node without a partner is deleted (NONE).
    """

    of: dict[int, int]
    cost: float


class EditState(NamedTuple):
    """A node of the search tree: the open nodes and edges, the pairs so far and their cost."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    partners: Partners
    done: tuple[tuple[int, int], ...]
    open_edges: tuple[int, int]
    cost: float

    @property
    def bound(self) -> float:
        """A lower bound of the leaves below: the assignment, and edges without a counterpart."""
        return self.cost + self.partners.cost + abs(self.open_edges[0] - self.open_edges[1])


def has_loop(graph: Graph) -> bool:
    """Whether an edge leads from a node to itself."""
    return any(source == target for source, target in graph.edges)


def public_cost(
    first: Graph, second: Graph, substitution: Substitution, most: float, budget: int
) -> PublicCost:
    """The least cost in the public search tree if it is below `most`, else `most`        Q6

    `most` is the exact cost, which is an upper bound: the public tree has a path for every mapping,
    and no path costs more than its mapping. `budget` is the number of tree nodes to open if the
    graphs have 16 nodes together. Larger graphs get fewer, as each takes longer; above 64, none.
    """
    nodes = len(first.labels) + len(second.labels)
    if nodes > MOST_NODES:
        return PublicCost(most, complete=False, opened=0)
    if nodes > TYPICAL_NODES:
        budget = budget * TYPICAL_NODES**3 // nodes**3
    search = _PublicSearch(first, second, substitution)
    if max(len(first.labels), len(second.labels)) == 1:  # one pair: no edge is ever settled
        alone = not first.labels or not second.labels
        return PublicCost(1.0 if alone else search.substitutions[0][0], complete=True, opened=1)
    return search.run(most, budget)


class _PublicSearch:
    def __init__(self, first: Graph, second: Graph, substitution: Substitution) -> None:
        self._graphs = (first, second)
        self.substitutions = [[substitution(a, b) for b in second.labels] for a in first.labels]
        rows = [cost for row in self.substitutions for cost in row]
        self._never = sum(rows) + len(first.labels) + len(second.labels) + 1.0
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Partners] = {}

    def run(self, most: float, budget: int) -> PublicCost:
        """Search depth first, the branch with the lowest bound first."""
        first, second = (tuple(range(len(graph.labels))) for graph in self._graphs)
        edges = (len(self._graphs[0].edges), len(self._graphs[1].edges))
        stack = [EditState(first, second, self._partners(first, second), (), edges, 0.0)]
        best, opened = most, 0
        while stack:
            state = stack.pop()
            if not state.first and not state.second:
                best = min(best, state.cost)
                continue
            if state.bound > best - TOLERANCE:
                continue
            if opened == budget:
                return PublicCost(best, complete=False, opened=opened)
            opened += 1
            branches = [s for s in self._branches(state) if s.bound <= best - TOLERANCE]
            stack += sorted(branches, key=lambda branch: -branch.bound)
        return PublicCost(best, complete=True, opened=opened)

    def _branches(self, state: EditState) -> Iterator[EditState]:
        if not state.first:
            yield self._state_after(state, NONE, state.second[0])
            return
        node = state.first[0]
        partner = state.partners.of[node]
        yield self._state_after(state, node, partner)
        if len(state.first) > len(state.second):
            for other in (*state.second, NONE):
                if other != partner:
                    yield self._state_after(state, node, other)
        elif partner != NONE:
            for other in (*state.first[1:], NONE):
                yield self._state_after(state, other, partner)

    def _state_after(self, state: EditState, u: int, v: int) -> EditState:
        """The state after u → v; one of the two may be NONE."""
        first = tuple(node for node in state.first if node != u)
        second = tuple(node for node in state.second if node != v)
        pair = 1.0 if NONE in (u, v) else self.substitutions[u][v]
        if u != NONE and state.partners.of[u] == v:
            partners = Partners(state.partners.of, state.partners.cost - pair)
        else:
            partners = self._partners(first, second)
        gone, new, edges = self._settle_edges(state.done, u, v)
        return EditState(
            first,
            second,
            partners,
            (*state.done, (u, v)),
            (state.open_edges[0] - gone, state.open_edges[1] - new),
            state.cost + pair + edges,
        )

    def _settle_edges(
        self, done: Sequence[tuple[int, int]], u: int, v: int
    ) -> tuple[int, int, int]:
        """The edges of either graph that the pair settles, and their cost

        The cost is a + b - 2 · min(a, b, kept + loops): a and b count the edges of each graph,
        `kept` those that are mapped onto an edge; every loop of either graph saves one more.
        """
        if not done:
            return 0, 0, 0
        mine, theirs = self._graphs[0].edges, self._graphs[1].edges
        looped = [(u, v), done[0]] if len(done) == 1 else [(u, v)]
        loops = [
            sum((p, p) in mine for p, _ in looped),
            sum((q, q) in theirs for _, q in looped),
        ]
        a, b, kept = loops[0], loops[1], 0
        for p, q in done:
            for here, there in (((p, u), (q, v)), ((u, p), (v, q))):
                is_mine, is_theirs = here in mine, there in theirs
                a += is_mine
                b += is_theirs
                kept += is_mine and is_theirs
        return a, b, a + b - 2 * min(a, b, kept + loops[0] + loops[1])

    def _partners(self, first: tuple[int, ...], second: tuple[int, ...]) -> Partners:
        """The least assignment; deletions and insertions are the diagonals of two more blocks."""
        known = self._known.get((first, second))
        if known is not None:
            return known
        never = self._never
        costs = [
            [self.substitutions[u][v] for v in second]
            + [1.0 if u == other else never for other in first]
            for u in first
        ]
        costs += [
            [1.0 if v == other else never for other in second] + [0.0] * len(first) for v in second
        ]
        column_of = least_assignment(costs)
        of = {
            u: second[column] if column < len(second) else NONE
            for u, column in zip(first, column_of, strict=False)
        }
        total = sum(costs[row][column] for row, column in enumerate(column_of))
        found = self._known[first, second] = Partners(of, total)
        return found
