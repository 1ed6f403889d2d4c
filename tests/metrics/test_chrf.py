from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.chrf import chrf

# made with sacrebleu 2.6.0, CHRF().sentence_score
GOLD = [
    ("the refund was approved", "the refund is approved", 0.7654360152178935),
    ("Guten Morgen", "Guten Abend, Herr Weiß", 0.1955789704858484),
    ("退款已批准", "退款已获批准", 0.3501109262340544),
    ("आपका रिफंड मंजूर हुआ", "आपका रिफंड स्वीकृत हुआ", 0.452758057774708),
    ("abc abc", "abc", 0.7565789473684209),
    ("a", "a", 1.0),
    ("ab", "cd", 0.0),
    ("", "x", 0.0),
]


@pytest.mark.parametrize(("text", "reference", "expected"), GOLD)
def test_chrf_agrees_with_sacrebleu(text: str, reference: str, expected: float) -> None:
    assert chrf(text, reference) == pytest.approx(expected, abs=1e-12)


# made with sacrebleu 2.6.0, CHRF(whitespace=True).sentence_score
WITH_SPACES = [
    ("the refund was approved", "the refund is approved", 0.8031402405212837),
    ("Guten Morgen", "Guten Abend, Herr Weiß", 0.22616865784285667),
    ("退款已批准", "退款已获批准", 0.3501109262340544),
    ("आपका रिफंड मंजूर हुआ", "आपका रिफंड स्वीकृत हुआ", 0.5216376590616412),
    ("abc abc", "abc", 0.7023643949930458),
    ("re fund", "refund", 0.42108612395497647),
    ("re\u00a0fund", "re fund", 1.0),
    ("", "x", 0.0),
]


@pytest.mark.parametrize(("text", "reference", "expected"), WITH_SPACES)
def test_c68_chrf_with_spaces_agrees_with_sacrebleu(
    text: str, reference: str, expected: float
) -> None:
    assert chrf(text, reference, keep_spaces=True) == pytest.approx(expected, abs=1e-12)


@given(st.text(max_size=40), st.text(max_size=40))
def test_chrf_is_a_share(text: str, reference: str) -> None:
    assert 0 <= chrf(text, reference) <= 1 + 1e-12


@given(st.text(max_size=40).filter(str.strip))
def test_a_text_is_wholly_like_itself_whatever_its_spaces(text: str) -> None:
    assert chrf(text, " ".join(text)) == pytest.approx(1)


def test_what_the_reference_has_weighs_more_than_what_is_added() -> None:
    assert chrf("the refund was approved today", "the refund was") > chrf(
        "the refund was", "the refund was approved today"
    )
