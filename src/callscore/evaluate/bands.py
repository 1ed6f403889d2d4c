"""Rank bands of a card, models that cannot be distinguished, and claims about differences

STATS §2, §3
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from callscore.core.contrast import ModelContrast
from callscore.core.scorecard import Scorecard
from callscore.evaluate.pairs import ComparedCalls
from callscore.scorecard.decision import models_in_question
from callscore.stats.bands import Contrast, RankRange, compare_pairs, rank_bands
from callscore.stats.claimed_scores import ALPHA, ClaimedScores, difference_limits
from callscore.stats.power import calls_for_difference, influence_deviation
from callscore.stats.resampling import Replicates
from callscore.stats.weighted_scores import ScoreKey

ReplicatesByModel = Mapping[str, Mapping[ScoreKey, Replicates]]
"""By model: every number, resampled with the same draws of calls."""
Of = Literal["final", "zeroed_final", "efficiency"]
KEYS: Mapping[Of, ScoreKey] = {
    "final": ("final",),
    "zeroed_final": ("zeroed",),
    "efficiency": ("efficiency",),
}


def with_bands(card: Scorecard, found: ReplicatesByModel, calls: int) -> Scorecard:
    """The same card with bands for its ranks, and the pairs behind them.

    Models are compared with those they are ranked with: official ones, and estimates (C-125).
    """
    bands: dict[Of, dict[str, RankRange]] = {of: {} for of in KEYS}
    pairs: list[ModelContrast] = []
    for estimate in (False, True):
        group = [
            line.model
            for line in card.ranking
            if line.estimate == estimate and line.quality_rank is not None
        ]
        costs = [line.model for line in card.ranking if line.efficiency is not None]
        for of, names in (("final", group), ("efficiency", [n for n in group if n in costs])):
            _compare(of, names, found, calls, bands, pairs)  # type: ignore[arg-type]
    _compare("zeroed_final", [z.model for z in card.zeroed_ranking], found, calls, bands, pairs)
    ranking = [
        msgspec.structs.replace(
            line,
            rank_band=bands["efficiency"].get(line.model),
            quality_band=bands["final"].get(line.model),
        )
        for line in card.ranking
    ]
    zeroed = [
        msgspec.structs.replace(line, band=bands["zeroed_final"].get(line.model))
        for line in card.zeroed_ranking
    ]
    return msgspec.structs.replace(card, ranking=ranking, zeroed_ranking=zeroed, contrasts=pairs)


def with_claims(
    card: Scorecard, compared: ComparedCalls, claimed: Sequence[ClaimedScores]
) -> Scorecard:
    """The same card with claim limits for the differences of models in question    STATS §2, C-138

    k models in question make k − 1 comparisons with the best: each limit is one-sided at α/(k − 1).
    The two are compared on the calls that both answered. Estimates have limits like official
    scores, for what the same rules would say about more calls; no pair is of one kind each (C-125).
    """
    in_question = models_in_question(card)
    alpha = ALPHA / max(1, len(in_question) - 1)

    def claim(pair: ModelContrast) -> ModelContrast:
        if pair.of != "final" or not {pair.first, pair.second} <= set(in_question):
            return pair
        finals = [claimed[at].finals for at in compared.places((pair.first, pair.second))]
        first, second = (of_model.get(KEYS["final"]) for of_model in finals)
        if first is None or second is None:
            return pair
        return msgspec.structs.replace(pair, claim=difference_limits(first, second, alpha))

    return msgspec.structs.replace(card, contrasts=[claim(pair) for pair in card.contrasts])


def _compare(
    of: Of,
    models: Sequence[str],
    found: ReplicatesByModel,
    calls: int,
    bands: dict[Of, dict[str, RankRange]],
    pairs: list[ModelContrast],
) -> None:
    """Add bands and pairs, if at least two models have the number."""
    import numpy as np

    key = KEYS[of]
    known = [
        name
        for name in models
        if name in found and key in found[name] and math.isfinite(found[name][key].estimate)
    ]
    if len(known) < 2:
        return
    numbers = [found[name][key] for name in known]
    resampled = np.column_stack([number.resampled for number in numbers])
    compared = compare_pairs([number.estimate for number in numbers], resampled, calls)
    bands[of].update(zip(known, rank_bands(len(known), compared), strict=True))
    pairs += [_contrast(of, pair, known, numbers, calls) for pair in compared]


def _contrast(
    of: Of, pair: Contrast, names: Sequence[str], numbers: Sequence[Replicates], calls: int
) -> ModelContrast:
    jackknife = numbers[pair.second].jackknife - numbers[pair.first].jackknife
    is_known = math.isfinite(pair.low) and math.isfinite(pair.high)
    deviation = influence_deviation(jackknife, calls)
    return ModelContrast(
        of,
        names[pair.first],
        names[pair.second],
        pair.difference,
        (pair.low, pair.high) if is_known else None,
        pair.significant,
        calls,
        calls_for_difference(pair.difference, deviation),
        deviation,
    )
