"""A real `callscore serve` of a store, and a client that sends exactly the headers it is given."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import commands
from callscore.results.stored_results import StoredResults
from command_server import NEVER_S

_ADDRESS = re.compile(r"https?://\S+/start\?token=\S+")


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


class Served:
    """A server in its own process."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        """The one that the command has printed; it can be opened once."""
        parts = urlsplit(address)
        self.port = parts.port or 0
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        self.cookie = ""
        self.store = Path()

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        *,
        hosts: tuple[str, ...] | None = None,
        session: bool = True,
    ) -> Reply:
        """Send one request; a form comes from a page of the server unless headers say otherwise."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=NEVER_S)
        body = urlencode(form or {}).encode() if method == "POST" else b""
        sent = {"Cookie": self.cookie} if session and self.cookie else {}
        if method == "POST":
            sent |= {
                "Origin": self.origin,
                "Content-Type": "application/x-www-form-urlencoded",
                "Content-Length": str(len(body)),
            }
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for host in (self.host,) if hosts is None else hosts:
            connection.putheader("Host", host)
        for name, value in (sent | dict(headers or {})).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
        connection.close()
        return Reply(response.status, dict(response.getheaders()), text)

    def enter(self) -> Reply:
        """Open the printed address, and keep the session."""
        parts = urlsplit(self.address)
        reply = self.ask(f"{parts.path}?{parts.query}", session=False)
        self.cookie = reply.headers["Set-Cookie"].partition(";")[0]
        return reply


@contextmanager
def serve(store: Path, *options: object) -> Iterator[Served]:
    """Build the missing indexes, and serve the store until the end of the block."""
    results = StoredResults(store)
    for run in results.runs():
        if run.answered and run.state != "fresh":
            results.build(run.id)
    results.close()
    with read_address(commands.start("serve", store, "--port", 0, "--no-open", *options)) as server:
        server.store = store
        yield server


@contextmanager
def read_address(process: subprocess.Popen[str]) -> Iterator[Served]:
    """Wait for the address that a command prints; end it with the block, unless it was killed."""
    assert process.stdout is not None
    try:
        read = []
        for line in process.stdout:
            read.append(line)
            if found := _ADDRESS.search(line):
                yield Served(process, found[0])
                break
        else:
            assert process.stderr is not None
            raise AssertionError("".join(read) + process.stderr.read())
    finally:
        process.terminate()
        process.communicate(timeout=NEVER_S)
    assert process.returncode in (0, -signal.SIGKILL)
