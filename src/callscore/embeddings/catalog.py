"""Embedders by name, and the choice of an embedder for a sentence (C-68)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.errors import ConfigError
from callscore.core.judging import Embedder, Similarity
from callscore.embeddings.chrf_embedder import ChrfEmbedder
from callscore.embeddings.cosine import CosineEmbedder
from callscore.embeddings.encoder import Encoder
from callscore.embeddings.labse import Labse, local_weights
from callscore.embeddings.muse import Muse

NAMES = ("auto", "none", "muse", "labse", "chrf")


def find_embedder(name: str) -> Embedder | None:
    """The embedder of a name; `none` is None.

    auto    mUSE where it reads the sentence, else LaBSE if it is on this machine, else chrF
    muse    mUSE where it reads the sentence, else chrF
    labse   LaBSE where it reads the sentence, else chrF
    chrf    chrF alone
    """
    if name == "none":
        return None
    if name == "chrf":
        return ChrfEmbedder()
    if name == "muse":
        return with_chrf_fallback(Muse())
    if name == "labse":
        return with_chrf_fallback(Labse(local_weights()))
    if name == "auto":
        return _best_available()
    raise ConfigError(f"embedder: {name!r} is unknown; expected one of {', '.join(NAMES)}")


def with_chrf_fallback(encoder: Encoder) -> Embedder:
    """An encoder for the sentences it supports, else chrF."""
    return Router((CosineEmbedder(encoder), ChrfEmbedder()))


def _best_available() -> Embedder:
    weights = local_weights()
    readers: list[Reader] = [CosineEmbedder(Muse())]
    if weights is not None:
        readers.append(CosineEmbedder(Labse(weights)))
    return Router((*readers, ChrfEmbedder()))


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
            shares.setdefault(self._choose(reference, lang), []).append(index)
        found: dict[int, Similarity] = {}
        for reader, indices in shares.items():
            given = await self._readers[reader].similarities([pairs[i] for i in indices], lang)
            if isinstance(given, Failed):
                return given
            found.update(zip(indices, given, strict=True))
        return [found[index] for index in range(len(pairs))]

    def _choose(self, reference: str, lang: str | None) -> int:
        last = len(self._readers) - 1
        return next(
            (
                index
                for index, reader in enumerate(self._readers[:last])
                if reader.reads(lang) and reader.can_read(reference)
            ),
            last,
        )
