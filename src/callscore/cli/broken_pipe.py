"""Printing for whoever still reads: `| head` is no failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Printing ends where nobody reads on; what comes after it, the exit code, still counts."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
