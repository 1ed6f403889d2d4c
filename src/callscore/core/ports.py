"""The world, as one-method holes; models are reached through `core.calling.Provider`."""

from __future__ import annotations

from typing import Protocol

from callscore.core.case import Case, Failed
from callscore.core.judging import Question, Verdicts


class Judge(Protocol):
    """Something that classifies items."""

    async def verdicts(self, case: Case, questions: list[Question]) -> Verdicts | Failed:
        """A verdict for every question, or why there is none."""
        ...


class Embedder(Protocol):
    """Something that compares the meaning of two texts."""

    async def similarities(self, pairs: list[tuple[str, str]], lang: str | None) -> list[float]:
        """The cosine of each pair."""
        ...


class VerdictSource(Protocol):
    """Something that already holds verdicts: a file from people, or a stored run."""

    def verdicts_on(self, case_id: str, model: str, run: int) -> Verdicts:
        """All verdicts on one answer; empty where there are none."""
        ...
