"""A file with every step of a run of scenarios, for people or programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from callscore.core.scenarios import Json
from callscore.report.safe_text import escaped
from callscore.report.trajectory_markdown import heading, step_markdown
from callscore.store.files import atomic_write


class Trajectories:
    """A file of trajectories: JSON lines, or Markdown where its name ends with `.md`."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file = file
        self._is_markdown = path.suffix.lower() == ".md"
        if self._is_markdown:
            self._file.write(b"# Trajectories\n\n")

    def write(self, lines: Sequence[Json]) -> None:
        """Every step of one scenario, run by run."""
        seen: Sequence[Json] = ()
        run = 0
        for line in lines:
            if not self._is_markdown:
                self._file.write(escaped(msgspec.json.encode(line)) + b"\n")
                continue
            if line["run"] != run:
                run, seen = line["run"], ()
                self._write(heading(line))
            self._write(step_markdown(line, seen))
            seen = line["request"]["messages"]

    def _write(self, text: str) -> None:
        self._file.write((text + "\n").encode("utf-8", "backslashreplace"))


@contextmanager
def trajectories_in(path: Path) -> Iterator[Trajectories]:
    """The file, which appears when all of it is written."""
    with atomic_write(path) as file:
        yield Trajectories(path, file)
