"""Folders of scenarios: recorded outputs, agent cards, scenario files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from callscore.core.errors import DataError, UsageError
from callscore.core.scenarios import ScenarioFiles

MAX_FILE_BYTES = 64_000_000
_CARD_FOLDERS = frozenset({"cards", "multiagent_cards"})
OUTPUT_SUFFIX = "_out.json"


def output_files(folder: Path) -> list[Path]:
    """Every `*_out.json` below the folder, but not in hidden folders (Q45)."""
    return find_files(folder, ["*_out.json"], (), "recorded outputs (*_out.json)")


def card_files(folder: Path) -> list[Path]:
    """The agent cards in the folder, or in its `multiagent_cards`."""
    return find_files(folder, ["*.json"], ("multiagent_cards", "cards"), "agent cards (*.json)")


def scenario_files(folder: Path) -> list[Path]:
    """The scenarios in the folder, or in its `scenario_data`."""
    what = "scenarios (*.yaml, *.json)"
    found = find_files(folder, ["*.yaml", "*.yml", "*.json"], ("scenario_data",), what)
    scenarios = [path for path in found if not _CARD_FOLDERS & set(path.relative_to(folder).parts)]
    if not scenarios:
        raise UsageError(f"{folder}: contains no {what}")
    return scenarios


def find_files(
    folder: Path, patterns: Sequence[str], inside: Sequence[str], what: str
) -> list[Path]:
    """The files with such names below the folder, or in a folder `inside`; raises UsageError."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; expected {what}")
    for place in (*(folder / name for name in inside), folder):
        found = [
            path
            for pattern in patterns
            for path in place.rglob(pattern)
            if path.is_file() and not _is_hidden(path.relative_to(place))
        ]
        if found:
            return sorted(found)
    raise UsageError(f"{folder}: contains no {what}")


def _is_hidden(path: Path) -> bool:
    """Whether the file or a folder on its path starts with a dot (files of editors)."""
    return any(part.startswith(".") for part in path.parts)


def read_whole(path: Path) -> bytes:
    """The bytes of a file below the size limit; raises DataError."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise DataError(f"{size} bytes; expected at most {MAX_FILE_BYTES}", place=str(path))
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None


def read_text(path: Path) -> str:
    """The text of a file; raises DataError if it is not UTF-8."""
    try:
        return read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-8", place=str(path)) from None


SCENARIO_FILES = ScenarioFiles(card_files, scenario_files, output_files, read_whole, read_text)
