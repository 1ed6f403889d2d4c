"""Shared by the formats of other tools: one file per model, timestamps, ids, short texts."""

from __future__ import annotations

import hashlib
import re
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import IO, Any, Protocol

import msgspec

from callscore.core.case import Case, turns
from callscore.core.scorecard import ModelScore
from callscore.report.archive import Archive
from callscore.report.safe_text import escape_json
from callscore.report.source import Answer, CaseView, ReportSource

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
