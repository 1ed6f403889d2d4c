"""What the commands share when they show a scorecard."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.core.errors import Inconclusive
from callscore.core.scorecard import Scorecard
from callscore.report.json import scorecard_json
from callscore.store.files import written_whole

if TYPE_CHECKING:
    from callscore.report.layout import Piece

STANDARD_OUTPUT = Path("-")
PIPE_WIDTH = 200
COLOURS = ("green", "yellow", "red")
ESTIMATE = "offline estimate"
"""What heads a card with values of built-in substitutes (C-125)."""


def a_file(target: Path | None) -> Path | None:
    """The target, unless it is the terminal."""
    return None if target == STANDARD_OUTPUT else target


def show_scorecard(card: Scorecard, title: str, json_file: Path | None) -> None:
    """Write the JSON where asked; print the card unless the JSON itself goes to the terminal."""
    if json_file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(scorecard_json(card))
        return
    if json_file is not None:
        with written_whole(json_file) as file:
            file.write(scorecard_json(card))
    print_card(card, title)


def print_card(card: Scorecard, title: str) -> None:
    """Print the scorecard to the terminal, wide enough for a file where there is no terminal."""
    from callscore.report.numbers import show_count
    from callscore.report.terminal import scorecard_lines
    from callscore.suites.catalog import OTHER_ORIGIN, template

    if card.estimate:
        title = f"{ESTIMATE} · {title}"
    if card.skipped_cases:
        title += f" · {show_count(card.skipped_cases, 'unusable case')} skipped"
    width = _terminal_width() if sys.stdout.isatty() else PIPE_WIDTH
    other_origin = any(OTHER_ORIGIN in model.tasks for model in card.models)
    lines = scorecard_lines(card, template(other_origin=other_origin), title, width)
    has_colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    shown = _styled if has_colours else _plain
    click.echo("\n".join("".join(map(shown, line)).rstrip() for line in lines))


def _terminal_width() -> int:
    import shutil  # with all its archives, and only a terminal has a width

    return shutil.get_terminal_size().columns


def _plain(piece: Piece) -> str:
    return piece.text


def _styled(piece: Piece) -> str:
    """A piece as a terminal shows it."""
    words = piece.style.split()
    if not words or not piece.text.strip():
        return piece.text
    colour = next((word for word in words if word in COLOURS), None)
    # None, not False: "not dim" is the same sign as "not bold", and would take that back.
    return click.style(
        piece.text, fg=colour, bold="bold" in words or None, dim="dim" in words or None
    )


def require_complete(card: Scorecard) -> None:
    """Raise where something that was to be scored has no conclusive result."""
    unfinished = [
        f"{model.model}: {task} {score.status}"
        for model in card.models
        for task, score in model.tasks.items()
        if score.status in ("incomplete", "error", "not_run")
    ]
    unfinished += [
        f"{model.model}: {task} rests on estimates of {', '.join(score.undecided_gates)}"
        for model in card.models
        for task, score in model.tasks.items()
        if score.status == "valid" and score.undecided_gates
    ]
    if unfinished:
        raise Inconclusive("not complete: " + "; ".join(unfinished))
