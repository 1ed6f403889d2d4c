"""The words that make a number a fact, by language (C-76).

The tables are in `lexicon.json`, which loads much faster than TOML. A unit with bars ("JPY|CNY")
may mean either and matches both. A word with a capital letter is matched exactly, any other
ignoring case. A missing word is unknown, and unknown never means different. A language without a
table uses all of them together.
"""

# No postponed annotations here: msgspec would evaluate each of them at every start.
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

import msgspec

from callscore.metrics.facts.units import (
    FollowingWord,
    MeaningCache,
    PrecedingWord,
    Units,
    following_word,
    preceding_word,
)

Words = frozenset[str]
LONGEST_UNSPACED: Final = 5
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
