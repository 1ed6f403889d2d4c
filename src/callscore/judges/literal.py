"""How a literal-minded reader answers a request: by the words that two texts share.

It stands in for a model in tests and demos. It is no judge of meaning, and is never offered as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from callscore.judges.evidence import SHORTEST_QUOTE
from callscore.judges.reading import LONGEST_QUOTE
from callscore.metrics.text import contains, n2

STEM, ENOUGH = 4, 0.6
_DECISIONS = "approved rejected refused granted cancelled closed resolved refunded escalated"


class SeenItem(NamedTuple):
    """One item as it stands in a request."""

    id: str
    rubric: str
    text: str
    against: str


class Seen(NamedTuple):
    """A request as its reader sees it."""

    turns: Mapping[str, str]
    fields: Mapping[str, str]
    items: Sequence[SeenItem]


class Entry(NamedTuple):
    """A verdict as a judge writes it."""

    quote: str
    source: str
    verdict: str


def decide(item: SeenItem, seen: Seen) -> Entry:
    """The verdict on one item."""
    return _DECIDE[item.rubric](item, seen)


def _support(item: SeenItem, seen: Seen) -> Entry:
    for places, word in (
        (seen.turns, "supported_by_transcript"),
        (seen.fields, "supported_by_reference"),
    ):
        if found := _passage(item.text, places):
            return Entry(found[1], found[0], word)
    return Entry("", "none", "not_found")


def _evidence(item: SeenItem, seen: Seen) -> Entry:
    if found := _passage(item.text, seen.turns):
        return Entry(found[1], found[0], "as_described")
    word = "absent" if len(_stems(item.text)) > STEM else "vague"
    return Entry("", "none", word)


def _needed(item: SeenItem, seen: Seen) -> Entry:
    for name, text in seen.fields.items():
        if len(_stems(text)) > 1 and _covered(text, item.text) >= ENOUGH:
            return Entry(text[:LONGEST_QUOTE], name, "needed")
    return Entry("", "none", "not")


def _fluency(item: SeenItem, seen: Seen) -> Entry:
    word = "native" if _covered(item.text, item.against) >= ENOUGH else "incomprehensible"
    return Entry("", "none", word)


def _against(good: str, bad: str, quoted: str = "") -> Callable[[SeenItem, Seen], Entry]:
    """The good word where enough of the text stands in what it is held against."""

    def decided(item: SeenItem, seen: Seen) -> Entry:
        if _covered(item.text, item.against) < ENOUGH:
            return Entry("", "none", bad)
        return Entry(item.against[:LONGEST_QUOTE] if quoted else "", quoted or "none", good)

    return decided


def _within(good: str, bad: str) -> Callable[[SeenItem, Seen], Entry]:
    """The good word where enough of what is sought stands in the text."""

    def decided(item: SeenItem, seen: Seen) -> Entry:
        if _covered(item.against, item.text) < ENOUGH:
            return Entry("", "none", bad)
        return Entry(item.text[:LONGEST_QUOTE], "answer", good)

    return decided


def _outcome(item: SeenItem, seen: Seen) -> Entry:
    """A sentence with a word of decision in it."""
    if _stems(item.text) & _stems(_DECISIONS):
        return Entry(item.text[:LONGEST_QUOTE], "answer", "outcome")
    return Entry("", "none", "no_outcome")


_DECIDE: Mapping[str, Callable[[SeenItem, Seen], Entry]] = {
    "support": _support,
    "evidence": _evidence,
    "needed": _needed,
    "fluency": _fluency,
    "intent": _against("same", "different"),
    "other_goal": _against("no", "yes"),
    "recall": _against("stated", "not_stated", "answer"),
    "answer_match": _against("match", "none"),
    "argument": _against("yes", "no"),
    "used": _against("used", "not", "answer"),
    "instruction": _against("followed", "not_followed"),
    "name": _within("same_name", "different_name"),
    "fact": _within("preserved", "omitted"),
    "outcome": _outcome,
    "value": _against("same", "different"),
}


def _passage(text: str, places: Mapping[str, str]) -> tuple[str, str] | None:
    """A place whose words the text repeats, or that holds the text, with what to quote."""
    sought = n2(text)
    for name, place in places.items():
        held = n2(place)
        if len(held) >= SHORTEST_QUOTE and contains(sought, held):
            return name, place[:LONGEST_QUOTE]
        if len(sought) >= SHORTEST_QUOTE and contains(held, sought):
            return name, text[:LONGEST_QUOTE]
    return None


def _covered(text: str, other: str) -> float:
    stems = _stems(text)
    return len(stems & _stems(other)) / len(stems) if stems else 0.0


def _stems(text: str) -> frozenset[str]:
    words = "".join(char if char.isalnum() else " " for char in n2(text)).split()
    return frozenset(word[:STEM] for word in words if len(word) >= STEM or word.isdecimal())
