"""A critical fact found in a text, and when two facts agree (C-76).

A key is a fact without its wording:

    ("amount", "INR", "100000")   ("percent", "%", "5")   ("duration", "day", "3")
    ("number", unit or "", "4.5") ("range", "3", "5", unit or "")
    ("date", "2026", "3", "12")   with "" for a part that is not written
    ("time", "14:30")             ("identifier", "AB1234")

A fact has every key its wording may mean ("$" is also CAD, and "2:30" also 14:30 in
English, not in German), the likeliest first, and agrees with another if any of its keys does.
An empty unit is unknown: it agrees with any.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Final, Literal

import msgspec

Kind = Literal["amount", "percent", "date", "time", "duration", "range", "number", "identifier"]
Key = tuple[str, ...]
Span = tuple[int, int]

CLOCK: Final = "o'clock"
"""The unit of "14 heures" if it may be a time of day instead of a duration."""
_QUANTITIES: Final = frozenset({"amount", "percent", "duration", "number"})
_DIGITS: Final = re.compile(r"\d+")
_key: Final = attrgetter("key")


class FactMatch(msgspec.Struct, frozen=True, gc=False):
    """A match in a text; without keys, its digits are not a fact."""

    kind: Kind
    keys: tuple[Key, ...]
    span: Span
    is_bare: bool = False


class Fact(msgspec.Struct, frozen=True, gc=False):
    """One fact: its kind, its canonical key, its wording, and its position in the line."""

    kind: Kind
    key: Key
    text: str
    span: Span
    also: tuple[Key, ...] = ()
    """Further keys, if the wording is ambiguous."""
    is_bare: bool = False
    """Whether it is a number that certainly has no unit."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """Everything that its wording may mean."""
        return (self.key, *self.also)

    @property
    def numbers(self) -> frozenset[str]:
        """The sequences of digits in all its keys."""
        return frozenset(run for key in self.keys for part in key for run in _DIGITS.findall(part))


class Index:
    """Facts to compare with: by key, and by what matching facts share."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts
        self.keys = keys_of(facts)

    @cached_property
    def _by_handle(self) -> dict[str, list[Fact]]:
        index: dict[str, list[Fact]] = {}
        for fact in {(fact.key, fact.is_bare): fact for fact in self._facts}.values():
            for handle in {handle for key in fact.keys for handle in _handles(key)}:
                index.setdefault(handle, []).append(fact)
        return index

    def candidates(self, handle: str) -> Sequence[Fact]:
        """The facts that may match one with this handle."""
        return self._by_handle.get(handle, ())


def keys_of(facts: Iterable[Fact]) -> frozenset[Key]:
    """The keys of the facts, each once"""
    return frozenset(map(_key, facts))


def unmatched_facts(expected: Sequence[Fact], found: Index) -> list[Fact]:
    """The expected facts that the found ones do not state, each key once        C-75, C-76"""
    left = {fact.key: fact for fact in reversed(expected) if fact.key not in found.keys}
    if not left:
        return []
    return [fact for fact in left.values() if not _is_stated(fact, expected, found)][::-1]


def full_hour(hour: str) -> Key:
    """The key of a full hour"""
    return ("time", f"{hour.zfill(2)}:00")


def agree(expected: Fact, found: Fact) -> bool:
    """Same digits, same unit or currency, same both ends of a range        C-76"""
    if found.is_bare and expected.kind in ("amount", "percent"):
        return False
    return any(_keys_agree(one, other) for one in expected.keys for other in found.keys)


def _handles(key: Key) -> Iterable[str]:
    if key[0] in _QUANTITIES:
        return key[2:]
    if key[0] == "range":
        return key[1:3]
    if key[0] == "identifier":
        return (key[1], *_DIGITS.findall(key[1]))
    if key[0] == "time":
        return (key[1], *_full_hours(key[1]))
    return ("-".join(key[1:]),)


def _is_stated(fact: Fact, expected: Sequence[Fact], found: Index) -> bool:
    handles = {handle for key in fact.keys for handle in _handles(key)}
    near = [other for handle in handles for other in found.candidates(handle)]
    if any(agree(fact, other) for other in near):
        return True
    if fact.kind == "range":
        return any(
            _state_value(near, low, unit) and _state_value(near, high, unit)
            for _, low, high, unit in fact.keys
        )
    if fact.kind == "identifier":
        return _has_every_run(fact.key[1], found)
    return any(_states_both_ends(fact, other, expected) for other in near if other.kind == "range")


def _keys_agree(one: Key, other: Key) -> bool:
    if one == other:
        return True
    if one[0] in _QUANTITIES and other[0] in _QUANTITIES:
        return one[2] == other[2] and _units_agree(one[1], other[1])
    if one[0] == "range" == other[0]:
        return one[1:3] == other[1:3] and _units_agree(one[3], other[3])
    if _has_only_digits(one) and _may_be(one[-1], other):
        return True
    return _has_only_digits(other) and _may_be(other[-1], one)


def _units_agree(one: str, other: str) -> bool:
    return not one or not other or one == other


def _has_only_digits(key: Key) -> bool:
    """Whether it consists of digits only: a number without a unit, an account number"""
    if key[0] == "identifier":
        return key[1].isdecimal()
    return key[0] == "number" and not key[1]


def _may_be(number: str, key: Key) -> bool:
    """Whether a number without a unit may be a full hour or a part of an identifier"""
    if key[0] == "time":
        return number in _full_hours(key[1])
    return key[0] == "identifier" and number in _DIGITS.findall(key[1])


def _full_hours(time: str) -> tuple[str, ...]:
    """The names of a full hour: 14:00 is 14 and 2"""
    hour, _, rest = time.partition(":")
    return (str(int(hour)), str(int(hour) % 12 or 12)) if rest == "00" else ()


def _state_value(facts: Iterable[Fact], value: str, unit: str) -> bool:
    sought = full_hour(value) if unit == CLOCK else ("number", unit, value)
    return any(_keys_agree(sought, key) for fact in facts for key in fact.keys)


def _states_both_ends(fact: Fact, found_range: Fact, expected: Sequence[Fact]) -> bool:
    """Whether "3-5" states what was expected as "3 and 5": one end needs the other"""
    for _, low, high, unit in found_range.keys:
        if _state_value([fact], low, unit) or _state_value([fact], high, unit):
            return _state_value(expected, low, unit) and _state_value(expected, high, unit)
    return False


def _has_every_run(identifier: str, found: Index) -> bool:
    """Whether only the letters of an identifier changed script: its digits occur one by one"""
    runs = _DIGITS.findall(identifier)
    return bool(runs) and all(_occurs_alone(run, found) for run in runs)


def _occurs_alone(run: str, found: Index) -> bool:
    return any(_has_only_digits(fact.key) for fact in found.candidates(run))
