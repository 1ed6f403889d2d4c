"""How often Python looks for objects that only hold each other."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 10_000
"""So many new objects, and Python looks for unused cycles among them."""


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """A run makes many objects that soon go by themselves, and hardly a cycle to be looked for."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def freeze_gc() -> None:
    """Before the end: what is left goes with the process, and is not searched for cycles first."""
    gc.freeze()
