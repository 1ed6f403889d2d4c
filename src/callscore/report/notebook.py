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
from callscore.report.verdict import verdict

COLOURS: Mapping[Tone, str] = {
    "good": "#1a7f37",
    "middling": "#9a6700",
    "bad": "#cf222e",
    "blocked": "#cf222e;font-weight:bold",
    "quiet": "#808080",
}
LONGEST_STATEMENT = 500
_TABLE = '<table style="border-collapse:collapse;margin:.5em 0">'
_LEFT = 'style="text-align:left"'


def card_html(card: Scorecard, template: Sequence[TemplateRow]) -> str:
    """The whole card as one element"""
    return "".join(["<div>", *_parts(card, template), "</div>"])


def _parts(card: Scorecard, template: Sequence[TemplateRow]) -> Iterator[str]:
    if card.estimate:
        yield "<p><em>Offline estimate: built-in rules, no judge.</em></p>"
    yield from _decision(card)
    yield from _ranking(card.ranking)
    yield from _matrix(card, rows(card, template))
    if card.notes:
        told = "".join(f"<li>{_text(note, LONGEST_STATEMENT)}</li>" for note in card.notes)
        yield f"<details><summary>Notes</summary><ul>{told}</ul></details>"


def _decision(card: Scorecard) -> Iterator[str]:
    for statement in verdict(card):
        head = f"<strong>{_text(statement.head)}</strong> " if statement.head else ""
        told = _text(statement.text, LONGEST_STATEMENT)
        yield f"<div{_coloured(statement.tone)}>{head}{told}</div>"


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
    why = f' title="{_text(cell.why, LONGEST_STATEMENT)}"' if cell.why else ""
    return f"<td{_coloured(cell.tone)}{why}>{_text(cell.text)}</td>"


def _coloured(tone: Tone) -> str:
    colour = COLOURS.get(tone)
    return f' style="text-align:left;color:{colour}"' if colour else f" {_LEFT}"


def _text(text: str, longest: int = 200) -> str:
    """Text from outside: one line, nothing that is markup"""
    return escape(plain(text, longest))
