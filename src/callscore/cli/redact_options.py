"""`--redact` and `--names`, for every command that reads calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from callscore.config.redaction import RedactOptions

Command = TypeVar("Command", bound=Callable[..., Any])


def redact_options(command: Command) -> Command:
    """Add the options of redaction to a command."""
    redact = click.option(
        "--redact",
        is_flag=True,
        help="Replace emails, telephone, card, bank and identity numbers with placeholders first.",
    )
    names = click.option(
        "--names",
        type=click.Path(path_type=Path),
        help="With --redact: a file of names to replace, one per line.",
    )
    return redact(names(command))


def redaction_choice(redact: bool, names: Path | None) -> RedactOptions | None:
    """The options of redaction; None if it was not requested."""
    if not redact:
        if names is not None:
            from callscore.core.errors import UsageError

            raise UsageError("--names needs --redact")
        return None
    from callscore.config.redaction import options_with_names

    return options_with_names(names)
