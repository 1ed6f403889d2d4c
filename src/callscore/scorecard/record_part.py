"""The part of a reference and of a reply that a metric is about: what a record quotes (C-100)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from callscore.core.task import RecordPart
from callscore.metrics.text import item_id, n2
from callscore.scorecard.formula import STRUCTURE

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""An unfinished text goes to the end: looking for its end from every mark would take the square."""


class Outcomes(NamedTuple):
    """An expected outcome and what the model produced: whole, or the part of a metric."""

    expected: Any
    observed: Any


def relevant_parts(
    outcomes: Outcomes, slug: str, part: RecordPart, faults: Sequence[str]
) -> Outcomes:
    """The fields that a metric is about; of a list or map, the entries that faults name."""
    if slug.endswith(STRUCTURE):
        return Outcomes(*map(_structure, outcomes))
    expected = _fields(outcomes.expected, part.expected_paths or part.paths)
    observed = _fields(outcomes.observed, part.paths)
    if faults and part.faults_only:
        return Outcomes(expected, [next(_quotations(fault), fault) for fault in faults])
    if part.keys and isinstance(expected, list) and isinstance(observed, list):
        ids = _ids_of_faults(part, [*expected, *observed], faults)
        return Outcomes(_entries(expected, part, ids), _entries(observed, part, ids))
    named = {n2(text) for fault in faults for text in _quotations(fault)}
    return Outcomes(_named(expected, named), _named(observed, named))


def _structure(outcome: Any) -> Any:
    """The paths of the keys; an outcome that is not JSON as it is."""
    if isinstance(outcome, (Mapping, list)):
        return ", ".join(dict.fromkeys(_keys(outcome)))
    return outcome


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a document's keys, the entries of a list as one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{path}{key}"
            yield from _keys(inner, f"{path}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{path.removesuffix('.')}[].")


def _fields(outcome: Any, paths: Sequence[str]) -> Any:
    """The value at a path; of several, a map from the path to the value."""
    if not paths or not isinstance(outcome, Mapping):
        return outcome
    found = {path: _at(outcome, path) for path in paths}
    return found if len(found) > 1 else next(iter(found.values()))


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _quotations(fault: str) -> Iterator[str]:
    """The texts in quotation marks."""
    for match in _QUOTED.finditer(fault):
        with suppress(msgspec.DecodeError):  # a task of another package may quote otherwise
            yield msgspec.json.decode(match.group(), type=str)


def _ids_of_faults(part: RecordPart, entries: Sequence[Any], faults: Sequence[str]) -> set[str]:
    """The ids that faults begin with, else those of the entries that have the quoted texts."""
    ids = [item_id(entry.get(part.keys[0])) for entry in entries if isinstance(entry, Mapping)]
    known = set(ids)
    led = {next(_quotations(fault), "") for fault in faults if _QUOTED.match(fault)} & known
    if led:
        return led
    quoted = [text for fault in faults for text in _quotations(fault) if text]
    return {
        item_id(entry.get(part.keys[0]))
        for entry in entries
        if isinstance(entry, Mapping)
        and any(text in str(entry.get(key)) for key in part.keys[1:] for text in quoted)
    }


def _entries(held: Sequence[Any], part: RecordPart, ids: set[str]) -> list[Any]:
    """The entries with these ids, or all if there are none, each with the keys of the part."""
    entries = [entry for entry in held if isinstance(entry, Mapping)]
    if ids:
        entries = [entry for entry in entries if item_id(entry.get(part.keys[0])) in ids]
    return [{key: entry[key] for key in part.keys if key in entry} for entry in entries]


def _named(held: Any, named: set[str]) -> Any:
    """What faults name in a list of texts or a map, in N2; all of it if they name nothing."""
    if isinstance(held, list):
        return [text for text in held if isinstance(text, str) and n2(text) in named] or held
    if not isinstance(held, Mapping):
        return held
    if any(isinstance(inner, list) for inner in held.values()):
        found = {key: _only_named(inner, named) for key, inner in held.items()}
        return {key: inner for key, inner in found.items() if inner} or held
    return {key: inner for key, inner in held.items() if n2(key) in named} or held


def _only_named(held: Any, named: set[str]) -> list[str]:
    texts = held if isinstance(held, list) else ()
    return [text for text in texts if isinstance(text, str) and n2(text) in named]
