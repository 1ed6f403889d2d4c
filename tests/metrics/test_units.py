"""What stands beside a number: remembered words, and the look before a time or date is tried."""

from hypothesis import example, given
from hypothesis import strategies as st

from callscore.metrics.facts.extraction import DIGITS_AND_WORD
from callscore.metrics.facts.lexicon import MOST_CACHED, MeaningCache, lexicon, words_before
from callscore.metrics.facts.moments import date_at, may_be_moment, time_at

LANGUAGES = ("en", "es", "fr", "de", "hi", "ko", "zh", "ja", "pt", "it", None)
WORDS = sorted(
    {word for lang in LANGUAGES for word in (*lexicon(lang).months, *lexicon(lang).clock)}
)
PARTS = st.one_of(
    st.sampled_from(["3", "12", "30", "05", "1998", "2026", " ", " ", " ", "  ", "\u00a0", ""]),
    st.sampled_from([":", "：", ".", ". ", "-", "/", ",", "h", "H", "Uhr", "heures", "am", "p.m."]),
    st.sampled_from(["st", "rd", "er", "º", "of", "de", "del", "%", "$", "pm€", "may%", "days"]),
    st.sampled_from(["年", "월", "日", "시", "点半", "分", "时间", "오후", "दिन"]),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(str.title),
)


def test_remembered_words_are_worked_out_once_and_never_too_many() -> None:
    asked: list[str] = []

    def length(word: str) -> int:
        asked.append(word)
        return len(word)

    lengths = MeaningCache(length)
    assert [lengths["days"], lengths["days"]] == [4, 4]
    assert asked == ["days"]
    assert {lengths[str(number)] for number in range(2 * MOST_CACHED)} == {1, 2, 3, 4}
    assert len(lengths) <= MOST_CACHED


@given(st.lists(PARTS, min_size=1, max_size=8).map("".join), st.sampled_from(LANGUAGES))
@example("on the 12. Mai", "de")
@example("12th of May", "en")
@example("3 pm$", "en")
@example("3 may%", "en")
@example("el mes de mayo de 2026", "es")
def test_no_time_and_no_date_is_overlooked(text: str, lang: str | None) -> None:
    words = lexicon(lang)
    for digits in DIGITS_AND_WORD.finditer(text):
        span = digits.span(1)
        if time_at(text, span, words) or date_at(text, span, words):
            assert may_be_moment(text, digits, words_before(text, span[0]), words)


def test_what_is_read_of_a_word_cuts_no_name_of_a_month_or_a_clock() -> None:
    for lang in LANGUAGES:
        assert max(map(len, lexicon(lang).months), default=0) < 12
        assert max(map(len, lexicon(lang).clock), default=0) < 8
