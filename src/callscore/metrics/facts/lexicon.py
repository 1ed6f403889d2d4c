"""The words that make a number a fact, by language (C-76).

The tables are in `lexicon.json`, which loads much faster than TOML. A unit with bars ("JPY|CNY")
may mean either and matches both. A word with a capital letter is matched exactly, any other
ignoring case. A missing word is unknown, and unknown never means different. A language without a
table uses all of them together.
"""

# No postponed annotations here: msgspec would evaluate each of them at every start.
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec

Meaning = TypeVar("Meaning")
Units = tuple[str, ...]

LOOK_BACK: Final = 10
"""The most characters between a currency and its number, the currency included."""
MOST_CACHED: Final = 4096
_CAPITALISED_MONTHS: Final = frozenset({"may", "march"})
"""Months only with a capital: in lower case they are other words."""
_CLAUSE_ENDS: Final = frozenset(",;:!?)")
"""No currency ends with one of these."""
_MOMENT_SIGNS: Final = frozenset("年년月월시点點时時")
_INDIC: Final = "\u0900"
"""From here on, scripts have words with combining marks, which are not letters."""


class PrecedingWord(msgspec.Struct, frozen=True, gc=False):
    """The possible meanings of a word before a number."""

    month: int | None
    currencies: Units
    currency: str
    """The part of the word that names the currencies."""


NO_MEANING: Final = PrecedingWord(None, (), "")


class FollowingWord(msgspec.Struct, frozen=True, gc=False):
    """The possible meanings of a word after a number."""

    may_be_moment: bool
    """Whether the number may belong to a time or a date."""
    units: Units
    tens: int
    """The power of ten that the word names, or 0."""
    opens_pair: bool
    """Whether a unit or a power of ten of two words begins with it."""


class MeaningCache(dict[str, Meaning]):
    """A cache of word meanings: most numbers have the same few neighbours."""

    def __init__(self, meaning: Callable[[str], Meaning]) -> None:
        self._meaning = meaning

    def __missing__(self, word: str) -> Meaning:
        if len(self) >= MOST_CACHED:
            self.clear()
        meaning = self[word] = self._meaning(word)
        return meaning


def words_before(text: str, start: int) -> list[str]:
    """The word before a number, preceded by the rest of the text in which a currency may be."""
    return text[start - LOOK_BACK if start > LOOK_BACK else 0 : start].rsplit(None, 1)


def find_word(table: Container[str], word: str) -> str | None:
    """The word as the table has it: exactly, or without case and final full stop; else None."""
    if word in table:
        return word
    folded = word.casefold().rstrip(".")
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    return folded if folded in table else None


def month_of(months: Mapping[str, int], word: str) -> int | None:
    """The number of the month that the word names; None if it names none."""
    name = find_word(months, word)
    if name is None or (name in _CAPITALISED_MONTHS and word.islower()):
        return None
    return months[name]


def preceding_word(
    months: Mapping[str, int], units: Mapping[str, Units], word: str
) -> PrecedingWord:
    """The meanings of a word before a number, in a language with these tables."""
    month = month_of(months, word)
    word = word.lstrip("([{\"'“«/").rstrip(".")
    if word and word[-1] not in _CLAUSE_ENDS:
        for name in (word,) if word[-1].isalpha() else (word, word[-3:], word[-2:], word[-1]):
            currencies = units.get(find_word(units, name) or "", ())
            if currencies and currencies[0].isupper():
                return PrecedingWord(month, currencies, name)
    return PrecedingWord(month, (), "") if month else NO_MEANING


def following_word(
    moments: Container[str],
    units: Mapping[str, Units],
    scales: Mapping[str, int],
    openings: Container[str],
    word: str,
) -> FollowingWord:
    """The meanings of a word, or a pair, after a number, in a language with these tables."""
    name = find_word(units, word) or find_word(scales, word) or ""
    named_units = units.get(name, ())
    return FollowingWord(
        _may_be_moment(moments, word),
        named_units,
        0 if named_units else scales.get(name, 0),
        find_word(openings, word) is not None,
    )


def _may_be_moment(moments: Container[str], word: str) -> bool:
    """Whether it may belong to a time or a date: not a percent sign, nor most plain words."""
    is_plain = word.isalpha() or (word > _INDIC and "%" not in word) or word == "%"
    return not is_plain or word[0] in _MOMENT_SIGNS or find_word(moments, word) is not None


Words = frozenset[str]
LONGEST_UNSPACED: Final = 5
"""Characters of a word tried as the beginning of a text in a script without spaces."""
_OF_MOMENTS: Final = frozenset({"a", "p", "am", "pm", "h", "uhr", "heure", "heures", "of", "de"})
"""What follows the digits of a time or a date in any language."""


class LanguageTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language of the file."""

    units: dict[str, list[str]] = {}
    scales: dict[int, list[str]] = {}
    months: list[list[str]] = []
    clock: list[str] = []
    am_before: list[str] = []
    pm_before: list[str] = []
    pm_after: list[str] = []
    range: list[str] = []
    between: list[str] = []
    and_: list[str] = msgspec.field(name="and", default_factory=list)
    spelled: list[list[str]] = []
    tens: dict[int, list[str]] = {}
    also: list[str] = []
    """Languages that are mixed with it in calls."""
    meridiem: bool = True
    """Whether "am" and "pm" after digits are a half of the day; German "am" is a preposition."""
    twelve_hours: bool = True
    """Whether 2:30 may also be 14:30: false if times are written with 24 hours."""


class NumberFormats(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Number formats by language or region."""

    point_decimal: frozenset[str]
    comma_decimal: frozenset[str]
    both_decimal: frozenset[str]
    """Countries of one language differ: both readings."""
    plain_space_groups: frozenset[str]
    month_first: frozenset[str]
    """12/03 may be December in some countries: both readings."""


class LexiconFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    marks: NumberFormats
    languages: dict[str, LanguageTable]


class NumberFormat(msgspec.Struct, frozen=True):
    """How a language writes numbers: its decimal marks, and whether a space may group."""

    decimals: str
    space_groups: bool
    month_first: bool


class FactLexicon(msgspec.Struct, frozen=True):
    """The meaning of the words of one language, the likelier first."""

    is_known: bool
    units: dict[str, Units]
    scales: dict[str, int]
    months: dict[str, int]
    clock: Words
    am_before: Words
    pm_before: Words
    pm_after: Words
    range: Words
    between: Words
    and_: Words
    spelled: dict[str, tuple[str, ...]]
    meridiem: bool
    twelve_hours: bool
    number_format: NumberFormat
    before: MeaningCache[PrecedingWord]
    after: MeaningCache[FollowingWord]


@lru_cache(maxsize=64)
def lexicon(lang: str | None) -> FactLexicon:
    """The words of the language, or of all languages if it has no table        C-76"""
    tables = _load_file().languages
    base = _base(lang)
    own = tables.get(base)
    chosen = [own, *(tables[name] for name in own.also)] if own else list(tables.values())
    chosen = [tables["any"], *(table for table in chosen if table is not tables["any"])]
    months = _first_meanings((w, n) for t in chosen for n, ws in enumerate(t.months, 1) for w in ws)
    clock = _words(t.clock for t in chosen)
    units = _all_meanings(
        (word, unit) for t in chosen for unit, ws in t.units.items() for word in ws
    )
    scales = _first_meanings(
        (word, ten) for t in chosen for ten, ws in t.scales.items() for word in ws
    )
    moments = _OF_MOMENTS | clock | months.keys()
    openings = frozenset(word.split()[0] for word in (*units, *scales) if " " in word)
    return FactLexicon(
        is_known=own is not None,
        units=units,
        scales=scales,
        months=months,
        clock=clock,
        am_before=_words(t.am_before for t in chosen),
        pm_before=_words(t.pm_before for t in chosen),
        pm_after=_words(t.pm_after for t in chosen),
        range=_words(t.range for t in chosen),
        between=_words(t.between for t in chosen),
        and_=_words(t.and_ for t in chosen),
        spelled=_all_meanings(pair for t in chosen for pair in _numbers(t)),
        meridiem=all(t.meridiem for t in chosen) or own is None,
        twelve_hours=all(t.twelve_hours for t in chosen) or own is None,
        number_format=number_format(lang),
        before=MeaningCache(partial(preceding_word, months, units)),
        after=MeaningCache(partial(following_word, moments, units, scales, openings)),
    )


@lru_cache(maxsize=64)
def number_format(lang: str | None) -> NumberFormat:
    """Decimal mark and grouping of the locale; an unknown one is read both ways        C-76"""
    table = _load_file().marks
    base = _base(lang)
    names = {base, _region(lang)}
    if _region(lang) in table.point_decimal:
        decimals = "."
    elif base in table.both_decimal:
        decimals = ",."
    elif base in table.comma_decimal:
        decimals = ","
    else:
        decimals = "." if base in table.point_decimal else ".,"
    return NumberFormat(
        decimals=decimals,
        space_groups=not names.isdisjoint(table.plain_space_groups),
        month_first=base in table.month_first or decimals == ".,",
    )


@lru_cache(maxsize=1)
def _load_file() -> LexiconFile:
    text = Path(__file__).with_name("lexicon.json").read_bytes()
    return msgspec.json.decode(text, type=LexiconFile)


def _base(lang: str | None) -> str:
    return (lang or "").replace("_", "-").partition("-")[0].lower()


def _region(lang: str | None) -> str:
    base, _, rest = (lang or "").replace("_", "-").partition("-")
    return f"{base.lower()}-{rest.upper()}"


def _nfc(word: str) -> str:
    return unicodedata.normalize("NFC", word)


def _words(lists: Iterable[Iterable[str]]) -> Words:
    return frozenset(_nfc(word) for words in lists for word in words)


def _first_meanings(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    meanings: dict[str, int] = {}
    for word, meaning in pairs:
        meanings.setdefault(_nfc(word), meaning)
    return meanings


def _all_meanings(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    meanings: dict[str, dict[str, None]] = {}
    for word, meaning in pairs:
        meanings.setdefault(_nfc(word), {}).update(dict.fromkeys(meaning.split("|")))
    return {word: tuple(found) for word, found in meanings.items()}


def _numbers(table: LanguageTable) -> Iterator[tuple[str, str]]:
    for number, words in [*enumerate(table.spelled), *table.tens.items()]:
        for word in words:
            yield word, str(number)
