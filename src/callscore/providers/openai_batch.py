"""The batch API of `openai`: a file of requests, a batch over it, files of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from callscore.core.batch import BatchJob, BatchLimits, BatchLine, BatchStatus, Ending, Unsure
from callscore.core.provider import AttemptFailed
from callscore.providers.batch_http import MOST_PAGES, BatchHttp, checked_id, decode_object, words

TOKEN = "callscore_job"
"""The key of the token in the metadata of a batch."""
TOO_MANY_TOKENS = "token_limit_exceeded"
"""The code of an error: the account may not have as many tokens in the queue (openai-python, issue
2084)."""
RESULTS_KEPT_S = 30 * 86_400
"""The longest that can be asked for, from the creation of the file (types/batch_create_params.py);
uploads with the purpose `batch` are kept as long (types/file_create_params.py)."""
# types/batch.py: the other states are validating, in_progress, finalizing and cancelling.
_ENDINGS: Mapping[str, Ending] = {
    "completed": "completed",
    "failed": "failed",
    "expired": "partial",
    "cancelled": "partial",
}


class OpenAIBatch:
    """`/files` and `/batches`, for chat completions or responses."""

    # openai-python e43b4224, types/batch_create_params.py: 50,000 requests, 200 MB, "24h" is the
    # only window.
    limits = BatchLimits(requests=50_000, bytes=190_000_000, window_s=86_400)
    has_files = True

    def __init__(self, path: str, http: BatchHttp) -> None:
        """`path`: that of the live requests, below the base URL."""
        self._path = path
        self._http = http
        self._files = http.at("/files", f"/{path}")
        self._batches = http.at("/batches", f"/{path}")

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One line of the input file."""
        fields = {"custom_id": custom_id, "method": "POST", "url": f"/v1/{self._path}"}
        return msgspec.json.encode({**fields, "body": msgspec.Raw(body)})

    async def upload(self, job: BatchJob, file: Path) -> str | AttemptFailed:
        """Upload the lines with the purpose `batch`."""
        from aiohttp import FormData

        with file.open("rb") as lines:
            form = FormData()
            form.add_field("purpose", "batch")
            form.add_field("file", lines, filename=_name(job), content_type="application/jsonl")
            found = await self._http.json("POST", self._files, form)
        return found if isinstance(found, AttemptFailed) else checked_id(found, "id")

    async def remove_uploads(self, job: BatchJob) -> None:
        """Delete files with the name of this job."""
        query = {"purpose": "batch", "limit": "100", "order": "desc"}
        found = await self._http.json("GET", self._files.update_query(query))
        for entry in _entries(found):
            if entry.get("filename") == _name(job) and isinstance(name := entry.get("id"), str):
                await self._http.call("DELETE", self._files / name)

    async def create(self, job: BatchJob, file: Path | None) -> str | AttemptFailed:
        """Create the batch; its metadata has the token."""
        body = {
            "input_file_id": job.file_id,
            "endpoint": f"/v1/{self._path}",
            "completion_window": "24h",
            "metadata": {TOKEN: job.token},
            "output_expires_after": {"anchor": "created_at", "seconds": RESULTS_KEPT_S},
        }
        found = await self._http.json("POST", self._batches, msgspec.json.encode(body))
        return found if isinstance(found, AttemptFailed) else checked_id(found, "id")

    async def find(self, job: BatchJob) -> str | Unsure | AttemptFailed | None:
        """The batch with this token, in the list of all; it is sorted, the newest first."""
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            query = {"limit": "100", **after}
            found = await self._http.json("GET", self._batches.update_query(query))
            if isinstance(found, AttemptFailed):
                return found
            entries = _entries(found)
            for entry in entries:
                metadata = entry.get("metadata")
                if isinstance(metadata, dict) and metadata.get(TOKEN) == job.token:
                    return checked_id(entry, "id")
            last = entries[-1].get("id") if entries else None
            if not found.get("has_more") or not isinstance(last, str):
                return None
            after = {"after": last}
        return Unsure()

    async def poll(self, job: BatchJob) -> BatchStatus | AttemptFailed:
        """The state of the batch."""
        found = await self._http.json("GET", self._batches / job.remote_id)
        if isinstance(found, AttemptFailed):
            return found
        status = found.get("status")
        if not isinstance(status, str):
            return AttemptFailed("unreadable", "a batch without a status")
        files = (checked_id(found, "output_file_id"), checked_id(found, "error_file_id"))
        counts = found.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        done = [n for k in ("completed", "failed") if isinstance(n := counts.get(k), int)]
        errors = _errors(found)
        is_oversized = status == "failed" and any(TOO_MANY_TOKENS in error for error in errors)
        return BatchStatus(
            "oversized" if is_oversized else _ENDINGS.get(status),
            "" if status == "completed" else words(status, *errors),
            tuple(name for name in files if isinstance(name, str)),
            sum(done),
        )

    async def download(self, job: BatchJob, target: BinaryIO) -> AttemptFailed | None:
        """The output file, then the error file."""
        for name in job.results:
            url = self._files / name / "content"
            found = await self._http.call("GET", url, into=target)
            if isinstance(found, AttemptFailed):
                return found
            target.write(b"\n")  # a file may end without one, and the next is appended
        return None

    def read(self, line: bytes) -> BatchLine | None:
        """One line of an output or error file."""
        fields = decode_object(line)
        if isinstance(fields, AttemptFailed) or not isinstance(fields.get("custom_id"), str):
            return None
        custom_id, response = fields["custom_id"], fields.get("response")
        error = fields.get("error")
        status = response.get("status_code") if isinstance(response, dict) else None
        if isinstance(response, dict) and isinstance(status, int) and status and not error:
            return BatchLine(custom_id, status, msgspec.json.encode(response.get("body")))
        error = error if isinstance(error, dict) else {}
        said = words(error.get("code"), error.get("message")) or "no response"
        return BatchLine(custom_id, 0, failure=AttemptFailed("server", said))

    async def cancel(self, job: BatchJob) -> AttemptFailed | None:
        """Cancel the batch; its finished part can still be collected."""
        found = await self._http.call("POST", self._batches / job.remote_id / "cancel", b"")
        return found if isinstance(found, AttemptFailed) else None

    async def delete(self, job: BatchJob) -> AttemptFailed | None:
        """Delete the files of requests and results; the batch itself has no text."""
        failed = None
        for name in (job.file_id, *job.results):
            if name:
                found = await self._http.call("DELETE", self._files / name)
                failed = found if isinstance(found, AttemptFailed) else failed
        return failed


def _name(job: BatchJob) -> str:
    return f"callscore-{job.token}.jsonl"


def _entries(found: dict[str, Any] | AttemptFailed) -> list[dict[str, Any]]:
    data = [] if isinstance(found, AttemptFailed) else found.get("data")
    return [entry for entry in data or () if isinstance(entry, dict)]


def _errors(found: Mapping[str, Any]) -> list[str]:
    errors = found.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    said = [error for error in data or () if isinstance(error, dict)]
    return [words(error.get("code"), error.get("message")) for error in said[:3]]
