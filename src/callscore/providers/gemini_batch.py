"""The batch API of `gemini`: a file of requests, a batch over it, a file of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from yarl import URL

from callscore.core.batch import BatchJob, BatchLimits, BatchLine, BatchStatus, Ending, Unsure
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed
from callscore.providers.batch_http import MOST_PAGES, BatchHttp, checked_id, decode_object, words

VERTEX = "aiplatform.googleapis.com"
_LINES = "application/jsonl"
# python-genai 66807187, types.py (JobState) and _transformers.py; an expired batch has no results.
_ENDINGS: Mapping[str, Ending] = {
    "SUCCEEDED": "completed",
    "PARTIALLY_SUCCEEDED": "partial",
    "FAILED": "failed",
    "CANCELLED": "partial",
    "EXPIRED": "partial",
}
_STATUS: Mapping[int, int] = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 13: 500, 14: 503, 16: 401}
"""The HTTP status for a code of google.rpc; a code of 100 or more is an HTTP status itself."""


class GeminiBatch:
    """`:batchGenerateContent`, `/batches` and `/files` of the Gemini API."""

    # The guide "Batch API": files up to 2 GB; a job that waits or runs for more than 48 hours
    # expires, and files are kept for 48 hours. No number of requests is given; this one bounds what
    # a lost job may cost.
    limits = BatchLimits(requests=100_000, bytes=1_900_000_000, window_s=2 * 86_400)
    has_files = True

    def __init__(self, path: str, http: BatchHttp) -> None:
        """`path`: that of the live requests, below the base URL."""
        self._http = http
        live = f"/{path}"
        self._create_url = http.at(f"/{path.rpartition(':')[0]}:batchGenerateContent", live)
        self._base = http.at("", live)
        if (self._base.host or "").endswith(VERTEX):
            raise ConfigError("mode: batch: Vertex AI is not supported; expected the Gemini API")

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One line of the input file."""
        return msgspec.json.encode({"key": custom_id, "request": msgspec.Raw(body)})

    async def upload(self, job: BatchJob, file: Path) -> str | AttemptFailed:
        """Upload the lines: announce the file, then send it to the address in the answer."""
        start = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": str(file.stat().st_size),
            "X-Goog-Upload-Header-Content-Type": _LINES,
        }
        name = msgspec.json.encode({"file": {"display_name": _name(job)}})
        where = self._http.origin(f"/upload{self._base.raw_path}/files")
        begun = await self._http.call("POST", where, name, headers=start)
        if isinstance(begun, AttemptFailed):
            return begun
        url = URL(begun.headers.get("X-Goog-Upload-URL", ""), encoded=True)
        # the vendor chooses the address, and the key goes to no other host
        if not url.absolute or not self._http.is_own(url):
            return AttemptFailed("unreadable", "the upload would go to another host")
        send = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
        with file.open("rb") as lines:
            found = await self._http.json("POST", url, lines, headers=send)
        inner = found if isinstance(found, AttemptFailed) else found.get("file")
        return inner if isinstance(inner, AttemptFailed) else checked_id(inner or {}, "name")

    async def remove_uploads(self, job: BatchJob) -> None:
        """Delete files with the name of this job."""
        found = await self._http.json("GET", (self._base / "files").with_query(pageSize="100"))
        for entry in [] if isinstance(found, AttemptFailed) else _entries(found, "files"):
            name = checked_id(entry, "name")
            if entry.get("displayName") == _name(job) and isinstance(name, str):
                await self._http.call("DELETE", self._at(name))

    async def create(self, job: BatchJob, file: Path | None) -> str | AttemptFailed:
        """Create the batch; its display name has the token."""
        batch = {"displayName": _name(job), "inputConfig": {"fileName": job.file_id}}
        body = msgspec.json.encode({"batch": batch})
        found = await self._http.json("POST", self._create_url, body)
        return found if isinstance(found, AttemptFailed) else checked_id(found, "name")

    async def find(self, job: BatchJob) -> str | Unsure | AttemptFailed | None:
        """The batch with this token in its name, in the list of all."""
        query = {"pageSize": "100"}
        for _ in range(MOST_PAGES):
            found = await self._http.json("GET", (self._base / "batches").with_query(query))
            if isinstance(found, AttemptFailed):
                return found
            for entry in _entries(found, "operations"):
                if _metadata(entry).get("displayName") == _name(job):
                    return checked_id(entry, "name")
            page = found.get("nextPageToken")
            if not isinstance(page, str) or not page:
                return None
            query = {"pageSize": "100", "pageToken": page}
        return Unsure()

    async def poll(self, job: BatchJob) -> BatchStatus | AttemptFailed:
        """The state of the batch; `done` alone does not say how it ended."""
        found = await self._http.json("GET", self._at(job.remote_id))
        if isinstance(found, AttemptFailed):
            return found
        metadata = _metadata(found)
        state = str(metadata.get("state", "")).removeprefix("BATCH_STATE_")
        ending = _ENDINGS.get(state.removeprefix("JOB_STATE_"))
        error = found.get("error")
        said = words(error.get("message")) if isinstance(error, dict) else ""
        if ending is None and found.get("done") is True:
            ending = "failed" if said else "partial"
        places = (found.get("response"), metadata.get("output"), metadata.get("dest"))
        files = [checked_id(place, "responsesFile") for place in places if isinstance(place, dict)]
        results = tuple(name for name in files if isinstance(name, str))[:1]
        why = "" if ending == "completed" else words(state.lower(), said)
        return BatchStatus(ending, why, results, _done(metadata))

    async def download(self, job: BatchJob, target: BinaryIO) -> AttemptFailed | None:
        """The file of results."""
        for name in job.results:
            # the address in the guide; python-genai leaves out `/download`
            path = f"/download{self._base.raw_path}/{name}:download"
            found = await self._http.call("GET", self._http.origin(path, alt="media"), into=target)
            if isinstance(found, AttemptFailed):
                return found
        return None

    def read(self, line: bytes) -> BatchLine | None:
        """One line: a response or an error."""
        fields = decode_object(line)
        if isinstance(fields, AttemptFailed) or not isinstance(fields.get("key"), str):
            return None
        custom_id, response, error = fields["key"], fields.get("response"), fields.get("error")
        if isinstance(response, dict):
            return BatchLine(custom_id, 200, msgspec.json.encode(response))
        if not isinstance(error, dict):
            return BatchLine(custom_id, 0, failure=AttemptFailed("server", "no response"))
        code = error.get("code")
        status = code if isinstance(code, int) and code >= 100 else _STATUS.get(code or 0, 500)
        return BatchLine(custom_id, status, msgspec.json.encode({"error": error}))

    async def cancel(self, job: BatchJob) -> AttemptFailed | None:
        """Cancel the batch; its finished part can still be collected."""
        url = self._http.origin(f"{self._base.raw_path}/{job.remote_id}:cancel")
        found = await self._http.call("POST", url, b"")
        return found if isinstance(found, AttemptFailed) else None

    async def delete(self, job: BatchJob) -> AttemptFailed | None:
        """Delete the files and the batch."""
        failed = None
        for name in (job.file_id, *job.results, job.remote_id):
            if name:
                found = await self._http.call("DELETE", self._at(name))
                failed = found if isinstance(found, AttemptFailed) else failed
        return failed

    def _at(self, name: str) -> URL:
        return self._http.origin(f"{self._base.raw_path}/{name}")


def _name(job: BatchJob) -> str:
    return f"callscore-{job.token}"


def _metadata(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = entry.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _entries(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = found.get(name)
    return [entry for entry in entries or () if isinstance(entry, dict)]


def _done(metadata: Mapping[str, Any]) -> int:
    """Requests that are finished; the counts are texts (64-bit integers in JSON)."""
    stats = metadata.get("batchStats")
    stats = stats if isinstance(stats, dict) else {}
    counts = (str(stats.get(f"{kind}RequestCount", "")) for kind in ("successful", "failed"))
    return sum(int(count) for count in counts if count.isdecimal())
