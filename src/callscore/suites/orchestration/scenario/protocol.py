"""The protocols of requests: the prompts of Callscore, or those of the public runner (C-133)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.scenarios import ProtocolName
from callscore.suites.orchestration.scenario.cards import Card, Cards
from callscore.suites.orchestration.yaml_text import PUBLIC_ERRORS, read_public

_PLACE = re.compile(r"\{\{(\w+)\}\}|%%(\w+)%%")


class PromptProtocol(msgspec.Struct, frozen=True):
    """The system prompts of planner and sub-agent, and the rules that apply."""

    name: ProtocolName
    planner: str
    sub_agent: str
    prompts: str = ""
    """A hash of the user's own prompts; empty for the bundled ones."""

    @property
    def is_public(self) -> bool:
        """Whether history and queries follow the public runner."""
        return self.name == "public"

    @property
    def signature(self) -> str:
        """The protocol as in a signature."""
        return f"{self.name}+{self.prompts}" if self.prompts else self.name

    def planner_system(self, known: str, cards: Cards) -> str:
        """The planner's system prompt."""
        described = [_describe(card, self.is_public) for card in cards.by_id.values()]
        values = {
            "system_info": known if known or self.is_public else "Nothing.",
            "workflows": "NONE",
            "agent_cards": "\n".join(described) if self.is_public else "\n\n".join(described),
        }
        return _fill(self.planner, values)

    def sub_agent_system(self, known: str) -> str:
        """A sub-agent's system prompt, preceded by the system information."""
        heading = "SYSTEM_INFO:" if self.is_public else "What is known:"
        return f"{heading}\n{known}\n\n{self.sub_agent}" if known else self.sub_agent


@cache
def bundled_protocol(name: ProtocolName) -> PromptProtocol:
    """The protocol of this name, with the prompts of this package."""
    prefix = "public_" if name == "public" else ""
    return PromptProtocol(name, _template(f"{prefix}planner"), _template(f"{prefix}sub_agent"))


def with_public_prompts(text: str) -> PromptProtocol:
    """The public protocol with the prompts of a config file of the public runner, verbatim.

    Raises DataError without `prompts.general.prompt` or `prompts.select_tools.prompt`.
    """
    try:
        config = read_public(text)
    except PUBLIC_ERRORS as error:
        raise DataError(f"{error}; expected a config file of the public runner") from None
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return PromptProtocol(
        "public", _prompt(config, "general"), _prompt(config, "select_tools"), digest
    )


def _prompt(config: Any, name: str) -> str:
    found = config
    for key in ("prompts", name, "prompt"):
        found = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(found, str) or not found.strip():
        raise DataError("missing; expected a text", field=f"prompts.{name}.prompt")
    return found


def _template(name: str) -> str:
    file = Path(__file__).parent / "prompts" / f"{name}.md"
    return file.read_text(encoding="utf-8").strip()


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the template in one pass, so that placeholders in a value are not replaced."""

    def value(place: re.Match[str]) -> str:
        return values.get(place.group(1) or place.group(2), place.group())

    return _PLACE.sub(value, template)


def _describe(card: Card, is_public: bool) -> str:
    skills = [f"  - {skill.id}: {skill.description}" for skill in card.skills]
    heading = ["- Skills:"] if is_public and skills else []
    ending = [""] if is_public else []
    about = [f"**{card.name} ({card.agent_id})**", f"- {card.description}"]
    return "\n".join([*about, *heading, *skills, *ending])
