"""Answers without a model: noise for `simulated`, rules for `baseline`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.case import Prompt, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.lazy import lazy_regex

if TYPE_CHECKING:
    import random


_NUMBER = lazy_regex(r"\d+")

JsonOutcome = dict[str, Any]


class Rates(msgspec.Struct, frozen=True):
    """How often an item is changed, left out, or something is invented in addition."""

    wrong_scores: float
    missing_labels: float
    fabricated_facts: float


class FakeReply(msgspec.Struct, frozen=True):
    """An answer that no model gave: text, or calls of tools."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class Noise:
    """Random decisions at the configured rates, from one source of random numbers."""

    def __init__(self, rates: Rates, chance: random.Random) -> None:
        self._rates = rates
        self.chance = chance

    def wrong(self) -> bool:
        """Whether to change this item."""
        return self.chance.random() < self._rates.wrong_scores

    def missing(self) -> bool:
        """Whether to leave this item out."""
        return self.chance.random() < self._rates.missing_labels

    def fabricated(self) -> bool:
        """Whether to invent something in addition to this item."""
        return self.chance.random() < self._rates.fabricated_facts

    def kept(self, items: list[Any]) -> list[Any]:
        """The items that are not left out."""
        return [item for item in items if not self.missing()]


Degrade = Callable[[JsonOutcome, Noise], FakeReply | None]
"""Changes an expected outcome in place, or returns the whole reply."""


class NoNoise(ConfigError):
    """A task that `simulated` cannot degrade: its answers would be perfect at any rate."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"simulated cannot degrade the task {task!r}: it has no `degrade`; expected a task "
            "that says how its answers get worse, or another provider"
        )


def other_number(text: Any) -> Any:
    """The first number of a text one higher; a text without numbers loses its last word."""
    if not isinstance(text, str):
        return text
    if _NUMBER.search(text):
        return _NUMBER.sub(lambda found: str(int(found.group()) + 1), text, count=1)
    return text.rpartition(" ")[0] or text


def other_value(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else other_number(value)


def objects_in(value: Any) -> list[JsonOutcome]:
    """The objects of a list; nothing if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


Rules = Callable[[Prompt], FakeReply]
"""Answer a prompt. The rules see no more than a model sees."""


class NoRules(ConfigError):
    """A task that `baseline` cannot answer: a constant reply would look like a measured floor."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"baseline has no rules for the task {task!r}: it has no `answer_by_rules`; expected a "
            "task that has it, or another provider"
        )
