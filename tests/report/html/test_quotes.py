"""Quotes are highlighted on the letters that they quote, in every script."""

from __future__ import annotations

import pytest

from callscore.core.case import Turn
from callscore.report.html.case import Quote, locate_quotes

CALLS = {
    "ar": ("صباح الخير، كيف أستطيع مساعدتك اليوم؟", "كيف أستطيع مساعدتك"),
    "ja": ("お電話ありがとうございます。担当の佐藤です。", "担当の佐藤です"),
    "ko": ("안녕하세요, 환불 번호는 7312입니다.", "환불 번호는 7312"),
    "hi": ("नमस्ते, मैं आपकी क्या मदद कर सकता हूँ?", "आपकी क्या मदद"),
    "tr": ("İyi günler, İstanbul şubesi, size nasıl yardımcı olabilirim?", "size nasıl"),
    "astral": ("😀😀 Good morning, this is Marcus.", "good morning"),
}


@pytest.mark.parametrize("lang", CALLS)
def test_a_quote_is_found_on_its_letters(lang: str) -> None:
    text, words = CALLS[lang]
    found, lost = locate_quotes([Turn(text)], [Quote(words, "model", "claim:1")])
    ((span,),) = found
    assert not lost
    assert text[span.start : span.end].lower() == words.lower()
