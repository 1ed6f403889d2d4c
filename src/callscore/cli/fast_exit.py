"""Exit at once on an interrupt before a command has begun, or while it ends.

A module of its own: it must be imported before anything that takes time, such as click.
"""

from __future__ import annotations

import os

INTERRUPTED = 130


def exit_at_once(*_: object) -> None:
    """Exit with 130; stored replies are on disk, and unfinished files have no name yet."""
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)
