"""A file to import: its bytes, its text or JSON, decoded once, and the objects in its wrappers."""

from __future__ import annotations

import codecs
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec

from callscore.core.errors import DataError, MissingExtra
from callscore.importers.conversation import SkippedPart

T = TypeVar("T")
MAX_BYTES = 500_000_000
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError,
              ValueError)  # fmt: skip
"""What zipfile raises on damaged archives."""
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_YAML_LIST = re.compile(r"^[ ]*-[ ]+(?:\{|[\"']?[A-Za-z_][\w -]*[\"']?:(?:[ ]|$))", re.MULTILINE)
"""An item of a YAML list that is an object."""


class Source:
    """A file to import; text and JSON are decoded on first access."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data
        self.encoding = "utf-8"

    @property
    def stem(self) -> str:
        """The name of the file without folder and suffix."""
        return PurePath(self.name).stem

    @property
    def is_archive(self) -> bool:
        """Whether it is a zip file, such as a spreadsheet."""
        return self.data[:4] == b"PK\x03\x04"

    @cached_property
    def text(self) -> str:
        """The text in any encoding, with Unix line ends; raises DataError if it is not text."""
        for mark, encoding in _BYTE_ORDER_MARKS:
            if self.data.startswith(mark):
                self.encoding = encoding
                return self._decode(encoding)
        try:
            text = self.data.decode()
        except UnicodeDecodeError:
            text = self._decode_by_guess()
        if "\0" in text:
            raise DataError("is not text; expected a transcript", place=self.name)
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _decode(self, encoding: str) -> str:
        try:
            text = self.data.decode(encoding)
        except UnicodeDecodeError as error:
            raise DataError(f"is not {encoding} text: {error.reason}", place=self.name) from None
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _decode_by_guess(self) -> str:
        try:
            from charset_normalizer import from_bytes
        except ImportError:
            raise missing_extra("charset-normalizer", "text that is not UTF-8") from None
        best = from_bytes(self.data[:200_000]).best()
        if best is None or "\0" in str(best)[:10_000]:
            raise DataError("has an unknown text encoding; expected UTF-8", place=self.name)
        self.encoding = best.encoding
        return self.data.decode(best.encoding, errors="replace")

    @cached_property
    def json(self) -> Any:
        """The JSON value of the file; None if it is not a single JSON value."""
        if self.is_archive or not self._looks_like_json:
            return None
        try:
            return msgspec.json.decode(self.text)
        except (msgspec.DecodeError, RecursionError, DataError):
            return None

    @cached_property
    def json_lines(self) -> list[Any]:
        """The objects of a JSON Lines file; empty if any line is not an object."""
        if self.is_archive or self.json is not None or not self._looks_like_json:
            return []
        try:
            lines = [line for line in self.text.split("\n") if line.strip()]
            values = [msgspec.json.decode(line) for line in lines]
        except (msgspec.DecodeError, RecursionError, DataError):
            return []
        return values if all(isinstance(value, dict) for value in values) else []

    @cached_property
    def yaml(self) -> Any:
        """The value of a YAML file with a list of objects; None if it is not one.

        Files with aliases are not read: a few lines of them can expand to gigabytes.
        """
        if self.is_archive or self._looks_like_json or not _YAML_LIST.search(self.text):
            return None
        import yaml

        try:
            tokens = yaml.scan(self.text, Loader=yaml.CSafeLoader)
            if any(isinstance(token, yaml.AliasToken) for token in tokens):
                return None
            return yaml.CSafeLoader(self.text).get_single_data()
        except (yaml.YAMLError, RecursionError, ValueError):
            return None

    @property
    def objects(self) -> list[Any]:
        """The objects of a JSON array or a JSON Lines file, or the single object."""
        value = self.json
        if isinstance(value, list):
            return value
        return [value] if isinstance(value, dict) else self.json_lines

    @property
    def _looks_like_json(self) -> bool:
        head = self.data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0")
        return head[:1] in (b"{", b"[")


def convert(value: Any, kind: type[T], place: str, path: str = "") -> T:
    """Convert a JSON value to a struct; raises DataError with file and JSON path."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        problem, _, at = str(error).partition(" - at `$")
        field = path.removeprefix("$") + at.rstrip("`")
        raise DataError(problem, field=field.lstrip("."), place=place) from None
    except RecursionError:
        raise DataError("is nested too deeply", place=place) from None


def missing_extra(package: str, purpose: str) -> MissingExtra:
    """The error if an optional package is not installed."""
    return MissingExtra(f"{purpose} needs {package}: pip install 'callscore[import]'")


WRAPPERS = ("call", "calls", "data", "message", "conversation", "conversations", "payload", "body",
            "detail", "event", "records", "items", "response", "transcript", "transcripts",
            "callTranscripts", "session", "sessions", "report", "result", "results")  # fmt: skip
"""Keys under which a webhook or an export has the object."""
MAX_WRAPPERS = 4
"""Wrappers inside each other."""
RecordTest = Callable[[Mapping[str, Any]], bool]


def find_records(source: Source, is_record: RecordTest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of a file that the test accepts, with its JSON path."""
    value = source.json if source.json is not None else source.json_lines
    yield from _find(value, "$", is_record, 0)


def read_records(
    source: Source, is_record: RecordTest, kind: type[T]
) -> Iterator[tuple[str, T] | SkippedPart]:
    """Every object of a file as a struct; one of several that cannot be read is skipped.

    Raises DataError if the file has only one, and it cannot be read.
    """
    found = list(find_records(source, is_record))
    for path, value in found:
        try:
            yield path, convert(value, kind, source.name, path)
        except DataError as error:
            if len(found) == 1:
                raise
            why = f"cannot be read: field {error.field}: {error.problem}"
            yield SkippedPart(f"{source.name}: {path}", why)


def has_record(source: Source, is_record: RecordTest) -> bool:
    """Whether the file has an object that the test accepts."""
    return next(find_records(source, is_record), None) is not None


def _find(
    value: Any, path: str, is_record: RecordTest, depth: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            if isinstance(one, dict):
                yield from _find(one, f"{path}[{number}]", is_record, depth)
    elif isinstance(value, dict):
        if is_record(value):
            yield path, value
        elif depth < MAX_WRAPPERS:
            for key in WRAPPERS:
                if isinstance(value.get(key), dict | list):
                    yield from _find(value[key], f"{path}.{key}", is_record, depth + 1)


def has_items(value: Any, *keys: str) -> bool:
    """Whether a value is a list, and one of its first objects has all these keys."""
    return isinstance(value, list) and any(
        isinstance(one, dict) and set(keys) <= one.keys() for one in value[:8]
    )
