"""Structured logs on request: one event per line, without secrets (S-12, S-20)."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Failed
from callscore.core.errors import OutputError, StoreError
from callscore.core.run import Completed, Event, JobNews, NodeNews, RaceRound, Retry, StoreNews
from callscore.providers.secrets import redact
from callscore.report.safe_text import escape_json


class EventLog:
    """A file of JSON lines, private to its owner; times are seconds since it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            # Unbuffered: a failed write must not be repeated when the file is closed.
            self._file = os.fdopen(handle, "ab", buffering=0)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror}") from None

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __call__(self, event: Event) -> None:
        """Write an event; progress is not logged."""
        if isinstance(event, Completed):
            self.write(_outcome(event))
        elif isinstance(event, Retry):
            self.write(_retry(event))
        elif isinstance(event, RaceRound):
            self.write({"event": "race_round", **msgspec.structs.asdict(event)})
        elif isinstance(event, JobNews):
            self.write({"event": "batch_job", **msgspec.structs.asdict(event)})
        elif isinstance(event, NodeNews):
            self.write({"event": "node", **msgspec.structs.asdict(event)})
        elif isinstance(event, StoreNews):
            self.write({"event": "store", **msgspec.structs.asdict(event)})

    def write(self, record: dict[str, Any]) -> None:
        """One line."""
        shown = {
            key: redact(value) if isinstance(value, str) else value for key, value in record.items()
        }
        line = {"seconds": round(time.monotonic() - self._began, 3), **shown}
        raw = escape_json(msgspec.json.encode(line)) + b"\n"
        try:
            if self._file.write(raw) < len(raw):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be written: {error.strerror}") from None


def _outcome(event: Completed) -> dict[str, Any]:
    work, answer = event.work, event.answer
    record: dict[str, Any] = {
        "event": "failed" if isinstance(answer, Failed) else "answered",
        "case_id": work.case_id,
        "model": work.model,
        "run": work.run,
        "task": work.task,
        "key": work.request.key.hex(),
        "cached": event.cached,
        "attempts": event.attempts,
    }
    if isinstance(answer, Failed):
        return record | {"why": answer.why}
    return record | {
        "finish_reason": answer.finish_reason,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": answer.cost_usd,
        "latency_ms": answer.latency_ms,
        "answered_by": answer.model,
    }


def _retry(event: Retry) -> dict[str, Any]:
    failure = event.failure
    return {
        "event": "attempt_failed",
        "case_id": event.work.case_id,
        "model": event.work.model,
        "run": event.work.run,
        "attempt": event.attempt,
        "kind": failure.kind,
        "status": failure.status,
        "message": failure.message,
        "wait_s": event.wait_s,
    }
