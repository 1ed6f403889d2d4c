"""The scorecard in a terminal: models side by side, then blockers, ranking and footnotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callscore.core.scorecard import Judging, Ranked, Scorecard, TemplateRow
from callscore.report.cells import Cell, Row, Tone, rows
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

STYLES: Mapping[Tone, str] = {
    "plain": "",
    "good": "green",
    "middling": "yellow",
    "bad": "red",
    "blocked": "bold red",
    "quiet": "dim",
}
CASES_SHOWN = 5


class Layout(NamedTuple):
    """How wide the columns are, and whether ratings are written out."""

    threshold: int
    model: int
    is_brief: bool


LABEL_WIDTH = 41
WIDE = Layout(threshold=30, model=27, is_brief=False)
NARROW = Layout(threshold=14, model=12, is_brief=True)


def print_scorecard(
    console: Console, card: Scorecard, template: Sequence[TemplateRow], title: str
) -> None:
    """Print the whole scorecard; as many models a table as the width allows."""
    filled = rows(card, template)
    layout = WIDE if _room(console, WIDE) >= len(card.models) else NARROW
    room = _room(console, layout)
    notes = _Footnotes()
    for start in range(0, max(1, len(card.models)), room):
        table = _table(card, title, layout, slice(start, start + room))
        _fill(table, filled, layout, slice(start, start + room), notes)
        console.print(table)
    if layout.is_brief:
        console.print(_text("G good · A acceptable · W warning · F fail · B blocker", "dim"))
    _print_footnotes(console, notes)
    _print_blockers(console, card)
    _print_ranking(console, card)
    if card.judging is not None:
        console.print(_text(_judging(card.judging), "dim"), soft_wrap=True)
    for note in card.notes:
        console.print(_text(f"note: {plain(note)}", "yellow"))
    console.print(_text(f"signature  {card.signature}", "dim"), soft_wrap=True)


def _judging(judging: Judging) -> str:
    """Who judged, and what it took; never part of a model's cost."""
    parts = [f"judge  {judging.judge or 'none'}", f"{show_count(judging.items, 'item')}"]
    if judging.requests:
        parts.append(show_count(judging.requests, "request"))
        tokens = judging.input_tokens + judging.output_tokens
        parts.append(f"{tokens} tokens")
        cost = "unknown" if judging.cost_usd is None else show_money(judging.cost_usd)
        parts.append(f"cost {cost}, apart from the models' own")
    if judging.failed:
        parts.append(f"{show_count(judging.failed, 'answer')} with items that got no verdict")
    if judging.disputed:
        parts.append(f"{show_count(judging.disputed, 'item')} disputed")
    if judging.flip_rate is not None:
        parts.append(f"{100 * judging.flip_rate:.1f} % of {judging.rejudged} items flipped")
    for flag, number in judging.flags.items():
        parts.append(f"{flag} in {show_count(number, 'answer')}")
    if judging.embedder:
        parts.append(f"embedder {judging.embedder} ({judging.similarities} comparisons)")
    return " · ".join(plain(part, 200) for part in parts)


def _room(console: Console, layout: Layout) -> int:
    """How many models fit side by side."""
    return max(1, (console.width - LABEL_WIDTH - layout.threshold) // layout.model)


class _Footnotes:
    """Reasons behind n/a, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, cell: Cell, is_brief: bool) -> str:
        text = cell.brief if is_brief and cell.brief else cell.text
        if not cell.why:
            return text
        if cell.why not in self.reasons:
            self.reasons.append(cell.why)
        return f"{text} [{self.reasons.index(cell.why) + 1}]"


def _text(content: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(content, style=style)


def _table(card: Scorecard, title: str, layout: Layout, shown: slice) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=_text(title, "bold"), box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("Metric", no_wrap=True)
    for model in card.models[shown]:
        table.add_column(_text(plain(model.model, 40)), min_width=layout.model - 3, overflow="fold")
    table.add_column("Threshold", max_width=layout.threshold, overflow="fold")
    return table


def _fill(
    table: Table, filled: Sequence[Row], layout: Layout, shown: slice, notes: _Footnotes
) -> None:
    for row in filled:
        kind = row.template.kind
        if kind == "section":
            table.add_section()
        strong = "bold" if kind in ("section", "task", "final_a", "final_b", "benchmarks") else ""
        mark = "[!] " if row.template.is_blocker else "    " if kind == "metric" else ""
        cells = [
            _text(notes.mark(cell, layout.is_brief), f"{strong} {STYLES[cell.tone]}".strip())
            for cell in row.cells[shown]
        ]
        threshold = _text(row.template.threshold, "dim")
        table.add_row(_text(mark + row.template.label, strong), *cells, threshold)


def _print_footnotes(console: Console, notes: _Footnotes) -> None:
    for number, reason in enumerate(notes.reasons, start=1):
        console.print(_text(f"[{number}] {reason}", "dim"))
    if any("await a verdict" in reason for reason in notes.reasons):
        console.print(
            _text(
                "    Judged rows need verdicts: --verdicts FILE (people), --judge FILE.yaml "
                "(models), or --judge offline (an estimate).",
                "dim",
            )
        )
    console.print()


def _print_blockers(console: Console, card: Scorecard) -> None:
    for model in card.models:
        for blocker in model.blockers:
            cases = ", ".join(plain(case, 60) for case in blocker.cases[:CASES_SHOWN])
            more = len(blocker.cases) - CASES_SHOWN
            console.print(
                _text(f"BLOCKER {plain(model.model, 40)}: ", "bold red")
                + _text(
                    f"{blocker.metric} is {blocker.value:.6g}, the limit is {blocker.limit:g}; "
                    f"calls: {cases or 'none alone'}" + (f" and {more} more" if more > 0 else "")
                )
            )
    if any(model.blockers for model in card.models):
        console.print()


def _print_ranking(console: Console, card: Scorecard) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        title=_text("Cost-adjusted rank and quality rank", "bold"),
        box=SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
    )
    for heading in ("Rank", "Model", "Efficiency", "Final", "$ / 1000 calls", "Quality", "Pareto"):
        table.add_column(heading, justify="left" if heading == "Model" else "right")
    table.add_column("")
    for entry in card.ranking:
        table.add_row(*_ranking_cells(entry))
    console.print(table)
    if any(entry.cost_status == "zero" for entry in card.ranking):
        console.print(
            _text("A free model ranks first by rule; enter its real cost with --cost.", "dim")
        )


def _ranking_cells(entry: Ranked) -> list[Text]:
    return [
        _text("—" if entry.rank is None else str(entry.rank)),
        _text(plain(entry.model, 40)),
        _text("" if entry.efficiency is None else show(entry.efficiency)),
        _text("" if entry.final_score is None else show(entry.final_score)),
        _text(
            "unknown"
            if entry.cost_per_1000_calls is None
            else show_money(entry.cost_per_1000_calls)
        ),
        _text("" if entry.quality_rank is None else str(entry.quality_rank)),
        _text("yes" if entry.pareto else ""),
        _text("estimate" if entry.estimate else entry.reason or "", "dim"),
    ]
