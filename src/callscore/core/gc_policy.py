"""How often the cyclic garbage collector runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 10_000
"""Collect after this many new objects."""


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect less often: a run creates many short-lived objects and hardly any cycles."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def freeze_gc() -> None:
    """Before the process exits: do not search the remaining objects for cycles.

    DuckDB lists its remaining objects on stderr, as leaks.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
