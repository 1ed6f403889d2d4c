"""The two rankings for the terminal: the official one, and that with blocked calls as 0 (C-129)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.core.ranking import RankingLine, ZeroedRankingLine
from callscore.core.scorecard import FINAL, Scorecard
from callscore.report.cells import show_score_interval
from callscore.report.layout import GAP, Column, Line, StyledText, paragraph, table, table_width
from callscore.report.numbers import show, show_cost, show_interval
from callscore.report.safe_text import plain
from callscore.report.ties import show_rank

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
    title = f"Ranking{final} (a call is one telephone call with all its tasks)"
    yield from paragraph([StyledText(title, "bold")], width)
    headings = ["Rank", "Model", "Efficiency", "Final", "$ / 1000 calls", "Quality", "Pareto"]
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
    headings = ["Place", "Model", "Final", "$ / 1000 calls"]
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
