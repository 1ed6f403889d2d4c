"""Normal forms of text, and searching one text in another (C-18, C-46, C-71).

N1 compares spelling, N2 compares words. Everything here is pure, independent of the language, and
linear in the length of its input.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import cycle, groupby
from typing import Final, Literal

_INVISIBLE: Final = "\ufeff\u200b\u00ad"
_INVISIBLE_AND_JOINERS: Final = _INVISIBLE + "\u200c\u200d"
_EDGE_OF_ASCII: Final = " !\"#%&'()*,-./:;?@[\\]_{}"
# Kinds of apostrophes and digits and the nukta are ignored since they made right entities wrong,
# and three of those blocked a call (C-18).
_APOSTROPHES: Final = (
    "\u2018\u2019\u02bc\uff07\u0060\u00b4"
    "\u1fef\u1ffd\uff40"  # forms of the grave and the acute accent
)
_WITHOUT_NUKTA: Final = (("\u093c", ""), ("\u0929", "न"), ("\u0931", "र"), ("\u0934", "ळ"))
"""The nukta itself, and the letters that NFKC composes with it."""
_NON_ASCII_DIGIT: Final = re.compile(r"[^\D0-9]")
_NO_WORD_CHAR: Final = re.compile(r"\W")
_UNSPACED: Final = (  # the first and the last character of each range, in ascending order
    "\u0e01\u0e3a\u0e40\u0e7f"  # Thai, without the sign of the baht
    "\u0e80\u0eff"  # Lao
    "\u1000\u109f"  # Burmese
    "\u1100\u11ff"  # Hangul
    "\u1780\u17da\u17dc\u17ff\u19e0\u19ff"  # Khmer, without the sign of the riel
    "\u2e80\u2fd5\u3005\u3005\u3007\u3007\u3021\u3029\u3038\u303b"  # Han
    "\u3041\u309f\u30a1\u30ff"  # Kana
    "\u3131\u318e"  # Hangul
    "\u31f0\u31ff"  # Kana
    "\u3400\u4dbf\u4e00\u9fff"  # Han
    "\ua960\ua97f"  # Hangul
    "\ua9e0\ua9ff\uaa60\uaa7f"  # Burmese
    "\uac00\ud7ff"  # Hangul
    "\uf900\ufaff"  # Han
    "\uff66\uff9f"  # Kana
    "\uffa0\uffdc"  # Hangul
    "\U0001b000\U0001b16f"  # Kana
    "\U00020000\U000323af"  # Han
)
# Compiling a pattern of as many ranges would take longer than reading a thousand texts.
_UNSPACED_EDGES: Final = [ord(char) + is_last for char, is_last in zip(_UNSPACED, cycle((0, 1)))]

# Ordering the combining marks of one word takes quadratic time in `unicodedata`; the marks of a
# longer word are ordered before it is normalised.
_LONGEST_TRUSTED_WORD: Final = 1000
_LONGEST_CACHED: Final = 128


def n1(text: str) -> str:
    """NFC, without U+FEFF, U+200B and U+00AD, white space collapsed and stripped        C-18 N1"""
    # Most texts are normalised already, and checking that is far cheaper than splitting: neither
    # invisible characters nor any white space but the space are printable.
    is_spaced = "  " not in text and text[:1] != " " and text[-1:] != " " and text.isprintable()
    if text.isascii():
        return text if is_spaced else " ".join(text.split())
    if is_spaced and len(text) <= _LONGEST_TRUSTED_WORD:
        return unicodedata.normalize("NFC", text)
    return _normalise("NFC", _remove(_INVISIBLE, text))


def n2(text: str) -> str:
    """N1 after NFKC, case-folded, `_` and `-` as space, surrounding punctuation off      C-18 N2

    Apostrophes of every kind are equal, and so are the digits of every script; the Devanagari nukta
    does not count.
    """
    return _n2_cached(text) if len(text) <= _LONGEST_CACHED else _n2(text)


def is_word_char(char: str) -> bool:
    """Unicode category L, M or N, or `_`        C-18"""
    if char.isalnum() or char == "_":
        return True
    return not char.isascii() and unicodedata.category(char)[0] == "M"


def is_unspaced_script(text: str) -> bool:
    """Whether it has a character of Han, Kana, Hangul, Thai, Lao, Khmer or Burmese        C-46"""
    return not text.isascii() and max(text) >= _UNSPACED[0] and any(map(_is_unspaced, set(text)))


def _is_unspaced(char: str) -> bool:
    return bisect_right(_UNSPACED_EDGES, ord(char)) % 2 == 1


def contains(haystack: str, needle: str) -> bool:
    """Whether the needle occurs in the haystack as whole words        C-18, C-46

    Both are already in the same normal form. A needle with a character of an unspaced script is a
    plain substring. Otherwise a word must end at either edge of the match: no word character
    follows there, or only one of an unspaced script ("KYC" occurs in "KYC를"). An empty needle
    never occurs.
    """
    start = haystack.find(needle) if needle else -1
    if start >= 0 and is_unspaced_script(needle):
        return True
    width = len(needle)
    while start >= 0:
        if _is_word_edge(haystack, start) and _is_word_edge(haystack, start + width):
            return True
        start = haystack.find(needle, _next_word_edge(haystack, start))
    return False


def has_form(text: str, form: str, reference: Callable[[], str]) -> bool:
    """Whether the text contains the form exactly as written        C-71, C-72, C-74

    All are `search_form`s already. The form must occur as whole words (see `contains`), unless the
    reference itself has it only inside other words: then a substring is enough. The reference is a
    function because it is rarely needed.
    """
    if not form or form not in text:
        return False
    if contains(text, form):
        return True
    model = reference()
    return form in model and not contains(model, form)


def search_form(text: str, ignore_case: bool) -> str:
    """N1 with plain apostrophes, folded if case does not matter        C-71, C-72"""
    form = plain_apostrophes(n1(text))
    return form.casefold() if ignore_case else form


def plain_apostrophes(text: str) -> str:
    """Every mark that people write for an apostrophe as '; the length stays the same      C-18"""
    if text.isascii():
        return text.replace("`", "'")
    for mark in _APOSTROPHES:
        text = text.replace(mark, "'")
    return text


def digits_to_ascii(text: str) -> str:
    """Decimal digits of every script as 0-9; the length stays the same        C-76"""
    if text.isascii():
        return text
    return _NON_ASCII_DIGIT.sub(_ascii_digit, text)


def _ascii_digit(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match.group()))


def _n2(text: str) -> str:
    if text.isascii():
        return _collapse_separators(plain_apostrophes(text.lower())).strip(_EDGE_OF_ASCII)
    # NFKC would turn an acute accent into a space and a mark, and makes an apostrophe of U+0149.
    marked = _remove(_INVISIBLE_AND_JOINERS, text).replace("\u0149", "'n")
    folded = _fold(plain_apostrophes(marked))
    # Folding can undo the normal form and the normal form can undo folding (U+0345, U+1E9E).
    while (again := _fold(folded.casefold())) != folded:
        folded = again
    return _strip_edges(_collapse_separators(digits_to_ascii(folded)))


def _fold(text: str) -> str:
    """NFKC without the nukta        C-18"""
    text = _normalise("NFKC", text)
    for letter, bare in _WITHOUT_NUKTA:
        text = text.replace(letter, bare)
    return text


_n2_cached = lru_cache(maxsize=32768)(_n2)


def _collapse_separators(text: str) -> str:
    return " ".join(text.replace("_", " ").replace("-", " ").split())


def _strip_edges(text: str) -> str:
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_edge(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] == "P"


def _is_word_edge(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (is_word_char(before) and is_word_char(after)):
        return True
    return is_unspaced_script(before) or is_unspaced_script(after)


def _next_word_edge(text: str, at: int) -> int:
    if text.isascii():  # half the time of going on character by character
        found = _NO_WORD_CHAR.search(text, at)
        return max(found.start(), at + 1) if found else len(text)
    at += 1
    while not _is_word_edge(text, at):
        at += 1
    return at


def _remove(characters: str, text: str) -> str:
    for char in characters:
        text = text.replace(char, "")
    return text


def _normalise(form: Literal["NFC", "NFKC"], text: str) -> str:
    words = text.split()
    if len(text) > _LONGEST_TRUSTED_WORD:
        words = [w if len(w) <= _LONGEST_TRUSTED_WORD else _order_marks(form, w) for w in words]
    return unicodedata.normalize(form, " ".join(words))


def _order_marks(form: Literal["NFC", "NFKC"], word: str) -> str:
    decomposition: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
    parts = (part for char in word for part in unicodedata.normalize(decomposition, char))
    ordered: list[str] = []
    for _, run in groupby(parts, lambda part: unicodedata.combining(part) > 0):
        ordered += sorted(run, key=unicodedata.combining)
    return "".join(ordered)


def item_id(value: object) -> str:
    """An id as text after N1: 1 equals "1", "Q1" does not equal "q1"        C-19"""
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        return value if value.isalnum() and value.isascii() else n1(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
