"""The graph edit distance against brute force, against networkx, and against its own laws."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations, permutations
from random import Random

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callscore.metrics.graphs import (
    EditDistance,
    Graph,
    Substitution,
    edit_distance,
    has_cycle,
    similarity,
)
from callscore.metrics.graphs.distance import Effort, Search
from callscore.metrics.graphs.problem import make_problem, make_search_graph
from commands import run_python

WEIGHTS = {(True, True): 0.0, (True, False): 0.2, (False, True): 0.8, (False, False): 1.0}


def free(_a: Hashable, _b: Hashable) -> float:
    return 0.0


def unequal(a: Hashable, b: Hashable) -> float:
    return float(a != b)


def as_dear_as_replacing(a: Hashable, b: Hashable) -> float:
    return 2.0 if a != b else 0.0


def weighted(a: Hashable, b: Hashable) -> float:
    assert isinstance(a, tuple) and isinstance(b, tuple)
    return WEIGHTS[a[0] == b[0], a[1] == b[1]]


def irrational(a: Hashable, b: Hashable) -> float:
    assert isinstance(a, tuple) and isinstance(b, tuple)
    return float((abs(a[0] - b[0]) + abs(a[1] - b[1])) / 2**0.5 / 3)


def lopsided(a: Hashable, b: Hashable) -> float:
    assert isinstance(a, tuple) and isinstance(b, tuple)
    return float(0.3 * a[0] + 0.7 * b[1])


LAW = settings(max_examples=80, deadline=None)
SUBSTITUTIONS = [free, unequal, as_dear_as_replacing, weighted, irrational, lopsided]


def random_graph(random: Random, nodes: int, density: float = 0.3) -> Graph:
    labels = tuple((random.randrange(3), random.randrange(2)) for _ in range(nodes))
    pairs = [(a, b) for a in range(nodes) for b in range(nodes)]
    return Graph(labels, frozenset(pair for pair in pairs if random.random() < density))


def random_plan(random: Random, nodes: int, edges: int) -> Graph:
    """Acyclic and sparse, with its nodes in random order."""
    forward = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    labels = tuple((random.randrange(4), random.randrange(2)) for _ in range(nodes))
    return renumbered(Graph(labels, frozenset(random.sample(forward, edges))), random)


def edited(graph: Graph, edits: int, random: Random) -> Graph:
    labels, edges = list(graph.labels), set(graph.edges)
    for _ in range(edits):
        kind = random.randrange(4)
        if kind == 0:
            edges.add((random.randrange(len(labels)), len(labels)))
            labels.append((random.randrange(4), random.randrange(2)))
        elif kind == 1:
            edges.discard(random.choice(sorted(edges)))
        elif kind == 2:
            edges.add((random.randrange(len(labels)), random.randrange(len(labels))))
        else:
            labels[random.randrange(len(labels))] = (random.randrange(4), random.randrange(2))
    return renumbered(Graph(tuple(labels), frozenset(edges)), random)


def renumbered(graph: Graph, random: Random) -> Graph:
    order = list(range(len(graph.labels)))
    random.shuffle(order)
    labels = tuple(graph.labels[old] for old in sorted(order, key=order.__getitem__))
    return Graph(labels, frozenset((order[a], order[b]) for a, b in graph.edges))


def partial_maps(nodes: int, images: int) -> Iterator[dict[int, int]]:
    for size in range(min(nodes, images) + 1):
        for mapped in combinations(range(nodes), size):
            for image in permutations(range(images), size):
                yield dict(zip(mapped, image, strict=True))


def by_brute_force(first: Graph, second: Graph, substitution: Substitution) -> float:
    """The definition: the cheapest of all injective partial maps, unmapped nodes included."""
    costs = [[substitution(a, b) for b in second.labels] for a in first.labels]
    everything = len(first.labels) + len(second.labels) + len(first.edges) + len(second.edges)
    return min(
        everything
        + sum(costs[a][b] - 2 for a, b in image.items())
        - 2 * sum((image.get(a, -1), image.get(b, -1)) in second.edges for a, b in first.edges)
        for image in partial_maps(len(first.labels), len(second.labels))
    )


def searched(first: Graph, second: Graph, substitution: Substitution, effort: Effort) -> float:
    """The cost found by a search that turns to tuned bounds earlier or later than usual."""
    costs = [[substitution(a, b) for b in second.labels] for a in first.labels]
    sides = (make_search_graph(len(graph.labels), graph.edges) for graph in (first, second))
    task = make_problem(costs, *sides)
    found = Search(task, effort).run()
    assert found.gain == found.limit
    sizes = len(first.labels) + len(second.labels) + len(first.edges) + len(second.edges)
    return sizes - found.gain / task.unit


@pytest.mark.parametrize("substitution", SUBSTITUTIONS)
def test_brute_force_over_all_partial_maps_agrees(substitution: Substitution) -> None:
    random = Random(SUBSTITUTIONS.index(substitution))
    for _ in range(400):
        first = random_graph(random, random.randrange(6), random.choice([0.1, 0.3, 0.6]))
        second = random_graph(random, random.randrange(6), random.choice([0.1, 0.3, 0.6]))
        found = edit_distance(first, second, substitution)
        assert found.exact
        assert found.low == found.high == found.cost
        assert found.cost == pytest.approx(by_brute_force(first, second, substitution), abs=1e-9)


@pytest.mark.parametrize("substitution", [free, weighted])
@pytest.mark.parametrize("rounds", [1, 3, 100])
def test_brute_force_agrees_where_the_bound_is_tuned_at_once(
    substitution: Substitution, rounds: int
) -> None:
    random = Random(rounds)
    for _ in range(60):
        small, large = sorted((random.randrange(6), random.randrange(6)))
        first = random_graph(random, small, random.choice([0.2, 0.5]))
        second = random_graph(random, large, random.choice([0.2, 0.5]))
        found = searched(first, second, substitution, Effort(10_000, 0, 0, rounds))
        assert found == pytest.approx(by_brute_force(first, second, substitution), abs=1e-9)


@pytest.mark.parametrize("substitution", [free, unequal, weighted])
def test_even_and_tuned_bounds_prove_the_same_cost(substitution: Substitution) -> None:
    random = Random(7)
    for _ in range(6):
        first, second = random_plan(random, 9, 12), random_plan(random, 10, 13)
        even = searched(first, second, substitution, Effort(10**6, 0, 10**6))
        assert searched(first, second, substitution, Effort(10**6, 0, 0, 5)) == even
        assert searched(first, second, substitution, Effort(10**6, 0, 0, 60)) == even


@pytest.mark.parametrize("substitution", [free, unequal, weighted])
def test_networkx_agrees_where_there_are_no_loops(substitution: Substitution) -> None:
    random = Random(11)
    for _ in range(25):
        pair = [random_graph(random, random.randrange(1, 5)) for _ in range(2)]
        first, second = (
            Graph(graph.labels, frozenset((a, b) for a, b in graph.edges if a != b))
            for graph in pair
        )
        theirs = networkx.graph_edit_distance(
            _networkx(first),
            _networkx(second),
            node_subst_cost=lambda a, b: substitution(a["label"], b["label"]),
        )
        assert edit_distance(first, second, substitution).cost == pytest.approx(theirs)


def _networkx(graph: Graph) -> networkx.DiGraph:
    theirs = networkx.DiGraph()
    theirs.add_nodes_from((node, {"label": label}) for node, label in enumerate(graph.labels))
    theirs.add_edges_from(graph.edges)
    return theirs


@st.composite
def graphs(draw: st.DrawFn, most: int = 6) -> Graph:
    labels = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=most))
    node = st.integers(0, max(len(labels) - 1, 0))
    edges = draw(st.frozensets(st.tuples(node, node), max_size=10)) if labels else frozenset()
    return Graph(tuple(labels), edges)


@LAW
@given(graphs(), st.sampled_from([free, unequal, as_dear_as_replacing, weighted, irrational]))
def test_a_graph_is_at_distance_zero_from_itself(graph: Graph, substitution: Substitution) -> None:
    found = edit_distance(graph, graph, substitution)
    assert found == EditDistance(0, 0, 0, True, found.work)
    assert similarity(found.cost, graph, graph) == 1


@LAW
@given(graphs(), graphs(), st.sampled_from([free, unequal, as_dear_as_replacing, weighted]))
def test_the_distance_is_symmetric(a: Graph, b: Graph, substitution: Substitution) -> None:
    assert edit_distance(a, b, substitution).cost == edit_distance(b, a, substitution).cost


@LAW
@given(graphs(4), graphs(4), graphs(4), st.sampled_from([free, unequal, weighted]))
def test_a_detour_is_never_shorter(
    a: Graph, b: Graph, c: Graph, substitution: Substitution
) -> None:
    detour = edit_distance(a, b, substitution).cost + edit_distance(b, c, substitution).cost
    assert edit_distance(a, c, substitution).cost <= detour + 1e-9


@LAW
@given(graphs(), graphs(), st.randoms(use_true_random=False))
def test_renumbering_the_nodes_does_not_change_the_cost(a: Graph, b: Graph, random: Random) -> None:
    cost = edit_distance(a, b, weighted).cost
    assert edit_distance(renumbered(a, random), renumbered(b, random), weighted).cost == cost


@LAW
@given(graphs(), graphs())
def test_the_similarity_lies_between_zero_and_one(a: Graph, b: Graph) -> None:
    assert 0 <= similarity(edit_distance(a, b, weighted).cost, a, b) <= 1


@pytest.mark.parametrize("substitution", [free, weighted])
def test_a_spent_budget_gives_bounds_that_hold_and_repeat(substitution: Substitution) -> None:
    random = Random(3)
    first, second = random_plan(random, 13, 17), random_plan(random, 14, 18)
    truth = edit_distance(first, second, substitution)
    assert truth.exact
    for budget in (0, 1, 5, 40, 101, 110, 150):
        found = edit_distance(first, second, substitution, budget=budget)
        assert found.low <= truth.cost <= found.high == found.cost
        assert found.exact == (found.low == found.high)
        assert found.work <= budget
        assert found == edit_distance(first, second, substitution, budget=budget)
    assert not edit_distance(first, second, substitution, budget=40).exact


@pytest.mark.parametrize("substitution", [free, weighted])
def test_sixteen_nodes_after_six_edits_are_proven_with_little_search(
    substitution: Substitution,
) -> None:
    random = Random(16)
    for _ in range(8):
        plan = random_plan(random, 16, 20)
        found = edit_distance(plan, edited(plan, 6, random), substitution, budget=300)
        assert found.exact
        assert found.cost <= 12


@pytest.mark.parametrize("substitution", [free, weighted])
def test_unrelated_sixteen_node_plans_are_exact_within_the_default_budget(
    substitution: Substitution,
) -> None:
    random = Random(5)
    for _ in range(2):
        assert edit_distance(
            random_plan(random, 16, 20), random_plan(random, 16, 20), substitution
        ).exact


@pytest.mark.parametrize("edges", [60, 100])
def test_dense_plans_cost_bounded_work_and_are_flagged(edges: int) -> None:
    """Sixteen nodes and a hundred edges took two minutes where each search node counted once."""
    random = Random(edges)
    places = [(a, b) for a in range(16) for b in range(16) if a != b]
    first, second = (
        Graph(tuple("abcdefghabcdefgh"), frozenset(random.sample(places, edges))) for _ in range(2)
    )
    found = edit_distance(first, second, unequal, budget=1000)
    assert not found.exact
    assert found.low < found.high == found.cost
    assert found.work <= 1000
    assert found == edit_distance(first, second, unequal, budget=1000)


def test_graphs_of_thousands_of_nodes_are_compared_by_size_and_order() -> None:
    def chain(nodes: int) -> Graph:
        return Graph(tuple(range(nodes)), frozenset((n, n + 1) for n in range(nodes - 1)))

    found = edit_distance(chain(3000), chain(2000), unequal)
    assert found == EditDistance(2000, 2000, 2000, True, 0)
    other = Graph(tuple(range(3000)), frozenset((n + 1, n) for n in range(2999)))
    wide = edit_distance(chain(3000), other, unequal)
    assert (wide.low, wide.high, wide.exact) == (0, 2 * 2999, False)


def test_a_hundred_nodes_give_bounds_and_no_search() -> None:
    random = Random(1)
    found = edit_distance(random_plan(random, 100, 140), random_plan(random, 100, 140), free)
    assert found.work == 0
    assert 0 <= found.low < found.high < 280


def test_interchangeable_nodes_are_tried_once() -> None:
    hub = Graph(tuple("h" + "l" * 11), frozenset((0, leaf) for leaf in range(1, 12)))
    everyone = frozenset((a, b) for a in range(12) for b in range(12) if a != b)
    found = edit_distance(hub, Graph(hub.labels, everyone), unequal)
    assert found.exact
    assert found.cost == 12 * 11 - 11


def test_chain_of_two_against_chain_of_three_is_three_quarters_c117() -> None:
    two = Graph(("a", "b"), frozenset({(0, 1)}))
    three = Graph(("a", "b", "c"), frozenset({(0, 1), (1, 2)}))
    found = edit_distance(two, three, free)
    assert found == EditDistance(2, 2, 2, True, found.work)
    assert similarity(found.cost, two, three) == 0.75


def test_two_empty_graphs_are_equal_c117() -> None:
    assert edit_distance(Graph(), Graph(), free) == EditDistance(0, 0, 0, True, 0)
    assert similarity(0, Graph(), Graph()) == 1


def test_an_empty_graph_costs_everything_that_must_be_inserted() -> None:
    loop = Graph(("a", "b"), frozenset({(0, 0), (0, 1)}))
    assert edit_distance(Graph(), loop, free).cost == edit_distance(loop, Graph(), free).cost == 4
    assert similarity(4, Graph(), loop) == 0


def test_a_loop_is_no_match_for_an_edge() -> None:
    loop = Graph(("a", "b"), frozenset({(0, 0)}))
    edge = Graph(("a", "b"), frozenset({(0, 1)}))
    assert edit_distance(loop, edge, unequal).cost == 2


def test_tenths_are_not_smeared_by_adding() -> None:
    one, other = Graph(((0, 0), (1, 0), (2, 0))), Graph(((0, 1), (1, 1), (2, 1)))
    assert edit_distance(one, other, weighted).cost == 0.6


@pytest.mark.parametrize("edge", [(0, 2), (2, 0), (-1, 0), (0, -1)])
def test_an_edge_outside_the_graph_is_refused(edge: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="in a graph of 2 nodes"):
        Graph(("a", "b"), frozenset({edge}))


@pytest.mark.parametrize("cost", [-0.1, 2.1, float("nan"), float("inf")])
def test_a_substitution_outside_zero_to_two_is_refused(cost: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 2"):
        edit_distance(Graph(("a",)), Graph(("b",)), lambda _a, _b: cost)


@pytest.mark.parametrize(
    ("edges", "cyclic"),
    [
        (set(), False),
        ({(0, 1), (1, 2), (0, 2)}, False),
        ({(0, 0)}, True),
        ({(0, 1), (1, 0)}, True),
        ({(0, 1), (1, 2), (2, 1)}, True),
    ],
)
def test_cycles_are_seen(edges: set[tuple[int, int]], cyclic: bool) -> None:
    assert has_cycle(Graph(("a", "b", "c"), frozenset(edges))) is cyclic


def test_no_heavy_package_is_imported() -> None:
    code = (
        "import sys; from callscore.metrics.graphs import Graph, edit_distance as d;"
        "d(Graph('ab'), Graph('abc'), lambda a, b: 0.5);"
        "sys.exit(bool({'numpy', 'scipy', 'networkx'} & set(sys.modules)))"
    )
    assert run_python(code).returncode == 0
