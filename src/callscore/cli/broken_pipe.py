"""A closed pipe (`| head`) is not an error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Stop printing if the reader has closed the pipe; the exit code still counts."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
