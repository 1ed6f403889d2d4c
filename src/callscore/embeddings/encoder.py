"""The Encoder protocol: texts in, vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed

Vector = Sequence[float]

LONGEST_TEXT = 20_000
"""Characters of a text that are used; the rest of a longer one is ignored everywhere.

An output can be arbitrarily long; the cost of embedding it is bounded."""


class Encoder(Protocol):
    """A model that turns texts into vectors.

    `is_official` marks LaBSE and mUSE; the similarity of any other is approximate (C-68).
    """

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def signature(self) -> str:
        """Model, revision and normalisation of the vectors (C-68)."""
        ...

    @property
    def is_official(self) -> bool:
        """Whether the framework names this model."""
        ...

    def reads(self, lang: str | None) -> bool:
        """Whether it supports this language."""
        ...

    def can_read(self, text: str) -> bool:
        """Whether it knows enough words of this text."""
        ...

    def caveat(self, lang: str | None) -> str:
        """A known weakness in this language, if any; it is reported with the score."""
        ...

    async def encode(self, texts: Sequence[str]) -> Sequence[Vector] | Failed:
        """A vector for every text, in order; texts are neither empty nor too long."""
        ...
