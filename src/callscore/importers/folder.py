"""Imports files and folders: detects formats, reads every call, reports every file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.importers.assemble import Context
from callscore.importers.catalog import detect, format_named
from callscore.importers.conversation import Conversation, Role, Skipped
from callscore.importers.roles import ROLES
from callscore.importers.source import MAX_BYTES, Source


class ImportOptions(msgspec.Struct, frozen=True):
    """Settings for all files of an import."""

    format: str | None = None
    """Read every file as this format instead of detecting it."""
    roles: Mapping[str, Role] = {}
    lang: str | None = None


class FileReport(msgspec.Struct):
    """How one file was read."""

    path: str
    format: str = ""
    calls: int = 0
    turns: int = 0
    skipped: list[Skipped] = []
    notes: list[str] = []
    problem: str = ""
    """Why the file could not be read."""


class ImportReport(msgspec.Struct):
    """How every file was read."""

    files: list[FileReport] = []

    @property
    def calls(self) -> int:
        """Calls that were imported."""
        return sum(file.calls for file in self.files)

    @property
    def problems(self) -> list[FileReport]:
        """Files that could not be read."""
        return [file for file in self.files if file.problem]


def parse_roles(texts: Sequence[str]) -> dict[str, Role]:
    """Roles by label, from `LABEL=ROLE` pairs separated by commas."""
    found: dict[str, Role] = {}
    for text in (part for given in texts for part in given.split(",")):
        label, equals, role = text.partition("=")
        known = next((one for one in ROLES if one == role.strip()), None)
        if not equals or known is None or not label.strip():
            raise UsageError(
                f"{text!r}; expected LABEL=ROLE with a role of {', '.join(ROLES)}, "
                "such as 'SPEAKER_00=agent'"
            )
        found[label.strip()] = known
    return found


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files of the paths, those of folders in order of their names, without hidden ones."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if file.is_file())
            visible = (
                file
                for file in inside
                if not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
            found += sorted(visible)
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"{path}: no such file or folder")
    if not found:
        raise UsageError(f"{', '.join(map(str, paths))}: contains no file")
    return found


def import_files(
    paths: Sequence[Path], options: ImportOptions, report: ImportReport
) -> Iterator[Conversation]:
    """Every call of every file; a file that cannot be read is reported, and the others are read."""
    seen: dict[str, str] = {}
    for path in files_of(paths):
        entry = FileReport(str(path))
        report.files.append(entry)
        try:
            for call in _import_file(path, options, entry):
                yield _unique(call, seen, entry)
        except DataError as error:
            where = error.place.removeprefix(str(path)).lstrip(": ")
            field = f"field {error.field}: " if error.field else ""
            entry.problem = f"{where + ': ' if where else ''}{field}{error.problem}"


def _import_file(path: Path, options: ImportOptions, entry: FileReport) -> Iterator[Conversation]:
    if path.stat().st_size > MAX_BYTES:
        raise DataError(f"is larger than {MAX_BYTES:,} bytes", place=str(path))
    source = Source(str(path), path.read_bytes())
    chosen = format_named(options.format) if options.format else detect(source)
    entry.format = chosen.title
    context = Context(str(path), source.stem, options.roles, options.lang)
    for found in chosen.read(source, context):
        if isinstance(found, Skipped):
            entry.skipped.append(found)
            continue
        entry.calls += 1
        entry.turns += len(found.turns)
        entry.notes += [f"{found.call_id}: {note}" for note in found.notes]
        yield found
    if not entry.calls and not entry.problem:
        entry.problem = f"was read as {chosen.title}, and contains no call"


def _unique(call: Conversation, seen: dict[str, str], entry: FileReport) -> Conversation:
    """The call with a unique id: a number is appended if another call has the same id."""
    call_id, number = call.call_id, 1
    while call_id in seen:
        number += 1
        call_id = f"{call.call_id}-{number}"
    if number > 1:
        entry.notes.append(
            f"{call.call_id}: {seen[call.call_id]} has a call with this id; renamed to {call_id}"
        )
    seen[call_id] = entry.path
    return msgspec.structs.replace(call, call_id=call_id) if number > 1 else call
