"""A chat API that answers and judges: one fixed answer of a model, valid verdicts of a judge.

A judge's request is read by the literal-minded reader that the package ships, the first time; the
same request again is answered from memory, so that the server is no part of what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from typing import Any, cast

from callscore.core.case import Message
from callscore.engine.loop import Shutdown, run
from callscore.judges.fakes import LiteralModel
from callscore.runner.preflight import WORD_OK

JUDGE, FLOOR_JUDGE = "judge", "floor-judge"
BYTES_A_TOKEN = 4
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"


class Answers:
    """What is answered to which request, and how many there were."""

    def __init__(self, answer: str, latency_s: float) -> None:
        self.latency_s = latency_s
        self._answer = answer
        self._judge_answer = ""
        """The last of a judge: what the bare client is answered in its place."""
        self._known: dict[bytes, tuple[str, bytes]] = {}
        self._reader = LiteralModel()
        self.reset()

    def reset(self) -> None:
        """Begin to count anew."""
        self.counts: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self._at_once = self.most_at_once = 0

    def to(self, body: bytes) -> bytes:
        """The answer to a chat request."""
        if body not in self._known:
            self._known[body] = self._answered(json.loads(body))
        kind, response = self._known[body]
        self.counts[kind] += 1
        self.bytes[kind] += len(body)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        return response

    def sent(self) -> None:
        """One answer is on its way."""
        self._at_once -= 1

    def stats(self) -> bytes:
        """The counters since the last look, as a response."""
        found = {"requests": self.counts, "bytes": self.bytes, "most_at_once": self.most_at_once}
        response = _response(found)
        self.reset()
        return response

    def _answered(self, request: dict[str, Any]) -> tuple[str, bytes]:
        messages = [Message(one["role"], one["content"]) for one in request["messages"]]
        model = request["model"]
        if messages[0].content.startswith(WORD_OK):
            return "preflight", _completion("ok", messages)
        if model == JUDGE:
            self._judge_answer = self._reader.answer(messages)
            return model, _completion(self._judge_answer, messages)
        if model == FLOOR_JUDGE:
            return model, _completion(self._judge_answer, messages)
        return model, _completion(self._answer, messages)


def _completion(text: str, messages: list[Message]) -> bytes:
    usage = {
        "prompt_tokens": sum(len(message.content) for message in messages) // BYTES_A_TOKEN,
        "completion_tokens": len(text) // BYTES_A_TOKEN,
    }
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return _response({"object": "chat.completion", "choices": [choice], "usage": usage})


def _response(content: dict[str, Any]) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + _END_OF_HEAD + body


class Connection(asyncio.Protocol):
    """One connection, kept alive; its requests come one after the other."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_END_OF_HEAD)
        if end < 0:
            return
        head, start = self._received[:end].lower(), end + len(_END_OF_HEAD)
        _, _, told = head.partition(_LENGTH)
        length = int(told.split(b"\r\n")[0]) if told else 0
        if len(self._received) < start + length:
            return
        body, self._received = self._received[start : start + length], b""
        if head.startswith(b"get"):
            self._transport.write(self._answers.stats())
            return
        response = self._answers.to(body)
        asyncio.get_running_loop().call_later(self._answers.latency_s, self._send, response)

    def _send(self, response: bytes) -> None:
        self._answers.sent()
        self._transport.write(response)


async def serve(answers: Answers, stop: Shutdown) -> None:
    """Serve on a free port, which is told on standard output, until somebody stops it."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answers), "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, required=True)
    parser.add_argument("--answer", required=True, help="what every model says")
    told = parser.parse_args()
    answers = Answers(told.answer, told.latency_ms / 1000)
    run(lambda stop: serve(answers, stop))


if __name__ == "__main__":
    main()
