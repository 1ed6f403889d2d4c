"""The case as a judge reads it: turns, fields of the reference and config, one entry a line.

A field is named by its number. Its path stands beside it, unless it goes on with the list of the
field above. The config cannot be quoted: whatever of it belongs together shares a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from callscore.core.case import Turn
from callscore.core.judging import Dossier
from callscore.judges.evidence import (
    LONGEST_LABEL,
    PATHS_REMEMBERED,
    Leaf,
    Sources,
    column_of,
    safe_path,
    together,
)
from callscore.judges.framing import shown
from callscore.judges.rubric import Rubric

SHORTEST_SHARED = 20
"""Characters; a text that stands in the request already is not repeated, unless it is shorter."""
_LAST_INDEX = re.compile(r"\[(\d+)\](?=[^\[\]]*\Z)")
_ONE_WORD = re.compile(r"[A-Za-z_]{1,20}")


def case_lines(dossier: Dossier, sources: Sources, rubrics: Iterable[Rubric]) -> Sequence[str]:
    """What the rubrics that are asked can use of a case; the same for every model."""
    asked = list(rubrics)
    return [
        *turn_lines(dossier.turns, with_times=any(rubric.timed for rubric in asked)),
        *_field_lines(sources),
        *config_lines(_usable(sources.config, asked)),
    ]


def _usable(config: Sequence[Leaf], rubrics: Iterable[Rubric]) -> Sequence[Leaf]:
    columns: set[str] = set()
    for rubric in rubrics:
        if rubric.config is None:
            return config
        columns.update(rubric.config)
    return [leaf for leaf in config if column_of(leaf[0]) in columns]


def turn_lines(turns: Sequence[Turn], *, with_times: bool) -> Iterator[str]:
    """Number, time, speaker and text of every turn."""
    for number, turn in enumerate(turns, start=1):
        time = f" {_clock(turn.start)}" if with_times and turn.start is not None else ""
        yield f"t{number}{time}{_speaker(turn.speaker)} {shown(turn.text)}"


def _field_lines(sources: Sources) -> Iterator[str]:
    """Number, path and text of every field; a text that stands above already is named."""
    before = ""
    names: dict[str, str] = {}
    for number, name in sources.numbered.items():
        path, text = name.partition(":")[2], sources.fields[name]
        told = "" if path == _next_in_list(before) else f" {path}"
        yield f"{number}{told} {names.get(text) or shown(text)}"
        if len(text) >= SHORTEST_SHARED:
            names.setdefault(text, number)
        before = path


@lru_cache(maxsize=PATHS_REMEMBERED)
def _next_in_list(path: str) -> str:
    """The path of the entry that follows in the same list; empty where it is in none."""
    found = _LAST_INDEX.search(path)
    if found is None:
        return ""
    return f"{path[: found.start()]}[{int(found.group(1)) + 1}]{path[found.end() :]}"


def config_lines(leaves: Sequence[Leaf]) -> Iterator[str]:
    """A line for the values of an object, and one for the values of a list."""
    objects: dict[str, list[str]] = {}
    lists: dict[str, list[Leaf]] = {}
    for path, value in leaves:
        if (column := column_of(path)) == path:
            parent, _, key = path.rpartition(".")
            objects.setdefault(parent, []).append(f"{key}: {value}")
        else:
            lists.setdefault(column, []).append((path, value))
    for parent, pairs in objects.items():
        yield _config_line(parent, shown(", ".join(pairs)))
    for column, entries in lists.items():
        yield from _list_lines(column, entries)


def _list_lines(column: str, entries: Sequence[Leaf]) -> Iterator[str]:
    """The values of a list in their order; those of a list with gaps by their places."""
    values = [value for _, value in entries]
    if [path for path, _ in entries] != [
        column.replace("[]", f"[{n}]") for n in range(len(values))
    ]:
        yield from (_config_line(path, shown(value)) for path, value in entries)
    elif len(set(values)) == 1 or max(map(len, values)) <= LONGEST_LABEL:
        yield _config_line(column, shown(together(values)))
    else:
        yield _config_line(column, " ".join(map(shown, values)))


def _config_line(path: str, told: str) -> str:
    return f"config {safe_path(path)} {told}" if path else f"config {told}"


def _speaker(name: str | None) -> str:
    """A role as a bare word; anything longer is text like any other."""
    if name is None:
        return ""
    return f" {name if _ONE_WORD.fullmatch(name) else shown(name)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
