"""A client of MCP servers over stdin and stdout: JSON-RPC, one message per line.

It starts a server, agrees on a version, lists tools and calls them. That is all that an evaluation
needs, so that no further package is installed for it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.version import __version__

PROTOCOL = "2025-06-18"
METHOD_NOT_FOUND = -32601
LONGEST_LINE = 16 * 2**20
STDERR_LINES = 5
END_S = 2.0
"""How long a server may take to end after its input was closed."""
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE")
"""Environment variables of every server; keys of models are not among them."""


class ServerFailed(Exception):
    """A server cannot be started, has ended, or does not follow the protocol."""


class CallRefused(Exception):
    """The server answers a request with an error; the message is the server's."""


class McpServer:
    """A running server. One request is in flight at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = count(1)
        self._last_words: deque[str] = deque(maxlen=STDERR_LINES)
        self._listening = asyncio.create_task(self._keep_stderr())

    @classmethod
    async def start(cls, command: Sequence[str], folder: Path, env: Sequence[str]) -> McpServer:
        """Start a server in a folder; raises ServerFailed.

        `python` is the Python of this process.
        """
        command = [sys.executable if command[0] == "python" else command[0], *command[1:]]
        passed_on = {name: os.environ[name] for name in (*PASSED_ON, *env) if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                env=passed_on,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise ServerFailed(f"{command[0]}: cannot be started ({error.strerror})") from None
        server = cls(process)
        try:
            await server._begin()
        except (ServerFailed, CallRefused) as error:
            await server.close()
            raise ServerFailed(str(error)) from None
        except asyncio.CancelledError:
            await server.close()
            raise
        return server

    async def _begin(self) -> None:
        client = {"name": "callscore", "version": __version__}
        asked = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        await self._request("initialize", asked)
        await self._write({"method": "notifications/initialized"})

    async def tool_names(self) -> list[str]:
        """The names of all tools."""
        names: list[str] = []
        cursor: Any = None
        while True:
            found = await self._request("tools/list", {"cursor": cursor} if cursor else {})
            tools = found.get("tools")
            names += (
                [str(tool.get("name")) for tool in tools if isinstance(tool, dict)]
                if (isinstance(tools, list))
                else []
            )
            cursor = found.get("nextCursor")
            if not cursor:
                return names

    async def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[Any, bool]:
        """The result of a tool, and whether it is an error."""
        found = await self._request("tools/call", {"name": name, "arguments": arguments})
        return _content(found), found.get("isError") is True

    async def _request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        number = next(self._ids)
        await self._write({"id": number, "method": method, "params": params})
        while True:
            message = await self._read()
            if "method" in message:
                await self._answer(message)
            elif message.get("id") == number:
                if isinstance(error := message.get("error"), dict):
                    raise CallRefused(str(error.get("message", "no message"))[:500])
                result = message.get("result")
                if not isinstance(result, dict):
                    raise ServerFailed(f"{method}: a reply without a result")
                return result

    async def _answer(self, message: Mapping[str, Any]) -> None:
        """Answer a request of the server: nothing but a ping is offered."""
        if "id" not in message:
            return
        error = {"code": METHOD_NOT_FOUND, "message": "not offered by this client"}
        reply = {"result": {}} if message["method"] == "ping" else {"error": error}
        await self._write({"id": message["id"], **reply})

    async def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise await self._ended() from None

    async def _read(self) -> Mapping[str, Any]:
        """The next message; lines that are none are skipped, as servers print notes."""
        assert self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                raise ServerFailed(f"a line of more than {LONGEST_LINE:,} bytes") from None
            if not line:
                raise await self._ended()
            with suppress(msgspec.DecodeError, RecursionError):
                message = msgspec.json.decode(line)
                if isinstance(message, dict):
                    return message

    async def _ended(self) -> ServerFailed:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), END_S)
            await asyncio.wait_for(self._listening, END_S)
        said = " ".join(self._last_words)
        return ServerFailed(f"the server has ended{': ' if said else ''}{said[:500]}")

    async def _keep_stderr(self) -> None:
        """Read what the server writes for people, so that it never waits; keep the end of it."""
        assert self._process.stderr is not None
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:
                continue
            if not line:
                return
            self._last_words.append(line.decode("utf-8", "replace").strip())

    async def close(self) -> None:
        """End the server: close its input, then kill it with its children."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), END_S)
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            elif self._process.returncode is None:
                self._process.kill()
        await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)


def _content(result: Mapping[str, Any]) -> Any:
    """The content of a result: structured if there is such, else its texts, as JSON if they are."""
    if isinstance(result.get("structuredContent"), dict):
        return result["structuredContent"]
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    text = "\n".join(
        block["text"]
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    )
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
