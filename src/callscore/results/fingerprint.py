"""What a scoring depends on: as long as it is the same, the index of a run holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import UsageError
from callscore.core.plugins import installed_entries
from callscore.store.index_tables import SCHEMA
from callscore.store.parquet_cases import version_of
from callscore.store.remote_files import is_remote, shown
from callscore.store.scenario_files import card_files, scenario_files

if TYPE_CHECKING:
    from callscore.config.config import EvalConfig

LOCAL_ENCODER = "sentence_transformers"
"""The package that the embedder `auto` uses if it is installed."""
SEPARATOR = "|"


def fingerprint(progress: str, config: EvalConfig, people: bytes = b"") -> str:
    """Of a run with this progress, scored with this config: its files by size and time.

    `people` are the verdicts of people on its replies, besides those in files.
    """
    parts = [SCHEMA, _installed(), str(config.path.resolve()), list(_files(config))]
    data = _hash(msgspec.json.encode(parts))
    return with_people(f"{progress}{SEPARATOR}{data}", people)


def with_people(data: str, people: bytes) -> str:
    """The fingerprint of a run and its data, with these verdicts of people."""
    return f"{data}{SEPARATOR}{_hash_of_people(people)}"


def data_in(found: str) -> str:
    """The part of a fingerprint that does not depend on verdicts of people."""
    return found.rpartition(SEPARATOR)[0]


@lru_cache(maxsize=4)
def _hash_of_people(lines: bytes) -> str:
    """The hash of lines that stay the same from page to page, and may be megabytes."""
    return _hash(lines)


def _hash(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def progress_in(found: str) -> str:
    """The progress of the run in a fingerprint."""
    return data_in(data_in(found))


def _files(config: EvalConfig) -> Iterator[tuple[str, int | str, int]]:
    named = [path for path in config.files if isinstance(path, Path) and path != config.store]
    yield from _stamps([*named, *config.outside])
    for data in config.scenarios:
        yield from _stamps(_files_in(data.scenarios, scenario_files))
        yield from _stamps(_files_in(data.cards, card_files))


def _files_in(folder: Path, find: Callable[[Path], list[Path]]) -> list[Path]:
    try:
        return find(folder)
    except UsageError:
        return [folder]


def _stamps(paths: Iterable[Path]) -> Iterator[tuple[str, int | str, int]]:
    for path in dict.fromkeys(paths):
        if is_remote(path):
            yield shown(path), version_of(path), 0
            continue
        try:
            found = path.stat()
        except OSError:
            yield str(path.resolve()), -1, -1
        else:
            yield str(path.resolve()), found.st_size, found.st_mtime_ns


@cache
def _installed() -> list[str]:
    """Versions of what computes scores, and the extensions that are installed."""
    from callscore.export.provenance import versions  # imported here: the server starts without it

    extensions = [
        f"{point.group}:{point.name}={point.value} {point.dist.version if point.dist else ''}"
        for group, entries in installed_entries().items()
        for point in entries
    ]
    encoder = [LOCAL_ENCODER] if find_spec(LOCAL_ENCODER) is not None else []
    return [f"{name} {number}" for name, number in versions().items()] + extensions + encoder
