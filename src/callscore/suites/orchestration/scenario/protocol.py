"""How scenarios are asked: with the prompts of Callscore or of the public runner (C-133)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.scenarios import ProtocolName
from callscore.suites.orchestration.scenario.cards import Card, Cards
from callscore.suites.orchestration.yaml_text import PUBLIC_ERRORS, read_public

TASK_IS_LAST_MESSAGE = "What the last message asks for."
"""The task of a sub-agent for which no plan has one."""
PLANNER, SUB_AGENT = "planner", "sub_agent"
"""Own prompts have these names, or the id of an agent."""
VARIABLES = ("system_info", "agent_cards", "agent", "task")
"""What own prompts may have in double braces."""
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}|%%(\w+)%%")


class PromptProtocol(msgspec.Struct, frozen=True):
    """The system prompts of planner and sub-agent, and the rules that apply."""

    name: ProtocolName
    planner: str
    sub_agent: str
    prompts_digest: str = ""
    """A hash of the prompts; empty for the bundled ones of the public protocol."""
    own: Mapping[str, str] = {}
    """Own prompts of the user: of the planner, of every sub-agent, or of one by its id."""
    asking_back: bool = False
    """Whether text that asks for something is read as AWAITING_USER_INPUT; no part of a request."""
    agent: str = ""
    """The system prompt of an agent in a scenario without a plan; empty for the public protocol."""

    @property
    def is_public(self) -> bool:
        """Whether history and queries follow the public runner."""
        return self.name == "public"

    @property
    def signature(self) -> str:
        """The protocol as part of a run's signature."""
        return f"{self.name}+{self.prompts_digest}" if self.prompts_digest else self.name

    def planner_system(self, system_info: str, cards: Cards) -> str:
        """The planner's system prompt."""
        described = [_describe(card, self.is_public) for card in cards.by_id.values()]
        values = {
            "system_info": system_info if system_info or self.is_public else "Nothing.",
            "workflows": "NONE",
            "agent_cards": "\n".join(described) if self.is_public else "\n\n".join(described),
        }
        return _fill(self.own.get(PLANNER, self.planner), values)

    def sub_agent_system(
        self, system_info: str, card: Card, cards: Cards, task: str = "", *, has_plan: bool = True
    ) -> str:
        """A sub-agent's system prompt, preceded by the system information.

        In a scenario without a plan, it speaks of none. The prompt of Callscore names the agent and
        its task: a small model repeats the plan that it sees in the history unless the prompt says
        what to do now.
        """
        agent = f"{card.name} ({card.agent_id})" if card.name else card.agent_id
        own = self.own.get(card.agent_id, self.own.get(SUB_AGENT))
        if own is not None:
            described = "\n\n".join(_describe(each, False) for each in cards.by_id.values())
            values = {"agent": agent, "task": task, "agent_cards": described}
            prompt = _fill(own, {**values, "system_info": system_info})
            return prompt if _names(own, "system_info") else _with_known(system_info, prompt)
        if self.is_public:
            return _with_known(system_info, self.sub_agent, "SYSTEM_INFO:")
        values = {"agent": agent, "task": task or TASK_IS_LAST_MESSAGE}
        return _with_known(system_info, _fill(self.sub_agent if has_plan else self.agent, values))

    def conversation_system(self, system_info: str, card: Card, cards: Cards) -> str:
        """The system prompt of an agent that talks to the user itself."""
        own = self.own.get(card.agent_id, self.own.get(SUB_AGENT))
        if own is not None:
            return self.sub_agent_system(system_info, card, cards)
        agent = f"{card.name} ({card.agent_id})" if card.name else card.agent_id
        return _with_known(system_info, _fill(_template("conversation"), {"agent": agent}))


def user_system(goal: str, facts: Sequence[str], end: str) -> str:
    """The system prompt of a model that plays the user."""
    known = "\n".join(f"- {fact}" for fact in facts) or "Nothing more."
    return _fill(_template("user"), {"goal": goal, "facts": known, "end": end})


@cache
def bundled_protocol(name: ProtocolName) -> PromptProtocol:
    """The protocol of this name, with the prompts of this package."""
    if name == "public":
        return PromptProtocol(name, _template("public_planner"), _template("public_sub_agent"))
    planner, decision = _template("planner"), _template("decision")
    sub_agent, agent = (f"{_template(of)}\n\n{decision}" for of in ("sub_agent", "agent"))
    digest = _digest(f"{planner}\n{sub_agent}\n{agent}")
    return PromptProtocol(name, planner, sub_agent, digest, agent=agent)


def with_public_prompts(text: str) -> PromptProtocol:
    """The public protocol with the prompts of a config file of the public runner, verbatim.

    Raises DataError without `prompts.general.prompt` or `prompts.select_tools.prompt`.
    """
    try:
        config = read_public(text)
    except PUBLIC_ERRORS as error:
        raise DataError(f"{error}; expected a config file of the public runner") from None
    return PromptProtocol(
        "public", _prompt(config, "general"), _prompt(config, "select_tools"), _digest(text)
    )


def with_own_prompts(protocol: PromptProtocol, texts: Mapping[str, str]) -> PromptProtocol:
    """The protocol with the user's prompts, by name; raises DataError for an unknown variable."""
    for name, text in texts.items():
        for match in _PLACEHOLDER.finditer(text):
            variable = match.group(1) or match.group(2)
            if variable not in VARIABLES:
                raise DataError(
                    f"unknown variable {variable!r}; expected one of {', '.join(VARIABLES)}",
                    field=f"prompts.{name}",
                )
    content = "\n".join(f"{name}: {text}" for name, text in sorted(texts.items()))
    digest = _digest(f"{protocol.prompts_digest}\n{content}")
    return msgspec.structs.replace(protocol, own=dict(texts), prompts_digest=digest)


def _with_known(system_info: str, prompt: str, heading: str = "What is known:") -> str:
    return f"{heading}\n{system_info}\n\n{prompt}" if system_info else prompt


def _names(template: str, variable: str) -> bool:
    return any(variable in match.groups() for match in _PLACEHOLDER.finditer(template))


def _digest(prompts: str) -> str:
    return hashlib.sha256(prompts.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def _prompt(config: Any, name: str) -> str:
    value = config
    for key in ("prompts", name, "prompt"):
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, str) or not value.strip():
        raise DataError("missing; expected a text", field=f"prompts.{name}.prompt")
    return value


@cache
def _template(name: str) -> str:
    file = Path(__file__).parent / "prompts" / f"{name}.md"
    return file.read_text(encoding="utf-8").strip()


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the template in one pass, so that placeholders in a value are not replaced."""

    def value(match: re.Match[str]) -> str:
        return values.get(match.group(1) or match.group(2), match.group())

    return _PLACEHOLDER.sub(value, template)


def _describe(card: Card, is_public: bool) -> str:
    """An agent card as text for the planner."""
    skills = [f"  - {skill.id}: {skill.description}" for skill in card.skills]
    heading = ["- Skills:"] if is_public and skills else []
    ending = [""] if is_public else []
    title = [f"**{card.name} ({card.agent_id})**", f"- {card.description}"]
    return "\n".join([*title, *heading, *skills, *ending])
