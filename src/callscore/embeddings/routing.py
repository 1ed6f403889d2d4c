"""Which embedder compares which sentence: the first in order of preference that supports
it (C-68).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.judging import Similarity
from callscore.core.ports import Embedder


class Reader(Embedder, Protocol):
    """An embedder that reports whether it supports a text."""

    def can_read(self, text: str) -> bool:
        """Whether it knows enough words of this text."""
        ...


class Router:
    """Several embedders as one, in order of preference; the last one must support everything.

    The reference alone decides, so that a sentence is measured with the same embedder for every
    model. Every similarity names its embedder, and the signature names all of them.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers

    @property
    def name(self) -> str:
        """The names in order of preference."""
        return " > ".join(reader.name for reader in self._readers)

    @property
    def signature(self) -> str:
        """The signatures in order of preference."""
        return " > ".join(reader.signature for reader in self._readers)

    def reads(self, lang: str | None) -> bool:
        """Whether any of them supports this language."""
        return any(reader.reads(lang) for reader in self._readers)

    def can_read(self, text: str) -> bool:
        """Whether any of them supports this text."""
        return any(reader.can_read(text) for reader in self._readers)

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """Each pair by the first that supports its reference; if one fails, all fail.

        A failed embedder is never replaced by the next: that would mix measures by accident.
        """
        shares: dict[int, list[int]] = {}
        for index, (_, reference) in enumerate(pairs):
            shares.setdefault(self._chosen(reference, lang), []).append(index)
        found: dict[int, Similarity] = {}
        for reader, indices in shares.items():
            given = await self._readers[reader].similarities([pairs[i] for i in indices], lang)
            if isinstance(given, Failed):
                return given
            found.update(zip(indices, given, strict=True))
        return [found[index] for index in range(len(pairs))]

    def _chosen(self, reference: str, lang: str | None) -> int:
        last = len(self._readers) - 1
        return next(
            (
                index
                for index, reader in enumerate(self._readers[:last])
                if reader.reads(lang) and reader.can_read(reference)
            ),
            last,
        )
