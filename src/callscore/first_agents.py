"""`callscore init --agents`: a card, a first scenario and an eval file, from tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Tool
from callscore.core.errors import CallscoreError, DataError, UsageError
from callscore.core.tool_schema import plain_tool
from callscore.first_eval import try_eval
from callscore.importers.agents.tools import read_tools
from callscore.store.files import atomic_write
from callscore.store.strict_yaml import read_yaml

_EXAMPLES = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": []}
_MAX_DEPTH = 8


def tools_of(paths: Sequence[Path], left_out: list[str]) -> list[Tool]:
    """The tools that files define; raises DataError if a file defines none, or a tool twice.

    What they define besides is named in `left_out`.
    """
    found: dict[str, Tool] = {}
    for path in paths:
        tools = read_tools(read_yaml(path).value, left_out)
        if not tools:
            raise DataError(
                "defines no tool; expected OpenAI tool schemas, the answer of an MCP server to "
                "tools/list, or an OpenAPI file",
                place=str(path),
            )
        for tool in tools:
            if tool.name in found:
                raise DataError(f"the tool {tool.name!r} is defined twice", place=str(path))
            found[tool.name] = tool
    return list(found.values())


def write_first_agent(path: Path, agent: str, tools: Sequence[Tool]) -> tuple[list[Path], str]:
    """Write the files next to the eval file and try them; if they do not work, remove them."""
    card = path.parent / "cards" / f"{agent}.json"
    scenario = path.parent / "scenarios" / "first.yaml"
    for file in (path, card, scenario):
        if file.exists():
            raise UsageError(f"{file}: exists; expected another place (--file)")
    _write(card, msgspec.json.format(msgspec.json.encode(_card(agent, tools)), indent=2).decode())
    _write(scenario, _scenario(agent, tools[0]))
    _write(path, _EVAL)
    try:
        return [card, scenario, path], try_eval(path)
    except CallscoreError:
        for file in (card, scenario, path):
            file.unlink()
        raise


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.rstrip("\n").encode() + b"\n")


def _card(agent: str, tools: Sequence[Tool]) -> dict[str, Any]:
    return {"agent_card": {"agent_id": agent}, "tools": list(tools)}


def _scenario(agent: str, tool: Tool) -> str:
    """A scenario with one call of the tool; its values are examples."""
    call = {"tool": tool.name, "arguments": _arguments(plain_tool(tool).parameters)}
    request = f"An example: please use {tool.name}. {tool.description}".strip()
    return "\n".join(
        [
            "# What the agent must do at every step. Replace this example by one of yours;",
            "# `callscore schema scenario` prints the format.",
            "steps:",
            f"  - user: {_json(request)}",
            f"  - {agent}: {_json(call)}",
        ]
    )


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An example of every required argument; of all if none is required."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    names = required if isinstance(required, list) and required else list(known)
    return {str(name): _example(known.get(name), 1) for name in names}


def _example(schema: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return "text"
    for key in ("const", "default", "example"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(key) or ():
            if isinstance(one, Mapping) and one.get("type") != "null":
                return _example(one, depth + 1)
    kind = schema.get("type")
    kind = next((one for one in kind if one != "null"), "") if isinstance(kind, list) else kind
    if kind == "object":
        inner = schema.get("properties")
        known = inner if isinstance(inner, Mapping) else {}
        return {name: _example(one, depth + 1) for name, one in known.items()}
    return _EXAMPLES.get(str(kind), "text")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_EVAL = """# Run it with: callscore run eval.yaml
data:
  orchestration:
    scenarios: scenarios
    cards: cards
    # prompts: {sub_agent: prompt.md}   # the system prompt of your agent

models:
  # - name: my-model
  #   provider: openai
  #   model: my-model
  #   api_key_env: OPENAI_API_KEY
  # Simulated models return the expected steps with errors: no network, no cost.
  - {name: simulated-good, provider: simulated, params: {wrong_scores: 0.03}}
  - {name: simulated-poor, provider: simulated, params: {wrong_scores: 0.4}}
"""
