"""The tools of agents in conversations: functions of the user, and MCP servers of the user.

A request has the calls of one step. The eval file alone says what is started; a model chooses only
among its tools. What a tool cannot do is a result that the model sees; a server that does not work
at all is a failed attempt, which counts against no model.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from callscore.core.case import Case, Prompt, Reply
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.core.scenarios import TOOLS, LiveTool
from callscore.providers.mcp import CallRefused, McpServer, ServerFailed

ALL = "*"
MOST_SESSIONS = 32
"""Conversations whose servers run at the same time; others are started again when needed."""
LONGEST_RESULT = 20_000
"""Characters of a result that a model sees."""
TOOL_ERROR, TIMEOUT = "TOOL_ERROR", "TIMEOUT"
KEY_BYTES = 32
START_S = 60.0
"""How long a server may take to start."""


class WantedCall(msgspec.Struct, frozen=True):
    """A call to carry out."""

    name: str
    arguments: Mapping[str, Any]


class ToolOrder(msgspec.Struct, frozen=True):
    """The calls of one step, after all earlier ones of the same conversation."""

    conversation: str
    calls: Sequence[WantedCall]
    before: Sequence[WantedCall] = ()


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call returned; `text` is JSON, cut if it is long."""

    text: str
    is_error: bool = False
    is_cut: bool = False


_READ = msgspec.json.Decoder(ToolOrder)
Function = Callable[..., Any]


class ToolProvider:
    """Carries out calls; the results of a step are one reply, a list as JSON."""

    name = TOOLS

    def __init__(self, tools: Mapping[str, LiveTool], folder: Path) -> None:
        """`folder` is that of the eval file, which paths in it are relative to."""
        self._tools = tools
        self._folder = folder
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._targets: dict[str, _Target] = {}
        self._modules: dict[str, Any] = {}
        """By place, so that all methods of a class have one object."""
        self._identity = msgspec.json.encode(
            [tools, [_content_hash(tool, folder) for tool in tools.values()]], order="deterministic"
        )

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """Raises ConfigError: calls are not prompts."""
        raise ConfigError(f"{self.name} carry out calls, not prompts")

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The order in the config of the case; a changed tool is another request."""
        body = msgspec.json.encode(case.config, order="deterministic")
        known = blake2b(self._identity, digest_size=KEY_BYTES)
        known.update(f"\0{case.id}\0{repeat}\0".encode() + body)
        return ProviderRequest(known.digest(), TOOLS, body, input_tokens=0, max_output_tokens=0)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """The results of the calls. A server that fails is not tried again."""
        order = _READ.decode(request.body)
        try:
            results = await self._carry_out(order)
        except (ServerFailed, ConfigError) as error:
            return AttemptFailed("bad_request", f"a tool does not work: {error}")
        text = msgspec.json.encode(results).decode()
        return ProviderResponse(Reply(text, "stop", 0, 0, 0.0, model=TOOLS))

    async def _carry_out(self, order: ToolOrder) -> list[ToolResult]:
        """The results of the calls, in a session that has carried out all calls before them."""
        session = self._sessions.pop(order.conversation, None)
        if session is not None and session.done != [*order.before]:
            await session.close()
            session = None
        if session is None:
            session = _Session(self._folder)
            for call in order.before:
                await session.repeat(self._target(call.name), call)
        self._sessions[order.conversation] = session
        while len(self._sessions) > MOST_SESSIONS:
            await self._sessions.popitem(last=False)[1].close()
        return [await session.call(self._target(call.name), call) for call in order.calls]

    def _target(self, name: str) -> _Target:
        found = self._targets.get(name)
        if found is None:
            tool = self._tools.get(name) or self._tools[ALL]
            made = self._python_target(tool.python) if tool.python else None
            found = self._targets[name] = _Target(tool, made)
        return found

    def _python_target(self, named: str) -> tuple[Function, str]:
        """The function, or the class and its method; raises ConfigError."""
        place, _, name = named.rpartition(":")
        if place not in self._modules:
            self._modules[place] = _module(named, place, self._folder)
        owner, _, method = name.rpartition(".")
        found = getattr(self._modules[place], owner or name, None)
        if not callable(found) or (owner and not callable(getattr(found, method, None))):
            raise ConfigError(f"{named}: no such function; expected one of {place}")
        return found, method if owner else ""

    def check(self) -> None:
        """Load every function, find every command; raises ConfigError."""
        for name, tool in self._tools.items():
            if tool.python:
                self._target(name)
            elif (
                shutil.which(tool.mcp[0], path=None) is None
                and not (self._folder / tool.mcp[0]).is_file()
            ):
                raise ConfigError(f"{_place(name)}.mcp: {tool.mcp[0]}: no such command")

    async def check_servers(self) -> None:
        """Start every server once, and look for its tools; raises ConfigError."""
        commands: dict[tuple[str, ...], list[str]] = {}
        for name, tool in self._tools.items():
            if tool.mcp:
                commands.setdefault(tuple(tool.mcp), []).append(name)
        for command, names in commands.items():
            try:
                found = await self._tools_of(self._tools[names[0]])
            except (ServerFailed, CallRefused, TimeoutError) as error:
                why = str(error) or f"no reply within {START_S:g} s"
                raise ConfigError(f"{_place(names[0])}.mcp: {' '.join(command)}: {why}") from None
            for name in names:
                if name not in (ALL, *found):
                    raise ConfigError(
                        f"{_place(name)}.mcp: {' '.join(command)} has no tool of this name; "
                        f"expected one of {', '.join(found)}"
                    )

    async def _tools_of(self, tool: LiveTool) -> list[str]:
        server = await _start(tool, self._folder)
        try:
            return await asyncio.wait_for(server.tool_names(), START_S)
        finally:
            await server.close()

    async def close(self) -> None:
        """End all servers."""
        sessions, self._sessions = self._sessions, OrderedDict()
        await asyncio.gather(*(session.close() for session in sessions.values()))


async def _start(tool: LiveTool, folder: Path) -> McpServer:
    """A server of the tool; raises ServerFailed, also if it does not start in time."""
    try:
        return await asyncio.wait_for(McpServer.start(tool.mcp, folder, tool.env), START_S)
    except TimeoutError:
        raise ServerFailed(f"no reply within {START_S:g} s after the start") from None


class _Target(msgspec.Struct, frozen=True):
    """A tool, and the function or the class with a method that carries it out."""

    tool: LiveTool
    python: tuple[Function, str] | None
    """A function and nothing, or a class and the name of a method."""


class _Session:
    """The state of one conversation: its servers, and one object of every class."""

    def __init__(self, folder: Path) -> None:
        self.done: list[WantedCall] = []
        self._folder = folder
        self._servers: dict[tuple[str, ...], McpServer] = {}
        self._objects: dict[Function, Any] = {}

    async def repeat(self, target: _Target, call: WantedCall) -> None:
        """Carry out a call of an earlier session again, if its tool may keep state."""
        if target.python is None or target.python[1]:
            await self.call(target, call)
        else:
            self.done.append(call)

    async def call(self, target: _Target, call: WantedCall) -> ToolResult:
        """Carry out a call; errors and timeouts are results."""
        self.done.append(call)
        server = None if target.python is not None else await self._server(target.tool)
        try:
            async with asyncio.timeout(target.tool.timeout_s):
                if server is None:
                    return as_result(await in_thread(partial(self._python, target, call)))
                return await self._ask_server(server, target.tool, call)
        except TimeoutError:
            await self._drop(target.tool)
            return error_result(TIMEOUT, f"no result within {target.tool.timeout_s:g} s")
        except Exception as error:  # the user's code, whose errors are for the model to see
            return error_result(TOOL_ERROR, str(error) or type(error).__name__)

    async def _ask_server(self, server: McpServer, tool: LiveTool, call: WantedCall) -> ToolResult:
        try:
            value, is_error = await server.call(call.name, call.arguments)
        except ServerFailed as error:  # it was started: the call has ended it
            await self._drop(tool)
            return error_result(TOOL_ERROR, str(error))
        return as_result(value, is_error=is_error)

    def _python(self, target: _Target, call: WantedCall) -> Any:
        """Call the function or method; in a thread, as the class may do anything when made."""
        assert target.python is not None
        made, method = target.python
        if not method:
            return made(**call.arguments)
        if made not in self._objects:
            self._objects[made] = made()
        return getattr(self._objects[made], method)(**call.arguments)

    async def _server(self, tool: LiveTool) -> McpServer:
        """The running server, started if need be: no call of the model waits for that."""
        command = tuple(tool.mcp)
        if command not in self._servers:
            self._servers[command] = await _start(tool, self._folder)
        return self._servers[command]

    async def _drop(self, tool: LiveTool) -> None:
        """End a server that does not answer: its late answer would be taken for the next one."""
        server = self._servers.pop(tuple(tool.mcp), None)
        if server is not None:
            await server.close()

    async def close(self) -> None:
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.close()


async def in_thread(function: Callable[[], Any]) -> Any:
    """The value of a blocking function; a thread that is left behind does not hold up the end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = function()
            if inspect.iscoroutine(value):
                value = asyncio.run(value)
        except BaseException as raised:  # noqa: BLE001 - a tool that exits ends its call alone
            error = raised if isinstance(raised, Exception) else RuntimeError(repr(raised))
        with suppress(RuntimeError):  # the loop has ended, and with it the wait
            loop.call_soon_threadsafe(settle, value, error)

    Thread(target=work, daemon=True).start()
    return await done


def as_result(value: Any, *, is_error: bool = False) -> ToolResult:
    """A value as JSON, cut if it is long."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        return error_result(TOOL_ERROR, f"the tool returned no JSON: {error}")
    if len(text) <= LONGEST_RESULT:
        return ToolResult(text, is_error)
    return ToolResult(f"{text[:LONGEST_RESULT]} … (cut)", is_error, is_cut=True)


def error_result(kind: str, message: str) -> ToolResult:
    """An error as the result of a call."""
    value = {"error": kind, "message": message[:500]}
    return ToolResult(msgspec.json.encode(value).decode(), is_error=True)


def _module(named: str, place: str, folder: Path) -> Any:
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        path = folder / place
        spec = importlib.util.spec_from_file_location(f"callscore_tools_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except Exception as error:  # the user's code may raise anything
        raise ConfigError(f"{named}: cannot be loaded ({type(error).__name__}: {error})") from None


def _content_hash(tool: LiveTool, folder: Path) -> str:
    """A hash of the files that a tool names, so that a changed tool is asked again."""
    names = [tool.python.rpartition(":")[0]] if tool.python else tool.mcp
    known = blake2b(digest_size=16)
    for name in names:
        path = folder / name
        if path.is_file() and path.stat().st_size < 2**20:
            known.update(path.read_bytes() + b"\0")
    return known.hexdigest()


def _place(name: str) -> str:
    return f"data.orchestration.tools.{name}"
