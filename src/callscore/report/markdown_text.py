"""Untrusted text in Markdown: in code spans, where nothing is markup, a link or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from callscore.report.decision_statements import Statement
from callscore.report.safe_text import plain

MAX_STATEMENT_LENGTH = 800

_TICKS = re.compile("`+")
_PLAIN = r"(?:[A-Za-z0-9 .,;()$%×·–—?'\"+-]|(?<= )/(?= )|[≈=]{0,2}\[[-0-9., –]+\](?!\())*"
_SENTENCE = re.compile(rf"(?:[A-Za-z]|[0-9]+(?= )){_PLAIN}(: {_PLAIN})*")
"""Words, numbers, intervals in brackets and punctuation. A colon must be followed by a space, and
a slash be between two, which excludes links; a number at the start too, which excludes lists."""


def code(text: str, max_length: int = 80, *, in_table: bool = True) -> str:
    """Return a code span: nothing in it is markup, and no name in it is notified.

    A bar is escaped, as it would end the cell of a table even between backticks.
    """
    shown = plain(text, max_length) or " "
    fence = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    if shown.startswith("`") or shown.endswith("`"):
        shown = f" {shown} "
    return fence + (shown.replace("|", "\\|") if in_table else shown) + fence


def prose(text: str, max_length: int = 500) -> str:
    """Return a sentence unchanged if nothing in it could be markup, else as a code span."""
    shown = plain(text, max_length)
    harmless = _SENTENCE.fullmatch(shown) is not None and "www." not in shown.lower()
    return shown if harmless else code(text, max_length, in_table=False)


def statement_items(statements: Iterable[Statement]) -> Iterator[str]:
    """Yield the statements of a decision as a list."""
    for statement in statements:
        head = prose(statement.keyword.capitalize(), 20)
        yield f"- **{head}** {prose(statement.text, MAX_STATEMENT_LENGTH)}"
    yield ""


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; cells are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
