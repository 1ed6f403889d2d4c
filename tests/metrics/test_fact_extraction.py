"""Reading facts from a text and comparing two of them: C-74, C-76."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.facts.extraction import extract
from callscore.metrics.facts.fact import agree
from growth import grows_in_line

END_OF_DIGITS = 0x20000
ZEROS = [c for c in map(chr, range(END_OF_DIGITS)) if unicodedata.category(c) == "Nd"][::10]


def keys(text: str, lang: str | None) -> list[tuple[str, ...]]:
    return [fact.key for fact in extract(text, lang)]


def agrees(one: str, other: str, *, langs: tuple[str | None, str | None] = ("en", "en")) -> bool:
    (expected,), (found,) = extract(one, langs[0]), extract(other, langs[1])
    return agree(expected, found)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "It costs ₹1,00,000.", [("amount", "INR", "100000")]),
        ("en", "Rs. 500 or Rs500", [("amount", "INR", "500")] * 2),
        ("en", "$49, USD 49, 49 dollars", [("amount", "USD", "49")] * 3),
        ("en", "1,234.50 and 1.033 million", [("number", "", "1234.5"), ("number", "", "1033000")]),
        ("en", "5.5% of 5 percent", [("percent", "%", "5.5"), ("percent", "%", "5")]),
        ("en", "on 3 March 2026, June 21st", [("date", "2026", "3", "3"), ("date", "", "6", "21")]),
        (
            "en",
            "since July 1950 or 2026-03-12",
            [("date", "1950", "7", ""), ("date", "2026", "3", "12")],
        ),
        ("en", "you may 5 times", [("number", "", "5")]),
        ("en", "It was in March. 5 people came", [("number", "", "5")]),
        (
            "en",
            "at 2:30 pm, at 14:30, 5 a.m.",
            [("time", "14:30"), ("time", "14:30"), ("time", "05:00")],
        ),
        ("en", "3–5 business days", [("range", "3", "5", "workday")]),
        ("en", "between 3 and 5 days", [("range", "3", "5", "day")]),
        ("en", "₹500–₹1,000", [("range", "500", "1000", "INR")]),
        ("en", "10 minutes to 2 hours", [("duration", "minute", "10"), ("duration", "hour", "2")]),
        ("en", "from 13 to 28 January", [("number", "", "13"), ("date", "", "1", "28")]),
        ("en", "in 1998-99", [("range", "1998", "1999", "")]),
        ("en", "AB-1234 and PM6J24004A", [("identifier", "AB1234"), ("identifier", "PM6J24004A")]),
        ("en", "the i7-9700F", [("identifier", "I79700F")]),
        (
            "en",
            "0512-68182888 180-5181-5602",
            [("identifier", "051268182888"), ("identifier", "18051815602")],
        ),
        ("en", "+91 98765 43210", [("identifier", "919876543210")]),
        ("en", "62629999 and 007", [("identifier", "62629999"), ("identifier", "007")]),
        (
            "en",
            "the 10th, 2010s, 14-inch",
            [("number", "", "10"), ("number", "", "2010"), ("number", "", "14")],
        ),
        ("en", "3,5,7 and 24/7", [("number", "", n) for n in ("3", "5", "7", "24", "7")]),
        ("en", "It is 5\nDays pass", [("number", "", "5")]),
        ("es", "3-5 días hábiles", [("range", "3", "5", "workday")]),
        ("es", "el 3 de marzo de 2026", [("date", "2026", "3", "3")]),
        ("es", "1.234,56 euros", [("amount", "EUR", "1234.56")]),
        ("es", "el 5 por ciento", [("percent", "%", "5")]),
        ("es", "a las 2:30 p. m.", [("time", "14:30")]),
        ("fr", "186 900 yuans", [("amount", "CNY", "186900")]),
        ("fr", "186\u202f900\u00a0€", [("amount", "EUR", "186900")]),
        ("fr", "de 5 000 à 10 000", [("range", "5000", "10000", "")]),
        ("fr", "à 14h30, le 21 juin 2020", [("time", "14:30"), ("date", "2020", "6", "21")]),
        ("fr", "2 millions d'euros", [("amount", "EUR", "2000000")]),
        ("fr", "au 01 23 45 67 89", [("identifier", "0123456789")]),
        ("de", "am 16. Juni, 12.03.2026", [("date", "", "6", "16"), ("date", "2026", "3", "12")]),
        ("de", "um 14.30 Uhr", [("time", "14:30")]),
        ("de", "um 5 am 3. Mai", [("number", "", "5"), ("date", "", "5", "3")]),
        (
            "de",
            "$ 1.000 oder 3,5 Mio. Euro",
            [("amount", "USD", "1000"), ("amount", "EUR", "3500000")],
        ),
        ("de", "3 bis 5 Werktage", [("range", "3", "5", "workday")]),
        ("hi", "₹१,००,०००", [("amount", "INR", "100000")]),
        ("hi", "5 लाख रुपये", [("amount", "INR", "500000")]),
        ("hi", "3 से 5 दिन", [("range", "3", "5", "day")]),
        ("hi", "3 मार्च 2026 को शाम 5 बजे", [("date", "2026", "3", "3"), ("time", "17:00")]),
        ("hi", "5 प्रतिशत", [("percent", "%", "5")]),
        ("ko", "960위안입니다", [("amount", "CNY", "960")]),
        ("ko", "2020년 6월 21일 오후 4시 반", [("date", "2020", "6", "21"), ("time", "16:30")]),
        ("ko", "150,000에서 200,000위안", [("range", "150000", "200000", "CNY")]),
        ("ko", "9시간 60분", [("duration", "hour", "9"), ("duration", "minute", "60")]),
        ("zh", "2016年7月17日下午3点30分", [("date", "2016", "7", "17"), ("time", "15:30")]),
        ("zh", "3到5个工作日", [("range", "3", "5", "workday")]),
        ("zh", "103.3万人，66 万观众", [("number", "", "1033000"), ("number", "", "660000")]),
        ("zh", "7月", []),
        (None, "4 . 5", [("number", "", "4.5")]),
    ],
)
def test_c74_facts_are_read_by_rule(
    lang: str | None, text: str, expected: list[tuple[str, ...]]
) -> None:
    assert keys(text, lang) == expected


def test_c74_a_fact_says_where_it_occurs_in_the_words_of_the_text() -> None:
    text = "कीमत ₹१,००,००० है"
    (fact,) = extract(text, "hi")
    assert fact.text == "₹१,००,०००"
    assert text[slice(*fact.span)] == fact.text


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("₹1,00,000", "₹100,000", True),
        ("3–5", "3", False),
        ("3–5", "3–6", False),
        ("₹49", "$49", False),
        ("$49", "USD 49", True),
        ("$49", "C$49", True),
        ("US$49", "C$49", False),
        ("४९", "49", True),
        ("3 days", "3 weeks", False),
        ("3 days", "3 business days", False),
        ("3 days", "3 sleeps", True),
        ("3 sleeps", "3", True),
        ("5%", "5.0 percent", True),
        ("2:30 pm", "14:30", True),
        ("2:30", "14:30", True),
        ("02:30", "14:30", False),
        ("2 pm", "3 pm", False),
        ("12/03/2026", "3 December 2026", True),
        ("12/03/2026", "12 March 2026", True),
        ("13/03/2026", "March 13, 2026", True),
        ("12 March 2026", "12 March 2025", False),
        ("AB-1234", "ab1234", True),
        ("AB-1234", "AC-1234", False),
        ("007", "0007", False),
        ("1,000", "1.000", False),
        ("10000000", "10,000,000", True),
    ],
)
def test_c76_equality_within_one_language(one: str, other: str, equal: bool) -> None:
    assert agrees(one, other) is equal
    assert agrees(other, one) is equal


@pytest.mark.parametrize(
    ("lang", "one", "other", "equal"),
    [
        ("de", "um 10:30", "um 22:30", False),
        ("de", "um 10 Uhr", "um 22 Uhr", False),
        ("de", "um 2:30 Uhr nachmittags", "um 14:30 Uhr", True),
        ("de", "um 2:30 Uhr nachmittags", "um 2:30 Uhr", False),
        ("fr", "à 10 h 30", "à 22 h 30", False),
        ("fr", "à 2 h 30 de l’après-midi", "à 14 h 30", True),
        ("fr", "at 2:30 pm", "à 14 h 30", True),
        ("it", "alle 10:30", "alle 22:30", False),
        ("it", "alle 10:30 di sera", "alle 22:30", True),
        ("en", "at 10:30", "at 22:30", True),
        ("es", "a las 10:30", "a las 22:30", True),
        ("hi", "10:30 बजे", "22:30 बजे", True),
        ("xx", "10:30", "22:30", True),
        (None, "10:30", "22:30", True),
    ],
)
def test_c76_a_bare_time_is_of_either_half_of_the_day_only_on_a_12_hour_clock(
    lang: str | None, one: str, other: str, equal: bool
) -> None:
    assert agrees(one, other, langs=(lang, lang)) is equal
    assert agrees(other, one, langs=(lang, lang)) is equal


@pytest.mark.parametrize(
    ("english", "german", "equal"),
    [
        ("10:30 PM", "22:30 Uhr", True),
        ("10:30 AM", "22:30 Uhr", False),
        ("at 2:30", "um 14:30", True),
        ("at 2:30", "um 2:30", True),
        ("2:30 pm", "um 2:30", False),
    ],
)
def test_c76_an_english_time_is_compared_with_a_german_one(
    english: str, german: str, equal: bool
) -> None:
    assert agrees(english, german, langs=("en", "de")) is equal
    assert agrees(german, english, langs=("de", "en")) is equal


@pytest.mark.parametrize(
    ("lang", "other"),
    [
        ("en", "3 to 5 working days"),
        ("es", "3-5 días hábiles"),
        ("es", "entre 3 y 5 días laborables"),
        ("fr", "3 à 5 jours ouvrés"),
        ("de", "3–5 Werktage"),
        ("hi", "3–5 कार्य दिवस"),
        ("hi", "३ से ५ कार्यदिवस"),
        ("ko", "3~5영업일"),
        ("zh", "3至5个工作日"),
        ("ja", "3〜5営業日"),
        ("it", "3-5 giorni lavorativi"),
        ("pt", "3 a 5 dias úteis"),
        ("sw", "3-5 siku za kazi"),
    ],
)
def test_c76_units_agree_across_languages(lang: str, other: str) -> None:
    assert agrees("3–5 business days", other, langs=("en", lang))


@pytest.mark.parametrize(
    ("lang", "written", "value"),
    [
        ("de", "1.234", "1234"),
        ("de", "1,234", "1.234"),
        ("en", "1,234", "1234"),
        ("en", "1.234", "1.234"),
        ("hi", "12,34,567.50", "1234567.5"),
        ("es-MX", "1,234", "1234"),
        ("de-CH", "1'234.50", "1234.5"),
        ("fr", "1 234,5", "1234.5"),
        ("en", "0.692", "0.692"),
    ],
)
def test_c76_marks_are_read_by_the_locale(lang: str, written: str, value: str) -> None:
    (fact,) = extract(written, lang)
    assert fact.key == ("number", "", value)
    assert not fact.also


@pytest.mark.parametrize("lang", ["es", "fr", "xx", None])
def test_c76_a_mark_that_may_be_either_is_read_both_ways(lang: str | None) -> None:
    (fact,) = extract("1.234", lang)
    assert {key[2] for key in fact.keys} == {"1234", "1.234"}


@given(st.integers(0, 999_999), st.sampled_from(ZEROS))
def test_c76_digits_of_any_script_are_equal(number: int, zero: str) -> None:
    shown = "".join(chr(ord(zero) + int(digit)) for digit in str(number))
    assert keys(f"x {shown} x", "en") == keys(f"x {number} x", "en")


@given(st.integers(1, 10**9), st.sampled_from(["en", "de", "fr", "hi"]))
def test_c76_a_number_equals_itself_however_it_is_grouped(number: int, lang: str) -> None:
    mark = {"en": ",", "de": ".", "fr": "\u202f", "hi": ","}[lang]
    grouped = f"{number:,}".replace(",", mark)
    assert agrees(f"€{grouped}", f"{number} EUR", langs=(lang, lang))


@given(st.text(alphabet="0123456789 .,-–:/'₹$%hAapm年月日से", max_size=30))
def test_c74_extraction_never_fails_and_spans_are_in_order(text: str) -> None:
    for lang in ("en", "fr", "zh", None):
        spans = [fact.span for fact in extract(text, lang)]
        assert all(start < end for start, end in spans)
        assert all(text[start:end] for start, end in spans)
        assert [end for _, end in spans] == sorted(end for _, end in spans)


@pytest.mark.parametrize(
    "piece", ["1", "1 ", "1,", "1.", "1-", "1:", "12 345 ", "A-1", "1a", "1 to ", "May 1 ", "1月"]
)
def test_time_grows_in_line_with_the_text(piece: str) -> None:
    assert grows_in_line(lambda size: extract(piece * (size // len(piece)), "fr"), 4_000)
