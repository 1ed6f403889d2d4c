"""What a command writes to the terminal and asks there: safe text, progress, consent."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

_KEY_AND_VALUE = re.compile(r"( *\S+(?: \S+)* {3,})(\S.*)")
"""A line of a list: a name, a gap, and a text that may be long."""
LEAST_WIDTH = 40
TRUST_VARIABLE = "CALLSCORE_TRUST_CONFIG"


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines without control and bidi characters; long sentences are wrapped."""
    from callscore.report.safe_text import sanitize  # most commands print nothing before they end

    lines = list(map(sanitize, text.split("\n")))
    width = terminal_width(sys.stderr if err else sys.stdout)
    if width is not None and any(len(line) > width for line in lines):
        lines = [part for line in lines for part in _wrap(line, width)]
    click.echo("\n".join(lines), err=err)


def command_name() -> str:
    """How this command is typed here: `callscore`, or its path where a shell does not find it."""
    import shlex
    import shutil
    from pathlib import Path

    typed = Path(sys.argv[0])
    if typed.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m callscore"
    found = shutil.which("callscore")
    is_found = found is not None and Path(found).resolve() == typed.resolve()
    return "callscore" if is_found or typed.name != "callscore" else shlex.quote(str(typed))


def terminal_width(stream: IO[str]) -> int | None:
    """The width of the terminal, or COLUMNS; None if the text goes elsewhere."""
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    import shutil  # slow to import, and only needed for a terminal

    return max(LEAST_WIDTH, shutil.get_terminal_size().columns)


def _wrap(line: str, width: int) -> Iterator[str]:
    """A long sentence in several lines; rows of tables, commands and signatures stay whole."""
    from callscore.report.layout import StyledText, display_width, paragraph

    found = _KEY_AND_VALUE.fullmatch(line)
    text = line.lstrip()
    key, text = (found[1], found[2]) if found else (line[: len(line) - len(text)], text)
    if display_width(line) <= width or "  " in text or "signature" in key:
        yield line
        return
    for part in paragraph([StyledText(text)], max(LEAST_WIDTH, width - len(key))):
        yield key + "".join(piece.text for piece in part).rstrip()
        key = " " * len(key)


def ask_at_terminal(question: str) -> bool | None:
    """The user's answer; None if stdin or stderr is not a terminal."""
    if os.environ.get(TRUST_VARIABLE) == "1":
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from callscore.report.safe_text import sanitize

    return click.confirm(sanitize(question), err=True)


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Stop printing if the reader has closed the pipe; the exit code still counts."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


QUIET_SECONDS, PLAIN_SECONDS = 1.0, 10.0
"""Before the first line of progress; between two lines where the terminal draws no bar."""
CHECK_EVERY = 256
"""Cases between two looks at the clock."""


class ProgressLine:
    """Prints nothing for short work."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + QUIET_SECONDS
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Update the progress."""
        if done % CHECK_EVERY and done != total:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
        elif time.monotonic() >= self._next:
            self._show(done, total)

    def _show(self, done: int, total: int) -> None:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, completed=done, total=total)
            self._bar.start()
        else:
            sys.stderr.write(f"{self._what}: {done} of {total}\n")
            self._next = time.monotonic() + PLAIN_SECONDS

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
