"""The scorecard of the framework as a table with intervals, and each metric as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from callscore.core.scorecard import MetricScore, ModelScore, Scorecard, SubScore
from callscore.report.cells import (
    PASS,
    TONES,
    Cell,
    ScorecardRow,
    limits_remark,
    scorecard_rows,
    show_estimate,
    show_score_interval,
    tasks_run,
)
from callscore.report.html.first_screen import marked_model
from callscore.report.html.parts import chip, collapsible, figure, model_name, section, table
from callscore.report.html.parts import row as table_row
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show, show_count, show_near_limits
from callscore.report.safe_text import plain
from callscore.report.svg.interval_bars import IntervalBar, draw_interval_bars
from callscore.scorecard.template import TemplateRow

MAX_REASON_LENGTH = 400
STRONG = ("section", "task", "final_a", "final_b", "benchmarks")


LinkOfRow = Callable[[TemplateRow], Child]
"""The label of a row, which may be a link to the calls behind it."""


def _plain_label(row: TemplateRow) -> Child:
    return row.label


def scorecard_section(
    card: Scorecard, template: Sequence[TemplateRow], label: LinkOfRow = _plain_label
) -> Html:
    """Return the section with the filled-in template."""
    note = "[!] marks a blocker: a breach disqualifies the model for that task."
    return section("scorecard", "Scorecard", scorecard_table(card, template, label), note=note)


def scorecard_table(
    card: Scorecard, template: Sequence[TemplateRow], label: LinkOfRow = _plain_label
) -> Html:
    """Return every row of the template, one column per model."""
    names = [marked_model(card, model.model) for model in card.models]
    headings = ["Metric", *names, "Threshold"]
    filled = scorecard_rows(card, template, rows="details")
    return table(headings, (_row(line, card, label) for line in filled), "Scorecard", "scorecard")


def _row(line: ScorecardRow, card: Scorecard, label_of: LinkOfRow) -> Html:
    template = line.template
    mark = tag("abbr", "[!]", title="blocker") if template.is_blocker else None
    label = join(mark, " " if mark else None, label_of(template))
    cells: list[Child] = []
    for model, cell in zip(card.models, line.cells, strict=True):
        metric = _metric(model, template)
        cells.append(_plain_cell(cell) if metric is None else _metric_cell(metric, template))
    kind = "strong" if template.kind in STRONG else "detail" if template.is_detail else ""
    return table_row(label, [*cells, tag("td", template.threshold, class_="quiet")], kind)


def _metric(model: ModelScore, template: TemplateRow) -> MetricScore | None:
    if template.kind != "metric":
        return None
    metric = model.metric(template.key)
    return None if metric is None or metric.value is None else metric


def _subscore(model: ModelScore, template: TemplateRow) -> SubScore | None:
    if template.kind != "subscore":
        return None
    name, _, part = template.key.partition("/")
    task = model.tasks.get(name)
    score = None if task is None else task.subscores.get(part)
    return None if score is None or score.score is None else score


def _plain_cell(cell: Cell) -> Html:
    why = (
        collapsible(cell.text, plain(cell.why, MAX_REASON_LENGTH), class_="why")
        if cell.why
        else cell.text
    )
    return tag("td", why, tag("small", cell.interval) if cell.interval else None, class_=cell.tone)


def _metric_cell(metric: MetricScore, template: TemplateRow) -> Html:
    assert metric.value is not None
    value = show_near_limits(metric.value, metric.unit, template.bands)
    word = PASS if metric.unit == "count" and metric.rating == "Good" else metric.rating
    aside = [
        show_score_interval(metric, metric.unit),
        f"max {metric.max_per_call:g} per call" if metric.max_per_call else "",
        limits_remark(metric) or show_estimate(metric),
        "uncalibrated" if metric.uncalibrated else "",
        f"worst case of {show_count(metric.open_calls, 'open call')}" if metric.bounded else "",
    ]
    return tag(
        "td",
        tag("b", value),
        " ",
        chip(word, TONES.get(metric.rating or "", "plain")) if word else None,
        [tag("small", part) for part in aside if part],
    )


def tasks_section(card: Scorecard, template: Sequence[TemplateRow]) -> Html:
    """Return, for each task that was run, its score and every metric, all models on one axis."""
    note = "Dot: value. Bar: 95 % interval. Dashed line: the limit of a Good rating."
    return section("tasks", "Tasks and metrics", _tasks(card, template), note=note)


def _tasks(card: Scorecard, template: Sequence[TemplateRow]) -> Iterator[Html]:
    ran = tasks_run(card)
    for task in ran:
        metrics = [row for row in template if _is_drawn(row, task)]
        own = next((row for row in template if row.kind == "task" and row.key == task), None)
        label = own.label if own is not None else task
        pictures = [_picture(label, _task_bars(card, task)), *_pictures(card, metrics)]
        yield tag("h3", label.removesuffix(" Score"))
        yield tag("div", pictures, class_="pictures")
        yield collapsible("Numbers of these pictures", _numbers(card, task, metrics))


def _is_drawn(row: TemplateRow, task: str) -> bool:
    """Whether a row of the template is a metric or a sub-score of the task, and not a detail."""
    start = {"metric": f"{task}.", "subscore": f"{task}/"}.get(row.kind)
    return start is not None and row.key.startswith(start) and not row.is_detail


def _task_bars(card: Scorecard, task: str) -> list[IntervalBar]:
    bars = []
    for model in card.models:
        score = model.tasks.get(task)
        if score is None or score.score is None:
            why = "not run" if score is None else score.status
            bars.append(IntervalBar(model.model, None, why=why))
        else:
            bars.append(IntervalBar(model.model, score.score, score.ci95))
    return bars


def _pictures(card: Scorecard, metrics: Sequence[TemplateRow]) -> Iterator[Html]:
    for row in metrics:
        found = [_metric(model, row) for model in card.models]
        unit = next((metric.unit for metric in found if metric is not None), "fraction")
        bars = [_bar(model, row) for model in card.models]
        is_other = any(metric is not None and metric.measured_by for metric in found)
        limits = [] if is_other else [band.limit for band in row.bands[:1]]
        mark = "[!] " if row.is_blocker else ""
        yield _picture(f"{mark}{row.label}", bars, unit, limits)


def _bar(model: ModelScore, row: TemplateRow) -> IntervalBar:
    metric, part = _metric(model, row), _subscore(model, row)
    if metric is not None:
        tone = TONES.get(metric.rating or "", "plain")
        return IntervalBar(model.model, metric.value, metric.ci95, tone)
    if part is not None:
        return IntervalBar(model.model, part.score, part.ci95)
    return IntervalBar(model.model, None)


def _picture(
    label: str, bars: Sequence[IntervalBar], unit: str = "fraction", limits: Sequence[float] = ()
) -> Html:
    return figure(draw_interval_bars(label, bars, unit, limits), tag("b", label))


def _numbers(card: Scorecard, task: str, metrics: Sequence[TemplateRow]) -> Html:
    headings = ["Metric", *(model_name(model.model) for model in card.models)]
    lines = []
    for row in metrics:
        cells = []
        for model in card.models:
            metric, part = _metric(model, row), _subscore(model, row)
            if metric is not None:
                cells.append(_number(metric.value, metric, metric.unit))
            else:
                cells.append("n/a" if part is None else _number(part.score, part, "fraction"))
        lines.append(table_row(row.label, cells))
    return table(headings, lines, f"Metrics of {task}")


def _number(value: float | None, score: MetricScore | SubScore, unit: str) -> str:
    assert value is not None
    interval = show_score_interval(score, unit) or "no interval"
    return f"{show(value, unit)} {interval}, n = {score.n}"
