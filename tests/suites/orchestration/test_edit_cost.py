"""Q6: the cost that networkx finds where graphs have self-loops, beside networkx itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random

import networkx
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from callscore.metrics.graphs import Graph, edit_distance, size
from callscore.suites.orchestration.compat.assignment import least_assignment
from callscore.suites.orchestration.compat.edit_cost import has_loop, public_cost
from callscore.suites.orchestration.plan.measures import component_cost, free_cost

BUDGET = 100_000
Cost = Callable[[Hashable, Hashable], float]


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 0.2, 0.8, 1.0, 7.4]), min_size=n, max_size=n),
            min_size=n,
            max_size=n,
        )
    )
)
def test_of_equal_assignments_the_one_of_scipy_is_taken(costs: list[list[float]]) -> None:
    assert least_assignment(costs) == list(linear_sum_assignment(numpy.array(costs))[1])


def _graph(random: Random, most_nodes: int) -> Graph:
    labels = random.sample(
        [(agent, status) for agent in range(3) for status in range(3)],
        random.randint(1, most_nodes),
    )
    nodes = range(len(labels))
    density = random.choice([0.15, 0.3, 0.5])
    edges = {(a, b) for a in nodes for b in nodes if random.random() < density}
    return Graph(tuple(labels), frozenset(edges or {(0, 0)}))


def _theirs(first: Graph, second: Graph, cost: Cost) -> float:
    """The call of the public evaluator: unit costs, and the largest cost as an upper bound."""
    graphs = []
    for graph in (first, second):
        graphs.append(networkx.DiGraph())
        graphs[-1].add_nodes_from((n, {"label": label}) for n, label in enumerate(graph.labels))
        graphs[-1].add_edges_from(sorted(graph.edges))
    found: float = networkx.graph_edit_distance(
        *graphs,
        node_subst_cost=lambda a, b: cost(a["label"], b["label"]),
        upper_bound=size(first) + size(second),
    )
    return found


@pytest.mark.parametrize("cost", [component_cost, free_cost])
def test_q6_the_cost_with_self_loops_is_that_of_networkx(cost: Cost) -> None:
    random = Random(6)
    lower = 0
    for _ in range(250):
        first, second = _graph(random, 4), _graph(random, 4)
        exact = edit_distance(first, second, cost).cost
        found = public_cost(first, second, cost, exact, BUDGET)
        assert found.complete
        assert found.cost == pytest.approx(_theirs(first, second, cost), abs=1e-9), (first, second)
        assert found.cost <= exact
        lower += found.cost < exact - 1e-9
    assert lower > 30


@pytest.mark.slow
@pytest.mark.parametrize("cost", [component_cost, free_cost])
def test_q6_the_same_on_larger_graphs(cost: Cost) -> None:
    random = Random(66)
    for _ in range(1000):
        first, second = _graph(random, 6), _graph(random, 6)
        exact = edit_distance(first, second, cost).cost
        found = public_cost(first, second, cost, exact, BUDGET)
        assert found.cost == pytest.approx(_theirs(first, second, cost), abs=1e-9), (first, second)


LOOP, BARE = Graph(("a",), frozenset({(0, 0)})), Graph(("a",))


@pytest.mark.parametrize(
    ("first", "second", "cost"), [(LOOP, BARE, 0.0), (BARE, LOOP, 0.0), (LOOP, Graph(), 1.0)]
)
def test_q6_loops_of_a_single_pair_are_never_charged(
    first: Graph, second: Graph, cost: float
) -> None:
    """As networkx 3.5 does, with which the public results were made; 3.6 charges these."""
    assert public_cost(first, second, free_cost, 2.0, BUDGET).cost == cost


def test_q6_the_search_stops_at_its_budget_and_says_so() -> None:
    random = Random(3)
    labels = tuple((n, 0) for n in range(10))
    first, second = (
        Graph(labels, frozenset((random.randrange(10), random.randrange(10)) for _ in range(25)))
        for _ in range(2)
    )
    assert has_loop(first) or has_loop(second)
    exact = edit_distance(first, second, free_cost).cost
    found = public_cost(first, second, free_cost, exact, 50)
    assert not found.complete
    assert found.opened == 50 * 16**3 // 20**3
    assert found == public_cost(first, second, free_cost, exact, 50)


def test_q6_graphs_that_are_too_large_keep_the_exact_cost() -> None:
    many = Graph(tuple(range(40)), frozenset({(0, 0)}))
    assert public_cost(many, many, free_cost, 7.0, BUDGET) == (7.0, False, 0)
