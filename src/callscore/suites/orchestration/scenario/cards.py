"""Agent cards: the available agents and their tools (§1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.case import Tool
from callscore.core.errors import DataError
from callscore.core.tool_schema import plain_tool


class Skill(msgspec.Struct, frozen=True):
    """A skill of an agent."""

    id: str
    description: str = ""


class Card(msgspec.Struct, frozen=True):
    """One agent."""

    agent_id: str
    name: str = ""
    description: str = ""
    skills: tuple[Skill, ...] = ()
    tools: tuple[Tool, ...] = ()


class Cards(msgspec.Struct, frozen=True):
    """All agents of one language, and every tool by name: of several with it the first."""

    by_id: Mapping[str, Card] = {}
    tools: Mapping[str, Tool] = {}
    by_agent: Mapping[str, Mapping[str, Tool]] = {}

    def tools_of(self, agent_id: str) -> Mapping[str, Tool]:
        """Every tool by name, with its schema as code checks it; the agent's own come first."""
        return self.by_agent.get(agent_id, self.by_agent.get("", {}))

    def other_owner(self, tool: str, agent_id: str) -> str | None:
        """The agent that has the tool, if this one has not."""
        cards = [self.by_id[agent_id]] if agent_id in self.by_id else []
        for card in (*cards, *self.by_id.values()):
            if any(each.name == tool for each in card.tools):
                return card.agent_id if card.agent_id != agent_id else None
        return None

    def nearest(self, agent_id: str) -> str | None:
        """The only card id that differs in one letter, or None        Q19"""
        near = [known for known in self.by_id if _one_letter_apart(known, agent_id)]
        return near[0] if len(near) == 1 else None


class _AgentCard(msgspec.Struct):
    agent_id: str
    name: str = ""
    description: str = ""
    skills: list[Skill] = []


class _ToolEntry(msgspec.Struct):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    inputSchema: Any = msgspec.UNSET
    input_schema: Any = msgspec.UNSET
    """As MCP and Anthropic name it: without this, the tool would have no parameter."""


class _CardFile(msgspec.Struct):
    agent_card: _AgentCard
    tools: list[_ToolEntry] = []


def read_card(raw: bytes) -> Card:
    """One card file; raises DataError."""
    try:
        file = msgspec.convert(strict_json.decode(raw).value, _CardFile)
    except strict_json.JsonFault as error:
        problem = f"is not JSON ({error.detail}); expected an agent card"
        raise DataError(problem, field=error.path) from None
    except msgspec.ValidationError as error:
        raise DataError(f"{error}; expected an agent card with agent_card.agent_id") from None
    card = file.agent_card
    for place, tool in enumerate(file.tools):
        if tool.inputSchema is not msgspec.UNSET or tool.input_schema is not msgspec.UNSET:
            raise DataError(
                "has the schema of another API; expected it as parameters, as "
                "`callscore init --agents` writes it",
                field=f"tools[{place}]",
            )
    names = [tool.name for tool in file.tools]
    for place, name in enumerate(names):
        if name in names[:place]:
            problem = f"{name!r} is also tools[{names.index(name)}]; expected every name once"
            raise DataError(problem, field=f"tools[{place}].name")
    tools = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in file.tools)
    return Card(card.agent_id, card.name, card.description, tuple(card.skills), tools)


def argument_schema(tool: Tool | None, argument: str) -> Mapping[str, Any]:
    """The JSON schema of one argument; empty if the card has none."""
    properties = tool.parameters.get("properties") if tool is not None else None
    schema = properties.get(argument) if isinstance(properties, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


def unknown_tool(name: str, cards: Cards) -> str:
    """That no card has the tool, and the nearest names."""
    near = get_close_matches(name, cards.tools, 3, 0.5) or [*cards.tools][:3]
    return f"no card has the tool {name!r}; expected one such as {', '.join(near)}"


def index_cards(cards: Iterable[Card]) -> Cards:
    """Index cards by id and tools by name."""
    by_id: dict[str, Card] = {}
    tools: dict[str, Tool] = {}
    for card in cards:
        by_id[card.agent_id] = card
        for tool in card.tools:
            tools.setdefault(tool.name, tool)
    plain = {name: plain_tool(tool) for name, tool in tools.items()}
    by_agent = {
        card.agent_id: plain | {tool.name: plain_tool(tool) for tool in card.tools}
        for card in by_id.values()
        if any(tools[tool.name] is not tool for tool in card.tools)
    }
    return Cards(by_id, tools, {"": plain, **by_agent})


def _one_letter_apart(first: str, second: str) -> bool:
    """Whether the names differ by one replaced, missing or added letter."""
    if first == second or abs(len(first) - len(second)) > 1:
        return False
    short, long = sorted((first, second), key=len)
    same = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    return short[same + (len(short) == len(long)) :] == long[same + 1 :]
