"""`callscore.compare(a, b)`: whether the second is better than the first, where, how surely."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from callscore.comparison.cases import case_changes, counts_of
from callscore.comparison.rows import (
    COST,
    FINAL,
    Paired,
    RowName,
    joint_shape,
    paired,
    row_differences,
)
from callscore.comparison.sides import Competitor, Loaded, Places, competitor, load, load_card
from callscore.comparison.sides import split_name as _split_name
from callscore.comparison.words import verdict_of
from callscore.core.comparison import CaseChange, Comparison, RowDifference, Side
from callscore.core.errors import UsageError
from callscore.core.keywords import names_nearest
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.core.signature import changes_between
from callscore.export.sources import template_of
from callscore.stats.contributions import ModelShape
from callscore.stats.resampling import RESAMPLES
from callscore.stats.weighted_scores import Key

Comparable = str | os.PathLike[str] | int | Scorecard
Pair = tuple[str | os.PathLike[str], str | os.PathLike[str]]


@names_nearest
def compare(  # noqa: PLR0913  the options of a comparison are its parameters
    a: Comparable,
    b: Comparable,
    *,
    results: Pair | None = None,
    store: str | os.PathLike[str] | None = None,
    eval_file: str | os.PathLike[str] | None = None,
    force: bool = False,
    all_rows: bool = False,
) -> Comparison:
    """Compare two models, paired by call on the calls that both answered.

    Args:
        a: What there was: the id of a stored run, an eval file (its newest run), a scorecard (as
            returned, or the file that --json wrote), each with `:MODEL` behind it where it holds
            several models.
        b: What there is now.
        results: The results files of both, if they are scorecards.
        store: Where runs are looked for; else where the eval file says, or .callscore/runs.db.
        eval_file: The eval file of runs given by id, if it was moved.
        force: Compare what is not comparable (C-126), and label it.
        all_rows: Test precision, recall and other details too; p values are corrected for every
            row that is tested.

    Raises UsageError if the two must not be compared: other data, settings, judge, embedder.
    """
    places = Places(_path(store), _path(eval_file))
    files = (None, None) if results is None else (_path(results[0]), _path(results[1]))
    first, second = _load_both(a, b, places, files)
    return compare_models(*_competitors(first, second), force=force, all_rows=all_rows)


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)


Named = tuple[Loaded, str | None]


def _load_both(
    a: Comparable, b: Comparable, places: Places, files: tuple[Path | None, Path | None]
) -> tuple[Named, Named]:
    """Both sides; a run that is on both is read once."""
    kept: dict[tuple[str, Path | None], Loaded] = {}

    def loaded(side: Comparable, results: Path | None, label: str) -> Named:
        if isinstance(side, Scorecard):
            return load_card(side, label, results), None
        target, model = _split_name(os.fspath(side) if not isinstance(side, int) else str(side))
        key = (target, results)
        if key not in kept:
            kept[key] = load(target, places, results)
        return kept[key], model

    return loaded(a, files[0], "first"), loaded(b, files[1], "second")


def _competitors(first: Named, second: Named) -> tuple[Competitor, Competitor]:
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
        competitor(one, model_one, model_other or only[1]),
        competitor(other, model_other, model_one or only[0]),
    )


def compare_models(
    first: Competitor, second: Competitor, *, force: bool = False, all_rows: bool = False
) -> Comparison:
    """The comparison of two models that were loaded."""
    differences = changes_between(first.card.signature, second.card.signature)
    if differences and not force:
        parts = "; ".join(map(str, differences))
        raise UsageError(
            f"{first.label} and {second.label} are not comparable (C-126), they differ in {parts}; "
            "--force compares them, and says so"
        )
    shape = joint_shape(
        first.shape, second.shape, has_counts=first.has_counts and second.has_counts
    )
    names = row_names(first.card, first.score, shape, all_rows=all_rows)
    rows, pair = _rows(first, second, shape, names)
    changes = case_changes(first.results, second.results, shape.zeroed, first.call_gates)
    final = next((row for row in rows if row.kind == "final"), None)
    blockers = [_blockers(side.score) for side in (first, second)]
    told_apart, verdict = verdict_of(final, _side(first), _side(second), pair is not None)
    return Comparison(
        first=_side(first),
        second=_side(second),
        verdict=verdict,
        told_apart=told_apart,
        calls=pair.calls if pair is not None else 0,
        only_first=pair.only_first if pair is not None else 0,
        only_second=pair.only_second if pair is not None else 0,
        rows=_sorted(rows),
        counts=counts_of(changes),
        cases=changes,
        new_blockers=[b for b in blockers[1] if b not in blockers[0]],
        gone_blockers=[b for b in blockers[0] if b not in blockers[1]],
        not_comparable=list(map(str, differences)),
        notes=[*dict.fromkeys([*first.notes, *second.notes, *_notes(first, second, changes)])],
    )


def _rows(
    first: Competitor, second: Competitor, shape: ModelShape, names: Mapping[Key, RowName]
) -> tuple[list[RowDifference], Paired | None]:
    if first.contributions is None or second.contributions is None:
        return _rows_of_cards(first.score, second.score, names), None
    pair = paired(first.contributions, second.contributions, shape)
    if not pair.calls:
        raise UsageError(f"{first.label} and {second.label} have no answered call in common")
    return row_differences(pair, names, RESAMPLES), pair


def _rows_of_cards(
    first: ModelScore, second: ModelScore, names: Mapping[Key, RowName]
) -> list[RowDifference]:
    """The values that two cards show, without interval and test."""
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


def _card_value(model: ModelScore, name: RowName) -> float | None:
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


def row_names(
    card: Scorecard, model: ModelScore, shape: ModelShape, *, all_rows: bool
) -> dict[Key, RowName]:
    """The rows that both can have, by their key, with labels of the template."""
    shown = [row for row in template_of(card) if row.kind != "section"]
    labels = {row.key: row.label for row in shown if all_rows or not row.is_detail}
    found: dict[Key, RowName] = {FINAL: RowName("final", "final", "Final Score", "fraction", 1.0)}
    for task, formula in shape.tasks.items():
        weight = shape.zeroed.get(task, 0.0)
        label = labels.get(task, task)
        found["task", task] = RowName(task, "task", label, "fraction", weight)
        weights: dict[str, float] = {}
        for part, of_part, terms in formula.parts:
            for slug, inside in terms:
                weights[slug] = weights.get(slug, 0.0) + weight * of_part * inside
            key = f"{task}/{part}"
            if part in model.tasks[task].subscores and key in labels:
                found["part", task, part] = RowName(
                    key, "part", labels[key], "fraction", weight * of_part
                )
        for row in formula.rows:
            if not all_rows and row.slug not in labels:
                continue
            unit = model.tasks[task].metrics[row.slug].unit
            name = labels.get(row.slug, row.slug)
            found["row", row.slug] = RowName(
                row.slug, "metric", name, unit, weights.get(row.slug, 0.0)
            )
    found[COST] = RowName("cost", "cost", "Cost per 1000 calls", "usd", 0.0)
    return found


def _sorted(rows: Sequence[RowDifference]) -> list[RowDifference]:
    """The Final Score, then tasks, parts and metrics, each by weight × change; the cost last."""
    order = {"final": 0, "task": 1, "part": 2, "metric": 3, "cost": 4}
    return sorted(
        rows,
        key=lambda row: (order[row.kind], -row.weight * abs(row.difference or 0.0), -row.weight),
    )


def _blockers(model: ModelScore) -> list[str]:
    return [blocker.metric for blocker in model.blockers if blocker.gating]


def _side(side: Competitor) -> Side:
    score = side.score
    return Side(
        label=side.label,
        model=score.model,
        signature=side.card.signature,
        final=score.final.score,
        status=score.final.status,
        calls=max((task.n for task in score.tasks.values()), default=0),
        cost_per_1000_calls=score.cost.per_1000_calls,
    )


def _notes(first: Competitor, second: Competitor, changes: Sequence[CaseChange]) -> list[str]:
    notes = []
    tasks = [set(side.score.tasks) for side in (first, second)]
    if only := sorted(tasks[0] ^ tasks[1]):
        notes.append(f"only one of the two has {', '.join(only)}; the Final Score is without")
    if first.results and second.results and not changes:
        notes.append("no case has another result")
    for side in (first, second):
        if side.card.estimate:
            notes.append(f"{side.label}: some values are estimates of built-in rules")
    return notes
