"""Tools of conversations: functions and MCP servers of the user, started by the eval file alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from callscore.core.case import Case, Prompt
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, ProviderResponse
from callscore.core.scenarios import LiveTool
from callscore.providers import tools as tools_module
from callscore.providers.tools import LONGEST_RESULT, ToolProvider

FUNCTIONS = """
import threading

def double(number):
    return {"number": 2 * number}

def fail():
    raise LookupError("no such table")

def leave():
    raise SystemExit(3)

released = threading.Event()

def wait():
    released.wait()

class Stuck:
    def __init__(self):
        released.wait()

    def answer(self):
        return 1

class Leaving:
    def __init__(self):
        raise SystemExit("no desk")

    def answer(self):
        return 1

def release():
    released.set()

def long():
    return "x" * 50_000

def odd():
    return object()

async def later():
    return {"later": True}

class Desk:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

    def total(self):
        return self.count
"""
SERVER = """
import json, os, sys
count = 0
if "--broken" in sys.argv:
    sys.exit("cannot open the bookings")
print("ready")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params", {})
    reply = {"result": {}}
    if method == "tools/list":
        names = ["count", "refuse", "die", "fail", "environment"]
        reply = {"result": {"tools": [{"name": name} for name in names]}}
    elif method == "tools/call" and params["name"] == "count":
        count += 1
        print(json.dumps({"jsonrpc": "2.0", "id": "x", "method": "ping"}), flush=True)
        assert "result" in json.loads(sys.stdin.readline())
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress"}), flush=True)
        reply = {"result": {"content": [{"type": "text", "text": str(count)}]}}
    elif method == "tools/call" and params["name"] == "refuse":
        reply = {"error": {"code": -32602, "message": "bad arguments"}}
    elif method == "tools/call" and params["name"] == "fail":
        reply = {"result": {"content": [{"type": "text", "text": "full"}], "isError": True}}
    elif method == "tools/call" and params["name"] == "environment":
        reply = {"result": {"structuredContent": {"names": sorted(os.environ)}}}
    elif method == "tools/call":
        sys.exit("out of memory")
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "server.py").write_text(SERVER)
    return folder


def python(name: str, **more: Any) -> LiveTool:
    return LiveTool(python=f"functions.py:{name}", **more)


MCP = LiveTool(mcp=["python", "server.py"])
Calls = list[tuple[str, dict[str, Any]]]


def order(calls: Calls, before: Calls, conversation: str) -> Case:
    config = {
        "conversation": conversation,
        "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        "before": [{"name": name, "arguments": arguments} for name, arguments in before],
    }
    return Case("EN/1#1/tools/m", "scenario", "", config, {})


def carry_out(
    folder: Path, tools: Mapping[str, LiveTool], *orders: tuple[Calls, Calls], name: str = "c"
) -> list[list[dict[str, Any]]]:
    """The results of orders of one conversation, one after the other."""

    async def attempts() -> Iterator[ProviderResponse | AttemptFailed]:
        provider = ToolProvider(tools, folder)
        try:
            requests = [
                provider.request_for(order(calls, before, name), Prompt(()), 1)
                for calls, before in orders
            ]
            return iter([await provider.attempt(request) for request in requests])
        finally:
            await provider.close()

    found = []
    for response in asyncio.run(attempts()):
        assert isinstance(response, ProviderResponse), response
        found.append(json.loads(response.reply.text))
    return found


def value(result: Mapping[str, Any]) -> Any:
    return json.loads(result["text"])


def test_a_function_gets_the_arguments_by_name(folder: Path) -> None:
    tools = {"double": python("double"), "later": python("later")}
    [[doubled, later]] = carry_out(folder, tools, ([("double", {"number": 4}), ("later", {})], []))
    assert (value(doubled), value(later)) == ({"number": 8}, {"later": True})


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("fail", {}, "no such table"),
        ("leave", {}, "SystemExit(3)"),
        ("Leaving.answer", {}, "no desk"),
        ("double", {"numbr": 4}, "unexpected keyword argument 'numbr'"),
        ("odd", {}, "the tool returned no JSON"),
    ],
)
def test_an_error_of_a_function_is_a_result(
    folder: Path, name: str, arguments: dict[str, Any], message: str
) -> None:
    [[result]] = carry_out(folder, {name: python(name)}, ([(name, arguments)], []))
    assert result["is_error"] and value(result)["error"] == "TOOL_ERROR"
    assert message in value(result)["message"]


@pytest.mark.parametrize("name", ["wait", "Stuck.answer"])
def test_a_function_that_never_returns_times_out_and_holds_nothing_up(
    folder: Path, name: str
) -> None:
    tools = {"wait": python(name, timeout_s=0.01), "release": python("release")}
    calls: Calls = [("wait", {}), ("release", {})]
    [[waited, released]] = carry_out(folder, tools, (calls, []))
    assert (waited["is_error"], value(waited)["error"]) == (True, "TIMEOUT")
    assert "is_error" not in released, "the call after it is carried out, and ends its thread"


def test_a_long_result_is_cut(folder: Path) -> None:
    [[result]] = carry_out(folder, {"long": python("long")}, ([("long", {})], []))
    assert result["is_cut"] and len(result["text"]) < LONGEST_RESULT + 20


def test_a_class_has_one_object_per_conversation_and_earlier_calls_are_repeated(
    folder: Path,
) -> None:
    tools = {"add": python("Desk.add"), "total": python("Desk.total")}
    add: Calls = [("add", {})]
    first, second = carry_out(folder, tools, (add, []), ([("total", {})], add))
    assert [value(result) for result in (*first, *second)] == [1, 1]
    [[alone]] = carry_out(folder, tools, ([("total", {})], add * 3))
    assert value(alone) == 3


def test_a_server_answers_over_stdin_and_stdout(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("DESK", "1")
    tools = {"*": LiveTool(mcp=MCP.mcp, env=["DESK"])}
    calls: Calls = [(name, {}) for name in ("count", "count", "refuse", "fail", "environment")]
    [[_, second, refused, failed, environment]] = carry_out(folder, tools, (calls, []))
    assert value(second) == 2
    assert refused["is_error"] and value(refused)["message"] == "bad arguments"
    assert failed["is_error"] and value(failed) == "full"
    names = value(environment)["names"]
    assert "DESK" in names and "OPENAI_API_KEY" not in names


class SlowToStart:
    """A server that answers at once, but takes longer to start than a call may take."""

    @classmethod
    async def start(cls, *_: Any) -> SlowToStart:
        await asyncio.sleep(0.05)
        return cls()

    async def call(self, name: str, _: Mapping[str, Any]) -> tuple[str, bool]:
        return name, False

    async def close(self) -> None:
        """Nothing runs."""


def test_the_start_of_a_server_is_no_time_of_the_first_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_module, "McpServer", SlowToStart)
    tool = LiveTool(mcp=MCP.mcp, timeout_s=0.01)
    [[result]] = carry_out(folder, {"count": tool}, ([("count", {})], []))
    assert value(result) == "count" and "is_error" not in result


def test_a_server_that_does_not_start_in_time_is_no_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_module, "START_S", 0.01)
    monkeypatch.setattr(tools_module, "McpServer", SlowToStart)
    provider = ToolProvider({"count": MCP}, folder)
    request = provider.request_for(order([("count", {})], [], "c"), Prompt(()), 1)
    found = asyncio.run(provider.attempt(request))
    assert isinstance(found, AttemptFailed)
    assert "no reply within 0.01 s after the start" in found.message


def test_a_server_that_ends_during_a_call_is_an_error_and_is_started_again(folder: Path) -> None:
    calls: Calls = [("die", {}), ("count", {})]
    [[died, counted]] = carry_out(folder, {"*": MCP}, (calls, []))
    assert died["is_error"] and "out of memory" in value(died)["message"]
    assert value(counted) == 1


def test_a_server_that_cannot_be_started_is_no_result(folder: Path) -> None:
    broken = LiveTool(mcp=["python", "server.py", "--broken"])
    provider = ToolProvider({"count": broken}, folder)
    request = provider.request_for(order([("count", {})], [], "c"), Prompt(()), 1)
    found = asyncio.run(provider.attempt(request))
    assert isinstance(found, AttemptFailed) and found.kind == "bad_request"
    assert "cannot open the bookings" in found.message


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (LiveTool(python="functions.py:missing"), "no such function"),
        (LiveTool(python="missing_module:call"), "cannot be loaded"),
        (LiveTool(mcp=["no-such-command-here"]), "no such command"),
    ],
)
def test_a_tool_that_does_not_exist_is_refused_before_a_run(
    folder: Path, tool: LiveTool, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        ToolProvider({"count": tool}, folder).check()


@pytest.mark.parametrize(
    ("name", "command", "message"),
    [
        ("cancel", ["python", "server.py"], "has no tool of this name; expected one of count"),
        ("count", ["python", "server.py", "--broken"], "cannot open the bookings"),
    ],
)
def test_every_server_is_tried_before_a_run(
    folder: Path, name: str, command: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        asyncio.run(ToolProvider({name: LiveTool(mcp=command)}, folder).check_servers())


def test_a_changed_tool_is_asked_again(tmp_path: Path) -> None:
    keys = []
    for text in ("def call(): return 1", "def call(): return 2"):
        (tmp_path / "desk.py").write_text(text)
        provider = ToolProvider({"call": LiveTool(python="desk.py:call")}, tmp_path)
        keys.append(provider.request_for(order([("call", {})], [], "c"), Prompt(()), 1).key)
    assert keys[0] != keys[1]
