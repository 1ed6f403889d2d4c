"""Prints text of commands without control characters, wherever the text comes from (S-19)."""

from __future__ import annotations

import click


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines without control and bidi characters."""
    from callscore.report.safe_text import sanitize  # most commands print nothing before they end

    click.echo("\n".join(map(sanitize, text.split("\n"))), err=err)
