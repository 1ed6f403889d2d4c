"""Any server with an OpenAI-compatible `/embeddings`; the caller provides the transport."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from callscore.core.case import Failed
from callscore.core.languages import base_language
from callscore.core.provider import NEVER_REPEATED, AttemptFailed
from callscore.embeddings.encoder import Vector

Post = Callable[[bytes], Awaitable[bytes | AttemptFailed]]
"""Posts one body to `/embeddings`; returns the body of the response, or why there is none.

Addresses, keys, deadlines and sizes are checked there, as for every other request."""

BATCH = 64
ATTEMPTS = 4
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
STAGE = "embedding"


class _Row(msgspec.Struct, frozen=True):
    index: int
    embedding: list[float]


class _EmbeddingsResponse(msgspec.Struct, frozen=True):
    data: list[_Row]


class HttpEncoder:
    """An Encoder behind an API. Only LaBSE and mUSE are official, wherever they run."""

    def __init__(self, model: str, host: str, post: Post, languages: Sequence[str] = ()) -> None:
        self.name = model
        self.signature = f"http:{host};model={model};norm=l2"
        lowered = model.lower()
        self.is_official = "labse" in lowered or "sentence-encoder-multilingual" in lowered
        self._post = post
        self._lengths: set[int] = set()
        """The length of the vectors once known, to refuse others."""
        self._languages = frozenset(map(base_language, languages))

    def reads(self, lang: str | None) -> bool:
        """Every language, unless some were configured."""
        return not self._languages or not lang or base_language(lang) in self._languages

    def can_read(self, text: str) -> bool:
        """Every text: a server does not report its vocabulary."""
        return True

    def caveat(self, lang: str | None) -> str:
        """Nothing is known."""
        return ""

    async def encode(self, texts: Sequence[str]) -> Sequence[Vector] | Failed:
        """A vector for every text, in as few requests as possible."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            answer = await self._post_with_retries(
                msgspec.json.encode(
                    {"model": self.name, "input": batch, "encoding_format": "float"}
                )
            )
            parsed = answer if isinstance(answer, Failed) else _parse_vectors(answer, len(batch))
            if isinstance(parsed, Failed):
                return parsed
            vectors += parsed
        lengths = {len(vector) for vector in vectors} | self._lengths
        if len(lengths) > 1:
            return Failed(STAGE, f"vectors of different lengths: {sorted(lengths)[:3]}")
        self._lengths = lengths
        return vectors

    async def _post_with_retries(self, body: bytes) -> bytes | Failed:
        wait = FIRST_WAIT_S
        for left in reversed(range(ATTEMPTS)):
            answer = await self._post(body)
            if isinstance(answer, bytes):
                return answer
            failed = Failed(STAGE, f"{answer.kind}: {answer.message}")
            if answer.kind in NEVER_REPEATED or not left:
                return failed
            await asyncio.sleep(min(LONGEST_WAIT_S, answer.retry_after_s or wait))
            wait *= 2
        raise AssertionError("the last attempt always returns")


def _parse_vectors(answer: bytes, wanted: int) -> list[Vector] | Failed:
    """The vectors in the order of the texts; each must be present once and finite."""
    try:
        rows = msgspec.json.decode(answer, type=_EmbeddingsResponse).data
    except (msgspec.DecodeError, RecursionError) as error:
        return Failed(STAGE, f"not an answer of /embeddings: {error}")
    if sorted(row.index for row in rows) != list(range(wanted)):
        return Failed(
            STAGE, f"expected one vector for each of {wanted} texts; got {len(rows)}, or one twice"
        )
    if not all(row.embedding and all(map(math.isfinite, row.embedding)) for row in rows):
        return Failed(STAGE, "a vector is empty, or has a number that is not finite")
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
