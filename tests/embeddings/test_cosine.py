from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from callscore.core.case import Failed
from callscore.core.judging import Similarity
from callscore.embeddings.encoder import CosineEmbedder
from encoders import FailingEncoder, TableEncoder

VECTORS = {
    "east": (2.0, 0.0),
    "north-east": (3.0, 3.0),
    "west": (-1.0, 0.0),
    "nowhere": (0.0, 0.0),
    "endless": (1e300, 1e300),
    "tiny": (1e-300, 1e-300),
}


def likeness(one: str, other: str, embedder: CosineEmbedder | None = None) -> float:
    return found(embedder or CosineEmbedder(TableEncoder(VECTORS)), [(one, other)])[0].value


def found(embedder: CosineEmbedder, pairs: Sequence[tuple[str, str]]) -> Sequence[Similarity]:
    given = asyncio.run(embedder.similarities(pairs, "en"))
    assert not isinstance(given, Failed)
    return given


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("east", "north-east", 0.5**0.5),
        ("north-east", "east", 0.5**0.5),
        ("east", "west", 0.0),
        ("east", "endless", 0.5**0.5),
        ("tiny", "endless", 1.0),
        ("east", "nowhere", 0.0),
        ("east", "", 0.0),
        ("", "east", 0.0),
        ("never seen", "never  seen ", 1.0),
        ("", "", 1.0),
    ],
)
def test_c_67_a_cosine_is_clamped_and_the_same_writing_is_one(
    one: str, other: str, expected: float
) -> None:
    assert likeness(one, other) == pytest.approx(expected, abs=1e-6)


def test_each_text_is_encoded_once_however_often_it_comes() -> None:
    table = TableEncoder(VECTORS)
    embedder = CosineEmbedder(table)
    found(embedder, [("east", "west"), ("west", "east"), ("north-east", "east")])
    found(embedder, [("west", "north-east")])
    assert table.asked == [["east", "west", "north-east"]]


def test_memory_stays_flat() -> None:
    table = TableEncoder({f"text {n}": (1.0, n) for n in range(10)})
    embedder = CosineEmbedder(table, cache_size=2)
    assert found(embedder, [("text 0", f"text {n}") for n in range(1, 10)])[0].value > 0
    likeness("text 8", "text 9", embedder)
    likeness("text 0", "text 1", embedder)
    assert table.asked[1:] == [["text 0", "text 1"]]


def test_half_a_character_is_replaced_and_a_long_text_cut() -> None:
    table = TableEncoder({"ab?": (1.0, 0.0), "b" * 20_000: (0.0, 1.0)})
    assert likeness("ab\ud800", "b" * 30_000, CosineEmbedder(table)) == 0.0


def test_only_labse_and_muse_are_official() -> None:
    pair = [("east", "west")]
    assert not found(CosineEmbedder(TableEncoder(VECTORS)), pair)[0].approximate
    assert found(CosineEmbedder(TableEncoder(VECTORS, official=False)), pair)[0].approximate


def test_who_measured_is_in_every_similarity() -> None:
    embedder = CosineEmbedder(TableEncoder(VECTORS))
    assert {s.by for s in found(embedder, [("east", "west"), ("", "")])} == {embedder.signature}


def test_a_failed_encoder_gives_no_number() -> None:
    given = asyncio.run(
        CosineEmbedder(FailingEncoder(VECTORS)).similarities([("east", "west")], None)
    )
    assert given == Failed("embedding", "the server is gone")
