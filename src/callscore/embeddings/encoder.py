"""What an encoder is: texts in, vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed

Vector = Sequence[float]

LONGEST_TEXT = 20_000
"""Characters of a text that are read; the rest of a longer one is left out, here and everywhere.

An answer may be as long as its model likes; what it costs to embed may not."""


class Encoder(Protocol):
    """A model that turns texts into vectors.

    `is_official` says that it is LaBSE or mUSE; likeness by any other is approximate (C-68).
    """

    @property
    def name(self) -> str:
        """What reports call it."""
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
        """Whether it knows this language."""
        ...

    def can_read(self, text: str) -> bool:
        """Whether it knows enough of the words of this very text."""
        ...

    def caveat(self, lang: str | None) -> str:
        """What is known against it in this language, if anything: it goes with the score."""
        ...

    async def encode(self, texts: Sequence[str]) -> Sequence[Vector] | Failed:
        """A vector for every text, in order; texts are neither empty nor too long."""
        ...
