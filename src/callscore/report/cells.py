"""The cells of a scorecard as text and tone, and its rows of corrections, for all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from callscore.core.scorecard import (
    BenchmarkScore,
    Corrected,
    Cost,
    CriterionScore,
    FinalScore,
    MetricScore,
    ModelScore,
    RankingLine,
    Scorecard,
    SubScore,
    TaskScore,
)
from callscore.core.spec import TOLERANCE
from callscore.report.names import count_undecided_gates, show_blocked_calls
from callscore.report.numbers import show, show_count, show_interval, show_money, show_near_limits
from callscore.scorecard.decision import corrected_breaches
from callscore.scorecard.template import PLAIN, TemplateRow

Tone = Literal["plain", "good", "middling", "bad", "blocked", "quiet"]

TONES: Mapping[str, Tone] = {
    "Good": "good",
    "Acceptable": "middling",
    "Warning": "middling",
    "Fail": "bad",
    "Blocker": "blocked",
}
TICKS: Mapping[bool | None, str] = {True: " ✓", False: " ✗", None: ""}
NOT_AVAILABLE = "n/a"
PASS = "Pass"
"""The framework's rating for a count of 0."""


class Cell(msgspec.Struct, frozen=True):
    """The text of a cell.

    `why` is the reason for an n/a, printed as a footnote. `brief` is a shorter text for narrow
    columns: a rating by its first letter.
    """

    text: str
    tone: Tone = "plain"
    why: str = ""
    brief: str = ""
    interval: str = ""
    """The 95 % interval of the value, shown where there is room."""
    remark: str = ""
    """What a reader of the value must know; a footnote in the terminal."""


class ScorecardRow(msgspec.Struct, frozen=True):
    """A template row with one cell per model."""

    template: TemplateRow
    cells: Sequence[Cell]


class Figure(NamedTuple):
    """The value of a figure, and the claims that the official value leaves out (C-136)."""

    value: float | None
    claims_left_out: float | None = None


def figure_of(model: ModelScore, row: TemplateRow) -> Figure | None:
    """Return the figure of a row; None if its task or the benchmarks were not run."""
    slug, _, name = row.key.partition("/")
    metric = model.metric(slug)
    if metric is not None and name != PLAIN:
        return Figure((metric.secondary or {}).get(name))
    owner = metric or model.benchmarks.criteria.get(slug)
    return None if owner is None else Figure(owner.plain, owner.claims_left_out)


LABEL = "corrected by people"


def corrected_row(row: TemplateRow, models: Sequence[ModelScore]) -> ScorecardRow | None:
    """Return the corrected values of a row; None if no model has one."""
    found = [_corrected(row, model) for model in models]
    if not any(found):
        return None
    own = msgspec.structs.replace(
        row,
        kind="corrected",
        label=LABEL,
        threshold="",
        is_blocker=False,
        is_detail=True,
        remark="",
    )
    unit = _unit(row, models)
    return ScorecardRow(own, [_corrected_cell(corrected, unit) for corrected in found])


def _corrected(row: TemplateRow, model: ModelScore) -> Corrected | None:
    if row.kind == "metric":
        metric = model.metric(row.key)
        return metric.corrected if metric is not None else None
    if row.kind == "task":
        found = model.tasks.get(row.key)
        return found.corrected if found is not None else None
    is_official = row.kind == f"final_{model.final.option.lower()}"
    return model.final.corrected if is_official else None


def _unit(row: TemplateRow, models: Sequence[ModelScore]) -> str:
    metrics = [model.metric(row.key) for model in models]
    return next((metric.unit for metric in metrics if metric is not None), "fraction")


def _corrected_cell(corrected: Corrected | None, unit: str) -> Cell:
    if corrected is None:
        return Cell("no labels", "quiet")
    shown = show(corrected.value, unit)
    rating = f" {corrected.rating}" if corrected.rating else ""
    remarks = "; the judge does not help" if corrected.helps is False else ""
    if corrected.uncorrected:
        remarks += f"; {show_count(len(corrected.uncorrected), 'row')} uncalibrated"
    return Cell(
        f"{shown}{rating} ({show_count(corrected.labels, 'label')}{remarks})",
        TONES.get(corrected.rating or "", "plain"),
        brief=f"{shown}{rating[:2]}",
        interval="" if corrected.ci95 is None else show_interval(corrected.ci95, unit),
    )


LIMITS = "limits hold for LaBSE or mUSE only"
"""Why a value by another measure has no rating and no tick (C-68)."""


ESTIMATE = "~"
"""Marks an estimate in narrow columns."""
UNCALIBRATED = "u"
"""Marks a row in narrow columns whose judge no label has checked (STATS §5)."""


def estimate_mark(metric: MetricScore) -> str:
    """Mark an estimate where there is no room for a remark."""
    return ESTIMATE if metric.approximate else ""


def show_estimate(metric: MetricScore) -> str:
    """Say that a value is an estimate; empty if it is none."""
    if not metric.approximate:
        return ""
    return "approximate" if metric.rating else "estimate, not rated"


def limits_remark(metric: MetricScore) -> str:
    """Return what measured a value, if the limits are not made for it        C-68"""
    return f"{metric.measured_by}: {LIMITS}" if metric.measured_by else ""


def brief_remarks(metric: MetricScore, rating: str) -> str:
    """Return tick and rating for a narrow column, with the name of another measure."""
    name = f" {metric.measured_by.partition(' ')[0]}" if metric.measured_by else ""
    uncalibrated = f" {UNCALIBRATED}" if metric.uncalibrated else ""
    return f"{name}{rating}{uncalibrated}{' worst' if metric.bounded else ''}"


def metric_remarks(metric: MetricScore, task: TaskScore) -> str:
    """Return the remarks in brackets; empty if there are none."""
    parts = []
    if metric.bounded:
        parts.append(f"worst case of {show_count(metric.open_calls, 'open call')}")
    if metric.resolution is not None:
        parts.append(_count_of_all(metric.value, metric.resolution))
    if metric.facts is not None:
        parts.append(show_count(metric.facts, "fact"))
    if metric.max_per_call:
        parts.append(f"max {metric.max_per_call:g} per call")
    if metric.n != task.n and metric.unit != "count":
        parts.append(f"n = {metric.n}")
    if metric.measured_by or metric.approximate:
        parts.append(metric.measured_by or show_estimate(metric))
    if metric.uncalibrated:
        parts.append("uncalibrated")
    return f" ({', '.join(parts)})" if parts else ""


def _count_of_all(value: float | None, resolution: float) -> str:
    """Return a rate as a count, such as `0 of 48`; the mean over several runs may be a fraction."""
    number = f"{(value or 0.0) / resolution:.1f}".removesuffix(".0")
    return f"{number} of {100 / resolution:.0f}"


def scorecard_rows(
    card: Scorecard, template: Sequence[TemplateRow], *, rows: RowsShown = "usual"
) -> list[ScorecardRow]:
    """Fill in the template; `details` adds rows that are not in it, `all` also tasks not run."""
    ran = tasks_run(card)
    details = rows != "usual"
    has_benchmarks = any(
        model.benchmarks.status != "not_run" or model.final.a is not None for model in card.models
    )
    ranking = {entry.model: entry for entry in card.ranking}
    filled = []
    for row in template:
        task = row.key.partition(".")[0].partition("/")[0]
        if row.kind in TASK_KINDS and not (rows == "all" or _has_task(row, task, ran)):
            continue
        if row.is_detail and not (details or _is_needed_detail(row, card)):
            continue
        if not (has_benchmarks or details) and row.kind in BENCHMARK_KINDS:
            continue
        cells = [_cell(row, model, ranking) for model in card.models]
        if row.kind == "figure" and all(cell.text == NOT_AVAILABLE for cell in cells):
            continue
        if row.key == "benchmarks" and not (has_benchmarks or details):
            row = msgspec.structs.replace(row, threshold="--benchmarks runs them")
            cells = [Cell("not run", "quiet") for _ in card.models]
        filled.append(ScorecardRow(row, cells))
        if (corrected := corrected_row(row, card.models)) is not None:
            filled.append(corrected)
    return filled


RowsShown = Literal["usual", "details", "all"]
TASK_KINDS = ("section", "metric", "figure", "subscore", "task")
BENCHMARK_KINDS = ("criterion", "benchmarks", "final_a")


def tasks_run(card: Scorecard) -> list[str]:
    """Return the tasks that at least one model ran, in the order of the models."""
    return list(dict.fromkeys(task for model in card.models for task in model.tasks))


def tasks_not_run(card: Scorecard, template: Sequence[TemplateRow]) -> list[str]:
    """Return the names of the tasks in the template that no model ran."""
    ran = tasks_run(card)
    return [
        row.label.removesuffix(" Score")
        for row in template
        if row.kind == "task" and row.key not in ran
    ]


def _is_needed_detail(row: TemplateRow, card: Scorecard) -> bool:
    """Whether sub-scores are shown because the task has no score        C-127"""
    if row.kind != "subscore":
        return False
    tasks = [model.tasks.get(row.key.partition("/")[0]) for model in card.models]
    return any(task is not None and task.status == "incomplete" for task in tasks)


def _has_task(row: TemplateRow, task: str, ran: Sequence[str]) -> bool:
    return task in ran or (row.kind == "section" and task in ("benchmarks", "final"))


def _cell(row: TemplateRow, model: ModelScore, ranking: Mapping[str, RankingLine]) -> Cell:
    if row.kind == "section":
        return _section(model.tasks.get(row.key))
    if row.kind == "metric":
        return _metric(model.tasks.get(row.key.partition(".")[0]), row)
    if row.kind == "figure":
        return _figure(model, row)
    if row.kind == "subscore":
        return _subscore(model, row)
    if row.kind == "task":
        return _task(model.tasks.get(row.key))
    if row.kind in ("criterion", "benchmarks"):
        return _benchmark(model, row)
    if row.kind in ("final_a", "final_b"):
        return _final(model, row, ranking[model.model].reason)
    if row.kind in ("cost", "latency"):
        return _cost(model) if row.kind == "cost" else _latency(model, row.key)
    if row.kind == "rank":
        return _rank(ranking[model.model])
    return _blocker(model)


def _latency(model: ModelScore, of: str) -> Cell:
    """Return p50 and p95 of a step or of a scenario        C-141"""
    found = model.latency
    if not found:
        return Cell(NOT_AVAILABLE, "quiet", "no times were measured")
    ends = (
        (found.step_p50, found.step_p95)
        if of == "step"
        else (found.scenario_p50, found.scenario_p95)
    )
    return Cell(" / ".join(f"{end:,.0f}" for end in ends))


def _section(task: TaskScore | None) -> Cell:
    if task is None:
        return Cell("")
    return Cell(
        f"n = {task.n}" if task.n == task.cases else f"n = {task.n} of {task.cases}", "quiet"
    )


def _metric(task: TaskScore | None, row: TemplateRow) -> Cell:
    if task is None:
        return Cell(NOT_AVAILABLE, "quiet", "this task was not run")
    metric = task.metrics[row.key]
    if metric.value is None:
        known = _show_decided(metric, metric.unit)
        return Cell(
            f"{NOT_AVAILABLE}{_decided_calls(metric)}",
            "quiet",
            "; ".join(filter(None, (metric.why, _whatever(known, metric.open_calls)))),
            brief=NOT_AVAILABLE,
            interval=known,
        )
    shown = show_near_limits(metric.value, metric.unit, row.bands)
    tick = TICKS[metric.meets_threshold]
    word = PASS if metric.unit == "count" and metric.rating == "Good" else metric.rating
    rating = f" {word}" if word else ""
    best = task.metrics.get(f"{row.key}_at_best")
    up_to = _up_to(metric.value, None if best is None else best.value)
    return Cell(
        f"{shown}{tick}{rating}{metric_remarks(metric, task)}{up_to and f' ({up_to})'}",
        TONES.get(metric.rating or "", "plain"),
        brief=f"{estimate_mark(metric)}{shown}{brief_remarks(metric, f'{tick}{rating[:2]}')}"
        + (up_to and f" ({up_to})"),
        interval=show_score_interval(metric, metric.unit),
        remark=limits_remark(metric),
    )


def _up_to(value: float, best: float | None) -> str:
    """Return the bound of a value, as if all that awaits a verdict were right        C-141"""
    is_open = best is not None and best > value + TOLERANCE
    return f"open values: up to {show(best)}" if best is not None and is_open else ""


ScoreWithInterval = (
    MetricScore | SubScore | TaskScore | CriterionScore | BenchmarkScore | FinalScore | Cost
)


def show_score_interval(score: ScoreWithInterval, unit: str = "fraction") -> str:
    """Return the interval of a score as text; empty if there is none."""
    if score.ci95 is None:
        return ""
    equal = score.ci95_method == "all_equal"
    return show_interval(score.ci95, unit, few=score.few_calls, equal=equal)


def _decided_calls(metric: MetricScore) -> str:
    """Return how many calls are decided, if that is why a row has no value        C-137"""
    parts = (metric.why or "").partition(": ")[2].split("; ")
    decided = next((part for part in parts if part.endswith("calls decided")), "")
    return f" ({decided})" if decided else ""


def _show_decided(score: MetricScore | TaskScore, unit: str = "fraction") -> str:
    """Return the value over the decided calls, with its worst and best case        C-137"""
    if score.provisional is None or score.provisional_range is None:
        return ""
    return f"{show(score.provisional, unit)} {show_interval(score.provisional_range, unit)}"


def _whatever(known: str, calls: int) -> str:
    """Return the sentence about this value; empty if there is none."""
    if not known:
        return ""
    says = "says" if calls == 1 else "say"
    return f"{known} whatever the {show_count(calls, 'open call')} {says}"


def _figure(model: ModelScore, row: TemplateRow) -> Cell:
    found = figure_of(model, row)
    if found is None or found.value is None:
        return Cell(NOT_AVAILABLE, "quiet")
    left_out = found.claims_left_out
    remark = f" ({show_count(left_out, 'claim')} left out)" if left_out else ""
    shown = show(found.value, row.unit)
    return Cell(f"{shown}{remark}", "quiet", brief=shown)


def _subscore(model: ModelScore, row: TemplateRow) -> Cell:
    name, _, part = row.key.partition("/")
    task = model.tasks.get(name)
    if task is None:
        return Cell(NOT_AVAILABLE, "quiet", "this task was not run")
    score = task.subscores[part]
    if score.score is None:
        return Cell(
            NOT_AVAILABLE, "quiet", f"{part}: {score.status}, {show_count(score.n, 'case')}"
        )
    return Cell(f"{show(score.score)} (n = {score.n})", interval=show_score_interval(score))


def _task(task: TaskScore | None) -> Cell:
    if task is None:
        return Cell(NOT_AVAILABLE, "quiet", "this task was not run")
    if task.score is not None:
        marks = [] if task.official else ["estimate"]
        if task.bounded:
            marks.append(f"worst case of {show_count(task.open_calls, 'open call')}")
        if task.provisional_range is not None and not task.bounded:
            marks += filter(None, [_up_to(task.score, task.provisional_range[1])])
        if task.unblocked_share is not None and task.unblocked_share < 1:
            marks.append(f"× {show(task.unblocked_share)} of calls not blocked")
        brief = show(task.score) + (f" ({', '.join(marks)})" if marks else "")
        if task.trivial_floor is not None:
            marks.append(f"trivial {show(task.trivial_floor)}")
        text = show(task.score) + (f" ({', '.join(marks)})" if marks else "")
        return Cell(text, brief=brief, interval=show_score_interval(task))
    if task.status == "invalid":
        remark = f" (ungated {show(task.ungated_score)})" if task.ungated_score is not None else ""
        return Cell(f"invalid{remark}", "blocked", brief="invalid")
    why = f"{task.status}: " + (", ".join(task.reasons) or f"{task.n} of {task.cases} cases")
    provisional = f" {show(task.ungated_score)}" if task.ungated_score is not None else ""
    known = _show_decided(task)
    why = "; ".join(filter(None, (why, _whatever(known, task.open_calls))))
    return Cell(f"{task.status}{provisional}", "quiet", why, interval=known)


BENCHMARKS_NOT_RUN = "the optional benchmarks were not run"


def _benchmark(model: ModelScore, row: TemplateRow) -> Cell:
    benchmarks = model.benchmarks
    if benchmarks.status == "not_run":
        return Cell(NOT_AVAILABLE, "quiet", BENCHMARKS_NOT_RUN)
    if row.kind == "criterion":
        return _criterion(benchmarks.criteria[row.key], row)
    of = f"{benchmarks.ran} of {len(benchmarks.criteria)}"
    if benchmarks.score is None:
        provisional = (
            f" {show(benchmarks.provisional)}" if benchmarks.provisional is not None else ""
        )
        return Cell(
            f"{benchmarks.status}{provisional} ({of})", "quiet", f"only {of} benchmarks ran"
        )
    interval = show_score_interval(benchmarks)
    if benchmarks.approximate:
        shown = show(benchmarks.score)
        return Cell(f"{shown} (estimate)", brief=f"{ESTIMATE}{shown}", interval=interval)
    tone: Tone = "plain" if benchmarks.meets_recommended else "middling"
    shown = f"{show(benchmarks.score)}{TICKS[benchmarks.meets_recommended]}"
    return Cell(shown, tone, brief=shown, interval=interval)


def _criterion(criterion: CriterionScore, row: TemplateRow) -> Cell:
    """Return the binary result with the value it was derived from."""
    if criterion.binary is None or criterion.value is None:
        return Cell(NOT_AVAILABLE, "quiet", criterion.why or "")
    shown = show_near_limits(criterion.value, criterion.unit, row.bands)
    interval = show_score_interval(criterion, criterion.unit)
    if criterion.approximate:  # no pass and no fail rests on an estimate
        return Cell(f"{shown} (estimate)", "plain", brief=f"{ESTIMATE}{shown}", interval=interval)
    tone: Tone = "good" if criterion.binary else "bad"
    return Cell(
        f"{criterion.binary} ({shown})",
        tone,
        brief=f"{criterion.binary} ({shown})",
        interval=interval,
    )


def _final(model: ModelScore, row: TemplateRow, why: str | None) -> Cell:
    final = model.final
    value = final.a if row.kind == "final_a" else final.b
    is_official = (row.kind == "final_a") == (final.option == "A")
    if value is not None:
        is_one_of_two = final.a is not None and final.b is not None
        mark = " (official)" if is_official and is_one_of_two else ""
        text = show(value) + (mark if final.official else " (estimate)")
        return Cell(text, interval=show_score_interval(final) if is_official else "")
    if not is_official:
        return Cell(NOT_AVAILABLE, "quiet", _why_no_option_score(model))
    if final.status == "invalid":
        floor = f" (floor {show(final.floor_score)})" if final.floor_score is not None else ""
        return Cell(f"invalid{floor}", "blocked", brief="invalid")
    return Cell(final.status, "quiet", why or "")


def _why_no_option_score(model: ModelScore) -> str:
    if model.final.option == "A":
        return "the weights are those of option A"
    if model.benchmarks.status == "not_run":
        return BENCHMARKS_NOT_RUN
    return "the benchmarks are not complete, a task has no score, or custom weights exclude them"


def _cost(model: ModelScore) -> Cell:
    if model.cost.per_1000_calls is None:
        return Cell("unknown", "quiet", "at least one output has no recorded cost")
    interval = show_score_interval(model.cost, "money")
    return Cell(show_money(model.cost.per_1000_calls), interval=interval)


def _rank(entry: RankingLine) -> Cell:
    if entry.rank is None:
        return Cell("—", "quiet", entry.reason or "")
    marks = " (estimates)" if entry.estimate else ""
    free = " (free)" if entry.cost_status == "zero" else ""
    interval = "" if entry.rank_ci95 is None else show_interval(entry.rank_ci95, "count")
    return Cell(f"{entry.rank}{free}{marks}", interval=interval)


def _blocker(model: ModelScore) -> Cell:
    """Return yes, no or undecided over all `[!]` rows of the model        C-87"""
    marks = [show_blocked_calls(model)] if model.blocked_calls else []
    undecided = count_undecided_gates(model)
    by_people = corrected_breaches(model)
    if by_people:
        marks.append(f"{show_count(len(by_people), 'row')} by human labels")
    if model.blockers or by_people:
        word, tone = "Yes", TONES["Blocker"]
        if not by_people and not any(blocker.gating for blocker in model.blockers):
            marks.append("not gating")
    elif undecided:
        word, tone = "undecided", "middling"
        marks.insert(0, f"{show_count(undecided, 'row')} not judged")
    else:
        word, tone = "No", "good"
    brief = f"{word} ({model.blocked_calls})" if model.blocked_calls else word
    return Cell(f"{word} ({', '.join(marks)})" if marks else word, tone, brief=brief)
