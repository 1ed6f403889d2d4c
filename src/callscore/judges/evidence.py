"""What a judge may quote: the turns of the call and the fields of the reference, by name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.judging import Dossier
from callscore.judges.framing import shown
from callscore.judges.rubric import Place
from callscore.metrics.text import contains, n2

LONGEST_LABEL = 24
"""Characters; labels, marks and names stand together on one line, longer texts each alone."""
SHORTEST_QUOTE = 8
"""Characters; a shorter quote from a turn proves nothing, unless it is the whole turn."""
ANSWER, NONE = "answer", "none"
_TURN, _FIELD, _ID = "t", "ref:", "_id"
_OF_LIST = re.compile(r"\[\d+\](?=\.)")
_ONE_WORD = re.compile(r"[A-Za-z_]{1,20}")
Leaf = tuple[str, str]
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\[\]]")


class Sources(msgspec.Struct, frozen=True, dict=True):
    """The quotable texts of a dossier by their source name (`t3`, `ref:summary.call_purpose`)."""

    turns: Mapping[str, str]
    fields: Mapping[str, str]
    lines: Sequence[str]
    """The turns as the judge reads them, with speakers and times."""

    def problem(self, quote: str, source: str, places: Sequence[Place], answer: str) -> str:
        """Why a quote proves nothing; empty where it holds."""
        if not quote and places:
            return f"this verdict needs a quote from {_listed(places)}"
        if not quote:
            return "" if source == NONE else f"the quote is empty, so its source is {NONE}"
        place, text = self._cited(source, answer)
        if text is None:
            return f"{source[:80]!r} is no source; expected {_listed(places or _PLACES)}"
        if places and place not in places:
            return f"this verdict needs a quote from {_listed(places)}, not from {source}"
        return _mismatch(n2(quote), n2(text), source, strict=place == "turn")

    def _cited(self, source: str, answer: str) -> tuple[Place, str | None]:
        if source == ANSWER:
            return "answer", answer
        if source.startswith(_FIELD):
            return "field", self.fields.get(source)
        return "turn", self.turns.get(source)


_PLACES: Sequence[Place] = ("turn", "field", "answer")
_NAMES: Mapping[Place, str] = {
    "turn": "a turn (t1, t2, …)",
    "field": "a field (ref:…)",
    "answer": "the item's own texts (answer)",
}


def sources_of(dossier: Dossier) -> Sources:
    """The turns, numbered from 1, and the fields of the reference by their paths."""
    turns: dict[str, str] = {}
    lines: list[str] = []
    for number, turn in enumerate(dossier.turns, start=1):
        name = f"{_TURN}{number}"
        turns[name] = turn.text
        time = "" if turn.start is None else f" {_clock(turn.start)}"
        lines.append(f"{name}{time}{_speaker(turn.speaker)} {shown(turn.text)}")
    return Sources(turns, _fields(dossier.expected_outcome, set(turns.values())), lines)


def _fields(expected: Mapping[str, Any], spoken: Collection[str]) -> Mapping[str, str]:
    """What the reference says; its ids, and what it only repeats, say nothing more."""
    leaves = [
        (path, value)
        for path, value in _leaves(expected, "")
        if not path.endswith(_ID) and value not in spoken
    ]
    fields: dict[str, str] = {}
    for path, value in _gathered(_unrepeated(leaves)):
        name = _FIELD + _UNSAFE.sub("_", path)
        while name in fields:
            name += "_"
        fields[name] = value
    return fields


def _unrepeated(leaves: Sequence[Leaf]) -> Sequence[Leaf]:
    """Without the longest text, where the others hold all of it: a text beside its sentences."""
    if not leaves:
        return leaves
    longest = max(leaves, key=lambda leaf: len(leaf[1]))
    rest = longest[1]
    for _, value in sorted(leaves, key=lambda leaf: len(leaf[1]), reverse=True):
        if value and value != longest[1]:
            rest = rest.replace(value, "")
    if any(char.isalnum() for char in rest):
        return leaves
    return [leaf for leaf in leaves if leaf is not longest]


def _gathered(leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """The leaves; short values of one key throughout a list, or of one object, as one line."""
    columns: dict[str, list[str]] = {}
    for path, value in leaves:
        columns.setdefault(_OF_LIST.sub("[]", path), []).append(value)
    lines: dict[str, list[str]] = {}
    for path, value in leaves:
        column = _OF_LIST.sub("[]", path)
        parent, _, key = path.rpartition(".")
        if not parent or key.endswith("]") or max(map(len, columns[column])) > LONGEST_LABEL:
            lines[path] = [value]
        elif column != path:
            lines[column] = columns[column]
        else:
            lines.setdefault(parent, []).append(f"{key}: {value}")
    return ((name, ", ".join(values)) for name, values in lines.items())


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


def _mismatch(quote: str, text: str, source: str, *, strict: bool) -> str:
    if not any(char.isalnum() for char in quote):
        return "the quote holds no word"
    if strict and len(quote) < SHORTEST_QUOTE and quote != text:
        return "the quote is too short to prove anything; quote the whole passage"
    if not contains(text, quote):
        return f"the quote does not stand in {source} letter by letter"
    return ""


def _listed(places: Sequence[Place]) -> str:
    return " or ".join(_NAMES[place] for place in places)


def _speaker(name: str | None) -> str:
    """A role as a bare word; anything longer is text like any other."""
    if name is None:
        return ""
    return f" {name if _ONE_WORD.fullmatch(name) else shown(name)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
