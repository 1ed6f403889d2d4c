"""Imports files and folders: detects formats, reads every call, reports every file."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from callscore.core.errors import DataError, MissingExtra, UsageError
from callscore.core.plugins import PluginError
from callscore.importers.conversation import (
    ROLES,
    Conversation,
    ImportContext,
    Role,
    SkippedPart,
    with_language,
)
from callscore.importers.formats import ImportFormat, detect_format, find_format
from callscore.importers.source_file import MAX_BYTES, Source


class ImportOptions(msgspec.Struct, frozen=True):
    """Settings for all files of an import."""

    format: str | None = None
    """Read every file as this format instead of detecting it."""
    roles: Mapping[str, Role] = {}
    lang: str | None = None
    fields: Mapping[str, str] = {}
    """The names of the fields of turns; with any, files are read as turns, not as a vendor's."""


class FileReport(msgspec.Struct):
    """How one file was read."""

    path: str
    format: str = ""
    calls: int = 0
    turns: int = 0
    skipped: list[SkippedPart] = []
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
    roles: dict[str, Role] = {}
    for text in (pair for option in texts for pair in option.split(",")):
        label, equals, role = text.partition("=")
        known = next((one for one in ROLES if one == role.strip()), None)
        if not equals or known is None or not label.strip():
            raise UsageError(
                f"{text!r}; expected LABEL=ROLE with a role of {', '.join(ROLES)}, "
                "such as 'SPEAKER_00=agent'"
            )
        roles[label.strip()] = known
    return roles


def list_files(paths: Sequence[Path]) -> list[Path]:
    """The files of the paths, those of folders in order of their names, without hidden ones."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if file.is_file())
            visible = (
                file
                for file in inside
                if not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
            files += sorted(visible)
        elif path.exists():
            files.append(path)
        else:
            raise UsageError(f"{path}: no such file or folder")
    if not files:
        raise UsageError(f"{', '.join(map(str, paths))}: contains no file")
    return files


class FileFormat(msgspec.Struct, frozen=True):
    """The title of the format that a file is read as."""

    title: str


class FileProblem(msgspec.Struct, frozen=True):
    """Why the rest of a file could not be read."""

    why: str


FilePart = FileFormat | Conversation | SkippedPart | FileProblem
ReadFiles = Callable[[Sequence[Path], ImportOptions], Iterable[Iterable[FilePart]]]
"""Reads the parts of files, in the order of the files."""


def read_files(files: Sequence[Path], options: ImportOptions) -> Iterator[Iterator[FilePart]]:
    """The parts of every file, each read when it is needed."""
    return (read_file(path, options) for path in files)


def read_file(path: Path, options: ImportOptions) -> Iterator[FilePart]:
    """The format of a file, its calls and what is skipped; at the end, why it cannot be read."""
    try:
        source = _read_source(path)
        format_ = _format_of(source, options)
        yield FileFormat(format_.title)
        context = ImportContext(str(path), source.stem, options.roles, options.lang, options.fields)
        for part in format_.read(source, context):
            yield part if isinstance(part, SkippedPart) else with_language(part)
    except (MissingExtra, PluginError) as error:
        yield FileProblem(str(error))
    except DataError as error:
        where = error.place.removeprefix(str(path)).lstrip(": ")
        field = f"field {error.field}: " if error.field else ""
        yield FileProblem(f"{where + ': ' if where else ''}{field}{error.problem}")


def import_files(
    paths: Sequence[Path],
    options: ImportOptions,
    report: ImportReport,
    read: ReadFiles = read_files,
) -> Iterator[Conversation]:
    """Every call of every file; a file that cannot be read is reported, and the others are read."""
    seen: dict[str, str] = {}
    files = list_files(paths)
    for path, parts in zip(files, read(files, options), strict=True):
        entry = FileReport(str(path))
        report.files.append(entry)
        for part in parts:
            if isinstance(part, Conversation):
                entry.calls += 1
                entry.turns += len(part.turns)
                entry.notes += [f"{part.call_id}: {note}" for note in part.notes]
                yield _make_id_unique(part, seen, entry)
            elif isinstance(part, SkippedPart):
                entry.skipped.append(part)
            elif isinstance(part, FileFormat):
                entry.format = part.title
            else:
                entry.problem = part.why
        if not entry.calls and not entry.problem:
            entry.problem = f"was read as {entry.format} and contains no call"


def _format_of(source: Source, options: ImportOptions) -> ImportFormat:
    if options.format:
        return find_format(options.format)
    if options.fields:
        has_values = source.json is not None or source.json_lines or source.yaml is not None
        return find_format("turns" if has_values else "table")
    return detect_format(source)


def _read_source(path: Path) -> Source:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise DataError("is a device, a pipe or a socket; expected a file", place=str(path))
        if found.st_size > MAX_BYTES:
            raise DataError(
                f"is larger than {MAX_BYTES:,} bytes; expected smaller files, divided between"
                " calls: `split -C 400MB` divides JSON Lines",
                place=str(path),
            )
        return Source(str(path), path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None


def _make_id_unique(call: Conversation, seen: dict[str, str], entry: FileReport) -> Conversation:
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
