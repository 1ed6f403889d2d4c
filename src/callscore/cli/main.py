"""The `callscore` command. Each sub-command has its own file, imported on demand."""

from __future__ import annotations

import errno
import importlib
import io
import keyword
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from types import TracebackType

import click

from callscore.cli.console import ask_at_terminal, ignore_broken_pipe, say
from callscore.cli.fast_exit import INTERRUPTED, exit_at_once
from callscore.core.consent import ask_user_with
from callscore.core.errors import CallscoreError, StoreError, nearest
from callscore.core.gc_policy import freeze_gc, relaxed_gc
from callscore.core.version import __version__

COMMANDS: Mapping[str, str] = {
    "demo": "Score the bundled samples of both suites, offline.",
    "run": "Call models, store every reply, print the scores.",
    "work": "Work on a run that another machine has started (PostgreSQL).",
    "runs": "List runs with status, coverage and cost.",
    "batch": "List and cancel jobs at batch APIs.",
    "serve": "Show the runs of a store in the browser: compare, look, label, review.",
    "compare": "Compare two models call by call.",
    "plan": "Calculate how many calls a decision needs, and their cost.",
    "baseline": "Save the values of a run as a baseline for gates of later runs.",
    "purge": "Delete stored runs and their replies.",
    "grant": "Give a user of a PostgreSQL store a role: writer, reviewer, reader.",
    "score": "Score stored model outputs against their cases.",
    "report": "Write a report of a stored run or a scorecard: HTML, tables, JUnit …",
    "query": "Query a run with SQL: cases, replies, verdicts, results, metrics.",
    "verify": "Recompute every score of a dossier, offline, and list differences.",
    "judge": "Test a judge, and compare it with people.",
    "verdicts": "Write what people decided in the app as a file of verdicts.",
    "orchestration": "Score recorded agent runs: plans, tool calls, rejections.",
    "import": "Import transcripts, forms and data sets of other systems.",
    "sample": "Select calls to label: at random, by kind, or where models disagree.",
    "annotate": "Label calls in the terminal or in a spreadsheet.",
    "redact": "Replace personal data in files with placeholders.",
    "init": "Write an eval file by answering a few questions, and test it.",
    "schema": "Print the JSON schema of eval files, for editors.",
    "prompt": "Show exactly what a model is sent for a case.",
    "validate": "Check case files; list every problem with file, line and field.",
}
CRASHED = 70
SOON_S = 0.01
"""When an interrupt that was ignored is raised again."""


class SignalledInterrupt(KeyboardInterrupt):
    """A signal asked the command to end.

    A class of its own: after a plain KeyboardInterrupt inside `exec("…")`, as in the making of a
    named tuple, CPython kills the process by SIGINT at its end, whatever its exit code.
    """


class LazyGroup(click.Group):
    """A group that imports a command only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of this file."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of this name; its command has the same name."""
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"callscore.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of this name; the error for another one names the nearest."""
        near = None if args[0] in COMMANDS else nearest(args[0], COMMANDS)
        if near is not None:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a closed pipe is not an error."""
        with ignore_broken_pipe():
            return super().invoke(ctx)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from their one-line summaries, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="callscore")
def callscore() -> None:
    """Which LLM to put on your calls, what it will cost, and whether the answer can be trusted.

    Callscore evaluates language models on contact-centre work: QA forms, configured entities,
    sentiment, summary and emotion, translation; plans and tool calls. It works offline and sends
    data only to the models, judges and embedders that you configure.

    \b
    Exit codes: 0 done · 1 a gate failed · 2 usage, config or data error
                3 inconclusive · 4 results cannot be stored
                70 a bug of Callscore · 130 interrupted

    Messages cite rules by number (C-115): docs/rules/index.md explains each of them.
    """


ONE_THREAD = "OPENBLAS_NUM_THREADS"
"""Matrices are small here: more threads of numpy cost more than they save."""


def main() -> None:
    """Run the command line; every outcome has its own exit code."""
    os.environ.setdefault(ONE_THREAD, "1")
    with ExitStack() as stack:
        stack.callback(freeze_gc)
        stack.push(report_crash)
        stack.enter_context(relaxed_gc())
        try:
            _run_command()
        except KeyboardInterrupt:  # while the error of the command is printed
            exit_at_once()


def report_crash(
    kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    """Exit with the code for a crash: Python's own would mean a failed gate."""
    if kind is None or error is None or not issubclass(kind, Exception):
        return
    sys.excepthook(kind, error, trace)
    _print_error(f"callscore {__version__} has crashed; please report it with the lines above")
    sys.exit(CRASHED)


def _run_command() -> None:
    """Run the command; an expected error becomes one message and its exit code."""
    if sys.stdout is None:  # closed by the parent process
        sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
        sys.unraisablehook = _raise_again
        with ask_user_with(ask_at_terminal), ExitStack() as stack:
            stack.push(_raise_interrupt)
            callscore(standalone_mode=False)
    except CallscoreError as error:
        _print_error(str(error))
        sys.exit(error.exit_code)
    except click.ClickException as error:
        shown = io.StringIO()  # it may quote the arguments
        error.show(file=shown)
        say(shown.getvalue().rstrip("\n"), err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _print_error("interrupted")
        sys.exit(INTERRUPTED)
    except OSError as error:  # files that are read or written by name have their own messages
        _print_error(_describe_os_error(error))
        sys.exit(StoreError.exit_code)


def _interrupt(*_: object) -> None:
    """Shut down in order; a second interrupt exits at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, exit_at_once)
    raise SignalledInterrupt


def _raise_again(ignored: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again if it came where Python ignores exceptions: in `__del__`, or in a
    callback of the import system. Without it, the interrupt would be lost.
    """
    if isinstance(ignored.exc_value, SignalledInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, SOON_S)
    else:
        sys.__unraisablehook__(ignored)


def _raise_interrupt(_: object, error: BaseException | None, __: object) -> None:
    """Raise the interrupt that caused an error: Python 3.11 wraps one in the body of a class."""
    cause = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    if cause is not None and cause is not error:
        raise cause


def _describe_os_error(error: OSError) -> str:
    """The system's message about a file."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit (ulimit -n) or lower `concurrency`"
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    if not where and error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        where = "output cannot be written: "
    return f"{where}{error.strerror or type(error).__name__}"


def _print_error(message: str) -> None:
    """One line on stderr; names from files are stripped of control characters (S-19)."""
    with suppress(BrokenPipeError):  # the exit code reports the error as well
        say(" ".join(f"error: {message}".split("\n")), err=True)
