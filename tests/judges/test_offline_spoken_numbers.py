"""Numbers in words, in the languages of the offline judge's lexicon."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.offline.passages import index_passages
from callscore.judges.offline.spoken_numbers import (
    certain_number_words,
    certain_numbers,
    find_numbers,
    possible_numbers,
    tables,
)
from callscore.judges.offline.support import ClaimSupport, check_support
from callscore.judges.offline.word_lists import _tables as lexicon_tables


def read(text: str, lang: str) -> list[str]:
    return [one.value for one in find_numbers(text, certain_number_words(lang))]


def held_against(said: str, claim: str, lang: str | None = "en") -> ClaimSupport:
    return check_support(
        claim, index_passages(JudgeRequest("text", [Turn(said)], {}, {}, [], lang)), lang
    )


def test_every_language_of_the_lexicon_has_number_words() -> None:
    assert set(tables()) == set(lexicon_tables())


@pytest.mark.parametrize(
    ("lang", "words", "value"),
    [
        ("en", "one hundred and twenty", "120"),
        ("en", "a hundred and forty four", "144"),
        ("en", "two thousand three hundred forty-five", "2345"),
        ("en", "twelve hundred", "1200"),
        ("en", "one lakh twenty thousand", "120000"),
        ("en", "three point one four", "3.14"),
        ("en", "twenty-first", "21"),
        ("en", "double five", "55"),
        ("de", "hundertzwanzig", "120"),
        ("de", "zweihundertfünfundzwanzigtausend", "225000"),
        ("de", "drei Komma fünf", "3.5"),
        ("es", "ciento veinte", "120"),
        ("es", "dos mil quinientos treinta y cinco", "2535"),
        ("fr", "cent vingt", "120"),
        ("fr", "quatre-vingt-dix-sept", "97"),
        ("fr", "soixante et onze", "71"),
        ("fr", "quatre-vingts", "80"),
        ("pt", "cento e vinte", "120"),
        ("pt", "dois mil e quinhentos", "2500"),
        ("it", "centoventi", "120"),
        ("it", "duecentocinquantatré", "253"),
        ("hi", "एक सौ बीस", "120"),
        ("hi", "दो हज़ार पाँच सौ", "2500"),
    ],
)
def test_a_number_in_words_has_its_value(lang: str, words: str, value: str) -> None:
    assert read(words, lang) == [value]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("between one hundred and two hundred", ["100", "200"]),
        ("two and three", ["2", "3"]),
        ("two, three", ["2", "3"]),
        ("twenty twenty five", ["20", "25"]),
        ("nobody said so", []),
    ],
)
def test_two_numbers_are_not_one(words: str, values: list[str]) -> None:
    assert read(words, "en") == values


@pytest.mark.parametrize(
    ("lang", "said", "right", "wrong"),
    [
        ("en", "It is one hundred and twenty dollars.", "A price of $120", "A price of $130"),
        ("en", "The balance is $120.", "one hundred and twenty dollars", "one hundred ten dollars"),
        ("de", "Das kostet hundertzwanzig Euro.", "Preis: 120 €", "Preis: 130 €"),
        ("es", "Cuesta ciento veinte euros.", "Precio de 120 €", "Precio de 130 €"),
        ("fr", "Ça coûte quatre-vingt-dix-sept euros.", "Prix : 97 €", "Prix : 87 €"),
        ("pt", "Custa cento e vinte reais.", "Preço de R$ 120", "Preço de R$ 130"),
        ("it", "Costa centoventi euro.", "Prezzo 120 €", "Prezzo 130 €"),
        ("hi", "एक सौ बीस रुपये लगेंगे", "₹120 लगेंगे", "₹130 लगेंगे"),
        (None, "das macht hundertzwanzig euro", "120 €", "130 €"),
        ("en", "the zip is six nine", "zip 69", "zip 96"),
        ("en", "twenty twenty four", "in 2024", "in 2042"),
        ("en", "it is one twenty a month", "$120 a month", "$210 a month"),
        ("en", "two and a half hours", "2.5 hours", "3.5 hours"),
        ("en", "at one fifteen p m", "time: 1:15 PM", "time: 2:25 PM"),
    ],
)
def test_words_and_digits_are_compared_with_each_other(
    lang: str | None, said: str, right: str, wrong: str
) -> None:
    assert held_against(said, right, lang).doubts == []
    assert [f.kind for f in held_against(said, wrong, lang).doubts] == ["number"]


def test_a_number_dictated_over_several_turns_is_heard() -> None:
    turns = [
        Turn("six five five"),
        Turn("okay"),
        Turn("oh seven seven five"),
        Turn("four seven five"),
    ]
    known = index_passages(JudgeRequest("text", turns, {}, {}, [], "en"))
    assert check_support("phone: 655-077-5475", known, "en").is_supported
    assert not check_support("phone: 655-077-5476", known, "en").is_supported


@pytest.mark.parametrize(
    "claim",
    ["one of them agreed", "The first thing is a million thanks", "They met once and it was due"],
)
def test_what_is_hardly_a_number_states_none(claim: str) -> None:
    certain, _ = certain_numbers(claim, "en")
    assert certain == []
    assert held_against("They agreed.", claim, None).doubts == []


def test_things_that_a_summary_counts_are_doubted_but_do_not_count_against_it() -> None:
    found = held_against("We talked about price and delivery.", "Two things: price, delivery.")
    assert [finding.kind for finding in found.doubts] == ["count"]
    assert found.is_supported


@given(st.text(max_size=80), st.sampled_from(["en", "de", "it", "fr", "hi", None]))
def test_any_text_can_be_searched_for_numbers(text: str, lang: str | None) -> None:
    certain_numbers(text, lang)
    possible_numbers(text, lang)


@given(
    st.lists(st.sampled_from(["million", "one", "hundred", "and", "point", "double"]), max_size=60)
)
def test_any_row_of_number_words_is_read_once(words: list[str]) -> None:
    text = " ".join(words)
    found = list(find_numbers(text, certain_number_words("en")))
    assert all(one.end <= other.start for one, other in zip(found, found[1:], strict=False))
