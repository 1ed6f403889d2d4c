"""What a judge may quote: the turns of the call and the fields of the reference, by name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from callscore.core.case import JsonObject
from callscore.core.judging import Dossier
from callscore.judges.rubric import Place
from callscore.metrics.text import contains, n2

LONGEST_LABEL = 24
"""Characters; labels, marks and names stand together on one line, longer texts each alone."""
FEWEST_COUNTED = 3
PATHS_REMEMBERED = 1024
"""The cases of a task have the same paths."""
SHORTEST_QUOTE = 8
"""Characters; a shorter quote from a turn proves nothing, unless it is the whole turn."""
ANSWER, NONE = "answer", "none"
_TURN, _FIELD, _NUMBERED = "t", "ref:", "r"
_IDS = ("question_id", "sentence_id", "source_id")
"""They tie a reference to its call, and say nothing more."""
_NOT_SET = "null"
_OF_LIST = re.compile(r"\[\d+\]")
Leaf = tuple[str, str]
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\[\]]|\[(?!\d*\])")  # brackets hold a place, never a word


class Sources(msgspec.Struct, frozen=True, dict=True):
    """The quotable texts of a dossier by their source name (`t3`, `ref:summary.call_purpose`)."""

    turns: Mapping[str, str]
    fields: Mapping[str, str]
    config: Sequence[Leaf]
    """What the judge is told of the task; it proves nothing, and cannot be quoted."""

    @cached_property
    def numbered(self) -> Mapping[str, str]:
        """The names of the fields by the numbers under which the judge reads them (`r1`)."""
        return {f"{_NUMBERED}{n}": name for n, name in enumerate(self.fields, start=1)}

    def named(self, source: str) -> str:
        """A source by the name under which it is kept: a field by its path, not by its number."""
        return self.numbered.get(source, source)

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
        if (name := self.named(source)).startswith(_FIELD):
            return "field", self.fields.get(name)
        return "turn", self.turns.get(source)


_PLACES: Sequence[Place] = ("turn", "field", "answer")
_NAMES: Mapping[Place, str] = {
    "turn": "a turn (t1, t2, …)",
    "field": "a field (r1, r2, …)",
    "answer": "the item's own texts (answer)",
}


def sources_of(dossier: Dossier) -> Sources:
    """The turns, numbered from 1, the fields of the reference, and what the config sets.

    What the reference only repeats of the call or of the config is left out.
    """
    turns = {f"{_TURN}{n}": turn.text for n, turn in enumerate(dossier.turns, start=1)}
    spoken = set(turns.values())
    config = [leaf for leaf in _leaves(dossier.config) if not leaf[0].endswith(_IDS)]
    told = set(config)
    expected = [
        (path, value)
        for path, value in _leaves(dossier.expected_outcome)
        if not path.endswith(_IDS) and value not in spoken and (path, value) not in told
    ]
    is_set = [leaf for leaf in config if leaf[1] != _NOT_SET]
    return Sources(turns, _named(_unrepeated(expected)), is_set)


@lru_cache(maxsize=PATHS_REMEMBERED)
def column_of(path: str) -> str:
    """The path without places: the same for every entry of a list."""
    return _OF_LIST.sub("[]", path)


@lru_cache(maxsize=PATHS_REMEMBERED)
def safe_path(path: str) -> str:
    """A path with nothing in it that acts."""
    return _UNSAFE.sub("_", path)


def _named(leaves: Sequence[Leaf]) -> Mapping[str, str]:
    """What stands on a line of its own, by a name that is safe to write."""
    fields: dict[str, str] = {}
    for path, value in _gathered(leaves):
        name = _FIELD + safe_path(path)
        while name in fields:
            name += "_"
        fields[name] = value
    return fields


def _unrepeated(leaves: Sequence[Leaf]) -> Sequence[Leaf]:
    """Without the longest text, where the others hold all of it: a text beside its sentences."""
    if not leaves:
        return leaves
    values = [value for _, value in leaves]
    longest = max(values, key=len)
    rest = longest
    for value in sorted(values, key=len, reverse=True):
        if value and value != longest:
            rest = rest.replace(value, "")
    if any(char.isalnum() for char in rest):
        return leaves
    place = values.index(longest)
    return [*leaves[:place], *leaves[place + 1 :]]


def _gathered(leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """The leaves; short values of one list, of one key throughout it, or of one object together."""
    columns: dict[str, list[str]] = {}
    names = [column_of(path) for path, _ in leaves]
    for column, (_, value) in zip(names, leaves, strict=True):
        columns.setdefault(column, []).append(value)
    long = {name for name, values in columns.items() if max(map(len, values)) > LONGEST_LABEL}
    lines: dict[str, list[str]] = {}
    for column, (path, value) in zip(names, leaves, strict=True):
        if column in long:
            lines[path] = [value]
        elif column != path:
            lines[column] = columns[column]
        elif parent := path.rpartition(".")[0]:
            lines.setdefault(parent, []).append(f"{path[len(parent) + 1 :]}: {value}")
        else:
            lines[path] = [value]
    return ((name, together(values)) for name, values in lines.items())


def together(values: Sequence[str]) -> str:
    """The values of a list on one line, and one for all where they are many and the same."""
    if len(values) >= FEWEST_COUNTED and len(set(values)) == 1:
        return f"{len(values)} × {values[0]}"
    return ", ".join(values)


def _leaves(value: JsonObject) -> list[Leaf]:
    """Every text and number within an object, by its path."""
    leaves: list[Leaf] = []
    _gather_leaves(value.items(), "", "", leaves)
    return leaves


def _gather_leaves(
    entries: Iterable[tuple[object, Any]], before: str, after: str, leaves: list[Leaf]
) -> None:
    """The leaves of entries, with what stands before and after their keys in a path."""
    for key, value in entries:
        path = f"{before}{key}{after}"
        # Texts first, and known types before general ones: a reference is mostly texts, from JSON.
        if isinstance(value, str):
            leaves.append((path, value))
        elif isinstance(value, (list, tuple)):
            _gather_leaves(enumerate(value), f"{path}[", "]", leaves)
        elif type(value) is int:
            leaves.append((path, str(value)))
        elif isinstance(value, (dict, Mapping)):
            _gather_leaves(value.items(), f"{path}." if path else "", "", leaves)
        else:
            leaves.append((path, json.dumps(value)))


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
