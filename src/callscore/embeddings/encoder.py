"""The Encoder protocol: texts in, vectors out."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from importlib.metadata import Distribution
from pathlib import Path
from typing import Protocol

from callscore.core.case import Failed
from callscore.core.errors import ConfigError

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
