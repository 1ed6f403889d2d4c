from __future__ import annotations

import asyncio

import pytest

from callscore.core.case import Failed
from callscore.core.judging import Similarity
from callscore.embeddings.catalog import SIGNATURE, ChrfEmbedder, Router
from callscore.embeddings.encoder import CosineEmbedder
from callscore.embeddings.muse import Muse


@pytest.fixture(scope="module")
def muse() -> Muse:
    return Muse()


def measured(muse: Muse, one: str, other: str, lang: str | None) -> Similarity:
    router = Router((CosineEmbedder(muse), ChrfEmbedder()))
    found = asyncio.run(router.similarities([(one, other)], lang))
    assert not isinstance(found, Failed)
    return found[0]


@pytest.mark.parametrize(
    ("lang", "reads"),
    [
        ("en", True),
        ("zh-TW", True),
        ("pt_BR", True),
        (None, True),
        ("hi", False),
        ("ko-Latn", False),
        ("enhi", False),
        ("sv", False),
    ],
)
def test_it_knows_its_languages(muse: Muse, lang: str | None, reads: bool) -> None:
    assert muse.reads(lang) is reads


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("I would like my money back", True),
        ("환불을 받고 싶습니다", True),
        ("PM6J24004A", True),
        ("मैं अपना पैसा वापस चाहता हूँ", False),
        ("நான் பணத்தை திரும்ப பெற வேண்டும்", False),
        ("", False),
        ("\ud800", True),
    ],
)
def test_unknown_pieces_tell_what_it_cannot_read(muse: Muse, text: str, readable: bool) -> None:
    assert muse.can_read(text) is readable


def test_the_same_meaning_is_nearer_than_another(muse: Muse) -> None:
    reference = "The customer wants a refund for a double charge."
    same = measured(
        muse, "The caller was billed twice and asks for the money back.", reference, "en"
    )
    other = measured(muse, "The caller would like to change the delivery address.", reference, "en")
    assert same.value > other.value + 0.1
    assert not same.approximate
    assert same.by.startswith("muse:")


def test_meaning_crosses_languages(muse: Muse) -> None:
    near = measured(muse, "Ich möchte mein Geld zurück.", "I would like my money back.", "en")
    far = measured(muse, "Das Wetter ist heute schön.", "I would like my money back.", "en")
    assert near.value > 0.7 > far.value


def test_where_people_trust_it_less_than_chrf_every_value_says_so(muse: Muse) -> None:
    weak = measured(muse, "Guten Tag", "Guten Morgen", "de-AT")
    assert weak.caveat.startswith("mUSE is weak in German")
    assert not weak.approximate
    assert not measured(muse, "Good day", "Good morning", "en").caveat
    assert not measured(muse, "Guten Tag", "Guten Morgen", None).caveat


def test_a_hindi_call_with_muse_only_is_approximate_and_named_chrf(muse: Muse) -> None:
    found = measured(muse, "रिफंड मंजूर हुआ", "रिफंड स्वीकृत हुआ", "hi")
    assert found.approximate
    assert found.by == SIGNATURE


def test_hindi_that_calls_itself_english_is_not_read_either(muse: Muse) -> None:
    assert measured(muse, "रिफंड मंजूर हुआ", "आपका रिफंड स्वीकृत हुआ", "en").approximate
