"""Numbers as people say them: digit by digit, in pairs, with "double", "oh", "dash" and "uh"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_DIGITS: Mapping[str, str] = {
    "en": "zero one two three four five six seven eight nine",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun",
    "pt": "zero um dois três quatro cinco seis sete oito nove",
    "it": "zero uno due tre quattro cinque sei sette otto nove",
    "hi": "शून्य एक दो तीन चार पांच छह सात आठ नौ",
    "hi-Latn": "shunya ek do teen char paanch chhe saat aath nau",
}
_MORE_DIGITS: Mapping[str, str] = {
    "oh": "0", "o": "0", "nought": "0", "naught": "0", "nil": "0", "niner": "9", "zwo": "2",
    "fuenf": "5", "meia": "6", "une": "1", "uma": "1", "duas": "2", "cero": "0", "पाँच": "5",
    "छः": "6", "छे": "6", "ज़ीरो": "0", "जीरो": "0", "वन": "1", "टू": "2", "थ्री": "3", "फोर": "4",
    "फाइव": "5", "सिक्स": "6", "सेवन": "7", "एट": "8", "नाइन": "9", "paanch": "5", "chhah": "6",
    "zéros": "0", "ゼロ": "0", "マル": "0", "イチ": "1", "ニ": "2", "サン": "3", "ヨン": "4",
    "ゴ": "5", "ロク": "6", "ナナ": "7", "ハチ": "8", "キュウ": "9",
}  # fmt: skip
_TEENS: Mapping[str, str] = {
    "en": "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "es": "diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
    "fr": "dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
    "de": ("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"),
    "pt": "dez onze doze treze quatorze quinze dezesseis dezessete dezoito dezenove",
    "it": (
        "dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove"
    ),
}
_TENS: Mapping[str, str] = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "fr": "vingt trente quarante cinquante soixante septante quatre-vingt nonante",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "pt": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "it": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
}
_TIMES: Mapping[str, int] = {
    "double": 2, "triple": 3, "treble": 3, "doble": 2, "doppel": 2, "dobro": 2, "doppio": 2,
    "triplo": 3, "dreimal": 3, "zweimal": 2, "डबल": 2, "ट्रिपल": 3, "dupla": 2,
}  # fmt: skip
_SCALES: Mapping[str, int] = {"hundred": 2, "thousand": 3, "cien": 2, "cent": 2, "hundert": 2}
_UNSPACED = {
    **dict(zip("영일이삼사오육칠팔구", "0123456789", strict=True)),
    **dict(zip("零一二三四五六七八九", "0123456789", strict=True)),
    "공": "0", "〇": "0", "幺": "1", "两": "2", "륙": "6",
}  # fmt: skip
_FILLER = (
    r"uh|um|uhm|er|erm|eh|ehm|ah|hmm|mm|dash|hyphen|minus|space|slash|dot|comma|and|then|y|et|"
    r"guion|guión|raya|strich|bindestrich|minus|tiret|trait|traço|hífen|trattino|äh|ähm|euh|"
    r"다시|에|の|ノ|杠|डैश"
)
_GAP = re.compile(
    rf"[\s,.;:\-/()…]{{0,4}}(?:(?:{unicodedata.normalize('NFKC', _FILLER)})"
    rf"(?![a-zà-ÿ])[\s,.;\-/()…]{{0,4}}){{0,3}}"
)
_PORTUGUESE = frozenset(["dois", "três", "quatro", "sete", "oito", "nove", "cinco", "meia"])


class _Word(NamedTuple):
    digits: str
    role: str
    """`digit`, `ten`, `times`, `scale`, `figure` or `unspaced`."""


def _words() -> dict[str, _Word]:
    """Every word that is part of a spoken number."""
    found: dict[str, _Word] = {}
    for names in _TENS.values():
        for tens, name in enumerate(names.split(), 2):
            found[name] = _Word(str(tens * 10), "ten")
    for names in _TEENS.values():
        for number, name in enumerate(names.split(), 10):
            found.setdefault(name, _Word(str(number), "digit"))
    for names in _DIGITS.values():
        for digit, name in enumerate(names.split()):
            found[name] = _Word(str(digit), "digit")
    found |= {name: _Word(digit, "digit") for name, digit in _MORE_DIGITS.items()}
    found |= {name: _Word(str(times), "times") for name, times in _TIMES.items()}
    found |= {name: _Word("0" * zeros, "scale") for name, zeros in _SCALES.items()}
    _add_compounds(found)
    return {unicodedata.normalize("NFKC", name): word for name, word in found.items()}


def _add_compounds(found: dict[str, _Word]) -> None:
    """Two-digit numbers that are one word: einundzwanzig, veintitrés, trentadue, soixante-dix."""
    german = ("ein", *_DIGITS["de"].split()[2:])
    for tens, name in enumerate(_TENS["de"].split(), 2):
        for unit, digit in enumerate(german, 1):
            found[f"{digit}und{name}"] = _Word(f"{tens}{unit}", "digit")
    spanish = ("uno", "dós", "trés", "cuatro", "cinco", "séis", "siete", "ocho", "nueve")
    for unit, digit in enumerate(spanish, 1):
        found[f"veinti{digit}"] = found[f"veinti{digit.replace('é', 'e')}"] = _Word(
            f"2{unit}", "digit"
        )
    for tens, name in enumerate(_TENS["it"].split(), 2):
        for unit, digit in enumerate(_DIGITS["it"].split()[1:], 1):
            stem = name[:-1] if digit[0] in "uo" else name
            found[f"{stem}{digit}"] = _Word(f"{tens}{unit}", "digit")
    units = _DIGITS["fr"].split()[1:] + _TEENS["fr"].split()
    for base, name in ((60, "soixante"), (80, "quatre-vingt")):
        for unit, digit in enumerate(units, 1):
            found[f"{name}-{digit}"] = _Word(str(base + unit), "digit")
    for tens, name in enumerate(_TENS["fr"].split()[:4], 2):
        for unit, digit in enumerate(_DIGITS["fr"].split()[1:], 1):
            found[f"{name}-{digit}"] = _Word(f"{tens}{unit}", "digit")
    found["quatre-vingts"] = _Word("80", "ten")


_WORDS = _words()
_SPACED = "|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True)))
_TOKEN = re.compile(
    rf"(?<![a-zà-ÿ0-9])(?:{_SPACED})(?![a-zà-ÿ0-9])|[{''.join(_UNSPACED)}]|"
    rf"(?<![a-zà-ÿ0-9])\d{{1,4}}(?![a-zà-ÿ0-9]|[.,]\d)"
)
_WORD = re.compile(r"[^\s\d,.;:!?()/\"'…-]+")
_WITHOUT_SPACES = re.compile(
    rf"(?:[{''.join(_UNSPACED)}ァ-ヶ][ ,]*){{3}}|(?<!\d)\d[ ,]+\d[ ,]+\d(?!\d)"
)


def _has_words(text: str) -> bool:
    """Whether a text may have a spoken number; much faster than a search for each word."""
    return not _WORDS.keys().isdisjoint(_WORD.findall(text)) or (
        _WITHOUT_SPACES.search(text) is not None
    )


class SpokenNumber(NamedTuple):
    """A number in words."""

    start: int
    end: int
    digits: str
    tokens: tuple[tuple[int, int, str], ...]
    """Start, end and digits of its words."""


def spoken_numbers(text: str) -> Iterator[SpokenNumber]:
    """Every run of number words with three digits or more; most of its digits are words."""
    if not _has_words(text):
        return
    run: list[re.Match[str]] = []
    for match in _TOKEN.finditer(text):
        if run and _GAP.fullmatch(text, run[-1].end(), match.start()) is None:
            yield from _read_run(run)
            run = []
        run.append(match)
    yield from _read_run(run)


def _read_run(run: list[re.Match[str]]) -> Iterator[SpokenNumber]:
    words = [_word(match[0], run) for match in run]
    while words and words[-1].role in ("times", "filler"):
        words.pop()
    figures = [word for word in words if word.role == "figure"]
    is_spelled = len(figures) > 4 and all(len(word.digits) == 1 for word in figures)
    if (len(words) - len(figures)) * 2 < max(len(words), 4) and not is_spelled:
        return
    tokens: list[tuple[int, int, str]] = []
    times, start = 1, -1
    before = ""
    for word, match in zip(words, run, strict=False):
        if word.role == "filler":
            continue
        if word.role == "times":
            times, start = int(word.digits), match.start()
        elif tokens and _continues(word, before):
            first, _, digits = tokens.pop()
            digits = digits + word.digits if word.role == "scale" else digits[:-1] + word.digits
            tokens.append((first, match.end(), digits))
        else:
            tokens.append((start if times > 1 else match.start(), match.end(), word.digits * times))
            times = 1
        before = word.role
    digits = "".join(token[2] for token in tokens)
    if len(digits) >= 3 and len(tokens) > 1:
        yield SpokenNumber(tokens[0][0], tokens[-1][1], digits, tuple(tokens))


def _continues(word: _Word, before: str) -> bool:
    """Whether a word is part of the number before it: "nine hundred", "twenty three"."""
    is_unit = word.role == "digit" and len(word.digits) == 1 and word.digits != "0"
    return word.role == "scale" or (before == "ten" and is_unit)


def _word(written: str, run: list[re.Match[str]]) -> _Word:
    if written == "um":  # one in Portuguese, a pause in English
        is_one = any(match[0] in _PORTUGUESE for match in run)
        return _Word("1", "digit") if is_one else _Word("", "filler")
    if written in _WORDS:
        return _WORDS[written]
    if written in _UNSPACED:
        return _Word(_UNSPACED[written], "unspaced")
    return _Word(written, "figure")
