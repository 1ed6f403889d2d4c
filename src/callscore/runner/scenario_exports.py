"""Files of scenarios: replies in the public form, and trajectories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from callscore.core.errors import StoreError, UsageError
from callscore.core.scenarios import Json, ScenarioExport
from callscore.report.safe_text import escape_json
from callscore.report.trajectory_markdown import scenario_heading, step_markdown
from callscore.store.files import atomic_write

_UNSAFE = re.compile(r"[^\w.-]")


class OutputFolder:
    """`FOLDER/<model>/<language>/<scenario>_out.json`."""

    def __init__(self, folder: Path, models: Iterable[str]) -> None:
        """Refuse a folder that is not empty, before any work."""
        self._folder = folder
        self._names = _folder_names(models)
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise UsageError(f"{folder}: expected a new or an empty folder to export to")
        except OSError as error:
            raise StoreError(f"{folder}: cannot be read: {error.strerror}") from None
        self._written: set[Path] = set()
        self.left_out: list[str] = []
        """Scenarios without a file, and why: a missing reply would be ignored (Q18)."""

    def write(self, exported: ScenarioExport) -> None:
        """Write one scenario; one with a missing reply gets no file."""
        model, lang, scenario = exported.model, exported.lang, exported.scenario
        if exported.document is None:
            self.left_out.append(f"{model} {lang}/{scenario}: {exported.missing}")
            return
        folder = self._folder / self._names[model] / _safe(lang)
        file_name = folder / f"{_safe(scenario)}_out.json"
        if file_name in self._written:
            raise UsageError(
                f"two scenarios would be exported to {file_name}; expected other names"
            )
        self._written.add(file_name)
        text = json.dumps(exported.document, indent=2, ensure_ascii=False, default=str)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written: {error.strerror}") from None
        with atomic_write(file_name) as file:
            file.write(text.encode("utf-8", "backslashreplace"))


def output_directory(folder: Path | None, model: str) -> str:
    """`<folder>/<model>` as in result files; of an absolute folder only its name        C-121"""
    shown = "" if folder is None else folder.name if folder.is_absolute() else folder.as_posix()
    return _safe(model) if shown in ("", ".") else f"{shown}/{_safe(model)}"


def _folder_names(models: Iterable[str]) -> dict[str, str]:
    names = {model: _safe(model) for model in models}
    if len(set(names.values())) < len(names):
        raise UsageError("two models would be exported to one folder; expected other names")
    return names


def _safe(name: str) -> str:
    """A name as a path segment; never hidden, as the public evaluator skips hidden files."""
    return _UNSAFE.sub("_", name).lstrip(".") or "_"


def without_repeats(lines: Sequence[Json]) -> Iterator[Json]:
    """The steps of one scenario; each message is written once.

    `request.repeats` names an earlier step and run of the scenario, and how many messages from the
    beginning are the same: those come before `request.messages`.
    """
    earlier: list[Json] = []
    for line in lines:
        messages = line["request"]["messages"]
        best = max(earlier, key=lambda other: _shared(messages, other), default=None)
        shared = 0 if best is None else _shared(messages, best)
        earlier.append(line)
        if best is None or not shared:
            yield line
            continue
        repeats = {"case_id": best["case_id"], "run": best["run"], "messages": shared}
        request = {**line["request"], "repeats": repeats, "messages": messages[shared:]}
        yield {**line, "request": request}


def _shared(messages: Sequence[Json], other: Json) -> int:
    """How many messages from the beginning are those of another step."""
    found = 0
    for mine, theirs in zip(messages, other["request"]["messages"], strict=False):
        if mine != theirs:
            break
        found += 1
    return found


class Trajectories:
    """A file of trajectories: JSON lines, or Markdown if its name ends with `.md`."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file = file
        self._is_markdown = path.suffix.lower() == ".md"
        if self._is_markdown:
            self._file.write(b"# Trajectories\n\n")

    def write(self, lines: Sequence[Json]) -> None:
        """Every step of one scenario, run by run."""
        if not self._is_markdown:
            for compact in without_repeats(lines):
                self._file.write(escape_json(msgspec.json.encode(compact)) + b"\n")
            return
        seen: Sequence[Json] = ()
        run = 0
        for line in lines:
            if line["run"] != run:
                run, seen = line["run"], ()
                self._write(scenario_heading(line))
            self._write(step_markdown(line, seen))
            seen = line["request"]["messages"]

    def _write(self, text: str) -> None:
        self._file.write((text + "\n").encode("utf-8", "backslashreplace"))


@contextmanager
def trajectories_in(path: Path) -> Iterator[Trajectories]:
    """Open the file; it is written atomically."""
    with atomic_write(path) as file:
        yield Trajectories(path, file)
