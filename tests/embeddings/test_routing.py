from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from callscore.core.case import Failed
from callscore.core.errors import ConfigError
from callscore.core.judging import Similarity
from callscore.embeddings.catalog import SIGNATURE, ChrfEmbedder, Router, find_embedder
from callscore.embeddings.encoder import CosineEmbedder
from encoders import FailingEncoder, TableEncoder

VECTORS = {"one": (1.0, 0.0), "two": (1.0, 1.0), "три": (0.0, 1.0)}


def router(table: TableEncoder) -> Router:
    return Router((CosineEmbedder(table), ChrfEmbedder()))


def measured(
    embedder: Router, pairs: Sequence[tuple[str, str]], lang: str | None
) -> Sequence[Similarity]:
    found = asyncio.run(embedder.similarities(pairs, lang))
    assert not isinstance(found, Failed)
    return found


def test_what_the_preferred_embedder_reads_is_its_own() -> None:
    (only,) = measured(router(TableEncoder(VECTORS, languages=["en"])), [("one", "two")], "en")
    assert only.by.startswith("table:1")
    assert not only.approximate


def test_another_language_is_compared_by_chrf_and_says_so() -> None:
    (only,) = measured(router(TableEncoder(VECTORS, languages=["en"])), [("one", "two")], "hi")
    assert only.by == SIGNATURE
    assert only.approximate


def test_the_reference_alone_decides_who_measures() -> None:
    table = TableEncoder(VECTORS, unreadable=["три"])
    by_words, by_writing, same = measured(
        router(table), [("три", "two"), ("two", "три"), ("one", "two")], "en"
    )
    assert [by_words.approximate, by_writing.approximate, same.approximate] == [False, True, False]
    assert by_words.value == pytest.approx(0.5**0.5)
    assert by_writing.value == 0.0


def test_a_failed_embedder_is_not_replaced_by_the_next() -> None:
    found = asyncio.run(router(FailingEncoder(VECTORS)).similarities([("one", "two")], "en"))
    assert isinstance(found, Failed)


def test_without_pairs_no_embedder_is_asked() -> None:
    assert measured(router(FailingEncoder(VECTORS)), [], "en") == []


def test_all_who_may_measure_are_in_the_signature() -> None:
    assert router(TableEncoder(VECTORS)).signature == f"table:1;max=20000 > {SIGNATURE}"
    assert router(TableEncoder(VECTORS)).name == "table > chrF"


def test_a_router_reads_what_its_members_read() -> None:
    narrow = Router((CosineEmbedder(TableEncoder(VECTORS, languages=["en"], unreadable=["x"])),))
    assert narrow.reads("en")
    assert not narrow.reads("hi")
    assert narrow.can_read("one")
    assert not narrow.can_read("x")
    assert router(TableEncoder(VECTORS, languages=["en"])).reads("hi")


def test_names_lead_to_embedders() -> None:
    assert find_embedder("none") is None
    signatures = {name: getattr(find_embedder(name), "signature", "") for name in ("muse", "chrf")}
    assert signatures["chrf"] == SIGNATURE
    assert signatures["muse"].startswith("muse:universal-sentence-encoder-multilingual-3;")
    assert signatures["muse"].endswith(SIGNATURE)
    assert getattr(find_embedder("auto"), "signature", "").startswith("muse:")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="'bert' is unknown; expected one of auto"):
        find_embedder("bert")
