"""Redacts files: personal data is replaced by placeholders, with a report.

With `redact` in an eval file, its cases are read from redacted copies next to the store, so that
nothing else is sent or stored.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from callscore.core import strict_json
from callscore.core.errors import DataError, UsageError
from callscore.core.scenarios import ScenarioData
from callscore.privacy.finder import KINDS, REGIONS, DataKind, Finder
from callscore.privacy.name_model import SpacyNameModel
from callscore.privacy.redactor import Placeholders, RedactionReport, Redactor
from callscore.report.safe_text import escape_json
from callscore.store.address import StoreAddress
from callscore.store.files import (
    Line,
    Source,
    atomic_write,
    check_targets,
    lines_of,
    make_private_folder,
    open_lines,
    path_of,
)
from callscore.store.strict_yaml import Document

RULES = 2
"""Version of the rules; copies of an older version are made again."""


class RedactOptions(msgspec.Struct, frozen=True):
    """What to replace: kinds, names, and the regions of telephone numbers."""

    kinds: Sequence[DataKind] = KINDS
    names: Sequence[str] = ()
    regions: Sequence[str] = REGIONS
    name_model: str | None = None
    """A pipeline of spaCy that finds further names."""
    names_file: Path | None = None
    """The file of the names; the names themselves are not stored with a run."""

    @property
    def digest(self) -> bytes:
        """Hash of the options, and of the version of the rules."""
        same_anywhere = msgspec.structs.replace(self, names_file=None)
        raw = msgspec.json.encode([RULES, same_anywhere], order="deterministic", enc_hook=str)
        return hashlib.blake2b(raw, digest_size=16).digest()

    def notes(self) -> Sequence[str]:
        """What these options leave in the files, in words."""
        if "name" not in self.kinds or self.names or self.name_model is not None:
            return ()
        return ("names of people were not replaced; expected --names FILE or --name-model NAME",)

    def redactor(self) -> Redactor:
        """A redactor with these options; raises MissingExtra without its packages."""
        model = SpacyNameModel(self.name_model) if self.name_model is not None else None
        return Redactor(Finder(self.kinds, self.names, self.regions, model))


def encode_option(redaction: Redaction, store: StoreAddress) -> str:
    """`--redact` and `--names` as they are stored with a run; empty if the eval file decides."""
    if not redaction.by_option:
        return ""
    names = redaction.options.names_file
    path = None if names is None else os.path.relpath(names.absolute(), store.absolute().parent)
    return msgspec.json.encode({"names": path}).decode()


def decode_option(stored: str, store: StoreAddress) -> RedactOptions | None:
    """The options of a stored run; None if its eval file decides."""
    if not stored:
        return None
    names = msgspec.json.decode(stored, type=dict[str, str | None]).get("names")
    return options_with_names(None if names is None else store.absolute().parent / names)


def options_with_names(names: Path | None) -> RedactOptions:
    """The options of `--redact` with the names of a file."""
    return RedactOptions(names=read_names(names) if names is not None else (), names_file=names)


def check_kinds(names: Sequence[str]) -> Sequence[DataKind]:
    """The kinds with these names; all kinds if none is given."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not a kind; expected some of {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in names] or KINDS


def read_names(path: Path) -> list[str]:
    """Names to replace, one per line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


class FileRedactor:
    """Redacts case files, then their outputs and verdicts with the same placeholders."""

    def __init__(self, options: RedactOptions) -> None:
        self._redactor = options.redactor()
        self._by_call: dict[str, Placeholders] = {}
        self._call_of: dict[str, str] = {}

    @property
    def report(self) -> RedactionReport:
        """What was replaced so far."""
        return self._redactor.report

    @contextmanager
    def new_report(self) -> Iterator[RedactionReport]:
        """Count what is redacted inside by itself."""
        before, self._redactor.report = self._redactor.report, RedactionReport()
        yield self._redactor.report
        before.add(self._redactor.report)
        self._redactor.report = before

    def redact(self, source: Source, target: Path, *, private: bool = False) -> None:
        """Write the file with its texts redacted, atomically."""
        with atomic_write(target, private=private) as file:
            for line in lines_of([source]):
                file.write(self._line(line))

    def _line(self, line: Line) -> bytes:
        record = _decode(line)
        done = self._redactor.redact_record(record, self._placeholders(record))
        return escape_json(msgspec.json.encode(done)) + b"\n"

    def _placeholders(self, record: Mapping[str, Any]) -> Placeholders:
        """The placeholders of the record's call: by call id, its own id, or its case."""
        about = record.get("case_id")
        if about is not None:
            call = self._call_of.get(str(about), str(about))
        else:
            call = str(record.get("call_id") or record.get("id") or "")
            self._call_of[str(record.get("id"))] = call
        return self._by_call.setdefault(call, Placeholders())


def _decode(line: Line) -> dict[str, Any]:
    try:
        value = strict_json.decode(line.raw).value
    except strict_json.JsonFault as fault:
        raise DataError(f"is not a JSON object: {fault.detail}", place=line.place) from None
    if not isinstance(value, dict):
        raise DataError("expected a JSON object", place=line.place)
    return value


def redact_files(
    paths: Sequence[Path], folder: Path, options: RedactOptions
) -> tuple[list[Path], RedactionReport]:
    """Write every file, redacted, into a folder under the same name."""
    targets = [folder / path.name for path in paths]
    if len(set(targets)) < len(targets):
        raise UsageError("two of the files have the same name; expected a folder for each")
    redactor = FileRedactor(options)
    folder.mkdir(parents=True, exist_ok=True)
    check_targets(targets, paths)
    for path, target in zip(paths, targets, strict=True):
        redactor.redact(path, target)
    return targets, redactor.report


@contextmanager
def redacted_copies(
    groups: Mapping[str, Sequence[Source]], options: RedactOptions
) -> Iterator[tuple[dict[str, list[Path]], RedactionReport]]:
    """Temporary copies of groups of files without personal data."""
    redactor = FileRedactor(options)
    with TemporaryDirectory(prefix="callscore-redacted-") as folder:
        copies: dict[str, list[Path]] = {}
        for name, sources in groups.items():
            inside = Path(folder) / name
            inside.mkdir()
            copies[name] = []
            for number, source in enumerate(sources):
                copy = inside / f"{number}-{path_of(source).name}"
                redactor.redact(source, copy)
                copies[name].append(copy)
        yield copies, redactor.report


def redact_options(document: Document, entry: Any) -> RedactOptions:
    """`redact` of an eval file: true, or some of kinds, names and regions."""
    if entry is True:
        return RedactOptions()
    known = ("kinds", "names", "regions", "name_model")
    if not isinstance(entry, dict) or set(entry) - set(known):
        raise document.error("redact", f"expected true, or some of {', '.join(known)}")
    names = entry.get("names") or []
    try:
        kinds = check_kinds(_texts(document, "redact.kinds", entry.get("kinds") or []))
        given = read_names(document.path.parent / names) if isinstance(names, str) else names
    except UsageError as error:
        raise document.error("redact", str(error)) from None
    regions = _texts(document, "redact.regions", entry.get("regions") or list(REGIONS))
    model = entry.get("name_model")
    if model is not None and not isinstance(model, str):
        raise document.error("redact.name_model", "expected the name of a pipeline of spaCy")
    return RedactOptions(kinds, _texts(document, "redact.names", given), regions, model)


def _texts(document: Document, part: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise document.error(part, "expected a list of words")
    return value


class Redaction(msgspec.Struct, frozen=True):
    """The redaction of a run's data."""

    options: RedactOptions
    by_option: bool
    """Whether `--redact` was given; else the eval file decides."""
    report: RedactionReport
    """The number of replacements in the data."""


class RedactedData(NamedTuple):
    """Redacted copies of the data of an eval file, and how they were redacted."""

    cases: Sequence[Path]
    scenarios: Sequence[ScenarioData]
    redaction: Redaction


def redacted_data(
    document: Document,
    redact: Any,
    folder: Path,
    cases: Sequence[Source],
    scenarios: Sequence[ScenarioData],
) -> RedactedData:
    """Redacted copies of the data; `redact` are the options, or the entry of the file."""
    from callscore.config.scenario_redaction import stored_scenarios

    is_given = isinstance(redact, RedactOptions)
    options = redact if is_given else redact_options(document, redact)
    report = RedactionReport()
    return RedactedData(
        stored_copies(cases, folder, options, report),
        stored_scenarios(scenarios, folder, options, report),
        Redaction(options, is_given, report),
    )


def stored_copies(
    sources: Sequence[Source], folder: Path, options: RedactOptions, report: RedactionReport
) -> tuple[Path, ...]:
    """Redacted copies of case files in a folder; cached by content and options."""
    redactor: FileRedactor | None = None
    copies = []
    for source in sources:
        digest = hashlib.blake2b(options.digest, digest_size=12)
        with open_lines(source) as file:
            digest.update(file.read())
        copy = folder / f"{path_of(source).stem}-{digest.hexdigest()}.jsonl"
        if not copy.exists() or not counts_of(copy).exists():
            redactor = redactor or FileRedactor(options)
            make_private_folder(folder)
            with redactor.new_report() as counted:
                redactor.redact(source, copy, private=True)
            write_counts(copy, counted)
        report.add(read_counts(copy))
        copies.append(copy)
    return tuple(copies)


_COPY = re.compile(r".*-[0-9a-f]{24}(?:\.jsonl(?:\.counts\.json)?)?")


def remove_copies(folder: Path) -> int:
    """Delete the redacted copies in a folder, and the folder if nothing else is in it.

    Other files in it are those of the user. Returns how many copies of files or folders it deleted.
    """
    copies = [path for path in folder.glob("*") if _COPY.fullmatch(path.name)]
    for copy in copies:
        shutil.rmtree(copy) if copy.is_dir() and not copy.is_symlink() else copy.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return sum(not copy.name.endswith(".counts.json") for copy in copies)


def counts_of(copy: Path) -> Path:
    """The file with the number of replacements in a copy."""
    return copy.with_name(f"{copy.name}.counts.json")


def write_counts(copy: Path, report: RedactionReport) -> None:
    """Write the number of replacements next to a copy."""
    with atomic_write(counts_of(copy), private=True) as file:
        file.write(msgspec.json.encode(report))


def read_counts(copy: Path) -> RedactionReport:
    """The number of replacements in a copy."""
    return msgspec.json.decode(open_whole(counts_of(copy)), type=RedactionReport)


def open_whole(path: Path) -> bytes:
    """The content of a file; raises UsageError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
