"""What a scoring depends on: as long as it is the same, the index of a run holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import msgspec

from callscore.config.config import EvalConfig
from callscore.core.plugins import Group
from callscore.export.provenance import versions
from callscore.store.index_tables import SCHEMA
from callscore.store.parquet_cases import original_of
from callscore.store.remote_files import is_remote, shown

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
    return f"{data}{SEPARATOR}{_hash(people)}"


def data_in(found: str) -> str:
    """The part of a fingerprint that does not depend on verdicts of people."""
    return found.rpartition(SEPARATOR)[0]


def _hash(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def progress_in(found: str) -> str:
    """The progress of the run in a fingerprint."""
    return data_in(data_in(found))


def _files(config: EvalConfig) -> Iterator[tuple[str, int, int]]:
    named = [path for path in config.files if isinstance(path, Path) and path != config.store]
    folders = [folder for data in config.scenarios for folder in (data.scenarios, data.cards)]
    yield from _stamps([*named, *config.outside])
    for folder in folders:
        yield from _stamps(sorted(folder.glob("*.json")) if folder.is_dir() else [folder])


def _stamps(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in dict.fromkeys(paths):
        if is_remote(path):
            yield shown(path), *_content(original_of(path))
            continue
        try:
            found = path.stat()
        except OSError:
            yield str(path.resolve()), -1, -1
        else:
            yield str(path.resolve()), found.st_size, found.st_mtime_ns


def _content(copy: Path) -> tuple[int, int]:
    """The size of a remote file and its hash: the time of its copy says nothing about it."""
    with copy.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=7)).digest()
    return copy.stat().st_size, int.from_bytes(found)


@cache
def _installed() -> list[str]:
    """Versions of what computes scores, and the extensions that are installed."""
    extensions = [
        f"{point.group}:{point.name}={point.value} {point.dist.version if point.dist else ''}"
        for group in get_args(Group)
        for point in entry_points(group=group)
    ]
    encoder = [LOCAL_ENCODER] if find_spec(LOCAL_ENCODER) is not None else []
    return [f"{name} {number}" for name, number in versions().items()] + extensions + encoder
