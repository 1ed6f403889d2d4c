"""What the formats of other tools have in common: one file a model, moments, short texts."""

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
"""In place of a text where the report is without text."""


def to_json(value: Any) -> bytes:
    """JSON in which nothing speaks to a terminal."""
    return escape_json(_ENCODE(value))


def run_time(source: ReportSource) -> datetime:
    """When the run ended; the beginning of 1970 if unknown: no report reads a clock."""
    run = source.provenance.run
    sentence = (run.finished_at or run.started_at) if run is not None else ""
    try:
        return datetime.fromisoformat(sentence).astimezone(UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def stable_id(*parts: str) -> str:
    """The same identifier for the same parts, in the form of a UUID (of version 4)."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def safe_file_name(name: str) -> str:
    """A name as part of a file name: nothing but letters, digits and `._-`, never a folder."""
    return _UNSAFE.sub("-", name).strip(".-")[:80] or "model"


def transcript_text(case: Case) -> str:
    """The call as plain lines: speaker and text."""
    return "\n".join(
        f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
        for turn in turns(case.transcript)
    )


def expected_text(case: Case) -> str:
    """The expected outcome as JSON."""
    return to_json(case.expected_outcome).decode()


def metric_values(answer: Answer) -> dict[str, float]:
    """Every metric of an answer that has a value."""
    return {slug: m.value for slug, m in answer.measures.items() if m.value is not None}


class ModelFiles(Protocol):
    """Files about one model: lines that its answers add up to, and what is made of them."""

    def line(self, view: CaseView, answer: Answer) -> bytes:
        """What one answer adds to the lines of its model."""
        ...

    def files(
        self, model: ModelScore, lines: IO[bytes], archive: Archive
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """The files of a model by name; `archive` has the hashes of those before."""
        ...


def write_model_archive(source: ReportSource, made: ModelFiles) -> Iterator[bytes]:
    """A zip with the files of every model, in one pass over all cases."""
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
    yield archive.end()
