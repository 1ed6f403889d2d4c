"""`callscore.compare(a, b)`: differences between two models, with intervals and tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.comparison.case_changes import count_changes, find_changes
from callscore.comparison.inputs import (
    ComparisonInput,
    Competitor,
    SearchPaths,
    input_from_card,
    load_input,
    select_model,
    split_target,
)
from callscore.comparison.row_differences import (
    COST,
    FINAL,
    PairedCounts,
    RowLabel,
    joint_shape,
    pair_models,
    row_differences,
    shapes_by_unit,
)
from callscore.config.score import read_decide
from callscore.core.comparison import CaseChange, Comparison, RowDifference, Side
from callscore.core.errors import UsageError
from callscore.core.scorecard import DecisionLine, ModelContrast, ModelScore, Scorecard
from callscore.core.signature import SignatureChange, changes_between, parts_of
from callscore.core.spec import Spec
from callscore.engine.api_call import api_function
from callscore.evaluate.scorecards import share_estimates
from callscore.report.decision_lines import decision_lines
from callscore.report.decision_statements import describe_separation, few_pairs
from callscore.report.names import marked_name, origins_of
from callscore.report.numbers import show_count
from callscore.scorecard.decision import ModelDifference, difference
from callscore.scorecard.ranking import rank
from callscore.stats.contributions import ModelShape
from callscore.stats.power import LEAST_PAIRS
from callscore.stats.resampling import RESAMPLES
from callscore.stats.weighted_scores import ScoreKey
from callscore.store.address import read_address
from callscore.suites.registry import Catalog, template_of

Comparable = str | os.PathLike[str] | int | Scorecard
PathPair = tuple[str | os.PathLike[str], str | os.PathLike[str]]


@api_function
def compare(  # noqa: PLR0913  the options of a comparison are its parameters
    first: Comparable,
    second: Comparable,
    /,
    *,
    a: str | None = None,
    b: str | None = None,
    results: PathPair | None = None,
    store: str | os.PathLike[str] | None = None,
    eval_file: str | os.PathLike[str] | None = None,
    force: bool = False,
    all_rows: bool = False,
    decide: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare two models, paired by call on the calls that both answered.

    Args:
        first: The first model: the id of a stored run, an eval file (its newest run), a scorecard
            (as returned, or the file that --json wrote). If it has several models, name one as `a`,
            or after a colon (`eval.yaml:MODEL`).
        second: The second model; the same run or scorecard, if both are in it.
        a: The name of the first model.
        b: The name of the second model.
        results: The results files of both, if they are scorecards.
        store: The store of the runs; by default that of the eval file, or .callscore/runs.db.
        eval_file: The eval file of runs given by id, if it was moved.
        force: Compare runs that are not comparable (C-126), and say so in the result.
        all_rows: Also test precision, recall and other details; p values are corrected for all
            rows that are tested.
        decide: What the recommended model is chosen by; by default as in the eval file.

    Raises UsageError if the two are not comparable: other data, settings, judge or embedder.
    """
    places = SearchPaths(None if store is None else read_address(store), _path(eval_file))
    files = (None, None) if results is None else (_path(results[0]), _path(results[1]))
    with ExitStack() as stack:
        (one, model_one), (other, model_other) = _load_inputs(first, second, places, files, stack)
        one_model, other_model = _select_models((one, a or model_one), (other, b or model_other))
        if decide:
            one_model = one_model._replace(decide=read_decide(decide))
        return compare_models(one_model, other_model, force=force, all_rows=all_rows)


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)


_NamedInput = tuple[ComparisonInput, str | None]


def _load_inputs(
    first: Comparable,
    second: Comparable,
    places: SearchPaths,
    files: tuple[Path | None, Path | None],
    stack: ExitStack,
) -> tuple[_NamedInput, _NamedInput]:
    """Load both inputs; a run or a card that is used twice is loaded once."""
    loaded: dict[tuple[str, Path | None], ComparisonInput] = {}

    def load(side: Comparable, results: Path | None, label: str) -> _NamedInput:
        if isinstance(side, Scorecard):
            key = (f"card {id(side)}", results)
            if key not in loaded:
                loaded[key] = input_from_card(side, label, results)
            return loaded[key], None
        target, model = split_target(os.fspath(side) if not isinstance(side, int) else str(side))
        key = (target, results)
        if key not in loaded:
            loaded[key] = stack.enter_context(load_input(target, places, results))
        return loaded[key], model

    is_same = first is second
    labels = ("the scorecard",) * 2 if is_same else ("first", "second")
    return load(first, files[0], labels[0]), load(second, files[1], labels[1])


def _select_models(first: _NamedInput, second: _NamedInput) -> tuple[Competitor, Competitor]:
    (one, model_one), (other, model_other) = first, second
    names = [[score.model for score in loaded.card.models] for loaded in (one, other)]
    if one is other and not (model_one and model_other):
        if len(names[0]) != 2 or model_one or model_other:
            raise UsageError(
                f"{one.label}: expected two of its models, RUN:MODEL RUN:MODEL; it has "
                + ", ".join(names[0])
            )
        model_one, model_other = names[0]
    only = [own[0] if len(own) == 1 else None for own in names]
    return (
        select_model(one, model_one, model_other or only[1]),
        select_model(other, model_other, model_one or only[0]),
    )


def compare_models(
    first: Competitor, second: Competitor, *, force: bool = False, all_rows: bool = False
) -> Comparison:
    """Compare two loaded models."""
    differences = changes_between(first.card.signature, second.card.signature)
    differences = differences or _other_option(first.score, second.score)
    if differences and not force:
        parts = "; ".join(map(str, differences))
        raise UsageError(
            f"{first.label} and {second.label} are not comparable (C-126): they differ in {parts}; "
            "--force compares them anyway"
        )
    shape = joint_shape(first.shape, second.shape, uncounted=first.uncounted | second.uncounted)
    names = row_labels(first.card, first.score, shape, all_rows=all_rows)
    if "unknown" in (first.score.cost.status, second.score.cost.status):
        del names[COST]
    rows, pair = _rows(first, second, shape, names)
    final_shape = shapes_by_unit(shape)[0] if pair is None else pair.shape
    changes = find_changes(first.results, second.results, shape.zeroed, first.call_gates)
    final = next((row for row in rows if row.kind == "final"), None)
    blockers = [_blockers(side.score) for side in (first, second)]
    unit = _unit_of(final_shape)
    spec = Catalog().spec_with({**first.score.tasks, **second.score.tasks})
    conclusion = conclude(first, second, final, spec, unit)
    return Comparison(
        first=_side_of(first),
        second=_side_of(second),
        conclusion=conclusion.sentence,
        distinguishable=conclusion.distinguishable,
        decision=conclusion.decision,
        calls=pair.calls if pair is not None else 0,
        only_first=pair.only_first if pair is not None else 0,
        only_second=pair.only_second if pair is not None else 0,
        rows=_sort_rows(rows),
        counts=count_changes(changes),
        cases=changes,
        new_blockers=[b for b in blockers[1] if b not in blockers[0]],
        gone_blockers=[b for b in blockers[0] if b not in blockers[1]],
        not_comparable=list(map(str, differences)),
        notes=[
            *dict.fromkeys(
                [*first.notes, *second.notes, *_comparison_notes(first, second, changes)]
            )
        ],
        unit=unit,
    )


def _other_option(first: ModelScore, second: ModelScore) -> Sequence[SignatureChange]:
    """Whether the Final Scores are of two options: one has incomplete benchmarks        C-79"""
    options = first.final.option, second.final.option
    return [] if options[0] == options[1] else [SignatureChange("option", *options)]


def _unit_of(shape: ModelShape) -> str:
    """What the tasks of both models are taken from: scenarios, if nothing else was scored."""
    spec = Catalog().spec_with(shape.tasks)
    units = {spec.scores[task].unit for task in shape.tasks if task in spec.scores}
    return units.pop() if len(units) == 1 else "call"


def _rows(
    first: Competitor, second: Competitor, shape: ModelShape, names: Mapping[ScoreKey, RowLabel]
) -> tuple[list[RowDifference], PairedCounts | None]:
    if first.contributions is None or second.contributions is None:
        return _card_rows(first.score, second.score, names), None
    pairs = [
        pair_models(first.contributions, second.contributions, part)
        for part in shapes_by_unit(shape)
    ]
    pairs = [pair for pair in pairs if pair.calls]
    if not pairs:
        raise UsageError(f"{first.label} and {second.label}: no call was answered by both")
    rows, pair = row_differences(pairs, names, RESAMPLES), pairs[0]
    return rows, PairedCounts(pair.shape, pair.calls, pair.only_first, pair.only_second)


def _card_rows(
    first: ModelScore, second: ModelScore, names: Mapping[ScoreKey, RowLabel]
) -> list[RowDifference]:
    """The rows of two scorecards, without intervals and tests."""
    rows = []
    for name in names.values():
        one, other = (_card_value(score, name) for score in (first, second))
        gap = None if one is None or other is None else other - one
        rows.append(
            RowDifference(
                name.key, name.kind, name.label, name.unit, one, other, gap, None, name.weight
            )
        )
    return [row for row in rows if row.first is not None or row.second is not None]


def _card_value(model: ModelScore, name: RowLabel) -> float | None:
    if name.kind == "final":
        return model.final.score if model.final.score is not None else model.final.zeroed_final
    if name.kind == "cost":
        return model.cost.per_1000_calls
    task = model.tasks[name.key.partition("/" if name.kind == "part" else ".")[0]]
    if name.kind == "task":
        return task.score if task.score is not None else task.zeroed_score
    if name.kind == "part":
        return task.subscores[name.key.partition("/")[2]].score
    return task.metrics[name.key].value


def row_labels(
    card: Scorecard, model: ModelScore, shape: ModelShape, *, all_rows: bool
) -> dict[ScoreKey, RowLabel]:
    """The rows to compare, by key, with the labels of the template."""
    template = template_of(card)
    rows = [row for row in template if row.kind not in ("section", "latency")]
    labels = {row.key: row.label for row in rows if all_rows or not row.is_detail}
    price = next(row.label for row in template if row.kind == "cost")
    result: dict[ScoreKey, RowLabel] = {
        FINAL: RowLabel("final", "final", card.final_heading, "fraction", 1.0)
    }
    for task, formula in shape.tasks.items():
        weight = shape.zeroed.get(task, 0.0)
        label = labels.get(task, task)
        result["task", task] = RowLabel(task, "task", label, "fraction", weight)
        weights: dict[str, float] = {}
        for part, of_part, terms in formula.parts:
            for slug, inside in terms:
                weights[slug] = weights.get(slug, 0.0) + weight * of_part * inside
            key = f"{task}/{part}"
            if part in model.tasks[task].subscores and key in labels:
                result["part", task, part] = RowLabel(
                    key, "part", labels[key], "fraction", weight * of_part
                )
        for row in formula.rows:
            if not all_rows and row.slug not in labels:
                continue
            unit = model.tasks[task].metrics[row.slug].unit
            name = labels.get(row.slug, row.slug)
            result["row", row.slug] = RowLabel(
                row.slug, "metric", name, unit, weights.get(row.slug, 0.0)
            )
    result[COST] = RowLabel("cost", "cost", price, "usd", 0.0)
    return result


def _sort_rows(rows: Sequence[RowDifference]) -> list[RowDifference]:
    """Sort rows: Final Score, tasks, parts, metrics, cost; each kind by weight × change."""
    order = {"final": 0, "task": 1, "part": 2, "metric": 3, "cost": 4}
    return sorted(
        rows,
        key=lambda row: (order[row.kind], -row.weight * abs(row.difference or 0.0), -row.weight),
    )


def _blockers(model: ModelScore) -> list[str]:
    return [blocker.metric for blocker in model.blockers if blocker.gating]


def _side_of(side: Competitor) -> Side:
    score = side.score
    return Side(
        label=side.label,
        model=score.model,
        signature=side.card.signature,
        final=score.final.score,
        status=score.final.status,
        calls=max((task.calls or task.n for task in score.tasks.values()), default=0),
        cost_per_1000_calls=score.cost.per_1000_calls,
        origin=score.origin,
    )


def _comparison_notes(
    first: Competitor, second: Competitor, changes: Sequence[CaseChange]
) -> list[str]:
    notes = []
    tasks = [set(side.score.tasks) for side in (first, second)]
    if only := sorted(tasks[0] ^ tasks[1]):
        notes.append(f"only one of the two has {', '.join(only)}; the Final Score excludes it")
    if first.results and second.results and not changes:
        notes.append("no case has a different result")
    for side in (first, second):
        if side.card.estimate:
            notes.append(f"{side.label}: some values are estimates")
    return notes


class Conclusion(NamedTuple):
    """What a comparison concludes."""

    distinguishable: bool | None
    """Whether the Final Scores differ by more than chance; None if that is unknown."""
    sentence: str
    decision: Sequence[DecisionLine]


def conclude(
    first: Competitor, second: Competitor, final: RowDifference | None, spec: Spec, unit: str
) -> Conclusion:
    """Conclude by the rule of every scorecard, on a card of the two models        C-138

    Two models of one card are as far apart as that card says.
    """
    card = _card_of_two(first, second, final, spec)
    lines = decision_lines(card, spec, first.decide)
    one, other = (model.model for model in card.models)
    if final is None or final.difference is None:
        nothing = "There is no Final Score to compare; see the rows below."
        return Conclusion(None, nothing, lines)
    origins = origins_of(card.models)
    names = marked_name(other, origins), marked_name(one, origins)
    if not card.contrasts:
        where = "above" if final.difference > 0 else "below"
        sentence = (
            f"{names[0]} is {abs(final.difference):.3f} {where} {names[1]}; without the results of "
            f"single {unit}s, whether this is more than chance is unknown."
        )
        return Conclusion(None, sentence, lines)
    above = difference(card, other, one)
    apart = describe_separation(above, *names, unit=unit) + _detectable(final, above, unit)
    calls = final.calls or card.contrasts[0].calls
    sentence = f"On {show_count(calls, unit)} that both answered, {apart}."
    return Conclusion(above.significant, sentence, lines)


def _detectable(final: RowDifference, above: ModelDifference, unit: str) -> str:
    if above.significant:
        return ""
    if 0 < final.discordant < LEAST_PAIRS:
        return f"; {few_pairs(final.discordant, unit)}"
    if final.detectable is None:
        return ""
    return f"; this many {unit}s can show differences of {final.detectable:.3f} or more"


def _card_of_two(
    first: Competitor, second: Competitor, final: RowDifference | None, spec: Spec
) -> Scorecard:
    """A scorecard of the two models; without calls it has no contrast and no intervals."""
    models = [first.score, second.score]
    if models[0].model == models[1].model:
        models = [msgspec.structs.replace(m.score, model=m.label) for m in (first, second)]
    if _is_judged_alike(first.card, second.card):
        models = share_estimates(models)
    contrasts = _contrasts(first, second, final, models)
    return msgspec.structs.replace(
        first.card,
        models=models,
        ranking=rank(models, spec),
        zeroed_ranking=[],
        contrasts=contrasts,
        intervals=first.card.intervals if contrasts else None,
        race=msgspec.UNSET,
        documents=msgspec.UNSET,
    )


def _is_judged_alike(one: Scorecard, other: Scorecard) -> bool:
    """Whether the same values await a verdict in both: an estimate is one for both        C-125"""
    found = [parts_of(card.signature) for card in (one, other)]
    return all(found[0].get(part) == found[1].get(part) for part in ("judge", "data"))


def _contrasts(
    first: Competitor,
    second: Competitor,
    final: RowDifference | None,
    models: Sequence[ModelScore],
) -> Sequence[ModelContrast]:
    names = [model.model for model in models]
    if first.card is second.card:
        found = [p for p in first.card.contrasts if {p.first, p.second} == set(names)]
        if any(pair.of == "final" for pair in found):
            return found
    if final is None or final.difference is None or not final.calls:
        return []
    return [
        ModelContrast(
            of="final",
            first=names[0],
            second=names[1],
            difference=final.difference,
            ci95=final.ci95,
            significant=bool(final.significant),
            calls=final.calls,
            calls_needed=final.calls_needed,
            deviation=final.deviation,
            claim=final.claim,
        )
    ]
