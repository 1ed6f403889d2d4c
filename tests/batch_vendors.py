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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from builders import form, question
from stub_servers import Answer, Behaviour, Json, Request, chat_completion, openai_error

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

    def _poll(self, name: str) -> Answer:
        job = self.jobs.get(name)
        if job is None:
            return _found(None)
        self.advance(job)
        return Answer(self._object(job))

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
                response = {"status_code": 200, "request_id": "x", "body": self.reply()}
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
