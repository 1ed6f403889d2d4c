"""The case and the answer as a judge reads them: turns one a line, everything else as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.delimiters import CUT, shown
from callscore.judges.evidence import leaves_of
from callscore.judges.rubric import Rubric

WIDEST_LINE = 160
"""Characters; what is longer is laid out over several lines."""
LONGEST_NUMBER = 40
_IDS = ("sentence_id", "source_id")
"""They tie an entry to a sentence of the call."""
LONGEST_SHOWN = 100_000
"""Characters of an answer that a judge is shown."""
SHORTENED = ((200, 5_000), (100, 1_000), (50, 200), (10, 100))
"""Entries and characters that are left of every part of a longer one, step by step."""
_ONE_WORD = re.compile(r"[A-Za-z_]{1,20}")


def case_blocks(dossier: JudgeRequest, rubrics: Iterable[Rubric]) -> Mapping[str, Sequence[str]]:
    """The blocks of the case by name; the same for every model's answer."""
    spoken = {turn.text for turn in dossier.turns}
    expected = _without(dossier.expected_outcome, spoken)
    return {
        "transcript": list(turn_lines(dossier.turns)),
        "expected_outcome": json_lines(_unrepeated(expected)),
        "config": json_lines(_part(dossier.config, _keys(r.config for r in rubrics))),
    }


def answer_lines(dossier: JudgeRequest, rubrics: Iterable[Rubric]) -> Sequence[str]:
    """The parts of the answer that the rubrics look at; all of it where it has none of them."""
    spoken = {turn.text for turn in dossier.turns}
    part = _part(dossier.model_output, _keys(rubric.answer for rubric in rubrics))
    return shortened_lines(_without(part or dossier.model_output, spoken))


def shortened_lines(value: Any) -> list[str]:
    """An answer as it is laid out; of one without end its beginning."""
    lines = json_lines(value)
    for entries, characters in SHORTENED:
        if sum(map(len, lines)) <= LONGEST_SHOWN:
            break
        value = _cut(value, entries, characters)
        lines = json_lines(value)
    return lines


def _cut(value: Any, entries: int, characters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + CUT
    if isinstance(value, Mapping):
        kept = dict(list(value.items())[:entries])
        return {key[:characters]: _cut(inner, entries, characters) for key, inner in kept.items()}
    if isinstance(value, (list, tuple)):
        return [_cut(inner, entries, characters) for inner in value[:entries]]
    return value


def turn_lines(turns: Sequence[Turn]) -> Iterator[str]:
    """Number, speaker, time and text of every turn."""
    for number, turn in enumerate(turns, start=1):
        time = "" if turn.start is None else f", {_clock(turn.start)}"
        yield f"Turn {number}{_speaker(turn.speaker)}{time}: {shown(turn.text)}"


def json_lines(value: Any) -> list[str]:
    """A JSON value laid out for people, with nothing in it that acts."""
    # Known types before general ones: nearly all comes from JSON.
    if isinstance(value, str):
        return [shown(value)]
    if type(value) is int:
        return [str(value)[:LONGEST_NUMBER]]
    if isinstance(value, (list, tuple)):
        opening, closing = "[]"
        entries = [json_lines(inner) for inner in value]
    elif isinstance(value, (dict, Mapping)):
        opening, closing = "{}"
        entries = [json_lines(inner) for inner in value.values()]
        for key, entry in zip(value, entries, strict=True):
            entry[0] = f"{_key(key)}: {entry[0]}"
    else:
        return [json.dumps(value, default=str)[:LONGEST_NUMBER]]
    if all(len(entry) == 1 for entry in entries):
        line = f"{opening}{', '.join([entry[0] for entry in entries])}{closing}"
        if len(line) <= WIDEST_LINE:
            return [line]
    lines = [opening]
    for entry in entries:
        lines += [f"  {line}" for line in entry]
        lines[-1] += ","
    lines[-1] = lines[-1][:-1]
    return [*lines, closing]


@lru_cache(maxsize=1024)  # the cases of a task have the same keys
def _key(key: object) -> str:
    return shown(str(key))


def _keys(named: Iterable[Sequence[str] | None]) -> Collection[str] | None:
    """All that is named; None where somebody may use everything."""
    keys: set[str] = set()
    for names in named:
        if names is None:
            return None
        keys.update(names)
    return keys


def _part(value: Any, keys: Collection[str] | None) -> Any:
    if keys is None or not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if key in keys}


def _without(value: Any, spoken: Collection[str]) -> Any:
    """A value whose entries on sentences do not repeat the turn that they are about."""
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, Mapping)):
        repeats = spoken if any(key in value for key in _IDS) else ()
        return {
            key: _without(inner, spoken)
            for key, inner in value.items()
            if not (isinstance(inner, str) and inner in repeats)
        }
    if isinstance(value, (list, tuple)):
        return [_without(inner, spoken) for inner in value]
    return value


def _unrepeated(expected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without a long text whose parts all stand beside it: a translation beside its sentences."""
    texts = [text for text in expected.values() if isinstance(text, str)]
    longest = max(texts, key=len, default="")
    if not longest:
        return expected
    rest = longest
    for other in sorted(leaves_of(expected), key=len, reverse=True):
        if other and other != longest:
            rest = rest.replace(other, "")
    if any(char.isalnum() for char in rest):
        return expected
    return {key: value for key, value in expected.items() if value != longest}


def _speaker(name: str | None) -> str:
    """A role as a bare word; anything longer is text like any other."""
    if name is None:
        return ""
    return f", {name if _ONE_WORD.fullmatch(name) else shown(name)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
