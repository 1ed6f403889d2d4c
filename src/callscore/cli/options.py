"""Options that several commands have: files to write, weights, redaction, consent, lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from callscore.core.consent import answer_yes, ask_user_with

if TYPE_CHECKING:
    from callscore.config.redaction import RedactOptions
    from callscore.store.address import StoreAddress


FILE = click.Path(path_type=Path)


class _Store(click.ParamType[Any]):
    name = "path"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> StoreAddress:
        from callscore.store.address import read_address  # `--help` opens no store

        return read_address(value) if isinstance(value, str) else value


STORE = _Store()
"""A store: a file, or the URL of a PostgreSQL database."""
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


def engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the choice of what computes; the command gets the address of a cluster, or None."""

    @click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Who works: this machine, or the nodes of a Ray cluster.",
    )
    @click.option(
        "--ray-address",
        metavar="HOST:PORT",
        help="The head of the Ray cluster; by default RAY_ADDRESS.",
    )
    @wraps(command)
    def call(*, engine: str, ray_address: str | None, **others: Any) -> None:
        cluster = None
        if engine == "ray":
            from callscore.processes.ray_cluster import check_token, cluster_address

            cluster = cluster_address(ray_address)
            check_token()
        elif ray_address is not None:
            raise click.UsageError("--ray-address: expected --engine ray with it")
        command(cluster=cluster, **others)

    return call


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


class VariadicCommand(click.Command):
    """A command whose `multiple` options also take all the values that follow them.

    If that would leave no positional argument, each option takes one value, so that `--outputs
    a.jsonl cases.jsonl` works too.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option's name before each of its further values."""
        variadic = {
            name
            for parameter in self.params
            if isinstance(parameter, click.Option) and parameter.multiple
            for name in parameter.opts
        }
        spread = _repeat_options(args, variadic)
        if spread != args and _count_positionals(spread, self) == 0:
            spread = args
        return super().parse_args(ctx, spread)


def _repeat_options(args: list[str], variadic: set[str]) -> list[str]:
    spread: list[str] = []
    current = ""
    expects_value = False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            current = arg if arg in variadic else ""
            expects_value = bool(current)
        elif current and not expects_value:
            spread.append(current)
        else:
            expects_value = False
        spread.append(arg)
    return spread


def _count_positionals(args: list[str], command: click.Command) -> int:
    flags = {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.is_flag
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    count = 0
    is_value = False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            is_value = arg not in flags and "=" not in arg
        else:
            count += not is_value
            is_value = False
    return count


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
