"""Small HTTP servers with the wire formats of model APIs, which can also misbehave.

    with serving(chat("hello")) as stub:
        ...  # send requests to stub.url, then read stub.requests

A responder gets the request and returns an `Answer` (a complete HTTP response) or another
behaviour, such as `Hang`. The server runs in a separate thread, so that the code under test may
have its own event loop or be another process.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from command_server import NEVER_S

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What a client sent; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        value: Json = json.loads(self.body)
        return value


@dataclass(frozen=True)
class Answer:
    """A complete response; a `body` that is not bytes is sent as JSON."""

    body: Json | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0

    def raw(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        lines = {"content-type": "application/json", "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **self.headers}.items())
        return f"HTTP/1.1 {self.status} Stub\r\n{head}\r\n".encode() + body


@dataclass(frozen=True)
class Bytes:
    """Arbitrary bytes, after which the connection is closed."""

    raw: bytes


@dataclass(frozen=True)
class Drip:
    """A valid answer that is sent in pieces, with pauses."""

    answer: Answer
    pieces: int
    pause_s: float


@dataclass(frozen=True)
class WaitUntil:
    """A behaviour that starts when a condition is true."""

    behaviour: Behaviour
    until: Callable[[], bool]


@dataclass(frozen=True)
class Hang:
    """No answer, and the connection stays open."""


@dataclass(frozen=True)
class Reset:
    """The connection is reset without an answer."""


Behaviour = Answer | Bytes | Drip | WaitUntil | Hang | Reset
Responder = Callable[[Request], Behaviour]


class Stub:
    """A running server: its address and the requests that it got."""

    def __init__(self, respond: Responder, host: str) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.host, self.port = host, 0
        self._respond = respond
        self._open: set[asyncio.Task[None]] = set()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The base URL of an API on this server."""
        return f"{self.origin}/v1"

    async def run(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, self.host, 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for connection in self._open:
            connection.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def stop(self) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            while request := await _read_request(reader, writer):
                self.requests.append(request)
                if not await _behave(self._respond(request), writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    if headers.get("expect") == "100-continue":  # or the client waits a second
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding") == "chunked":
        return Request(method, path, headers, await _read_chunks(reader))
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:size]
    await reader.readline()
    return body


async def _behave(behaviour: Behaviour, writer: asyncio.StreamWriter) -> bool:
    """Carry out a behaviour; return whether the connection stays open."""
    if isinstance(behaviour, WaitUntil):
        loop = asyncio.get_running_loop()
        end = loop.time() + NEVER_S
        while not behaviour.until():
            if loop.time() > end:
                return False
            await asyncio.sleep(0.005)
        return await _behave(behaviour.behaviour, writer)
    if isinstance(behaviour, Hang):
        await asyncio.sleep(NEVER_S)
        return False
    if isinstance(behaviour, Reset):
        connection = writer.get_extra_info("socket")
        # without lingering, closing resets the connection instead of ending it
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    if isinstance(behaviour, Drip):
        raw = behaviour.answer.raw()
        size = -(-len(raw) // behaviour.pieces)
        for start in range(0, len(raw), size):
            writer.write(raw[start : start + size])
            await writer.drain()
            await asyncio.sleep(behaviour.pause_s)
        return True
    if isinstance(behaviour, Answer):
        await asyncio.sleep(behaviour.delay_s)
        writer.write(behaviour.raw())
    else:
        writer.write(behaviour.raw)
    await writer.drain()
    return isinstance(behaviour, Answer)


@contextmanager
def serving(respond: Responder, host: str = "127.0.0.1") -> Iterator[Stub]:
    """Run a server on a free port of this machine until the end of the block."""
    stub, ready = Stub(respond, host), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(stub.run(ready)), daemon=True)
    thread.start()
    assert ready.wait(NEVER_S)
    try:
        yield stub
    finally:
        stub.stop()
        thread.join(NEVER_S)


class Gate:
    """A responder that can hold its answers back until it is opened again.

    So a test can stop a command at a known request, however fast either of them is.
    """

    def __init__(self, respond: Responder, answers: float = math.inf) -> None:
        self._respond = respond
        self._left = answers

    def __call__(self, request: Request) -> Behaviour:
        behaviour = self._respond(request)
        self._left -= 1
        return behaviour if self._left >= 0 else WaitUntil(behaviour, lambda: self._left > 0)

    def hold(self, answers: int = 0) -> None:
        """Answer so many requests more, and hold all others."""
        self._left = answers

    def open(self) -> None:
        """Answer everything, also what was held."""
        self._left = math.inf


def always(*behaviours: Behaviour) -> Responder:
    """A responder with these behaviours in sequence; the last one repeats."""
    left = list(behaviours)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def chat(text: str = "ok") -> Responder:
    """A chat-completions API that always replies with this text."""
    return always(Answer(chat_completion(text)))


def chat_completion(
    text: object = "ok", finish_reason: str | None = "stop", **message: object
) -> Json:
    """A reply of `/chat/completions`."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "stub-2026-01-01",
        "choices": [choice],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def anthropic_message(content: Sequence[Json], stop_reason: str | None = "end_turn") -> Json:
    """A reply of `/messages`."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-stub-1",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 3,
            "output_tokens": 7,
        },
    }


def gemini_answer(parts: Sequence[Json], finish_reason: str | None = "STOP") -> Json:
    """A reply of `:generateContent`."""
    return {
        "candidates": [
            {
                "content": {"parts": list(parts), "role": "model"},
                "finishReason": finish_reason,
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 11,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 2,
            "totalTokenCount": 18,
        },
        "modelVersion": "gemini-stub-001",
    }


def converse_answer(content: Sequence[Json], stop_reason: str = "end_turn") -> Json:
    """A reply of `/converse`."""
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18},
        "metrics": {"latencyMs": 12},
    }


def openai_error(message: str, code: str | None = None, kind: str = "server_error") -> Json:
    """An error body as most APIs write it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class FaultyChat:
    """A chat-completions API with faults that depend only on seed, request and attempt.

    `rates` has the share of attempts per fault: 429, 500, garbage, cut, hang, drop. A reply with
    status 200 and a readable body counts as paid; `paid` counts them by request.
    """

    def __init__(
        self,
        answer: Callable[[Request], str],
        rates: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
        delay_s: float = 0.0,
        retry_after: str = "0.05",
    ) -> None:
        self.paid: Counter[bytes] = Counter()
        self.attempts: Counter[bytes] = Counter()
        self.arrived: list[float] = []
        self.outcomes: Counter[str] = Counter()
        self._answer = answer
        self._rates = dict(rates or {})
        self._seed = seed
        self._delay_s = delay_s
        self._retry_after = retry_after

    @property
    def paid_twice(self) -> int:
        return sum(times - 1 for times in self.paid.values())

    def __call__(self, request: Request) -> Behaviour:
        attempt = self.attempts[request.body]
        self.arrived.append(time.monotonic())
        self.attempts[request.body] += 1
        outcome = self._outcome(request.body, attempt)
        self.outcomes[outcome] += 1
        if outcome == "429":
            body = openai_error("Rate limit reached", "rate_limit_exceeded", "requests")
            return Answer(body, 429, {"retry-after": self._retry_after})
        if outcome == "500":
            return Answer(openai_error("The server had an error", None, "server_error"), 500)
        if outcome == "garbage":
            return Answer(b"<html>upstream hiccup</html>", headers={"content-type": "text/html"})
        if outcome in ("hang", "drop"):
            return Hang() if outcome == "hang" else Reset()
        self.paid[request.body] += 1
        text = self._answer(request)
        said = text[: len(text) // 2] if outcome == "cut" else text
        return Answer(chat_completion(said), delay_s=self._delay_s)

    def _outcome(self, body: bytes, attempt: int) -> str:
        seed = b"%d\0%d\0" % (self._seed, attempt)
        digest = hashlib.blake2b(seed + body, digest_size=8).digest()
        share = int.from_bytes(digest, "big") / 2**64
        for name, rate in self._rates.items():
            if share < rate:
                return name
            share -= rate
        return "ok"
