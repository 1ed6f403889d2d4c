"""Normal forms and word search: C-18, C-46, C-71, C-76."""

import sys
import unicodedata
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.text import (
    contains,
    digits_to_ascii,
    has_form,
    is_unspaced_script,
    is_word_char,
    n1,
    n2,
    search_form,
)
from exact_twin.exact import n2 as exact_n2
from growth import grows_in_line

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)


@cache
def every_character() -> list[str]:
    return [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("  Good \t morning\n", "Good morning"),
        (" Good", "Good"),
        ("Good ", "Good"),
        ("a\u00a0\u202f\u3000b", "a b"),
        ("cafe\u0301", "café"),
        ("re\u00adfund\u200b \ufeffnow", "refund now"),
        ("e\u200b\u0301", "é"),
        ("Account_Management-Q1", "Account_Management-Q1"),
        ("ＫＹＣ", "ＫＹＣ"),
        ("क\u200dष", "क\u200dष"),
        ("", ""),
    ],
)
def test_c18_n1_keeps_the_writing_and_drops_the_invisible(raw: str, normal: str) -> None:
    assert n1(raw) == normal


def test_nothing_that_n1_drops_or_makes_a_space_is_printable() -> None:
    blank = filter(str.isspace, every_character())
    assert [char for char in (*blank, *"\ufeff\u200b\u00ad") if char.isprintable()] == [" "]


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("Account_Management ", "account management"),
        ("account - _ management", "account management"),
        ("ＫＹＣ", "kyc"),
        ("e\u0301", "é"),
        ("Straße", "strasse"),
        ("«Refund!»", "refund"),
        ("( refund )", "refund"),
        ("¿Reembolso?", "reembolso"),
        ("नमस्ते।", "नमस्ते"),
        ("₹49", "₹49"),
        ("$5.", "$5"),
        ("c++", "c++"),
        ("don't", "don't"),
        ("क\u200dष", "क\u0937"),
        ("Children\u2019s Palace", "children's palace"),
        ("rock \u2018n\u2019 roll", "rock 'n' roll"),
        ("l\u02bchôtel", "l'hôtel"),
        ("d\uff07or \u00b4 `x`", "d'or ' 'x"),
        ("\u0149", "n"),
        ("plan १२ ٣ ５", "plan 12 3 5"),
        ("a\u00a0b\u2003c\u3000d\u202fe", "a b c d e"),
        ("फ़ोन", "फोन"),
        ("\u095eोन", "फोन"),
        ("\u0934", "ळ"),
        ("...", ""),
        ("—", ""),
        (" _- ", ""),
    ],
)
def test_c18_n2_is_the_form_for_matching(raw: str, normal: str) -> None:
    assert n2(raw) == normal


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Account_Management ", "account management", True),
        ("refunds", "refund", False),
        ("ＫＹＣ", "kyc", True),
        ("é", "é", True),
        ("Refund ", "refund", True),
        ("colour", "color", False),
        ("Children's Palace", "Children’s Palace", True),
        ("१२", "12", True),
        ("फोन", "फ़ोन", True),
        ("फोन", "फन", False),
    ],
)
def test_c18_n2_equality(one: str, other: str, equal: bool) -> None:
    assert (n2(one) == n2(other)) is equal


@given(TEXT)
def test_c18_normal_forms_are_idempotent(text: str) -> None:
    assert n1(n1(text)) == n1(text)
    assert n2(n2(text)) == n2(text)


@given(st.text(alphabet="a'\u2019\u00b4`é _-१\u0969फ\u093c\u0929\u0934\u00a0न ﬁ", max_size=20))
def test_c18_n2_agrees_with_its_definition_step_by_step(text: str) -> None:
    assert n2(text) == exact_n2(text)


@given(TEXT)
def test_c18_n2_does_not_see_what_n1_removes(text: str) -> None:
    assert n2(n1(text)) == n2(text)


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=40))
def test_c18_the_ascii_short_cut_gives_the_general_answer(text: str) -> None:
    assert n2(text + "\u200b") == n2(text)
    assert n1(text + "\u200b") == n1(text)


def test_c18_long_and_short_texts_get_the_same_n2() -> None:
    assert n2("Reference_Number " * 200) == " ".join(["reference number"] * 200)


@pytest.mark.parametrize("marks", ["\u0301\u0327", "\u0f73", "\u0344\u0316"])
def test_c18_a_very_long_word_is_normalised_like_a_short_one(marks: str) -> None:
    word = "A" + marks * 700
    assert n1(word) == unicodedata.normalize("NFC", word)
    assert n2(word).startswith(n2("A" + marks)[:1])


def test_c18_word_characters_are_letters_marks_numbers_and_underscore() -> None:
    by_category = [c for c in every_character() if unicodedata.category(c)[0] in "LMN" or c == "_"]
    assert [c for c in every_character() if is_word_char(c)] == by_category


@pytest.mark.parametrize(
    "text", ["返金", "カタカナ", "ひらがな", "환불", "คืนเงิน", "ຄືນເງິນ", "សង", "ပြန်", "KYC를", "ﾊﾝ"]
)
def test_c46_unspaced_scripts_are_recognised(text: str) -> None:
    assert is_unspaced_script(text)


@pytest.mark.parametrize(
    "text", ["", "refund", "café", "रिफंड", "возврат", "استرداد", "฿500", "៛500", "€5"]
)
def test_c46_other_scripts_and_currency_signs_are_not_unspaced(text: str) -> None:
    assert not is_unspaced_script(text)


@pytest.mark.parametrize(
    ("haystack", "needle", "found"),
    [
        ("he reloaned it", "loan", False),
        ("返金してください", "返金", True),
        ("A refund, please", "REFUND", True),
        ("the refunds", "refund", False),
        ("a loaned loan", "loan", True),
        ("new account_management team", "account management", True),
        ("किताबें खरीदी", "किताब", False),
        ("यह किताब है", "किताब", True),
        ("KYC를 완료", "kyc", True),
        ("고객KYC 확인", "kyc", True),
        ("담당자refund요청", "refund", True),
        ("15일", "5", False),
        ("15일", "15", True),
        ("it costs ₹49.", "₹49", True),
        ("it costs ₹490.", "₹49", False),
        ("Rs₹49", "₹49", True),
        ("anything", "", False),
        ("", "loan", False),
        ("", "", False),
    ],
)
def test_c46_words_are_found_at_word_boundaries(haystack: str, needle: str, found: bool) -> None:
    assert contains(n2(haystack), n2(needle)) is found


@given(
    st.lists(st.text(alphabet=st.characters(categories=["L", "M", "N"]), min_size=1), min_size=1)
)
def test_c46_every_word_of_a_text_is_contained_in_it(words: list[str]) -> None:
    haystack = n2(" ".join(words))
    for word in haystack.split():
        assert contains(haystack, word)


@given(st.text(alphabet="ab ,_é", max_size=12), st.text(alphabet="abé", min_size=1, max_size=3))
def test_c46_the_search_agrees_with_trying_every_position(haystack: str, needle: str) -> None:
    def is_free(at: int) -> bool:
        return not 0 <= at < len(haystack) or not is_word_char(haystack[at])

    everywhere = any(
        haystack.startswith(needle, at) and is_free(at - 1) and is_free(at + len(needle))
        for at in range(len(haystack))
    )
    assert contains(haystack, needle) is everywhere


def holds(text: str, form: str, *, reference: str = "", ignore_case: bool = False) -> bool:
    written, sought, model = (search_form(t, ignore_case) for t in (text, form, reference))
    return has_form(written, sought, lambda: model)


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        ("आपका KYC पूरा है", "KYC", True),
        ("आपका kyc पूरा है", "KYC", False),
        ("आपका KYC-सत्यापन", "KYC", True),
        ("KYCs", "KYC", False),
        ("KYC를 하세요", "KYC", True),
        ("환불이 필요합니다", "환불", True),
        ("ग्राहक सत्यापन", "KYC", False),
        ("cafe\u0301 noir", "café", True),
        ("KYC", "", False),
        ("el plan D\u2019Or", "D'Or", True),
        ("el plan D`Or", "D\u00b4Or", True),
        ("फोन", "फ़ोन", False),
    ],
)
def test_c71_a_term_is_matched_exactly_at_word_boundaries(
    text: str, form: str, found: bool
) -> None:
    assert holds(text, form) is found


def test_c71_a_substring_will_do_where_the_reference_holds_no_more() -> None:
    def held(reference: str) -> bool:
        return holds("die Rückerstattungen", "Rückerstattung", reference=reference)

    assert held("Rückerstattungsantrag")
    assert not held("die Rückerstattung")
    assert not held("der Antrag")


def test_c72_proper_nouns_ignore_case_where_asked() -> None:
    assert holds("MARÍA llamó", "María", ignore_case=True)
    assert holds("llamó O\u2019BRIEN", "O'Brien", ignore_case=True)
    assert not holds("MARÍA llamó", "María")
    assert not holds("प्रिया", "प्रिया शर्मा", ignore_case=True)


def test_c76_digits_of_every_script_become_ascii() -> None:
    digits = [c for c in every_character() if unicodedata.category(c) == "Nd"]
    as_ascii = digits_to_ascii("".join(digits))
    assert as_ascii == "".join(str(unicodedata.decimal(c)) for c in digits)
    assert as_ascii.isascii()


@given(TEXT)
def test_c76_only_digits_change(text: str) -> None:
    after = digits_to_ascii(text)
    assert len(after) == len(text)
    assert [c for c in after if not c.isdecimal()] == [c for c in text if not c.isdecimal()]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda n: n1("a" + "\u0301\u0327" * n), id="combining marks out of order"),
        pytest.param(lambda n: n2("\u0f73" * n), id="marks that decompose to marks"),
        pytest.param(lambda n: contains("a" * n, "a" * (n // 2)), id="a needle at every position"),
    ],
)
def test_time_grows_in_line_with_the_text(work: Callable[[int], object]) -> None:
    assert grows_in_line(work, 5_000)
