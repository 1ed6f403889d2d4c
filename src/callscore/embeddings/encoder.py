"""Encoders turn texts into vectors; an embedder takes their cosines, each text encoded once."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from callscore.core.case import Failed
from callscore.core.errors import ConfigError
from callscore.core.judging import Similarity
from callscore.metrics.text import n1

if TYPE_CHECKING:
    import numpy as np

    Unit = np.ndarray[Any, np.dtype[np.float32]]


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


PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
SAFE = ".safetensors"


def verify_file(package: Distribution, name: str) -> Path:
    """A file of an installed package; raises ConfigError if its SHA-256 is not the recorded one.

    Without a recorded hash there is nothing to check (S-21).
    """
    found = next((file for file in package.files or () if file.as_posix() == name), None)
    path = Path(str(package.locate_file(name)))
    if found is not None and found.hash is not None and found.hash.mode == "sha256":
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if urlsafe_b64encode(digest).decode().rstrip("=") != found.hash.value:
            again = f"pip install --force-reinstall {package.name}"
            raise ConfigError(
                f"{path}: was altered since it was installed; expected the file of the package: "
                f"{again}"
            )
    return path


def refuse_pickles(weights: Path) -> None:
    """Raise ConfigError if the weights are only available as a pickle, which could run
    code (S-17).
    """
    for path in sorted(weights.rglob("*")):
        is_pickle = path.suffix in PICKLES and path.is_file()
        if is_pickle and not any(file.suffix == SAFE for file in path.parent.iterdir()):
            raise ConfigError(f"{path}: is a pickle; expected weights as *{SAFE}")


CACHE_SIZE = 4096
"""Vectors in the cache: references recur with every model, and memory must stay bounded."""


class CosineEmbedder:
    """An Embedder over an encoder: batched, cached, clamped (C-67)."""

    def __init__(self, encoder: Encoder, cache_size: int = CACHE_SIZE) -> None:
        self._encoder = encoder
        self._cache_size = cache_size
        self._units: OrderedDict[bytes, Unit] = OrderedDict()

    @property
    def name(self) -> str:
        """The name in reports."""
        return self._encoder.name

    @property
    def signature(self) -> str:
        """The encoder's signature, and how much of a text is used."""
        return f"{self._encoder.signature};max={LONGEST_TEXT}"

    def reads(self, lang: str | None) -> bool:
        """Whether the encoder supports this language."""
        return self._encoder.reads(lang)

    def can_read(self, text: str) -> bool:
        """Whether the encoder knows enough words of this text."""
        return self._encoder.can_read(text)

    def substitute(self, reference: str, lang: str | None) -> str | None:
        """The name of the encoder, unless the framework names it        C-68"""
        return None if self._encoder.is_official else self.name

    def forget(self) -> None:
        """Drop all vectors; a text is then encoded again, perhaps with other texts."""
        self._units.clear()

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """max(0, cos(a, b)); 1 for equal texts, 0 for an empty text or vector        C-67"""
        normalised = [(_normalise(one), _normalise(other)) for one, other in pairs]
        texts = dict.fromkeys(
            text
            for one, other in normalised
            if one != other and one and other
            for text in (one, other)
        )
        units = await self._encode(texts)
        if isinstance(units, Failed):
            return units
        by, approximate = self.signature, not self._encoder.is_official
        caveat = self._encoder.caveat(lang)
        return [
            Similarity(_similarity(one, other, units), by, approximate, caveat)
            for one, other in normalised
        ]

    async def _encode(self, texts: Iterable[str]) -> Mapping[str, Unit] | Failed:
        keys = {text: blake2b(text.encode(), digest_size=16).digest() for text in texts}
        units = {text: self._units[key] for text, key in keys.items() if key in self._units}
        missing = [text for text in keys if text not in units]
        if missing:
            vectors = await self._encoder.encode(missing)
            if isinstance(vectors, Failed):
                return vectors
            units.update(zip(missing, map(_unit, vectors), strict=True))
        for text, key in keys.items():
            self._cache(key, units[text])
        return units

    def _cache(self, key: bytes, unit: Unit) -> None:
        self._units[key] = unit
        self._units.move_to_end(key)
        if len(self._units) > self._cache_size:
            self._units.popitem(last=False)


def _normalise(text: str) -> str:
    """The beginning of a text in N1, without lone surrogates."""
    return n1(text[:LONGEST_TEXT]).encode(errors="replace").decode()


def _unit(vector: Sequence[float]) -> Unit:
    """Scale a vector to length 1; a zero vector is unchanged."""
    import numpy as np

    values = np.asarray(vector, dtype=np.float64)
    peak = float(np.abs(values).max(initial=0.0))
    if not peak:
        return np.zeros(values.shape, dtype=np.float32)
    scaled = values / peak  # the squares of scaled values can neither overflow nor vanish
    return (scaled / np.linalg.norm(scaled)).astype(np.float32)


def _similarity(one: str, other: str, units: Mapping[str, Unit]) -> float:
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    return min(1.0, max(0.0, float(units[one] @ units[other])))
