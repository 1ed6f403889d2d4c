"""Asks whether a config may send a key or calls to a new host, or files outside it (S-14)."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

import click

from callscore.core.consent import answer_yes, ask_user_with

VARIABLE = "CALLSCORE_TRUST_CONFIG"


def ask_at_terminal(question: str) -> bool | None:
    """The user's answer; None if stdin or stderr is not a terminal."""
    if os.environ.get(VARIABLE) == "1":
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from callscore.report.safe_text import sanitize

    return click.confirm(sanitize(question), err=True)


def _trust(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        stack = ExitStack()
        stack.enter_context(ask_user_with(answer_yes))
        context.call_on_close(stack.close)


trust_option = click.option(
    "--trust-config",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_trust,
    help="Allow the file to send keys and calls to new hosts, and files outside its project.",
)
