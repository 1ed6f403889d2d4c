"""The statements of a decision for the terminal, each indented after its word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from callscore.report.cell import Tone
from callscore.report.decision import Statement
from callscore.report.layout import Line, StyledText, paragraph

STYLES: Mapping[Tone, str] = {
    "plain": "",
    "good": "green",
    "middling": "yellow",
    "bad": "red",
    "blocked": "bold red",
    "quiet": "dim",
}
KEYWORD_WIDTH = 17
"""The indentation of the sentences."""
NARROWEST = 20


def statement_lines(statements: Sequence[Statement], width: int) -> Iterator[Line]:
    """Yield the lines of all statements."""
    for statement in statements:
        style = STYLES[statement.tone]
        keyword = StyledText(f"{statement.keyword:<{KEYWORD_WIDTH}}", f"bold {style}".strip())
        indent = StyledText(" " * KEYWORD_WIDTH)
        sentences = [StyledText(statement.text, "dim" if statement.tone == "quiet" else "")]
        for number, line in enumerate(paragraph(sentences, max(NARROWEST, width - KEYWORD_WIDTH))):
            yield [indent if number else keyword, *line]
