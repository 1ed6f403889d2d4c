"""Small directed graphs: exact edit distance, its similarity, cycles.   001, C-117"""

from callscore.metrics.graphs.distance import (
    BUDGET,
    EditDistance,
    Substitution,
    edit_distance,
    similarity,
)
from callscore.metrics.graphs.problem import Graph, has_cycle, size

__all__ = [
    "BUDGET",
    "EditDistance",
    "Graph",
    "Substitution",
    "edit_distance",
    "has_cycle",
    "similarity",
    "size",
]
