"""What the commands share when they show a scorecard."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from callscore.core.errors import Inconclusive
from callscore.core.scorecard import Scorecard
from callscore.report.json import scorecard_json
from callscore.store.files import written_whole

STANDARD_OUTPUT = Path("-")
PIPE_WIDTH = 200
ESTIMATE = "offline estimate"
"""What heads a card with values of built-in substitutes (C-125)."""


def show_scorecard(card: Scorecard, title: str, json_file: Path | None) -> None:
    """Write the JSON where asked; print the card unless the JSON itself goes to the terminal."""
    if json_file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(scorecard_json(card))
        return
    if json_file is not None:
        with written_whole(json_file) as file:
            file.write(scorecard_json(card))
    print_card(card, title)


def load() -> None:
    """Import what printing a card takes: in time that would be spent waiting anyway."""
    for name in ("rich.console", "rich.table", "callscore.report.terminal"):
        importlib.import_module(name)


def print_card(card: Scorecard, title: str) -> None:
    """Print the scorecard to the terminal, wide enough for a file where there is no terminal."""
    from rich.console import Console

    from callscore.report.terminal import print_scorecard
    from callscore.suites.catalog import OTHER_ORIGIN, template

    if card.estimate:
        title = f"{ESTIMATE} · {title}"
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    other_origin = any(OTHER_ORIGIN in model.tasks for model in card.models)
    print_scorecard(console, card, template(other_origin=other_origin), title)


def require_complete(card: Scorecard) -> None:
    """Raise where something that was to be scored has no conclusive result."""
    unfinished = [
        f"{model.model}: {task} {score.status}"
        for model in card.models
        for task, score in model.tasks.items()
        if score.status in ("incomplete", "error", "not_run")
    ]
    if unfinished:
        raise Inconclusive("not complete: " + "; ".join(unfinished))
