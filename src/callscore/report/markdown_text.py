"""Text from outside in Markdown: always in code spans, where nothing is markup, link or mention."""

from __future__ import annotations

import re

from callscore.report.safe_text import plain

_TICKS = re.compile("`+")


def code(text: str, longest: int = 80, *, in_table: bool = True) -> str:
    """One code span: no character of it is markup, and no name in it is notified.

    A bar would end the cell of a table, even between backticks.
    """
    shown = plain(text, longest) or " "
    fence = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    if shown.startswith("`") or shown.endswith("`"):
        shown = f" {shown} "
    return fence + (shown.replace("|", "\\|") if in_table else shown) + fence


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table; cells are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
