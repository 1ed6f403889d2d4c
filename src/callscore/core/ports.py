"""The world, as one-method holes; models are reached through `core.calling.Provider`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.judging import Judged, JudgeRequest, Similarity


class Judge(Protocol):
    """Something that classifies items.

    `signature` names what decides the verdicts (model, prompts, rubrics): it stands in the
    signature of every result (C-126).
    """

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def signature(self) -> str:
        """Changes with anything that may change a verdict."""
        ...

    async def judge(self, request: JudgeRequest, /) -> Judged | Failed:
        """A verdict on every question that has words to choose from, or why there is none."""
        ...


class Embedder(Protocol):
    """Something that compares the meaning of two texts."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def signature(self) -> str:
        """Changes with anything that may change a similarity."""
        ...

    def reads(self, lang: str | None) -> bool:
        """Whether it knows this language; None is a language that nobody has named."""
        ...

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """The cosine of each pair, in order, or why there is none."""
        ...
