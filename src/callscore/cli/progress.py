"""Progress of long work: a bar in a terminal, an occasional line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

QUIET_SECONDS = 1.0
PLAIN_SECONDS = 10.0
CHECK_EVERY = 256


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
