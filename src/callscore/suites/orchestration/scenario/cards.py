"""Agent cards: the available agents and their tools (§1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.case import Tool
from callscore.core.errors import DataError


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
    """All agents of one language, and every tool by name."""

    by_id: Mapping[str, Card] = {}
    tools: Mapping[str, Tool] = {}
    owners: Mapping[str, str] = {}

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
    except (strict_json.JsonFault, msgspec.ValidationError) as error:
        raise DataError(f"{error}; expected an agent card with agent_card.agent_id") from None
    card = file.agent_card
    for place, tool in enumerate(file.tools):
        if tool.inputSchema is not msgspec.UNSET or tool.input_schema is not msgspec.UNSET:
            raise DataError(
                "has the schema of another API; expected it as parameters, as "
                "`callscore init --agents` writes it",
                field=f"tools[{place}]",
            )
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
    """Index cards by id and tools by name; of two tools with one name the first counts."""
    by_id: dict[str, Card] = {}
    tools: dict[str, Tool] = {}
    owners: dict[str, str] = {}
    for card in cards:
        if card.agent_id in by_id:
            raise DataError(f"two cards for the agent {card.agent_id!r}; expected one")
        by_id[card.agent_id] = card
        for tool in card.tools:
            tools.setdefault(tool.name, tool)
            owners.setdefault(tool.name, card.agent_id)
    return Cards(by_id, tools, owners)


def _one_letter_apart(first: str, second: str) -> bool:
    """Whether the names differ by one replaced, missing or added letter."""
    if first == second or abs(len(first) - len(second)) > 1:
        return False
    short, long = sorted((first, second), key=len)
    same = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    return short[same + (len(short) == len(long)) :] == long[same + 1 :]
