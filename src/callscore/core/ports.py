"""Protocols for judges and embedders; that for models is `core.provider.Provider`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.judging import JudgeRequest, JudgeResult, Similarity


class Judge(Protocol):
    """Classifies items.

    `signature` identifies everything that determines its verdicts (model, prompts, rubrics); it is
    part of the signature of every result (C-126).
    """

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def signature(self) -> str:
        """Changes with anything that can change a verdict."""
        ...

    async def judge(self, request: JudgeRequest, /) -> JudgeResult | Failed:
        """A verdict on every question that offers words, or why there is none."""
        ...


class Embedder(Protocol):
    """Compares the meaning of two texts."""

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def signature(self) -> str:
        """Changes with anything that can change a similarity."""
        ...

    def reads(self, lang: str | None) -> bool:
        """Whether it supports this language; None if the language is unknown."""
        ...

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """The cosine of each pair, in order, or why there is none."""
        ...
