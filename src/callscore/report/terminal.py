"""The scorecard for the terminal: decision, ranking, template, blockers and footnotes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from callscore.core.measure import GateClaim
from callscore.core.scorecard import (
    FINAL,
    Blocker,
    RankingLine,
    Scorecard,
    ZeroedRankingLine,
)
from callscore.report.cells import (
    ESTIMATE,
    UNCALIBRATED,
    Cell,
    ScorecardRow,
    scorecard_rows,
    show_score_interval,
    tasks_not_run,
)
from callscore.report.decision_lines import STYLES, statement_lines
from callscore.report.decision_statements import (
    judging_text,
    sampled_unit,
    show_rank,
    state_decision,
)
from callscore.report.layout import (
    GAP,
    Column,
    Line,
    StyledText,
    display_width,
    paragraph,
    table,
    table_width,
)
from callscore.report.numbers import show, show_cost, show_count, show_interval
from callscore.report.safe_text import plain
from callscore.scorecard.template import TemplateRow

OBSTACLES_SHOWN = 2
MIN_RANKING_WIDTH = 6
"""The minimum width of a column in the ranking; a longer heading is split."""
ROOM_FOR_INTERVALS = 100
"""From this width on, rankings have intervals."""
MIN_REASON_WIDTH = 30
"""With less room than this next to a ranking, reasons for a missing rank are lines below it."""


def ranking_lines(card: Scorecard, width: int) -> Iterator[Line]:
    """Yield the official ranking; a model without a rank has the reason."""
    final = "" if card.final_heading == FINAL else f", {plain(card.final_heading, 80)}"
    unit = sampled_unit(card)
    about = " (a call is one telephone call with all its tasks)" if unit == "call" else ""
    title = f"Ranking{final}{about}"
    yield from paragraph([StyledText(title, "bold")], width)
    headings = ["Rank", "Model", "Efficiency", "Final", f"$ / 1000 {unit}s", "Quality", "Pareto"]
    entries = [_ranking_cells(entry) for entry in card.ranking]
    if _has_room_for_intervals(card, width):
        finals = {model.model: show_score_interval(model.final) for model in card.models}
        intervals = [finals.get(entry.model, "") for entry in card.ranking]
        entries = _with_interval(headings, entries, intervals)
    yield from _with_reasons(headings, entries, width)
    if any(entry.rank and entry.cost_status == "zero" for entry in card.ranking):
        hint = "A free model ranks first by rule; enter its real cost with --cost."
        yield [StyledText(hint, "dim")]
    yield []


def zeroed_ranking_lines(card: Scorecard, width: int) -> Iterator[Line]:
    """Yield the ranking with blocked calls counted as 0, if a model does not pass        C-129"""
    if not card.zeroed_ranking:
        return
    tasks = {tuple(entry.tasks) for entry in card.zeroed_ranking if entry.zeroed_final is not None}
    over = f", over {', '.join(tasks.pop())}" if len(tasks) == 1 else ""
    yield from paragraph(
        [StyledText(f"Not official: blocked calls counted as 0{over}", "bold")], width
    )
    headings = ["Place", "Model", "Final", f"$ / 1000 {sampled_unit(card)}s"]
    entries = [_zeroed_cells(entry) for entry in card.zeroed_ranking]
    if _has_room_for_intervals(card, width):
        few = {model.model for model in card.models if model.final.few_calls}
        intervals = [
            show_interval(entry.ci95, few=entry.model in few) if entry.ci95 else ""
            for entry in card.zeroed_ranking
        ]
        entries = _with_interval(headings, entries, intervals)
    yield from _with_reasons(headings, entries, width)
    yield []


def _has_room_for_intervals(card: Scorecard, width: int) -> bool:
    return card.intervals is not None and width >= ROOM_FOR_INTERVALS


def _with_interval(
    headings: list[str], entries: Sequence[Line], intervals: Sequence[str]
) -> list[Line]:
    """Insert a column with intervals after the Final Score."""
    place = headings.index("Final") + 1
    headings.insert(place, "95 %")
    return [
        [*cells[:place], StyledText(interval, "dim"), *cells[place:]]
        for cells, interval in zip(entries, intervals, strict=True)
    ]


def _zeroed_cells(entry: ZeroedRankingLine) -> Line:
    more = len(entry.obstacles) - OBSTACLES_SHOWN
    sentence = "; ".join(entry.obstacles[:OBSTACLES_SHOWN]) + (f"; {more} more" if more > 0 else "")
    mark = " (estimate)" if entry.estimate else ""
    return [
        StyledText(show_rank(entry.rank, entry.band) or "—"),
        StyledText(plain(entry.model, 40)),
        StyledText("" if entry.zeroed_final is None else show(entry.zeroed_final) + mark),
        StyledText(show_cost(entry.cost_per_1000_calls)),
        StyledText(sentence, "dim"),
    ]


def _with_reasons(headings: Sequence[str], entries: Sequence[Line], width: int) -> Iterator[Line]:
    """Yield a ranking; remarks on a model are a column if there is room, else lines below."""
    columns = [
        Column(name, min_width=min(len(name), MIN_RANKING_WIDTH), is_number=name != "Model")
        for name in headings
    ]
    rows = [cells[:-1] for cells in entries]
    if table_width(columns, rows) + GAP + MIN_REASON_WIDTH <= width:
        yield from table([*columns, Column("")], entries, width)
        return
    yield from table(columns, rows, width)
    for cells in entries:
        if cells[-1].text:
            sentence = StyledText(f"{cells[1].text}: {cells[-1].text}", cells[-1].style)
            yield from paragraph([sentence], width)


def _ranking_cells(entry: RankingLine) -> Line:
    return [
        StyledText(show_rank(entry.rank, entry.rank_band) or "—"),
        StyledText(plain(entry.model, 40)),
        StyledText("" if entry.efficiency is None else show(entry.efficiency)),
        StyledText("" if entry.final_score is None else show(entry.final_score)),
        StyledText(show_cost(entry.cost_per_1000_calls)),
        StyledText(show_rank(entry.quality_rank, entry.quality_band)),
        StyledText("yes" if entry.pareto else ""),
        StyledText("estimate" if entry.estimate else entry.reason or "", "dim"),
    ]


INDENTS: Mapping[str, str] = {"metric": " " * 4, "figure": " " * 6, "corrected": " " * 6}
CASES_SHOWN = 5


class TableLayout(NamedTuple):
    """The widths of columns, whether ratings are abbreviated, and whether intervals are shown."""

    threshold: int
    model: int
    is_brief: bool
    intervals: bool
    is_whole: bool = False
    """Whether thresholds are not wrapped."""


LABEL_WIDTH = 41
WHOLE_THRESHOLDS = 200
"""From this width on, thresholds are not wrapped."""
MIN_THRESHOLD_WIDTH = 10
LAYOUTS = (
    TableLayout(threshold=22, model=32, is_brief=False, intervals=True),
    TableLayout(threshold=14, model=27, is_brief=True, intervals=True),
    TableLayout(threshold=30, model=27, is_brief=False, intervals=False),
    TableLayout(threshold=14, model=12, is_brief=True, intervals=False),
)
"""The first layout with room for all models is used; the last splits them into several tables."""


def scorecard_lines(
    card: Scorecard,
    template: Sequence[TemplateRow],
    title: str,
    width: int,
    *,
    all_rows: bool = False,
    repeat_decision: bool = True,
) -> Iterator[Line]:
    """Yield the decision, the ranking, the template, the details, and the decision again."""
    yield [StyledText(title, "bold")]
    yield from decision_lines(card, width)
    yield []
    yield from ranking_lines(card, width)
    yield from zeroed_ranking_lines(card, width)
    yield from _template(card, template, width, all_rows=all_rows)
    yield from _blockers(card, width)
    if card.judging is not None:
        yield from paragraph([StyledText(judging_text(card.judging), "dim")], width)
    for note in card.notes:
        yield from paragraph([StyledText(f"note: {plain(note)}", "yellow")], width)
    yield [StyledText(f"signature  {card.signature}", "dim")]
    if repeat_decision:
        yield []
        yield from decision_lines(card, width)


def decision_lines(card: Scorecard, width: int) -> Iterator[Line]:
    """Yield the statements of the decision, each indented after its word."""
    yield from statement_lines(state_decision(card), width)


def _template(
    card: Scorecard, template: Sequence[TemplateRow], width: int, *, all_rows: bool
) -> Iterator[Line]:
    """Yield the template of the framework, with as many models per table as fit."""
    filled = scorecard_rows(card, template, rows="all" if all_rows else "usual")
    widest = max((display_width(row.template.threshold) for row in filled), default=0)
    layout = _layout(card, width, widest, all_rows=all_rows)
    room = max(1, _room(width, layout))
    notes = _Footnotes()
    for start in range(0, max(1, len(card.models)), room):
        visible = slice(start, start + room)
        columns = _columns(card, layout, visible, width)
        yield from table(columns, _body(filled, layout, visible, notes), width)
        yield []
    missing = tasks_not_run(card, template)
    if missing and not all_rows:
        yield from paragraph([StyledText(f"Not run: {', '.join(missing)}.", "dim")], width)
    if layout.is_brief:
        legend = "G good · A acceptable · P pass · W warning · F fail · B blocker"
        legend += f" · {ESTIMATE} estimate" if card.estimate else ""
        if _has_uncalibrated(card):
            legend += f" · {UNCALIBRATED} uncalibrated judge"
        yield from paragraph([StyledText(legend, "dim")], width)
    if layout.intervals or width >= ROOM_FOR_INTERVALS:
        yield from _about_intervals(card, width)
    if all_rows:
        yield from _claims(card, template, width)
    has_judge = card.judging is not None and card.judging.judge is not None
    yield from _footnotes(notes, width, has_judge=has_judge)


def _has_uncalibrated(card: Scorecard) -> bool:
    tasks = [task for model in card.models for task in model.tasks.values()]
    return any(metric.uncalibrated for task in tasks for metric in task.metrics.values())


def _room(width: int, layout: TableLayout) -> int:
    """Return how many models fit side by side."""
    return (width - LABEL_WIDTH - layout.threshold) // layout.model


def _layout(card: Scorecard, width: int, widest: int, *, all_rows: bool) -> TableLayout:
    """Return the widest layout with room for all models; details always have intervals.

    `widest` is the width of the longest threshold.
    """
    known = [layout for layout in LAYOUTS if card.intervals is not None or not layout.intervals]
    if width >= WHOLE_THRESHOLDS:
        known = [layout._replace(threshold=widest + GAP, is_whole=True) for layout in known]
    if all_rows and card.intervals is not None:
        known = [layout for layout in known if layout.intervals]
    fitting = (layout for layout in known if _room(width, layout) >= len(card.models))
    return next(fitting, known[-1])


def _about_intervals(card: Scorecard, width: int) -> Iterator[Line]:
    """Explain the brackets        STATS §8"""
    method = card.intervals
    if method is None:
        return
    unit = sampled_unit(card)
    sentence = (
        f"[ ] {100 * method.level:g} % intervals for {method.about}, with these "
        f"{show_count(method.calls, unit)} as a sample; "
        f"≈ fewer than 15 {unit}s; = all {unit}s agree, interval by the rule of three"
    )
    yield from paragraph([StyledText(sentence, "dim")], width)


def _claims(card: Scorecard, template: Sequence[TemplateRow], width: int) -> Iterator[Line]:
    """Name the rate gates that hold, but that this few calls cannot demonstrate        STATS §2"""
    labels = {row.key: row.label for row in template if row.kind == "metric"}
    models_by_claim: dict[str, list[str]] = {}
    for model in card.models:
        metrics = [entry for task in model.tasks.values() for entry in task.metrics.items()]
        for slug, metric in metrics:
            if metric.claim is not None and not metric.claim.holds and slug in labels:
                sentence = f"{labels[slug]}: {_not_demonstrable(metric.claim, metric.unit)}"
                models_by_claim.setdefault(sentence, []).append(plain(model.model, 40))
    for sentence, models in models_by_claim.items():
        yield from paragraph([StyledText(f"{sentence} ({', '.join(models)})", "dim")], width)


def _not_demonstrable(claim: GateClaim, unit: str) -> str:
    errors = f", {claim.errors} of them with an error" if claim.errors else ""
    return (
        f"the limit {show(claim.limit, unit)} is not demonstrable with "
        f"{show_count(claim.n, 'call')}{errors}: at least {claim.needed:,} without "
        f"{'further errors' if claim.errors else 'errors'} are needed"
    )


class _Footnotes:
    """The reasons for n/a and remarks on values, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, cell: Cell, is_brief: bool, *, intervals: bool = False) -> str:
        text = cell.brief if is_brief and cell.brief else cell.text
        if intervals and cell.interval:
            text = f"{text} {cell.interval}"
        reason = cell.why or cell.remark
        if not reason:
            return text
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"{text} [{self.reasons.index(reason) + 1}]"


def _columns(card: Scorecard, layout: TableLayout, visible: slice, width: int) -> list[Column]:
    """Return the columns; labels are wrapped if they would take more than half of the width."""
    models = [plain(model.model, 40) for model in card.models[visible]]
    return [
        Column("Metric", min_width=min(LABEL_WIDTH - 2, width // 2)),
        *(Column(model, min_width=layout.model - 3) for model in models),
        Column(
            "Threshold",
            min_width=layout.threshold - GAP if layout.is_whole else MIN_THRESHOLD_WIDTH,
            max_width=layout.threshold,
        ),
    ]


def _body(
    filled: Sequence[ScorecardRow], layout: TableLayout, visible: slice, notes: _Footnotes
) -> list[Line]:
    """Return the rows of the template, with an empty row before each section but the first."""
    lines: list[Line] = []
    for row in filled:
        kind = row.template.kind
        if kind == "section" and lines:
            lines.append([])
        strong = "bold" if kind in ("section", "task", "final_a", "final_b", "benchmarks") else ""
        mark = "[!] " if row.template.is_blocker else INDENTS.get(kind, "")
        remark = row.template.remark if any(not cell.why for cell in row.cells[visible]) else ""
        label = notes.mark(Cell(row.template.label, why=remark), is_brief=False)
        cells = [
            StyledText(
                notes.mark(cell, layout.is_brief, intervals=layout.intervals),
                f"{strong} {STYLES[cell.tone]}".strip(),
            )
            for cell in row.cells[visible]
        ]
        lines.append(
            [StyledText(mark + label, strong), *cells, StyledText(row.template.threshold, "dim")]
        )
    return lines


def _footnotes(notes: _Footnotes, width: int, *, has_judge: bool) -> Iterator[Line]:
    for number, reason in enumerate(notes.reasons, start=1):
        yield from paragraph([StyledText(f"[{number}] {reason}", "dim")], width)
    if any("await a verdict" in reason for reason in notes.reasons):
        hint = "    Judged rows need verdicts: --verdicts FILE (people), --judge FILE.yaml (models)"
        other = ", or --judge offline (an estimate)."
        hint += ". The judge could not decide them." if has_judge else other
        yield from paragraph([StyledText(hint, "dim")], width)
    yield []


def _blockers(card: Scorecard, width: int) -> Iterator[Line]:
    for model in card.models:
        for blocker in model.blockers:
            cases = ", ".join(plain(case, 60) for case in blocker.cases[:CASES_SHOWN])
            more = len(blocker.cases) - CASES_SHOWN
            sentence = (
                f"{blocker.metric} is {_breach(blocker)}; calls: {cases or 'no single one'}"
                + (f" and {more} more" if more > 0 else "")
            )
            name = StyledText(f"BLOCKER {plain(model.model, 40)}: ", "bold red")
            yield from paragraph([name, StyledText(sentence)], width)
    if any(model.blockers for model in card.models):
        yield []


def _breach(blocker: Blocker) -> str:
    """Return the value that breached a gate, and the limit."""
    calls = ""
    if blocker.share_of_runs is not None:
        calls = f" in {show(100 * blocker.share_of_runs, 'percent')} of all runs"
    limit = "blocked at" if blocker.value == blocker.limit else "the limit is"
    return f"{blocker.value:.6g}{calls}, {limit} {blocker.limit:g}"
