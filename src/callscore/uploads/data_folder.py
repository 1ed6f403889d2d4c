"""The folder of `--data`: one numbered folder per data set, with its files and what they mean."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import BinaryIO, Literal, Self

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.importers.source_file import MAX_BYTES
from callscore.store.files import atomic_write, make_private_folder

Role = Literal["calls", "form", "marks"]
ROLES: Sequence[Role] = ("calls", "form", "marks")
MAX_FILES = 1000
MAX_SET_BYTES = 2_000_000_000
MAX_NAME = 100
DESCRIPTION = "data-set.json"
CASES, TRANSCRIPTS, EVAL = "cases.jsonl", "transcripts.jsonl", "eval.yaml"
CONFIG = "config.json"
"""The form as the config of cases."""


class UploadedFile(msgspec.Struct, frozen=True):
    """A file of a data set, under the name that it has in the folder."""

    name: str
    role: Role
    size: int


class ImportChoices(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user says about the files: the options of `callscore import`."""

    format: str = ""
    lang: str = ""
    roles: Mapping[str, str] = {}
    """Roles by label of a speaker."""
    fields: Mapping[str, str] = {}
    """Names of columns by field of a turn."""
    columns: Mapping[str, str] = {}
    """Questions by heading of a table of marks; empty to ignore it."""
    allow_unmarked: bool = False
    redact: bool = False


class DataSet(msgspec.Struct, frozen=True):
    """Files that were sent together, and what they mean."""

    number: int
    folder: Path
    files: Sequence[UploadedFile] = ()
    choices: ImportChoices = ImportChoices()

    def names(self, role: Role) -> list[str]:
        """The names of the files with a role."""
        return [file.name for file in self.files if file.role == role]

    @property
    def files_folder(self) -> Path:
        """Where the files are."""
        return self.folder / "files"

    @property
    def has_form(self) -> bool:
        """Whether there is a form to label by."""
        return bool(self.names("form"))

    @property
    def out(self) -> str:
        """The file that an import of it writes: cases if there are marks, else transcripts."""
        return CASES if self.names("marks") else TRANSCRIPTS


class DataFolder:
    """The data sets of one folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"--data: {folder} is not a folder")
        self._folder = folder

    def numbers(self) -> list[int]:
        """The numbers of all data sets, newest first."""
        names = (path.parent.name for path in self._folder.glob(f"*/{DESCRIPTION}"))
        return sorted((int(name) for name in names if name.isdecimal()), reverse=True)

    def create(self) -> DataSet:
        """A new data set without files."""
        number = max(
            (int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()), default=0
        )
        while True:
            number += 1
            folder = self._folder / str(number)
            try:
                folder.mkdir(mode=0o700)
                break
            except FileExistsError:
                continue
        make_private_folder(folder / "files")
        found = DataSet(number, folder)
        self.save(found)
        return found

    def get(self, number: int) -> DataSet:
        """A data set; raises UsageError if there is none with this number."""
        folder = self._folder / str(number)
        try:
            stored = msgspec.json.decode((folder / DESCRIPTION).read_bytes(), type=_Stored)
        except OSError:
            raise UsageError(f"there is no data set {number}") from None
        except msgspec.DecodeError as error:
            raise DataError(f"{error}", place=str(folder / DESCRIPTION)) from None
        return DataSet(number, folder, stored.files, stored.choices)

    def save(self, data: DataSet) -> None:
        """Keep what is known of a data set."""
        with atomic_write(data.folder / DESCRIPTION) as file:
            stored = msgspec.json.encode(_Stored(data.files, data.choices))
            file.write(msgspec.json.format(stored) + b"\n")

    def receive(self, data: DataSet, name: str, role: Role, most: int = MAX_BYTES) -> Arrival:
        """A file that arrives in pieces; it belongs to the data set once it is complete."""
        if len(data.files) >= MAX_FILES:
            raise DataError(f"has more than {MAX_FILES:,} files; expected fewer, larger ones")
        left = MAX_SET_BYTES - sum(file.size for file in data.files)
        own = own_name(name, {file.name for file in data.files})
        return Arrival(data.files_folder / own, role, min(most, left))

    def add(self, data: DataSet, arrived: Arrival) -> DataSet:
        """The data set with a file that is complete."""
        file = UploadedFile(arrived.path.name, arrived.role, arrived.size)
        added = msgspec.structs.replace(data, files=[*data.files, file])
        self.save(added)
        return added

    def discard(self, data: DataSet) -> None:
        """Delete a data set with its files."""
        rmtree(data.folder)

    def remove(self, data: DataSet, name: str) -> DataSet:
        """The data set without a file; raises UsageError if it has none by this name."""
        left = [file for file in data.files if file.name != name]
        if len(left) == len(data.files):
            raise UsageError(f"data set {data.number} has no such file")
        smaller = msgspec.structs.replace(data, files=left)
        self.save(smaller)
        (data.files_folder / name).unlink(missing_ok=True)
        return smaller


class Arrival:
    """A file that arrives: it is counted, and removed again if it is too large or breaks off."""

    def __init__(self, path: Path, role: Role, most: int) -> None:
        self.path = path
        self.role = role
        self.size = 0
        self._most = most
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = self.path.open("xb")
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if error is not None:
            self.path.unlink(missing_ok=True)

    def write(self, chunk: bytes) -> None:
        """Write a piece; raises TooLarge."""
        assert self._file is not None
        self.size += len(chunk)
        if self.size > self._most:
            raise TooLarge(
                f"is larger than {self._most:,} bytes; expected a smaller file",
                place=self.path.name,
            )
        self._file.write(chunk)


class TooLarge(DataError):
    """A file has more bytes than may be sent."""


class _Stored(msgspec.Struct, frozen=True):
    files: Sequence[UploadedFile]
    choices: ImportChoices


def own_name(name: str, taken: set[str]) -> str:
    """A name for a file that a browser sent: letters, digits, `.`, `-` and `_`, and not taken.

    Only the last part counts, so that the id of a call which is the name of its file is kept.
    """
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    plain = "".join(char if _may_be_in_a_name(char) else "_" for char in last).lstrip(".-")
    stem, dot, suffix = plain.rpartition(".")
    stem, suffix = (stem, dot + suffix[:10]) if stem else (plain, "")
    stem = stem.encode()[:MAX_NAME].decode(errors="ignore") or "file"
    folded = {one.casefold() for one in taken}
    number, own = 1, stem + suffix
    while own.casefold() in folded:
        number += 1
        own = f"{stem}-{number}{suffix}"
    return own


def _may_be_in_a_name(char: str) -> bool:
    """Letters with their marks, as Hindi has them, and digits."""
    return char in "._-" or unicodedata.category(char)[0] in "LMN"
