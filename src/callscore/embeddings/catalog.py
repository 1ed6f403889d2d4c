"""Embedders by name."""

from __future__ import annotations

from callscore.core.errors import ConfigError
from callscore.core.ports import Embedder
from callscore.embeddings.cosine import Cosine
from callscore.embeddings.encoder import Encoder
from callscore.embeddings.labse import Labse, local_weights
from callscore.embeddings.lexical import Lexical
from callscore.embeddings.muse import Muse
from callscore.embeddings.routing import Reader, Router

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
