"""Embedders by name, and the choice of an embedder for a sentence (C-68).

Languages that no embedder supports are compared by chrF: labelled, never official. It keeps spaces:
that agrees more with people in four of five Indic languages, and never less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.errors import ConfigError
from callscore.core.judging import Embedder, Similarity
from callscore.embeddings.encoder import LONGEST_TEXT, CosineEmbedder, Encoder
from callscore.embeddings.labse import Labse, local_weights
from callscore.embeddings.muse import Muse
from callscore.metrics.chrf import BETA, CHAR_ORDER, chrf
from callscore.metrics.text import n1

SIGNATURE = f"lexical:chrf;nc={CHAR_ORDER};nw=0;beta={BETA};space=yes;max={LONGEST_TEXT}"


class ChrfEmbedder:
    """An Embedder that compares spelling, not meaning."""

    name = "chrF"
    signature = SIGNATURE

    def reads(self, lang: str | None) -> bool:
        """True: spelling can be compared in every language."""
        return True

    def can_read(self, text: str) -> bool:
        """True: every text can be compared."""
        return True

    def substitute(self, reference: str, lang: str | None) -> str:
        """The name of this measure, as it is none that the framework names        C-68"""
        return self.name

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity]:
        """chrF of each text and its reference; 1 for equal texts        C-67, C-68"""
        return [
            Similarity(
                _similarity(n1(text[:LONGEST_TEXT]), n1(reference[:LONGEST_TEXT])), SIGNATURE, True
            )
            for text, reference in pairs
        ]


def _similarity(text: str, reference: str) -> float:
    return 1.0 if text == reference else chrf(text, reference, keep_spaces=True)


NAMES = ("auto", "none", "muse", "labse", "chrf")


def find_embedder(name: str) -> Embedder | None:
    """The embedder with this name, or None for `none`; raises ConfigError.

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
    embedders: list[RoutableEmbedder] = [CosineEmbedder(Muse())]
    if weights is not None:
        embedders.append(CosineEmbedder(Labse(weights)))
    return Router((*embedders, ChrfEmbedder()))


class RoutableEmbedder(Embedder, Protocol):
    """An embedder that reports whether it supports a text."""

    def can_read(self, text: str) -> bool:
        """Whether it knows enough words of this text."""
        ...

    def substitute(self, reference: str, lang: str | None) -> str | None:
        """The name of a measure that takes the place of LaBSE or mUSE for this reference."""
        ...


class Router:
    """Several embedders as one, in order of preference; the last one must support everything.

    The reference alone decides, so that a sentence is measured with the same embedder for every
    model. Every similarity names its embedder, and the signature names all of them.
    """

    def __init__(self, embedders: Sequence[RoutableEmbedder]) -> None:
        self._embedders = embedders

    @property
    def name(self) -> str:
        """The names in order of preference."""
        return " > ".join(embedder.name for embedder in self._embedders)

    @property
    def signature(self) -> str:
        """The signatures in order of preference."""
        return " > ".join(embedder.signature for embedder in self._embedders)

    def reads(self, lang: str | None) -> bool:
        """Whether any of them supports this language."""
        return any(embedder.reads(lang) for embedder in self._embedders)

    def can_read(self, text: str) -> bool:
        """Whether any of them supports this text."""
        return any(embedder.can_read(text) for embedder in self._embedders)

    def substitute(self, reference: str, lang: str | None) -> str | None:
        """The name of the measure that compares this reference, if it is not LaBSE or mUSE."""
        return self._embedders[self._choose(reference, lang)].substitute(reference, lang)

    def forget(self) -> None:
        """Drop the vectors of all embedders."""
        for embedder in self._embedders:
            if isinstance(embedder, CosineEmbedder):
                embedder.forget()

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """Each pair by the first embedder that supports its reference; if one fails, all fail.

        A failed embedder is never replaced by the next: that would mix measures by accident.
        """
        routes: dict[int, list[int]] = {}
        for index, (_, reference) in enumerate(pairs):
            routes.setdefault(self._choose(reference, lang), []).append(index)
        by_index: dict[int, Similarity] = {}
        for choice, indices in routes.items():
            embedder = self._embedders[choice]
            similarities = await embedder.similarities([pairs[i] for i in indices], lang)
            if isinstance(similarities, Failed):
                return similarities
            by_index.update(zip(indices, similarities, strict=True))
        return [by_index[index] for index in range(len(pairs))]

    def _choose(self, reference: str, lang: str | None) -> int:
        """The index of the first embedder that supports the reference, else of the last."""
        last = len(self._embedders) - 1
        return next(
            (
                index
                for index, embedder in enumerate(self._embedders[:last])
                if embedder.reads(lang) and embedder.can_read(reference)
            ),
            last,
        )
