"""The graph edit distance against brute force, against networkx, and against its own laws."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations, permutations
from random import Random

import pytest

from callscore.metrics.graphs import (
    EditDistance,
    Graph,
    Substitution,
    edit_distance,
    has_cycle,
    similarity,
)

WEIGHTS = {(True, True): 0.0, (True, False): 0.2, (False, True): 0.8, (False, False): 1.0}


def free(_a: Hashable, _b: Hashable) -> float:
    return 0.0


def unequal(a: Hashable, b: Hashable) -> float:
    return float(a != b)


def dear(a: Hashable, b: Hashable) -> float:
    return 2.0 if a != b else 0.0


def weighted(a: Hashable, b: Hashable) -> float:
    assert isinstance(a, tuple) and isinstance(b, tuple)
    return WEIGHTS[a[0] == b[0], a[1] == b[1]]


def irrational(a: Hashable, b: Hashable) -> float:
    return abs(hash(a) % 7 - hash(b) % 7) / 2**0.5 / 7


SUBSTITUTIONS = [free, unequal, dear, weighted, irrational]


def random_graph(random: Random, nodes: int, density: float = 0.3) -> Graph:
    labels = tuple((random.randrange(3), random.randrange(2)) for _ in range(nodes))
    edges = frozenset(
        (a, b) for a in range(nodes) for b in range(nodes) if random.random() < density
    )
    return Graph(labels, edges)


def maps(nodes: int, images: int) -> Iterator[dict[int, int]]:
    """Every injective partial map."""
    for size in range(min(nodes, images) + 1):
        for mapped in combinations(range(nodes), size):
            for image in permutations(range(images), size):
                yield dict(zip(mapped, image, strict=True))


def by_brute_force(first: Graph, second: Graph, substitution: Substitution) -> float:
    return min(
        _cost(first, second, substitution, image)
        for image in maps(len(first.labels), len(second.labels))
    )


def _cost(first: Graph, second: Graph, substitution: Substitution, image: dict[int, int]) -> float:
    landed = {(image[a], image[b]) for a, b in first.edges if a in image and b in image}
    kept = len(landed & second.edges)
    return (
        sum(substitution(first.labels[a], second.labels[b]) for a, b in image.items())
        + len(first.labels)
        + len(second.labels)
        - 2 * len(image)
        + len(first.edges)
        + len(second.edges)
        - 2 * kept
    )


@pytest.mark.parametrize("substitution", SUBSTITUTIONS)
def test_brute_force_over_all_partial_maps_agrees(substitution: Substitution) -> None:
    random = Random(SUBSTITUTIONS.index(substitution))
    for _ in range(300):
        first = random_graph(random, random.randrange(5), random.choice([0.1, 0.3, 0.6]))
        second = random_graph(random, random.randrange(5), random.choice([0.1, 0.3, 0.6]))
        found = edit_distance(first, second, substitution)
        assert found.exact
        assert found.cost == pytest.approx(by_brute_force(first, second, substitution), abs=1e-7)


def test_chain_of_two_against_chain_of_three_is_three_quarters() -> None:
    two = Graph(("a", "b"), frozenset({(0, 1)}))
    three = Graph(("a", "b", "c"), frozenset({(0, 1), (1, 2)}))
    found = edit_distance(two, three, free)
    assert found == EditDistance(2, 2, 2, True, found.expansions)
    assert similarity(found.cost, two, three) == 0.75


def test_cycles_are_seen() -> None:
    assert has_cycle(Graph(("a",), frozenset({(0, 0)})))
    assert not has_cycle(Graph(("a", "b"), frozenset({(0, 1)})))
