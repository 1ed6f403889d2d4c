"""Embedders by name, and which of several compares a sentence (C-68)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.errors import ConfigError
from callscore.core.judging import Embedder, Similarity
from callscore.embeddings.cosine import Cosine
from callscore.embeddings.encoder import Encoder
from callscore.embeddings.labse import Labse, local_weights
from callscore.embeddings.lexical import Lexical
from callscore.embeddings.muse import Muse

NAMES = ("auto", "none", "muse", "labse", "chrf")


def embedder_named(name: str) -> Embedder | None:
    """The embedder of a name; `none` is None.

    auto    mUSE where it reads the sentence, else LaBSE if it is on this machine, else chrF
    muse    mUSE where it reads the sentence, else chrF
    labse   LaBSE where it reads the sentence, else chrF
    chrf    chrF alone
    """
    if name == "none":
        return None
    if name == "chrf":
        return Lexical()
    if name == "muse":
        return or_lexical(Muse())
    if name == "labse":
        return or_lexical(Labse(local_weights()))
    if name == "auto":
        return _auto()
    raise ConfigError(f"embedder: {name!r} is unknown; expected one of {', '.join(NAMES)}")


def or_lexical(encoder: Encoder) -> Embedder:
    """An encoder for the sentences it supports, else chrF."""
    return Router((Cosine(encoder), Lexical()))


def _auto() -> Embedder:
    weights = local_weights()
    readers: list[Reader] = [Cosine(Muse())]
    if weights is not None:
        readers.append(Cosine(Labse(weights)))
    return Router((*readers, Lexical()))


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
