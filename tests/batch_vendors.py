"""Servers that speak the batch APIs of vendors, and can misbehave.

    vendor = OpenAIVendor()
    with serving(vendor) as stub:
        ...  # run models at stub.url; then read vendor.sent

A vendor runs the requests of a job when the job is created, and counts them by their body. Live
requests are counted too, small requests of a preflight are not. `vendor.before` and `vendor.after`
get the name of every operation before and after it takes effect: they may kill a process, return
another behaviour than the answer, or change what the vendor knows.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from builders import form, question
from stub_servers import (
    Answer,
    Behaviour,
    Json,
    Request,
    anthropic_message,
    chat_completion,
    gemini_answer,
    openai_error,
)

OK = json.dumps(form(question()))
Hook = Callable[[str], Behaviour | None]


@dataclass
class Job:
    """One job at a vendor: its requests, and how far it is."""

    id: str
    token: str
    lines: list[Json]
    state: str = "running"
    polls: int = 0
    created: Json = field(default_factory=dict)
    results: list[bytes] = field(default_factory=list)


class Vendor:
    """What all vendors share; requests that `fails` names end with an error."""

    ended_as = "completed"

    def __init__(self, *, polls: int = 1) -> None:
        self.jobs: dict[str, Job] = {}
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        """The names of uploaded files, by id."""
        self.sent: Counter[str] = Counter()
        """How often each request was run, in a job or live, by its body."""
        self.live = 0
        self.seen: list[str] = []
        """The operations that took effect, in order."""
        self.polls = polls
        """How often a job is polled until it has ended."""
        self.before: Hook = lambda op: None
        self.after: Hook = lambda op: None
        self.change: Callable[[list[Json]], list[Json]] = lambda lines: lines
        """Changes the results of a job."""
        self.refused: set[int] = set()
        """The places of requests that end with an error."""

    def __call__(self, request: Request) -> Behaviour:
        op, act = self.find(request)
        behaviour = self.before(op)
        if behaviour is not None:
            return behaviour
        answer = act()
        self.seen.append(op)
        return self.after(op) or answer

    def find(self, request: Request) -> tuple[str, Callable[[], Answer]]:
        """The operation that a request asks for."""
        raise NotImplementedError

    def count(self, body: Json) -> None:
        text = json.dumps(body, sort_keys=True)
        if "Reply with the word ok" not in text:
            self.sent[text] += 1

    def answer_live(self, body: Json) -> Answer:
        self.count(body)
        self.live += "Reply with the word ok" not in json.dumps(body)
        return Answer(self.reply())

    def reply(self) -> Json:
        raise NotImplementedError

    def add_job(self, token: str, lines: list[Json], bodies: list[Json]) -> Job:
        job = Job(f"job-{len(self.jobs) + 1}", token, lines)
        self.jobs[job.id] = job
        for place, body in enumerate(bodies):
            if place not in self.refused:
                self.count(body)
        return job

    def _poll(self, name: str) -> Answer:
        job = self.jobs.get(name)
        if job is None:
            return _found(None)
        self.advance(job)
        return Answer(self._object(job))

    def _object(self, job: Job) -> Json:
        """A job as the vendor describes it."""
        raise NotImplementedError

    def advance(self, job: Job) -> None:
        """One poll; the last one ends the job."""
        job.polls += 1
        if job.state == "cancelling":
            self.end(job, "cancelled")
        elif job.state == "running" and job.polls >= self.polls:
            self.end(job, self.ended_as)

    def end(self, job: Job, state: str) -> None:
        raise NotImplementedError


def _lines(raw: bytes) -> list[Json]:
    return [json.loads(line) for line in raw.splitlines() if line.strip()]


def _raw(lines: list[Json]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _found(value: Any) -> Answer:
    return Answer(value) if value is not None else Answer(openai_error("no such thing"), 404)


class OpenAIVendor(Vendor):
    """`/files`, `/batches` and `/chat/completions`."""

    def find(self, request: Request) -> tuple[str, Callable[[], Answer]]:
        path, _, query = request.path.partition("?")
        parts = path.strip("/").split("/")[1:]
        match (request.method, *parts):
            case ("POST", "chat", "completions"):
                return "live", lambda: self.answer_live(request.json)
            case ("POST", "files"):
                return "upload", lambda: self._upload(request)
            case ("GET", "files"):
                return "list files", self._list_files
            case ("GET", "files", name, "content"):
                return "download", lambda: self._content(name)
            case ("DELETE", "files", name):
                return "delete", lambda: _found({} if self.files.pop(name, None) else None)
            case ("POST", "batches"):
                return "create", lambda: self._create(request.json)
            case ("GET", "batches"):
                return "list", lambda: self._list(query)
            case ("GET", "batches", name):
                return "poll", lambda: self._poll(name)
            case ("POST", "batches", name, "cancel"):
                return "cancel", lambda: self._cancel(name)
        raise AssertionError((request.method, request.path))

    def reply(self) -> Json:
        return chat_completion(OK)

    def result(self, line: Json) -> Json:
        """The reply to a request of a job."""
        return self.reply()

    def _upload(self, request: Request) -> Answer:
        assert b'name="purpose"\r\n\r\nbatch' in request.body
        boundary = re.search(r"boundary=(\S+)", request.headers["content-type"])
        assert boundary is not None
        part = request.body.split(b"--" + boundary[1].encode())[2]
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'filename="([^"]+)"', head)
        assert name is not None
        file_id = f"file-{len(self.names) + 1}"
        self.names[file_id] = name[1].decode()
        self.files[file_id] = content.removesuffix(b"\r\n")
        return Answer({"id": file_id, "object": "file", "purpose": "batch"})

    def _list_files(self) -> Answer:
        data = [{"id": name, "filename": self.names.get(name, "")} for name in self.files]
        return Answer({"object": "list", "data": data, "has_more": False})

    def _content(self, name: str) -> Answer:
        if name not in self.files:
            return Answer(openai_error("No such File object"), 404)
        return Answer(self.files[name], headers={"content-type": "application/jsonl"})

    def _create(self, body: Json) -> Answer:
        assert body["completion_window"] == "24h"
        assert body["endpoint"] == "/v1/chat/completions"
        assert body["output_expires_after"] == {"anchor": "created_at", "seconds": 2_592_000}
        lines = _lines(self.files[body["input_file_id"]])
        assert all(set(line) == {"custom_id", "method", "url", "body"} for line in lines)
        assert all(line["url"] == body["endpoint"] for line in lines)
        token = body["metadata"]["callscore_job"]
        job = self.add_job(token, lines, [line["body"] for line in lines])
        job.created = body
        return Answer(self._object(job))

    def _object(self, job: Job) -> Json:
        state = {"running": "in_progress"}.get(job.state, job.state)
        files = {
            name: file
            for name, file in zip(
                ("output_file_id", "error_file_id"),
                (f"file-{job.id}-output", f"file-{job.id}-error"),
                strict=True,
            )
            if file in self.files
        }
        return {
            "id": job.id,
            "object": "batch",
            "status": state,
            "created_at": 1_800_000_000,
            "endpoint": job.created["endpoint"],
            "input_file_id": job.created["input_file_id"],
            "completion_window": job.created["completion_window"],
            "metadata": {"callscore_job": job.token},
            "request_counts": {"total": len(job.lines), "completed": 0, "failed": 0},
            "errors": job.created.get("errors"),
            **files,
        }

    def _list(self, query: str) -> Answer:
        newest_first = list(self.jobs.values())[::-1]
        if "after=" in query:
            after = query.partition("after=")[2].partition("&")[0]
            place = [job.id for job in newest_first].index(after)
            newest_first = newest_first[place + 1 :]
        data = [self._object(job) for job in newest_first[:1]]  # small pages
        return Answer({"object": "list", "data": data, "has_more": len(newest_first) > 1})

    def _cancel(self, name: str) -> Answer:
        self.jobs[name].state = "cancelling"
        return Answer(self._object(self.jobs[name]))

    def end(self, job: Job, state: str) -> None:
        job.state = state
        if state == "failed":
            return
        good, bad = [], []
        for place, line in enumerate(job.lines):
            fields = {"id": f"r-{place}", "custom_id": line["custom_id"]}
            if place not in self.refused:
                response = {"status_code": 200, "request_id": "x", "body": self.result(line)}
                good.append({**fields, "response": response, "error": None})
            elif state == "completed":
                response = {"status_code": 500, "body": openai_error("overheated")}
                bad.append({**fields, "response": response, "error": None})
            else:
                error = {"code": f"batch_{state}", "message": "not run"}
                bad.append({**fields, "response": None, "error": error})
        good = self.change(good[::-1])  # no order is promised
        if good:
            self.files[f"file-{job.id}-output"] = _raw(good)
        if bad:
            self.files[f"file-{job.id}-error"] = _raw(bad)


STATES = {"running": "in_progress", "cancelling": "canceling"}
"""Words of the stub to words of the vendor."""


class AnthropicVendor(Vendor):
    """`/messages` and `/messages/batches`."""

    ended_as = "ended"

    def find(self, request: Request) -> tuple[str, Callable[[], Answer]]:
        path, _, query = request.path.partition("?")
        assert request.headers["anthropic-version"]
        match (request.method, *path.strip("/").split("/")[1:]):
            case ("POST", "messages"):
                return "live", lambda: self.answer_live(request.json)
            case ("POST", "messages", "batches"):
                return "create", lambda: self._create(request.json)
            case ("GET", "messages", "batches"):
                return "list", lambda: self._list(query)
            case ("GET", "messages", "batches", name):
                return "poll", lambda: self._poll(name)
            case ("GET", "messages", "batches", name, "results"):
                return "download", lambda: self._results(name)
            case ("POST", "messages", "batches", name, "cancel"):
                return "cancel", lambda: self._cancel(name)
            case ("DELETE", "messages", "batches", name):
                return "delete", lambda: _found({} if self.jobs.pop(name, None) else None)
        raise AssertionError((request.method, request.path))

    def reply(self) -> Json:
        return anthropic_message([{"type": "text", "text": OK}])

    def _create(self, body: Json) -> Answer:
        lines = body["requests"]
        assert all(set(line) == {"custom_id", "params"} for line in lines)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", line["custom_id"]) for line in lines)
        job = self.add_job("", lines, [line["params"] for line in lines])
        return Answer(self._object(job))

    def _object(self, job: Job) -> Json:
        ended = job.state == "ended"
        counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        counts["succeeded" if ended else "processing"] = len(job.lines)
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": STATES.get(job.state, job.state),
            "request_counts": counts,
            "created_at": self.now().isoformat(),
            "expires_at": (self.now() + timedelta(days=1)).isoformat(),
            "results_url": "https://elsewhere.example/results" if ended else None,
        }

    def now(self) -> datetime:
        """The vendor's clock."""
        return datetime.now(UTC)

    def _list(self, query: str) -> Answer:
        newest_first = list(self.jobs.values())[::-1]
        if "after_id=" in query:
            after = query.partition("after_id=")[2].partition("&")[0]
            place = [job.id for job in newest_first].index(after)
            newest_first = newest_first[place + 1 :]
        data = [self._object(job) for job in newest_first[:1]]
        for job in newest_first[:1]:
            self.advance(job)  # time passes
        last = data[-1]["id"] if data else None
        return Answer({"data": data, "has_more": len(newest_first) > 1, "last_id": last})

    def _results(self, name: str) -> Answer:
        job = self.jobs.get(name)
        if job is None or not job.results:
            return _found(None)
        return Answer(b"".join(job.results), headers={"content-type": "application/x-jsonl"})

    def _cancel(self, name: str) -> Answer:
        self.jobs[name].state = "cancelling"
        return Answer(self._object(self.jobs[name]))

    def end(self, job: Job, state: str) -> None:
        left = {"ended": "errored", "cancelled": "canceled"}.get(state, state)
        job.state = "ended"
        lines = []
        for place, line in enumerate(job.lines):
            result: Json = {"type": "succeeded", "message": self.reply()}
            if place in self.refused:
                result = {"type": left}
            if place in self.refused and left == "errored":
                error = {"type": "api_error", "message": "overheated"}
                result["error"] = {"type": "error", "error": error}
            lines.append({"custom_id": line["custom_id"], "result": result})
        job.results = [_raw(self.change(lines[::-1]))]


class GeminiVendor(Vendor):
    """`:generateContent`, `:batchGenerateContent`, `/batches` and `/files`."""

    ended_as = "SUCCEEDED"

    def find(self, request: Request) -> tuple[str, Callable[[], Answer]]:
        path, _, query = request.path.partition("?")
        verb = path.rpartition(":")[2]
        match (request.method, *path.strip("/").split("/")):
            case ("POST", "v1", "models", _) if verb == "generateContent":
                return "live", lambda: self.answer_live(request.json)
            case ("POST", "v1", "models", _) if verb == "batchGenerateContent":
                return "create", lambda: self._create(request.json)
            case ("GET", "v1", "batches"):
                return "list", lambda: self._list(query)
            case ("GET", "v1", "batches", name):
                return "poll", lambda: self._poll(f"batches/{name}")
            case ("POST", "v1", "batches", name) if verb == "cancel":
                return "cancel", lambda: self._cancel(f"batches/{name.partition(':')[0]}")
            case ("DELETE", "v1", kind, name):
                return "delete", lambda: self._delete(f"{kind}/{name}")
        return self._find_file(request, path, query)

    def _find_file(
        self, request: Request, path: str, query: str
    ) -> tuple[str, Callable[[], Answer]]:
        match (request.method, *path.strip("/").split("/")):
            case ("POST", "upload", "v1", "files"):
                return "announce", lambda: self._announce(request)
            case ("POST", "upload", "here", name):
                return "upload", lambda: self._upload(name, request)
            case ("GET", "v1", "files"):
                return "list files", self._list_files
            case ("GET", "download", "v1", "files", name):
                assert query == "alt=media"
                return "download", lambda: self._content(f"files/{name.partition(':')[0]}")
        raise AssertionError((request.method, request.path))

    def _delete(self, name: str) -> Answer:
        gone = self.files.pop(name, None) or self.jobs.pop(name, None)
        return _found({} if gone else None)

    def reply(self) -> Json:
        return gemini_answer([{"text": OK}])

    def _announce(self, request: Request) -> Answer:
        assert request.headers["x-goog-upload-command"] == "start"
        name = f"f{len(self.names) + 1}"
        self.names[f"files/{name}"] = request.json["file"]["display_name"]
        where = f"http://{request.headers['host']}/upload/here/{name}?upload_id=1"
        return Answer(b"", headers={"x-goog-upload-url": where})

    def _upload(self, name: str, request: Request) -> Answer:
        assert request.headers["x-goog-upload-command"] == "upload, finalize"
        self.files[f"files/{name}"] = request.body
        return Answer({"file": {"name": f"files/{name}"}})

    def _list_files(self) -> Answer:
        files = [{"name": name, "displayName": self.names.get(name, "")} for name in self.files]
        return Answer({"files": files} if files else {})

    def _content(self, name: str) -> Answer:
        return Answer(self.files[name]) if name in self.files else _found(None)

    def _create(self, body: Json) -> Answer:
        batch = body["batch"]
        lines = _lines(self.files[batch["inputConfig"]["fileName"]])
        assert all(set(line) == {"key", "request"} for line in lines)
        job = self.add_job(batch["displayName"], lines, [line["request"] for line in lines])
        del self.jobs[job.id]
        job.id = f"batches/{job.id}"
        self.jobs[job.id] = job
        return Answer(self._object(job))

    def _object(self, job: Job) -> Json:
        state = {"running": "RUNNING", "cancelling": "RUNNING"}.get(job.state, job.state)
        metadata: Json = {"displayName": job.token, "state": f"BATCH_STATE_{state}"}
        metadata["batchStats"] = {"requestCount": str(len(job.lines))}
        found: Json = {"name": job.id, "metadata": metadata}
        result = f"files/result-{job.id.partition('/')[2]}"
        if result in self.files:
            metadata["output"] = {"responsesFile": result}
        # `done` stays away, as the SDK overlooks PARTIALLY_SUCCEEDED
        return found | ({"done": True} if state == "SUCCEEDED" else {})

    def _list(self, query: str) -> Answer:
        jobs = list(self.jobs.values())
        start = int(query.partition("pageToken=")[2].partition("&")[0] or 0)
        found: Json = {"operations": [self._object(job) for job in jobs[start : start + 1]]}
        return Answer(found | ({"nextPageToken": f"{start + 1}"} if start + 1 < len(jobs) else {}))

    def _cancel(self, name: str) -> Answer:
        self.jobs[name].state = "cancelling"
        return Answer({})

    def end(self, job: Job, state: str) -> None:
        job.state = state.upper()
        if state in ("FAILED", "failed"):
            return
        lines: list[Json] = []
        for place, line in enumerate(job.lines):
            if place not in self.refused:
                lines.append({"key": line["key"], "response": self.reply()})
            else:
                lines.append({"key": line["key"], "error": {"code": 13, "message": "overheated"}})
        self.files[f"files/result-{job.id.partition('/')[2]}"] = _raw(self.change(lines[::-1]))


VENDORS: Mapping[str, type[Vendor]] = {
    "openai": OpenAIVendor,
    "anthropic": AnthropicVendor,
    "gemini": GeminiVendor,
}
"""By provider."""
