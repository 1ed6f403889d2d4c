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
    """A request as its reader sees it: the texts of turns and fields by their names."""

    turns: Mapping[str, str]
    fields: Mapping[str, str]
    answered: Mapping[str, str]
    has_answer: bool
    items: Sequence[SeenItem]


class Entry(NamedTuple):
    """A verdict as a judge writes it; the fields it rests on are looked up by its words."""

    quote: str
    quote_from: str
    verdict: str
    field: str = ""
    """The field of the reference that it quotes."""


def entry_of(item: SeenItem, entry: Entry, seen: Seen) -> Mapping[str, str]:
    """An entry with all its keys: the fields are those that share most words with the item."""
    cited = {"expected_outcome_field": entry.field or _nearest(item, seen.fields)}
    if seen.has_answer:
        cited["model_output_field"] = _nearest(item, seen.answered)
    told = {"quote": entry.quote, "quote_from": entry.quote_from, "verdict": entry.verdict}
    return {"id": item.id, **cited, **told}


def _nearest(item: SeenItem, fields: Mapping[str, str]) -> str:
    """The field that shares most words with an item; the shortest of several."""
    sought = _stems(f"{item.text} {item.against}")
    ranked = sorted(
        fields, key=lambda path: (-len(sought & _stems(fields[path])), len(fields[path]))
    )
    return ranked[0] if ranked else "none"


def decide(item: SeenItem, seen: Seen) -> Entry:
    """The verdict on one item."""
    return _DECIDE[item.rubric](item, seen)


def _support(item: SeenItem, seen: Seen) -> Entry:
    if found := _passage(item.text, seen.turns):
        return Entry(found[1], found[0], "supported_by_transcript")
    if found := _passage(item.text, seen.fields):
        return Entry(found[1], "expected_outcome", "supported_by_reference", found[0])
    return Entry("", "none", "not_found")


def _evidence(item: SeenItem, seen: Seen) -> Entry:
    if found := _passage(item.text, seen.turns):
        return Entry(found[1], found[0], "as_described")
    word = "absent" if len(_stems(item.text)) > STEM else "vague"
    return Entry("", "none", word)


def _needed(item: SeenItem, seen: Seen) -> Entry:
    for name, text in seen.fields.items():
        if len(_stems(text)) > 1 and _covered(text, item.text) >= ENOUGH:
            return Entry(text[:LONGEST_QUOTE], "expected_outcome", "needed", name)
    return Entry("", "none", "not")


def _fluency(item: SeenItem, seen: Seen) -> Entry:
    word = "native" if _covered(item.text, item.against) >= ENOUGH else "incomprehensible"
    return Entry("", "none", word)


def _against(good: str, bad: str, quoted: str = "") -> Callable[[SeenItem, Seen], Entry]:
    """The good word where enough of the text stands in what it is held against."""

    def decided(item: SeenItem, seen: Seen) -> Entry:
        if _covered(item.text, item.against) < ENOUGH:
            return Entry("", "none", bad)
        line = max(item.against.split("\n"), key=lambda line: _covered(item.text, line))
        return Entry(line[:LONGEST_QUOTE] if quoted else "", quoted or "none", good)

    return decided


def _within(good: str, bad: str) -> Callable[[SeenItem, Seen], Entry]:
    """The good word where enough of what is sought stands in the text."""

    def decided(item: SeenItem, seen: Seen) -> Entry:
        if _covered(item.against, item.text) < ENOUGH:
            return Entry("", "none", bad)
        return Entry(item.text[:LONGEST_QUOTE], "model_output", good)

    return decided


def _outcome(item: SeenItem, seen: Seen) -> Entry:
    """A sentence with a word of decision in it."""
    if _stems(item.text) & _stems(_DECISIONS):
        return Entry(item.text[:LONGEST_QUOTE], "the claim", "outcome")
    return Entry("", "none", "no_outcome")


_DECIDE: Mapping[str, Callable[[SeenItem, Seen], Entry]] = {
    "support": _support,
    "evidence": _evidence,
    "needed": _needed,
    "fluency": _fluency,
    "intent": _against("same", "different"),
    "other_goal": _against("no", "yes"),
    "recall": _against("stated", "not_stated", "model_output"),
    "answer_match": _against("match", "none"),
    "argument": _against("yes", "no"),
    "used": _against("used", "not", "model_output"),
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
    if (sought := n2(text)) and contains(n2(other), sought):
        return 1.0
    stems = _stems(text)
    return len(stems & _stems(other)) / len(stems) if stems else 0.0


def _stems(text: str) -> frozenset[str]:
    words = "".join(char if char.isalnum() else " " for char in n2(text)).split()
    return frozenset(word[:STEM] for word in words if len(word) >= STEM or word.isdecimal())
