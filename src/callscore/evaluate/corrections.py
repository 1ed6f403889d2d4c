"""Values of a card corrected by labels of people, next to the judged ones        STATS §5"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.core.measure import Interval
from callscore.core.scorecard import (
    Corrected,
    FinalScore,
    MetricScore,
    ModelScore,
    Scorecard,
    TaskScore,
)
from callscore.core.spec import Rating, holds, rate
from callscore.evaluate.bands import CORRECTED
from callscore.evaluate.pairs import ComparedCalls
from callscore.scorecard.formula import TaskFormula
from callscore.stats.claim_limits import ALPHA, ClaimInput, claim_scores
from callscore.stats.contributions import BLOCKED_SHARE, ModelContributions, ModelShape
from callscore.stats.intervals import Interval as Limits
from callscore.stats.label_corrections import (
    Block,
    LabelCorrection,
    LabelMatrix,
    RowLabels,
    difference_limits,
    label_matrix,
)
from callscore.stats.matrix import ResamplingUnits
from callscore.stats.prediction_powered import judge_helps, widen_for_agreement
from callscore.stats.resampling import Replicates, bca_interval
from callscore.stats.weighted_scores import ScoreKey, Scores, rank_scores, scores

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

TRUST = "trust"
"""The first part of the keys of the weights of the judge."""
ReplicatesByModel = Mapping[str, Mapping[ScoreKey, Replicates]]
"""By model: every number, resampled with the same draws of calls."""


class ModelCorrection(NamedTuple):
    """How the values of one model are corrected."""

    at: int
    """The position of the model."""
    given: ClaimInput
    labels: LabelMatrix
    correction: LabelCorrection

    @property
    def shape(self) -> ModelShape:
        """The formulas of the model."""
        return self.given.shape

    def corrected(self, sums: Floats, label_sums: Floats) -> Scores:
        """All values of the model from corrected sums, and the weight of the judge by row."""
        found, trust = self.correction.correct(sums, label_sums)
        values = scores(self.shape, self.given.matrix.place, found)
        return {**values, **{(TRUST, *block): of for block, of in trust.items()}}

    def difference(self, key: ScoreKey, alpha: float) -> Limits | None:
        """The limits of people − judge in a row, a task score or the Final Score        STATS §5

        α is shared by the rows that count in it.
        """
        weights = self._weights(key)
        low = high = 0.0
        for block, weight in weights.items():
            limits = difference_limits(self.labels.rows[block], alpha / len(weights))
            if limits is None:
                return None
            ends = (weight * limits.low, weight * limits.high)
            low, high = low + min(ends), high + max(ends)
        return Limits(low, high)

    def _weights(self, key: ScoreKey) -> Mapping[Block, float]:
        """The labelled rows of a score with their weights; a blocked call counts against it."""
        rows = self.labels.rows
        if key[0] == "row":
            return {block: 1.0 for block in rows if block[1] == key[1]}
        of_task = {key[1]: 1.0} if key[0] == "task" else self.shape.final
        if key[0] == "zeroed":
            of_task = self.shape.zeroed
        found = {
            (task, slug): weight * row_weights(self.shape, task).get(slug, 0.0)
            if slug != BLOCKED_SHARE
            else -weight
            for task, weight in of_task.items()
            for of, slug in rows
            if of == task
        }
        return {block: weight for block, weight in found.items() if weight}


def model_corrections(
    contributions: Mapping[str, ModelContributions],
    compared: ComparedCalls,
    units: ResamplingUnits,
) -> Mapping[str, ModelCorrection]:
    """How the labels of people correct each model that has a row with enough of them."""
    found = {}
    for model, at in compared.of_model.items():
        given = compared.inputs[at]
        labelled = {
            task: of_task.whole()
            for task, of_task in contributions[model].items()
            if of_task.has_labels
        }
        labels = label_matrix(labelled, given.shape, units)
        if labels is not None:
            correction = LabelCorrection(labels, given.matrix.place, given.shape)
            found[model] = ModelCorrection(at, given, labels, correction)
    return found


def add_corrected(
    values: Sequence[Scores],
    corrections: Mapping[str, ModelCorrection],
    sums: Sequence[Floats],
    groups: Sequence[Sequence[int]],
) -> None:
    """Add the corrected values of every model that has labels.

    `sums` has those of all models, then those of the labels. Models that are ranked together have
    corrected ranks if all of them have labels.
    """
    found = {
        correction.at: correction.corrected(sums[correction.at], of_labels)
        for correction, of_labels in zip(corrections.values(), sums[len(values) :], strict=True)
    }
    for group in groups:
        if all(at in found for at in group):
            rank_scores([found[at] for at in group])
    for at, of_model in found.items():
        values[at].update({(CORRECTED, *key): numbers for key, numbers in of_model.items()})


class _Filling(NamedTuple):
    """The corrected values of one model, and the labels behind them."""

    found: Mapping[ScoreKey, Replicates]
    rows: Mapping[Block, RowLabels]

    def limits(self, key: ScoreKey, labels: Sequence[RowLabels], width: float) -> Interval | None:
        """BCa over calls; wider if no label differs from the judge"""
        calls = min(row.calls for row in labels)
        replicates = self.found[(CORRECTED, *key)]
        bounds = bca_interval(replicates, calls)
        if bounds is None:
            return None
        limits, value = Limits(bounds.low, bounds.high), replicates.estimate
        if bounds.method == "all_equal" or not any(row.differ for row in labels):
            limits = widen_for_agreement(value, limits, calls, width)
        return limits.low, limits.high


def with_corrected(
    card: Scorecard,
    found: ReplicatesByModel,
    corrections: Mapping[str, ModelCorrection],
    formula_of: Callable[[str], TaskFormula],
) -> Scorecard:
    """The card with the corrected values of every model that has labels, rated."""
    models = []
    half = claim_scores([one.given for one in corrections.values()], ALPHA / 2)
    claims = {name: of.limits for name, of in zip(corrections, half, strict=True)}
    for model in card.models:
        correction = corrections.get(model.model)
        if correction is not None:
            of_model = found[model.model]
            model = _fill_corrected(model, of_model, correction)
            model = _claim_corrected(model, claims[model.model], correction)
            model = _rate_corrected(model, of_model, formula_of)
        models.append(model)
    return msgspec.structs.replace(card, models=models)


def _fill_corrected(
    model: ModelScore, found: Mapping[ScoreKey, Replicates], correction: ModelCorrection
) -> ModelScore:
    """Add the corrected values to the column of a model."""
    filling = _Filling(found, correction.labels.rows)
    tasks = {name: _task(name, task, filling, correction) for name, task in model.tasks.items()}
    final = _final(model.final, tasks, filling, correction)
    return msgspec.structs.replace(model, tasks=tasks, final=final)


def _task(name: str, task: TaskScore, filling: _Filling, correction: ModelCorrection) -> TaskScore:
    metrics = {slug: _metric((name, slug), row, filling) for slug, row in task.metrics.items()}
    task = msgspec.structs.replace(task, metrics=metrics)
    labels = {slug: row for (of_task, slug), row in filling.rows.items() if of_task == name}
    weights = {slug: weight for slug, weight in row_weights(correction.shape, name).items()}
    used = [row for slug, row in labels.items() if weights.get(slug) or slug == BLOCKED_SHARE]
    value = filling.found.get((CORRECTED, "task", name))
    if task.score is None or not used or value is None or not math.isfinite(value.estimate):
        return task
    width = math.fsum(weights.get(slug, 0.0) for slug in labels)
    counted = [row.items for slug, row in labels.items() if weights.get(slug)]
    return msgspec.structs.replace(
        task,
        corrected=Corrected(
            value.estimate,
            _clip(filling.limits(("task", name), used, width), 1.0),
            sum(counted),
            min(row.calls for row in used),
            uncorrected=tuple(slug for slug in weights if metrics[slug].uncalibrated),
        ),
    )


def row_weights(shape: ModelShape, task: str) -> Mapping[str, float]:
    """The weight of each row in a task score."""
    return {
        slug: weight * inside
        for _, weight, terms in shape.tasks[task].parts
        for slug, inside in terms
    }


def _metric(block: Block, metric: MetricScore, filling: _Filling) -> MetricScore:
    labels = filling.rows.get(block)
    value = filling.found.get((CORRECTED, "row", block[1]))
    if metric.value is None or labels is None or value is None or not math.isfinite(value.estimate):
        return metric
    width = _scale(metric)
    limits = filling.limits(("row", block[1]), [labels], width)
    return msgspec.structs.replace(
        metric,
        uncalibrated=False,
        corrected=Corrected(
            value.estimate,
            _clip(limits, width),
            labels.items,
            labels.calls,
            filling.found[(CORRECTED, TRUST, *block)].estimate,
            labels.correlation,
            judge_helps(labels.correlation, labels.calls),
        ),
    )


def _final(
    final: FinalScore,
    tasks: Mapping[str, TaskScore],
    filling: _Filling,
    correction: ModelCorrection,
) -> FinalScore:
    used = [
        tasks[name].corrected
        for name, weight in correction.shape.final.items()
        if weight and name in tasks
    ]
    parts = [corrected for corrected in used if corrected is not None]
    value = filling.found.get((CORRECTED, "final"))
    if final.score is None or not parts or value is None or not math.isfinite(value.estimate):
        return final
    width = math.fsum(
        weight * row_weights(correction.shape, name).get(slug, 0.0)
        for name, weight in correction.shape.final.items()
        if name in tasks
        for of_task, slug in filling.rows
        if of_task == name
    )
    limits = filling.limits(("final",), list(filling.rows.values()), width)
    return msgspec.structs.replace(
        final,
        corrected=Corrected(
            value.estimate,
            _clip(limits, 1.0),
            sum(part.labels for part in parts),
            min(part.calls for part in parts),
            uncorrected=tuple(
                slug
                for name, weight in correction.shape.final.items()
                if weight and name in tasks
                for slug in row_weights(correction.shape, name)
                if tasks[name].metrics[slug].uncalibrated
            ),
        ),
    )


def _claim_corrected(
    model: ModelScore, limits: Mapping[ScoreKey, Limits], correction: ModelCorrection
) -> ModelScore:
    """Add the claim limits: those of the judged value and of people − judge, at α/2 each."""

    def claim(corrected: Corrected | None, key: ScoreKey, scale: float = 1.0) -> Corrected | None:
        judged, difference = limits.get(key), correction.difference(key, ALPHA / 2)
        if corrected is None or judged is None or difference is None:
            return corrected
        ends = judged.low + scale * difference.low, judged.high + scale * difference.high
        return msgspec.structs.replace(corrected, claim=_clip(ends, scale))

    tasks = {}
    for name, task in model.tasks.items():
        metrics = {
            slug: msgspec.structs.replace(
                row, corrected=claim(row.corrected, ("row", slug), _scale(row))
            )
            if row.corrected is not None
            else row
            for slug, row in task.metrics.items()
        }
        tasks[name] = msgspec.structs.replace(
            task, metrics=metrics, corrected=claim(task.corrected, ("task", name))
        )
    final = msgspec.structs.replace(model.final, corrected=claim(model.final.corrected, ("final",)))
    return msgspec.structs.replace(model, tasks=tasks, final=final)


def _scale(metric: MetricScore) -> float:
    return 100.0 if metric.unit == "percent" else 1.0


def _rate_corrected(
    model: ModelScore,
    found: Mapping[ScoreKey, Replicates],
    formula_of: Callable[[str], TaskFormula],
) -> ModelScore:
    """Rate the corrected rows of a model, and say which of them breach a gate."""
    tasks = {}
    for name, task in model.tasks.items():
        formula, blocked = formula_of(name), found.get((CORRECTED, "blocked", name))
        metrics = {
            slug: _rated(slug, metric, task, formula, blocked)
            for slug, metric in task.metrics.items()
        }
        tasks[name] = msgspec.structs.replace(task, metrics=metrics)
    return msgspec.structs.replace(model, tasks=tasks)


def _rated(
    slug: str,
    metric: MetricScore,
    task: TaskScore,
    formula: TaskFormula,
    blocked: Replicates | None,
) -> MetricScore:
    corrected, spec = metric.corrected, formula.specs[slug]
    if corrected is None:
        return metric
    owner = spec.complement_of or slug
    gate = next((gate.rule for gate in formula.gates if gate.slug == owner), None)
    breached = False
    if gate is not None and gate.kind == "call":
        breached = blocked is not None and holds(blocked.estimate, ">", formula.call_gate_tolerance)
    elif gate is not None:
        decisive = task.metrics[owner].corrected if owner in task.metrics else None
        breached = decisive is not None and gate.is_breached(decisive.value)
    rating = rate(corrected.value, spec.bands, spec.otherwise_of_means or spec.otherwise)
    if rating is Rating.BLOCKER and gate is not None and not breached:
        rating = Rating.FAIL  # the band says blocker, the gate that decides does not (C-03)
    if breached and rating is not None:
        rating = Rating.BLOCKER
    own = msgspec.structs.replace(
        corrected,
        rating=rating.value if rating is not None else None,
        breached=breached and slug == owner,
    )
    return msgspec.structs.replace(metric, corrected=own)


def _clip(limits: Interval | None, most: float) -> Interval | None:
    if limits is None:
        return None
    return max(0.0, limits[0]), min(most, limits[1])
