"""Encoders with vectors that can be checked by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.case import Failed


class TableEncoder:
    """Returns the vectors of a table, and records the requested texts."""

    name = "table"
    signature = "table:1"

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float]],
        *,
        official: bool = True,
        languages: Sequence[str] = (),
        unreadable: Sequence[str] = (),
    ) -> None:
        self.is_official = official
        self.asked: list[list[str]] = []
        self._vectors = vectors
        self._languages = languages
        self._unreadable = unreadable

    def reads(self, lang: str | None) -> bool:
        return not self._languages or lang in self._languages

    def can_read(self, text: str) -> bool:
        return text not in self._unreadable

    def caveat(self, lang: str | None) -> str:
        return ""

    async def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Failed:
        self.asked.append(list(texts))
        return [self._vectors[text] for text in texts]


class FailingEncoder(TableEncoder):
    """Fails for every text."""

    async def encode(self, texts: Sequence[str]) -> Failed:
        return Failed("embedding", "the server is gone")
