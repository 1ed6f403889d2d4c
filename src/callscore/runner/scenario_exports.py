"""Files of scenarios: replies in the public form, and trajectories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from callscore.core.errors import StoreError, UsageError
from callscore.core.scenarios import Json, ScenarioExport
from callscore.report.safe_text import escape_json
from callscore.report.trajectory_markdown import scenario_heading, step_markdown
from callscore.store.files import atomic_write

_UNSAFE = re.compile(r"[^\w.-]")
_PARAGRAPH_END = re.compile(r"(?<=\n\n)")
LONG_MESSAGE = 400
"""Characters from which the paragraphs of a message are written once each."""
SHORT_PARAGRAPH = 60
"""Characters below which a paragraph is hardly longer than its number."""


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


class CompactLines:
    """Steps of trajectories, in which every message, paragraph and expected step is written once.

    The first time, a message and a paragraph have an `id`; later, this number is in their place.
    Prompts of several scenarios differ in few paragraphs: on the public data a file that numbers
    messages only is 2.3 times as large.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._gold: dict[str, Any] = {}
        """By case, the expected step that was written last."""

    def compact(self, line: Json) -> Json:
        """A step with the messages, paragraphs and the expected step that no earlier line had."""
        messages = [self._message(message) for message in line["request"]["messages"]]
        found = {**line, "request": {**line["request"], "messages": messages}}
        if "gold" in line and self._gold.get(line["case_id"]) == line["gold"]:
            del found["gold"]
        self._gold[line["case_id"]] = line.get("gold")
        return found

    def _number(self, kind: str, value: Json | str) -> tuple[int, bool]:
        """The number of a value, and whether it is new."""
        key = blake2b(msgspec.json.encode([kind, value]), digest_size=16).digest()
        number = self._numbers.setdefault(key, len(self._numbers) + 1)
        return number, number == len(self._numbers)

    def _message(self, message: Json) -> Json | int:
        number, is_new = self._number("message", message)
        if not is_new:
            return number
        content = message.get("content")
        if isinstance(content, str) and len(content) >= LONG_MESSAGE:
            content = self._parts(content)
        return {"id": number, **message, "content": content}

    def _parts(self, content: str) -> list[Any]:
        """The paragraphs of a long message: numbers, new ones with their number, and short ones."""
        parts: list[Any] = []
        for paragraph in _PARAGRAPH_END.split(content):
            if len(paragraph) < SHORT_PARAGRAPH:
                if parts and isinstance(parts[-1], str):
                    parts[-1] += paragraph
                else:
                    parts.append(paragraph)
                continue
            number, is_new = self._number("paragraph", paragraph)
            parts.append({"id": number, "text": paragraph} if is_new else number)
        return parts


class Trajectories:
    """A file of trajectories: JSON lines, or Markdown if its name ends with `.md`."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._file = file
        self._lines = CompactLines()
        self._is_markdown = path.suffix.lower() == ".md"
        if self._is_markdown:
            self._file.write(b"# Trajectories\n\n")

    def write(self, lines: Sequence[Json]) -> None:
        """Every step of one scenario, run by run."""
        if not self._is_markdown:
            for line in lines:
                self._file.write(
                    escape_json(msgspec.json.encode(self._lines.compact(line))) + b"\n"
                )
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
