"""The calls that the models of a card are compared on: for each pair, those that both answered"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from callscore.core.scorecard import Scorecard
from callscore.stats.claim_limits import ClaimInput
from callscore.stats.contributions import ModelContributions, ModelShape
from callscore.stats.matrix import (
    ResamplingUnits,
    SharedCalls,
    call_matrix,
    call_ranges,
    heaviest_calls,
    shared_calls,
)
from callscore.stats.rates import count_calls

Pair = tuple[str, str]


class ComparedCalls(NamedTuple):
    """The calls of every model, then those of pairs that did not answer the same calls."""

    inputs: Sequence[ClaimInput]
    of_model: Mapping[str, int]
    """The position of a model in `inputs`."""
    of_pair: Mapping[Pair, tuple[int, int]]
    """The positions of two models that did not answer the same calls, limited to those of both."""
    calls: Mapping[Pair, int]
    """The calls that two models are compared on, in the task that has fewest."""

    def places(self, pair: Pair) -> tuple[int, int]:
        """The positions of two models in `inputs`, as they are compared with each other."""
        first, second = pair
        return self.of_pair.get(pair) or (self.of_model[first], self.of_model[second])


def compared_calls(
    card: Scorecard,
    contributions: Mapping[str, ModelContributions],
    shapes: Mapping[str, ModelShape],
    units: ResamplingUnits,
) -> ComparedCalls:
    """Arrange the calls of all models, and of every pair that is ranked together."""
    inputs = [_input(contributions[model], shape, units, None) for model, shape in shapes.items()]
    of_pair: dict[Pair, tuple[int, int]] = {}
    calls: dict[Pair, int] = {}
    for pair in _ranked_pairs(card, shapes):
        one, other = (contributions[model] for model in pair)
        tasks = _weighed_tasks(shapes[pair[0]])
        shared = shared_calls(one, other, tasks)
        if shared is None:
            counts = (sum(map(count_calls, call_ranges(one[task], units))) for task in tasks)
            calls[pair] = min(counts, default=0)
        else:
            calls[pair] = min(len(shared[task]) for task in tasks)
            of_pair[pair] = (len(inputs), len(inputs) + 1)
            inputs += [_input(contributions[of], shapes[of], units, shared) for of in pair]
    return ComparedCalls(inputs, {of: at for at, of in enumerate(shapes)}, of_pair, calls)


def _input(
    contributions: ModelContributions,
    shape: ModelShape,
    units: ResamplingUnits,
    shared: SharedCalls | None,
) -> ClaimInput:
    matrix = call_matrix(contributions, shape, units, shared)
    return ClaimInput(shape, matrix, heaviest_calls(contributions, shape, matrix, shared))


def _ranked_pairs(card: Scorecard, shapes: Mapping[str, ModelShape]) -> Sequence[Pair]:
    """The pairs in each ranking of a card, in its order."""
    rankings = [
        [line.model for line in card.ranking if line.estimate == estimate]
        for estimate in (False, True)
    ]
    rankings.append([line.model for line in card.zeroed_ranking])
    known = ([model for model in models if model in shapes] for models in rankings)
    return list(dict.fromkeys(pair for models in known for pair in combinations(models, 2)))


def _weighed_tasks(shape: ModelShape) -> Sequence[str]:
    """The tasks that count in the Final Score."""
    weights = shape.final or shape.zeroed
    return [task for task in shape.tasks if weights.get(task)]
