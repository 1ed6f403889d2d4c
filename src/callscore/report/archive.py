"""Zip files written in chunks, and what the formats of other tools share: one file per model.

The bytes of a zip depend only on the files in it.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import IO, Any, Protocol
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec

from callscore.core.case import Case, turns
from callscore.core.scorecard import ModelScore
from callscore.report.safe_text import escape_json
from callscore.report.source import Answer, CaseView, ReportSource

TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""The modification time of every file in the zip, fixed so that equal results give equal bytes."""
COMPRESSION_LEVEL = 3
BLOCK_BYTES = 1 << 18


class _ChunkBuffer:
    """A write-only file without seek, emptied by `take`."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._chunks.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: `take` returns everything written."""

    def close(self) -> None:
        """Do nothing: there is no resource to release."""

    def take(self) -> bytes:
        chunk = b"".join(self._chunks)
        self._chunks.clear()
        return chunk


class Archive:
    """Builds a zip and records the hash and size of every file in it."""

    def __init__(self) -> None:
        self._out = _ChunkBuffer()
        self._zip = ZipFile(self._out, "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL)
        self.digests: dict[str, dict[str, Any]] = {}

    def add(self, name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Add a file; yield the bytes of the zip as they are ready."""
        digest, size = hashlib.sha256(), 0
        info = ZipInfo(name, TIMESTAMP)
        info.compress_type, info.external_attr = ZIP_DEFLATED, 0o600 << 16
        with self._zip.open(info, "w", force_zip64=True) as member:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                member.write(chunk)
                yield self._out.take()
        self.digests[name] = {"sha256": digest.hexdigest(), "bytes": size}
        yield self._out.take()

    def finish(self) -> bytes:
        """Return the last bytes of the zip."""
        self._zip.close()
        return self._out.take()


def read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file from its beginning."""
    file.seek(0)
    while block := file.read(BLOCK_BYTES):
        yield block


_ENCODE = msgspec.json.Encoder().encode
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LEFT_OUT = "(left out)"
"""Replaces a text in a report without text."""


def to_json(value: Any) -> bytes:
    """Return JSON without characters that control a terminal."""
    return escape_json(_ENCODE(value))


def run_time(source: ReportSource) -> datetime:
    """Return when the run ended; 1970-01-01 if unknown, as a report never reads the clock."""
    run = source.provenance.run
    timestamp = (run.finished_at or run.started_at) if run is not None else ""
    try:
        return datetime.fromisoformat(timestamp).astimezone(UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def stable_id(*parts: str) -> str:
    """Return an identifier that depends only on the parts, in the form of a UUID (version 4)."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def safe_file_name(name: str) -> str:
    """Return a name as part of a file name: letters, digits and `._-` only, never a folder."""
    return _UNSAFE.sub("-", name).strip(".-")[:80] or "model"


def transcript_text(case: Case) -> str:
    """Return the call as lines of speaker and text."""
    return "\n".join(
        f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
        for turn in turns(case.transcript)
    )


def expected_text(case: Case) -> str:
    """Return the expected outcome as JSON."""
    return to_json(case.expected_outcome).decode()


def metric_values(answer: Answer) -> dict[str, float]:
    """Return the metrics of an answer that have a value."""
    return {slug: m.value for slug, m in answer.measures.items() if m.value is not None}


class ModelFiles(Protocol):
    """Builds the files of one model from lines that its answers contribute."""

    def line(self, view: CaseView, answer: Answer) -> bytes:
        """Return the line of one answer."""
        ...

    def files(
        self, model: ModelScore, lines: IO[bytes], archive: Archive
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the files of a model by name; `archive` has the hashes of files added before."""
        ...


def write_model_archive(source: ReportSource, made: ModelFiles) -> Iterator[bytes]:
    """Yield a zip with the files of every model, reading all cases once."""
    archive = Archive()
    with ExitStack() as stack:
        lines: dict[str, IO[bytes]] = {
            model.model: stack.enter_context(tempfile.TemporaryFile(prefix="callscore-"))
            for model in source.card.models
        }
        for view in source.cases:
            for answer in view.answers:
                lines[answer.model].write(made.line(view, answer))
        for model in source.card.models:
            for name, chunks in made.files(model, lines[model.model], archive):
                yield from archive.add(name, chunks)
    yield archive.finish()
