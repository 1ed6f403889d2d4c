"""The sections of a comparison: its conclusion, its rows, and two outputs as a diff."""

from __future__ import annotations

from callscore.core.comparison import Comparison, RowDifference
from callscore.report import comparison_text as cells
from callscore.report.details.text_diff import diff_texts
from callscore.report.html.first_screen import statement_list
from callscore.report.html.parts import chip, row, table
from callscore.report.markup import Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

HEADINGS = ("", "first", "second", "change", "95 % interval", "")


def conclusion_section(comparison: Comparison) -> Html:
    """What separates the two, which of them to take, and on how many calls that rests."""
    return join(
        tag("p", plain(comparison.conclusion, 500), class_="conclusion"),
        statement_list(cells.state_comparison(comparison)),
        tag("p", cells.describe_pairing(comparison), class_="note") if comparison.calls else None,
        tag("p", noise, class_="note") if (noise := noise_floor(comparison)) else None,
    )


def noise_floor(comparison: Comparison) -> str:
    """The smallest difference of the Final Score that this many calls show; empty if unknown."""
    final = next((each for each in comparison.rows if each.kind == "final"), None)
    if final is None or final.detectable is None:
        return ""
    calls = show_count(final.calls, comparison.unit)
    return (
        f"Noise floor: with {calls}, differences of the Final Score below {final.detectable:.3f} "
        "are likely to be missed."
    )


def rows_table(comparison: Comparison) -> Html:
    """The rows that are shown, with their intervals."""
    shown = [each for each in comparison.rows if cells.is_shown(each, all_rows=False)]
    return table(HEADINGS, [_row(each) for each in shown], "Differences")


def _row(each: RowDifference) -> Html:
    word = cells.direction_word(each)
    return row(
        each.label,
        [
            cells.show_value(each.first, each.unit),
            cells.show_value(each.second, each.unit),
            cells.show_difference(each.difference, each.unit),
            cells.show_row_interval(each),
            chip(word, cells.row_tone(each)) if word else "",
        ],
    )


def notes_list(comparison: Comparison) -> list[Html]:
    """What makes the two not comparable, and remarks."""
    notes = [*comparison.not_comparable, *comparison.notes]
    return [tag("p", plain(note, 400), class_="note") for note in notes]


def diff_section(first: str, second: str) -> Html:
    """Two texts as one: struck out what only the first has, marked what only the second has."""
    kinds = {"first": "del", "second": "ins"}
    parts = [
        tag(kinds[part.kind], part.text) if part.kind in kinds else part.text
        for part in diff_texts(first, second)
    ]
    return tag("div", parts, class_="diff", dir="auto", tabindex=0, role="group")
