"""Objects of a vendor inside what wraps them: webhooks, lists, pages of an API, JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from callscore.core.errors import DataError
from callscore.importers.conversation import SkippedPart
from callscore.importers.source import Source, convert

T = TypeVar("T")

WRAPPERS = ("call", "calls", "data", "message", "conversation", "conversations", "payload", "body",
            "detail", "event", "records", "items", "response", "transcript", "transcripts",
            "callTranscripts", "session", "sessions", "report", "result", "results")  # fmt: skip
"""Keys under which a webhook or an export has the object."""
MAX_WRAPPERS = 4
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
