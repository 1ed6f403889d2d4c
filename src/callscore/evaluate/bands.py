"""Rank bands of a card, models that cannot be distinguished, and claims about differences

STATS §2, §3
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import msgspec

from callscore.core.scorecard import Decide, ModelContrast, Scorecard
from callscore.evaluate.pairs import ComparedCalls, Pair
from callscore.scorecard.decision import models_in_question
from callscore.stats.claim_limits import (
    ALPHA,
    ClaimedScores,
    FinalValues,
    difference_limits,
)
from callscore.stats.differences import (
    Contrast,
    PairOfValues,
    RankRange,
    ResampledDifference,
    are_significant,
    difference_interval,
    rank_bands,
)
from callscore.stats.intervals import Interval
from callscore.stats.power import alpha_per_pair, calls_for_difference, spread_of
from callscore.stats.weighted_scores import ScoreKey

FINAL: ScoreKey = ("final",)
CORRECTED = "corrected"
"""The first part of the key of a value that labels of people correct (STATS §5)."""
Of = Literal["final", "zeroed_final", "efficiency"]
KEYS: Mapping[Of, ScoreKey] = {
    "final": ("final",),
    "zeroed_final": ("zeroed",),
    "efficiency": ("efficiency",),
}


class RankedGroup(NamedTuple):
    """Models that are ranked together by one number."""

    of: Of
    models: Sequence[str]

    @property
    def pairs(self) -> Sequence[Pair]:
        """Every two of them, in the order of the ranking."""
        return list(combinations(self.models, 2))


def ranked_groups(card: Scorecard, known: Mapping[str, int]) -> Sequence[RankedGroup]:
    """The models of each ranking: official ones and estimates apart (C-125), then zeroed ones."""
    groups: list[RankedGroup] = []
    for estimate in (False, True):
        lines = [
            line
            for line in card.ranking
            if line.estimate == estimate and line.quality_rank is not None and line.model in known
        ]
        groups.append(RankedGroup("final", [line.model for line in lines]))
        costly = [line.model for line in lines if line.efficiency is not None]
        groups.append(RankedGroup("efficiency", costly))
    zeroed = [
        line.model
        for line in card.zeroed_ranking
        if line.zeroed_final is not None and line.model in known
    ]
    groups.append(RankedGroup("zeroed_final", zeroed))
    return groups


def compared_values(
    groups: Sequence[RankedGroup], compared: ComparedCalls, labelled: Collection[str]
) -> Sequence[PairOfValues]:
    """What is compared in every pair of every group; efficiency on the calls of each model.

    Models that people have labelled are compared by their corrected values, if all of a group are.
    """
    found = []
    for group in groups:
        is_corrected = all(model in labelled for model in group.models)
        key = (CORRECTED, *KEYS[group.of]) if is_corrected else KEYS[group.of]
        for first, second in group.pairs:
            places = compared.of_model[first], compared.of_model[second]
            if group.of != "efficiency" and not is_corrected:
                places = compared.places((first, second))
            found.append(PairOfValues(key, *places))
    return found


def with_bands(
    card: Scorecard,
    groups: Sequence[RankedGroup],
    compared: ComparedCalls,
    differences: Sequence[ResampledDifference],
    claimed: Sequence[ClaimedScores],
) -> Scorecard:
    """The same card with bands for its ranks, and the pairs behind them.

    `differences` has those of `compared_values`, in the same order.
    """
    bands: dict[Of, dict[str, RankRange]] = {of: {} for of in KEYS}
    pairs: list[ModelContrast] = []
    remaining = list(differences)
    for group in groups:
        if len(group.models) < 2:
            continue
        own, remaining = remaining[: len(group.pairs)], remaining[len(group.pairs) :]
        finals = [_finals(group.of, pair, compared, claimed) for pair in group.pairs]
        if group.of == "efficiency":
            finals = [_at_their_cost(card, *both) for both in zip(group.pairs, finals, strict=True)]
        calls = [compared.calls[pair] for pair in group.pairs]
        contrasts = _contrasts(group, own, calls, are_significant(own, finals))
        bands[group.of].update(zip(group.models, _bands(group, contrasts), strict=True))
        pairs += contrasts
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


def _bands(group: RankedGroup, pairs: Sequence[ModelContrast]) -> Sequence[RankRange]:
    place = {model: at for at, model in enumerate(group.models)}
    contrasts = [
        Contrast(place[pair.first], place[pair.second], pair.difference, pair.significant)
        for pair in pairs
    ]
    return rank_bands(len(group.models), contrasts)


def _finals(
    of: Of, pair: Pair, compared: ComparedCalls, claimed: Sequence[ClaimedScores]
) -> tuple[FinalValues, FinalValues] | None:
    """The final scores of two models under every weighting; None if one has none."""
    key = KEYS["final" if of == "efficiency" else of]
    first, second = (claimed[at].finals.get(key) for at in compared.places(pair))
    return None if first is None or second is None else (first, second)


def _at_their_cost(
    card: Scorecard, pair: Pair, finals: tuple[FinalValues, FinalValues] | None
) -> tuple[FinalValues, FinalValues] | None:
    """The efficiencies of two models under every weighting, at the cost that they had    C-84"""
    lines = {line.model: line for line in card.ranking}
    values = [(lines[model].efficiency, lines[model].final_score) for model in pair]
    if finals is None or not all(efficiency and final for efficiency, final in values):
        return None
    first, second = (
        FinalValues(of_model.worst * (efficiency / final), of_model.gain * (efficiency / final))
        for of_model, (efficiency, final) in zip(finals, values, strict=True)
        if efficiency and final
    )
    return first, second


def _contrasts(
    group: RankedGroup,
    differences: Sequence[ResampledDifference],
    calls: Sequence[int],
    significant: Sequence[bool],
) -> Sequence[ModelContrast]:
    """The pairs of a group; one is significant if its interval excludes 0, too."""
    found = []
    for at, (first, second) in enumerate(group.pairs):
        of_pair = differences[at].replicates
        interval = difference_interval(of_pair, calls[at])
        excludes = interval is not None and (interval.low > 0 or interval.high < 0)
        spread = spread_of(of_pair.jackknife, calls[at])
        alpha = alpha_per_pair(len(group.models))
        found.append(
            ModelContrast(
                group.of,
                first,
                second,
                of_pair.estimate,
                None if interval is None else (interval.low, interval.high),
                significant[at] and excludes,
                calls[at],
                calls_for_difference(of_pair.estimate, spread, alpha=alpha) if excludes else None,
                spread.deviation,
            )
        )
    return found


DifferenceLimits = Callable[[ScoreKey, float], Interval | None]
"""The limits of people − judge in a value, each one-sided at 1 − α (STATS §5)."""


def with_claims(
    card: Scorecard,
    compared: ComparedCalls,
    claimed: Sequence[ClaimedScores],
    decide: Decide,
    of_people: Mapping[str, DifferenceLimits],
) -> Scorecard:
    """The same card with claim limits for the differences of models in question    STATS §2, C-138

    k models in question make k − 1 comparisons with the best: each limit is one-sided at α/(k − 1).
    The two are compared on the calls that both answered. Estimates have limits like official
    scores, for what the same rules would say about more calls; no pair is of one kind each (C-125).
    `of_people` has the models that people have labelled: α is shared with the error of their judge.
    """
    in_question = models_in_question(card, decide)
    alpha = ALPHA / max(1, len(in_question) - 1)

    def claim(pair: ModelContrast) -> ModelContrast:
        if pair.of != "final" or not {pair.first, pair.second} <= set(in_question):
            return pair
        finals = _finals("final", (pair.first, pair.second), compared, claimed)
        if finals is None:
            return msgspec.structs.replace(pair, claim=None)
        first, second = (of_people.get(model) for model in (pair.first, pair.second))
        if first is None or second is None:
            return msgspec.structs.replace(pair, claim=difference_limits(*finals, alpha))
        judged = difference_limits(*finals, alpha / 2)
        claim = add_people(judged, first(FINAL, alpha / 4), second(FINAL, alpha / 4))
        return msgspec.structs.replace(pair, claim=claim)

    return msgspec.structs.replace(card, contrasts=[claim(pair) for pair in card.contrasts])


def add_people(
    judged: Interval | None, first: Interval | None, second: Interval | None
) -> Interval | None:
    """The limits of second − first as people would judge        STATS §5"""
    if judged is None or first is None or second is None:
        return None
    return Interval(judged.low + second.low - first.high, judged.high + second.high - first.low)
