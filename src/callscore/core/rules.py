"""Rules for `baseline`: an answer to the prompt of a task without a model."""

from __future__ import annotations

from collections.abc import Callable

from callscore.core.case import Prompt
from callscore.core.errors import ConfigError
from callscore.core.noise import FakeReply

Rules = Callable[[Prompt], FakeReply]
"""Answer a prompt. The rules see no more than a model sees."""


class NoRules(ConfigError):
    """A task that `baseline` cannot answer: a constant reply would look like a measured floor."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"baseline has no rules for the task {task!r}: it has no `answer_by_rules`; expected a "
            "task that has it, or another provider"
        )
