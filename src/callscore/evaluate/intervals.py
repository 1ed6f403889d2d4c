"""Intervals for every number of a card, from the contributions of its calls        STATS §1, §2"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from callscore.core.measure import IntervalMethod
from callscore.core.scorecard import AS_RECOMMENDED, Decide, ModelScore, RankingLine, Scorecard
from callscore.core.spec import Criterion, MetricSpec
from callscore.evaluate.bands import compared_values, ranked_groups, with_bands, with_claims
from callscore.evaluate.corrections import add_corrected, model_corrections, with_corrected
from callscore.evaluate.interval_cells import IntervalInputs, fill_model, fill_ranking_line
from callscore.evaluate.pairs import compared_calls
from callscore.evaluate.shape import model_shape
from callscore.scorecard.formula import TaskFormula
from callscore.stats.claim_limits import claim_scores
from callscore.stats.contributions import ModelContributions, ModelShape
from callscore.stats.differences import resample_models
from callscore.stats.intervals import LEVEL
from callscore.stats.matrix import ResamplingUnits, make_units
from callscore.stats.rates import TaskCounts, count_task
from callscore.stats.resampling import RESAMPLES, SEED, ModelValues
from callscore.stats.weighted_scores import rank_scores, scores

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

FormulaOf = Callable[[str], TaskFormula]


def with_intervals(
    card: Scorecard,
    contributions: Mapping[str, ModelContributions],
    formula_of: FormulaOf,
    criteria: Mapping[str, Criterion],
    about: str = "future calls",
    decide: Decide = AS_RECOMMENDED,
) -> Scorecard:
    """The same card with an interval for every number that has a value.

    All models are resampled with the same draws, so that ranks and efficiencies are resampled too.
    """
    kept = [model for model in card.models if contributions.get(model.model)]
    if not kept:
        return card
    units = make_units(contributions.values())
    shapes = {model.model: model_shape(model, formula_of, criteria) for model in kept}
    compared = compared_calls(card, contributions, shapes, units)
    labelled = model_corrections(contributions, compared, units)
    groups = ranked_groups(card, compared.of_model)
    ranking_groups = _ranking_groups(card.ranking, kept)

    def statistic(sums: Sequence[Floats]) -> Sequence[ModelValues]:
        values = [
            scores(given.shape, given.matrix.place, own)
            for given, own in zip(compared.inputs, sums, strict=False)
        ]
        for group in ranking_groups:
            rank_scores([values[at] for at in group])
        add_corrected(values, labelled, sums, ranking_groups)
        return values

    matrices = [given.matrix for given in compared.inputs]
    matrices += [correction.labels.matrix for correction in labelled.values()]
    pairs = compared_values(groups, compared, labelled)
    found, differences = resample_models(matrices, statistic, pairs, RESAMPLES)
    claimed = claim_scores(compared.inputs)
    inputs = {
        model.model: IntervalInputs(
            model,
            shapes[model.model],
            _counts(contributions[model.model], shapes[model.model], units),
            of_model,
            limits,
            _specs(model, formula_of),
        )
        for model, of_model, (limits, _) in zip(kept, found, claimed, strict=False)
    }
    method = IntervalMethod(LEVEL, about, len(units.calls), units.size, RESAMPLES, SEED)
    found_of = {model.model: of_model for model, of_model in zip(kept, found, strict=False)}
    card = with_corrected(_fill_card(card, inputs, method), found_of, labelled, formula_of)
    card = with_bands(card, groups, compared, differences, claimed)
    of_people = {model: correction.difference for model, correction in labelled.items()}
    return with_claims(card, compared, claimed, decide, of_people)


def _counts(
    of_model: ModelContributions, shape: ModelShape, units: ResamplingUnits
) -> Mapping[str, TaskCounts]:
    return {
        task: count_task(of_task, shape.tasks[task], units)
        for task, of_task in of_model.items()
        if task in shape.tasks
    }


def _specs(model: ModelScore, formula_of: FormulaOf) -> Mapping[str, MetricSpec]:
    found: dict[str, MetricSpec] = {}
    for task in model.tasks:
        found.update(formula_of(task).specs)
    return found


def _ranking_groups(
    ranking: Sequence[RankingLine], models: Sequence[ModelScore]
) -> list[list[int]]:
    """The positions of models that are ranked together: official results, estimates    C-125"""
    place = {model.model: at for at, model in enumerate(models)}
    groups: dict[bool, list[int]] = {}
    for line in ranking:
        if line.quality_rank is not None and line.model in place:
            groups.setdefault(line.estimate, []).append(place[line.model])
    return list(groups.values())


def _fill_card(
    card: Scorecard, inputs: Mapping[str, IntervalInputs], method: IntervalMethod
) -> Scorecard:
    models = [
        fill_model(inputs[model.model]) if model.model in inputs else model for model in card.models
    ]
    by_name = {model.model: model for model in models}
    ranking = [
        fill_ranking_line(line, inputs[line.model], by_name[line.model].final)
        if line.model in inputs
        else line
        for line in card.ranking
    ]
    zeroed = [
        msgspec.structs.replace(line, ci95=by_name[line.model].final.zeroed_ci95)
        for line in card.zeroed_ranking
    ]
    return msgspec.structs.replace(
        card, models=models, ranking=ranking, zeroed_ranking=zeroed, intervals=method
    )
