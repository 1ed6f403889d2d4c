"""The scorecard as a small piece of HTML, for notebooks: the decision, the ranking, the table.

Every text is escaped; there are no scripts, no links and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from callscore.core.scorecard import Ranked, Scorecard, TemplateRow
from callscore.report.cells import Cell, Row, Tone, rows
from callscore.report.numbers import show, show_money
from callscore.report.safe_text import plain

COLOURS: Mapping[Tone, str] = {
    "good": "#1a7f37",
    "middling": "#9a6700",
    "bad": "#cf222e",
    "blocked": "#cf222e;font-weight:bold",
    "quiet": "#808080",
}
_TABLE = '<table style="border-collapse:collapse;margin:.5em 0">'
_LEFT = 'style="text-align:left"'


def card_html(card: Scorecard, template: Sequence[TemplateRow]) -> str:
    """The whole card as one element"""
    return "".join(["<div>", *_parts(card, template), "</div>"])


def _parts(card: Scorecard, template: Sequence[TemplateRow]) -> Iterator[str]:
    if card.estimate:
        yield "<p><em>Offline estimate: built-in rules, no judge.</em></p>"
    yield f"<p><strong>{_text(_decision(card.ranking))}</strong></p>"
    yield from _ranking(card.ranking)
    yield from _matrix(card, rows(card, template))
    if card.notes:
        told = "".join(f"<li>{_text(note, 500)}</li>" for note in card.notes)
        yield f"<details><summary>Notes</summary><ul>{told}</ul></details>"


def _decision(ranking: Sequence[Ranked]) -> str:
    first = [entry for entry in ranking if entry.rank == 1]
    if not first:
        reason = next((entry.reason for entry in ranking if entry.reason), None)
        return f"No model is ranked: {reason}" if reason else "No model is ranked"
    named = " and ".join(plain(entry.model) for entry in first)
    kept_out = sum(entry.rank is None for entry in ranking)
    others = f"; {kept_out} not ranked" if kept_out else ""
    return f"{named} ranks first of {len(ranking) - kept_out}{others}"


def _ranking(ranking: Sequence[Ranked]) -> Iterator[str]:
    headings = ("Rank", "Model", "Final score", "Cost per 1000 calls", "Why not ranked")
    yield _TABLE + _row([_head(heading) for heading in headings])
    for entry in ranking:
        cost = entry.cost_per_1000_calls
        texts = (
            "–" if entry.rank is None else str(entry.rank),
            entry.model,
            "n/a" if entry.final_score is None else show(entry.final_score),
            "unknown" if cost is None else show_money(cost),
            entry.reason or "",
        )
        yield _row([f"<td {_LEFT}>{_text(text)}</td>" for text in texts])
    yield "</table>"


def _matrix(card: Scorecard, filled: Sequence[Row]) -> Iterator[str]:
    yield _TABLE + _row([_head("Metric"), *(_head(model.model) for model in card.models)])
    for row in filled:
        label = _head(row.template.label)
        yield _row([label, *map(_cell, row.cells)])
    yield "</table>"


def _row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _head(text: str) -> str:
    return f"<th {_LEFT}>{_text(text)}</th>"


def _cell(cell: Cell) -> str:
    colour = COLOURS.get(cell.tone)
    style = f"text-align:left;color:{colour}" if colour else "text-align:left"
    why = f' title="{_text(cell.why, 500)}"' if cell.why else ""
    return f'<td style="{style}"{why}>{_text(cell.text)}</td>'


def _text(text: str, longest: int = 200) -> str:
    """Text from outside: one line, nothing that is markup"""
    return escape(plain(text, longest))
