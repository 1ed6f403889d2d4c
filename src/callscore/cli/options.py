"""Options that several commands have: weights, settings, files to write, consent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any

import click

from callscore.core.consent import answer_yes, ask_user_with
from callscore.store.address import StoreAddress, read_address

FILE = click.Path(path_type=Path)


class _Store(click.ParamType[StoreAddress]):
    name = "path"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> StoreAddress:
        return value if isinstance(value, StoreAddress) else read_address(value)


STORE = _Store()
"""A store: a file, or the URL of a PostgreSQL database."""
VARIABLE = "CALLSCORE_TRUST_CONFIG"
_FILES = (
    click.option("--json", "json_file", type=FILE, help="Write the scores as JSON (- for stdout)."),
    click.option("--html", type=FILE, help="Write the report as one HTML file."),
    click.option("--parquet", type=FILE, help="Write cases and answers as tables to a new folder."),
    click.option("--results", type=FILE, help="Write one JSON line per case, model and run."),
    click.option(
        "--records", type=FILE, help="Write one JSON line per case, model, run and metric."
    ),
    click.option(
        "--save-verdicts",
        type=FILE,
        help="Write the verdicts of judge and embedder as a verdicts file.",
    ),
    click.option(
        "--open-items", type=FILE, help="Write the open items, to be filled in (JSONL or CSV)."
    ),
)


def output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for files; the command gets them as one `OutputPaths`, and `json_file`."""

    @wraps(command)
    def call(
        *, html: Path | None, results: Path | None, records: Path | None, **others: Any
    ) -> None:
        from callscore.app import OutputPaths
        from callscore.cli.output import path_unless_stdout

        targets = OutputPaths(
            results,
            records,
            others.pop("save_verdicts"),
            path_unless_stdout(others["json_file"]),
            others.pop("open_items"),
            html,
            others.pop("parquet"),
        )
        command(targets=targets, **others)

    for option in reversed(_FILES):
        call = option(call)
    return call


weights_option = click.option(
    "--weights", multiple=True, help="Weights of the tasks in the Final Score: qa=0.5,entity=0.5."
)
decide_option = click.option(
    "--decide",
    multiple=True,
    help="What the recommended model is chosen by: by=quality,margin=0.02,allow_fail=true.",
)


workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that compute; by default one per core for large data. No result depends on N.",
)


def parse_pairs(option: str, entries: tuple[str, ...]) -> Mapping[str, str]:
    """`name=value` entries, several of them separated by commas, as a mapping."""
    found: dict[str, str] = {}
    for entry in entries:
        for pair in entry.split(","):
            name, equals, value = pair.rpartition("=")
            if not equals or not name.strip():
                raise click.BadParameter(f"{pair!r}; expected NAME=VALUE", param_hint=option)
            if name.strip() in found:
                raise click.BadParameter(f"{name.strip()!r} is given twice", param_hint=option)
            found[name.strip()] = value.strip()
    return found


def parse_numbers(option: str, entries: tuple[str, ...]) -> Mapping[str, float]:
    """`name=number` entries as a mapping."""
    try:
        return {name: float(value) for name, value in parse_pairs(option, entries).items()}
    except ValueError as error:
        raise click.BadParameter(f"{error}; expected NAME=NUMBER", param_hint=option) from None


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
