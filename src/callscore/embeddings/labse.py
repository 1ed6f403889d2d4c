"""LaBSE through sentence-transformers (an extra); local weights only (C-68)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from callscore.core.errors import MissingExtra
from callscore.core.languages import base_language
from callscore.embeddings.encoder import Vector, refuse_pickles

MODEL = "sentence-transformers/LaBSE"
INSTALL = "pip install 'callscore[labse]'"
BATCH = 32
SMALL_FILE = 1_000_000
"""Bytes; of larger files, the weights, name and size are hashed."""
_TAGS = """
af am ar as az be bg bn bo bs ca ceb co cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu
ha haw he hi hmn hr ht hu hy id ig is it ja jv ka kk km kn ko ku ky la lb lo lt lv mg mi mk ml
mn mr ms mt my ne nl no ny or pa pl pt ro ru rw si sk sl sm sn so sq sr st su sv sw ta te tg th
tk tl tr tt ug uk ur uz vi wo xh yi yo zh zu
"""
LANGUAGES = frozenset(_TAGS.split())
ALSO = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "fil": "tl"}
"""Other tags of languages in the list."""


def local_weights(model: str = MODEL) -> Path | None:
    """The local path of the weights: a folder, or the cache of huggingface_hub."""
    if Path(model).is_dir():
        return Path(model)
    if find_spec("sentence_transformers") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model, "modules.json")
    return Path(found).parent if isinstance(found, str) else None


def is_known_language(lang: str | None) -> bool:
    """Whether it is one of the 109 languages, or unknown."""
    base = base_language(lang)
    return not base or ALSO.get(base, base) in LANGUAGES


class Labse:
    """An Encoder for 109 languages, loaded with the first text. Nothing is downloaded."""

    is_official = True

    def __init__(self, weights: Path | None) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra(f"LaBSE needs sentence-transformers; expected: {INSTALL}")
        if weights is None or not (weights / "modules.json").is_file():
            raise MissingExtra(
                f"the weights of LaBSE are not on this machine; expected: a folder with "
                f"modules.json, or the model {MODEL} in the cache of huggingface_hub"
            )
        refuse_pickles(weights)
        self.name = "LaBSE"
        self._weights = weights

    @cached_property
    def signature(self) -> str:
        """Model, revision and package; vectors have length 1."""
        from importlib.metadata import version

        package = "sentence-transformers"
        return f"labse:{_revision(self._weights)};{package}={version(package)};norm=l2"

    def reads(self, lang: str | None) -> bool:
        """Whether it is one of its languages, or unknown."""
        return is_known_language(lang)

    def can_read(self, text: str) -> bool:
        """Every text: its vocabulary covers the scripts of all its languages."""
        return True

    def caveat(self, lang: str | None) -> str:
        """Nothing is known."""
        return ""

    async def encode(self, texts: Sequence[str]) -> Sequence[Vector]:
        """A vector of length 1 for every text."""
        vectors: Sequence[Vector] = self._model.encode(
            list(texts), batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(
            str(self._weights),
            device="cpu",
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )


def _revision(weights: Path) -> str:
    """The commit in a cache, else a hash of the folder's small files and the sizes of the rest."""
    if weights.parent.name == "snapshots":
        return weights.name
    digest = blake2b(digest_size=12)
    for path in sorted(weights.rglob("*")):
        if path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.relative_to(weights).as_posix()}\0{size}\0".encode())
            if size <= SMALL_FILE:
                digest.update(path.read_bytes())
    return digest.hexdigest()
