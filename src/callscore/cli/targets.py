"""Files that a command writes at its end; that it can is seen at its beginning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

STANDARD_OUTPUT = Path("-")


class TargetFile(click.Path):
    """A file to be written. A folder that takes none is refused before anything is paid (R-05)."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; StoreError where nothing can be written there."""
        from callscore.store.files import check_can_be_written

        path = Path(str(super().convert(value, param, ctx)))
        if path != STANDARD_OUTPUT:
            check_can_be_written(path)
        return path


TARGET = TargetFile()
