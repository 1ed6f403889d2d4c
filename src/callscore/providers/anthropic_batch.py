"""The batch API of `anthropic`: all requests in one body, results as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import msgspec

from callscore.core.batch import BatchJob, BatchLimits, BatchLine, BatchStatus, Unsure
from callscore.core.provider import AttemptFailed
from callscore.providers.batch_http import MOST_PAGES, BatchHttp, checked_id, decode_object, words

_JSON = {"content-type": "application/json"}
_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of a live response with an error of this type; the types are those of
anthropic-sdk-python 009b0353, types/shared/error_object.py."""
CLOCKS_DIFFER_S = 3_600.0
"""How far the clocks of the vendor and of this machine may differ."""


class AnthropicBatch:
    """`/messages/batches`. A batch has no name: only its results say which requests it has."""

    # 100,000 requests, 256 MB: the guide "Batch processing" and "Create a Message Batch". 24 hours:
    # anthropic-sdk-python 009b0353, types/messages/message_batch.py. Results are kept for 29 days
    # after the creation, or until the batch is deleted, which is possible only when it has ended.
    limits = BatchLimits(requests=100_000, bytes=240_000_000, window_s=86_400)
    has_files = False

    def __init__(self, http: BatchHttp) -> None:
        self._http = http
        self._batches = http.at("/messages/batches", "/messages")

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One entry of `requests`."""
        return msgspec.json.encode({"custom_id": custom_id, "params": msgspec.Raw(body)})

    async def upload(self, job: BatchJob, file: Path) -> str | AttemptFailed:
        """There is nothing to upload."""
        return ""

    async def remove_uploads(self, job: BatchJob) -> None:
        """Nothing was uploaded."""

    async def create(self, job: BatchJob, file: Path | None) -> str | AttemptFailed:
        """Create the batch."""
        assert file is not None  # there are no uploads
        with TemporaryFile() as body:
            body.write(b'{"requests":[')
            with file.open("rb") as lines:
                for number, line in enumerate(lines):
                    body.write((b"," if number else b"") + line.rstrip(b"\n"))
            body.write(b"]}")
            body.seek(0)
            found = await self._http.json("POST", self._batches, body, headers=_JSON)
        return found if isinstance(found, AttemptFailed) else checked_id(found, "id")

    async def find(self, job: BatchJob) -> str | Unsure | AttemptFailed | None:
        """A batch of the same size, created since, whose first result has the token.

        As long as such a batch has not ended, it may be this one.
        """
        unsure = False
        async for entry in self._list():
            if isinstance(entry, AttemptFailed):
                return entry
            if _created(entry) < job.changed_at - CLOCKS_DIFFER_S:
                break
            if sum(_counts(entry).values()) != job.requests:
                continue
            name = checked_id(entry, "id")
            if isinstance(name, AttemptFailed):
                continue
            if entry.get("processing_status") != "ended":
                unsure = True
                continue
            first = await self._first_id(name)
            if isinstance(first, AttemptFailed):
                return first
            if first.startswith(job.token):
                return name
        return Unsure() if unsure else None

    async def _list(self) -> AsyncIterator[dict[str, Any] | AttemptFailed]:
        """All batches, the newest first."""
        query = {"limit": "100"}
        for _ in range(MOST_PAGES):
            found = await self._http.json("GET", self._batches.with_query(query))
            if isinstance(found, AttemptFailed):
                yield found
                return
            data = found.get("data")
            for entry in data if isinstance(data, list) else ():
                if isinstance(entry, dict):
                    yield entry
            last = found.get("last_id")
            if not found.get("has_more") or not isinstance(last, str):
                return
            query = {"limit": "100", "after_id": last}

    async def _first_id(self, name: str) -> str | AttemptFailed:
        """The custom id of the first result; empty if there is none."""
        with TemporaryFile() as file:
            found = await self._http.call("GET", self._batches / name / "results", into=file)
            if isinstance(found, AttemptFailed):
                return "" if found.kind == "not_found" else found
            file.seek(0)
            line = self.read(file.readline())
        return "" if line is None else line.custom_id

    async def poll(self, job: BatchJob) -> BatchStatus | AttemptFailed:
        """The state of the batch."""
        found = await self._http.json("GET", self._batches / job.remote_id)
        if isinstance(found, AttemptFailed):
            return found
        counts = _counts(found)
        done = sum(number for name, number in counts.items() if name != "processing")
        if found.get("processing_status") != "ended":
            return BatchStatus(None, done=done)
        # the URL in the answer is not used: the key goes to no other host
        return BatchStatus("completed", results=(job.remote_id,), done=done)

    async def download(self, job: BatchJob, target: BinaryIO) -> AttemptFailed | None:
        """All results."""
        url = self._batches / job.remote_id / "results"
        found = await self._http.call("GET", url, into=target)
        return found if isinstance(found, AttemptFailed) else None

    def read(self, line: bytes) -> BatchLine | None:
        """One result: succeeded, errored, canceled or expired."""
        fields = decode_object(line)
        if isinstance(fields, AttemptFailed):
            return None
        custom_id, result = fields.get("custom_id"), fields.get("result")
        if not isinstance(custom_id, str) or not isinstance(result, dict):
            return None
        kind = result.get("type")
        if kind == "succeeded":
            return BatchLine(custom_id, 200, msgspec.json.encode(result.get("message")))
        error = result.get("error")
        inner = error.get("error") if isinstance(error, dict) else None
        if kind == "errored" and isinstance(inner, dict):
            status = _STATUS.get(str(inner.get("type")), 500)
            return BatchLine(custom_id, status, msgspec.json.encode(error))
        return BatchLine(custom_id, 0, failure=AttemptFailed("server", words(kind) or "no result"))

    async def cancel(self, job: BatchJob) -> AttemptFailed | None:
        """Cancel the batch; its finished part can still be collected."""
        found = await self._http.call("POST", self._batches / job.remote_id / "cancel", b"")
        return found if isinstance(found, AttemptFailed) else None

    async def delete(self, job: BatchJob) -> AttemptFailed | None:
        """Delete the batch with its requests and results."""
        if not job.remote_id:
            return None
        found = await self._http.call("DELETE", self._batches / job.remote_id)
        return found if isinstance(found, AttemptFailed) else None


def _counts(entry: Mapping[str, Any]) -> dict[str, int]:
    counts = entry.get("request_counts")
    found = counts.items() if isinstance(counts, dict) else ()
    return {name: number for name, number in found if isinstance(number, int)}


def _created(entry: Mapping[str, Any]) -> float:
    """When a batch was created, in seconds since 1970; now and ever if it does not say."""
    try:
        return datetime.fromisoformat(str(entry.get("created_at"))).timestamp()
    except ValueError:
        return float("inf")
