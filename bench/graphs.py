"""Graph edit distance beside networkx: CPU time a pair, one process, the same pairs.

networkx gets a time limit and then returns what it has, without saying so; such pairs are
counted as `late`, and the ratio is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

from bench.measuring import sized
from callscore.metrics.graphs import Graph, edit_distance

PAIRS = sized(5, 1)
TIME_LIMIT = sized(40, 1) / 10
EDGES = {6: 7, 8: 10, 16: 20}
EDITS = {6: 2, 8: 3, 16: 6}
DENSE = (60, 80, 100)[: sized(3, 1)]
WEIGHTS = {(True, True): 0.0, (True, False): 0.2, (False, True): 0.8, (False, False): 1.0}
HEADER = "nodes pairs      labels       ours ms (max)   exact  networkx ms  late  ratio"


class Kind(NamedTuple):
    """One line of the table."""

    nodes: int
    edited: bool
    labelled: bool


def substitution(labelled: bool) -> Callable[[Hashable, Hashable], float]:
    def weighted(a: Hashable, b: Hashable) -> float:
        assert isinstance(a, tuple) and isinstance(b, tuple)
        return WEIGHTS[a[0] == b[0], a[1] == b[1]]

    return weighted if labelled else lambda _a, _b: 0.0


def plan(random: Random, nodes: int) -> Graph:
    forward = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    labels = tuple((random.randrange(4), random.randrange(2)) for _ in range(nodes))
    return shuffled(Graph(labels, frozenset(random.sample(forward, EDGES[nodes]))), random)


def shuffled(graph: Graph, random: Random) -> Graph:
    order = list(range(len(graph.labels)))
    random.shuffle(order)
    labels = tuple(graph.labels[old] for old in sorted(order, key=order.__getitem__))
    return Graph(labels, frozenset((order[a], order[b]) for a, b in graph.edges))


def edited(graph: Graph, random: Random) -> Graph:
    """Some edges dropped, some added, some labels changed, one node more."""
    labels, edges = list(graph.labels), set(graph.edges)
    for edit in range(EDITS[len(labels)]):
        if edit % 3 == 0:
            edges.discard(random.choice(sorted(edges)))
        elif edit % 3 == 1:
            a, b = random.sample(range(len(labels)), 2)
            edges.add((a, b))
        else:
            labels[random.randrange(len(labels))] = (random.randrange(4), random.randrange(2))
    edges.add((random.randrange(len(labels)), len(labels)))
    return shuffled(Graph((*labels, (0, 0)), frozenset(edges)), random)


def pairs(kind: Kind) -> list[tuple[Graph, Graph]]:
    random = Random(kind.nodes)
    firsts = [plan(random, kind.nodes) for _ in range(PAIRS)]
    return [(g, edited(g, random) if kind.edited else plan(random, kind.nodes)) for g in firsts]


def networkx_seconds(first: Graph, second: Graph, labelled: bool) -> tuple[float, bool]:
    """CPU time, and whether the time limit was hit."""
    import networkx

    cost, theirs = substitution(labelled), []
    for graph in (first, second):
        theirs.append(networkx.DiGraph())
        theirs[-1].add_nodes_from((n, {"label": label}) for n, label in enumerate(graph.labels))
        theirs[-1].add_edges_from(graph.edges)
    start, wall = process_time(), perf_counter()
    networkx.graph_edit_distance(
        *theirs,
        node_subst_cost=lambda a, b: cost(a["label"], b["label"]),
        timeout=TIME_LIMIT,
    )
    return process_time() - start, perf_counter() - wall > 0.99 * TIME_LIMIT


def line(kind: Kind) -> str:
    ours, exact, theirs, late = [], 0, [], 0
    for first, second in pairs(kind):
        start = process_time()
        exact += edit_distance(first, second, substitution(kind.labelled)).exact
        ours.append(process_time() - start)
        seconds, cut_off = networkx_seconds(first, second, kind.labelled)
        theirs.append(seconds)
        late += cut_off
    ratio = median(theirs) / median(ours)
    return (
        f"{kind.nodes:5} {'edited' if kind.edited else 'unrelated':10} "
        f"{'labelled' if kind.labelled else 'structural':10} "
        f"{median(ours) * 1e3:9.2f} ({max(ours) * 1e3:6.1f})  {exact}/{PAIRS}  "
        f"{median(theirs) * 1e3:11.1f}  {late}/{PAIRS}  {'>' if late else ' '}{ratio:7.0f}"
    )


def dense_line(edges: int) -> str:
    """A pair that no search can prove: what the bound on the work makes of it."""
    random = Random(edges)
    places = [(a, b) for a in range(16) for b in range(16) if a != b]
    labels = tuple((random.randrange(4), random.randrange(2)) for _ in range(16))
    first, second = (Graph(labels, frozenset(random.sample(places, edges))) for _ in range(2))
    start = process_time()
    found = edit_distance(first, second, substitution(labelled=True))
    return f"{16:5} {edges:5} {process_time() - start:8.1f}   [{found.low:.1f}, {found.high:.1f}]"


def main() -> None:
    print("dense plans, no proof possible: nodes, edges, CPU s, interval of the cost")
    for edges in DENSE:
        print(dense_line(edges), flush=True)
    print(f"\n{HEADER}")
    for nodes in EDGES:
        for edit in (True, False):
            for labelled in (True, False):
                print(line(Kind(nodes, edit, labelled)), flush=True)


if __name__ == "__main__":
    main()
