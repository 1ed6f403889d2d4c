"""The items as a judge reads them: under headings, every text once.

A heading names the rubric and what all its items are held against. A text that stands in the case
or in several items is named; the lines of a list are told by their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from callscore.judges.case_block import SHORTEST_SHARED
from callscore.judges.evidence import Sources
from callscore.judges.framing import shown
from callscore.judges.sheet import Asked, headings
from callscore.metrics.text import n1

SHORTEST_TURN = 8
"""Characters; as `SHORTEST_SHARED`, for the turns, whose names are shorter."""
SHORTEST_RANGE = 3
_NUMBERED = re.compile(r"([atr])(\d+)")
_NAMED = re.compile(r"[atr]\d+(-[atr]\d+)?")
_MARK = re.compile(r"([\d.]+ of [\d.]+:) (.+)", re.DOTALL)
"""A mark and its reason (`5 of 5: greeted by name`)."""

Names = Mapping[str, str]
"""Texts that have a name, with it."""


def item_lines(sheet: Mapping[str, Asked], sources: Sources) -> Sequence[str]:
    """The shared texts, then the items under their headings."""
    names = _names_in_case(sources)
    lines: list[str] = []
    for text in _shared(sheet.values(), names):
        told = _told(text, names)
        if not _NAMED.fullmatch(told):
            lines.append(f"a{len(lines) + 1} {told}")
            told = f"a{len(lines)}"
        names[text] = told
    heading_of, above = headings(sheet.values()), None
    reasons: set[tuple[str, str]] = set()
    if any(item.rubric.spares_against for item in sheet.values()):
        reasons.update((item.text, n1(_reason(item))) for item in sheet.values())
    for key, item in sheet.items():
        heading = heading_of(item)
        if heading != above:
            lines.append(_heading_line(item, heading.against, names))
            above = heading
        lines.append(f"{key} {_told(item.text, names)}")
        is_told = heading.against or not item.against
        is_spared = item.rubric.spares_against and (item.text, n1(item.against)) in reasons
        if not (is_told or is_spared):
            lines[-1] += f" | {_told_against(item, names)}"
    return lines


def _names_in_case(sources: Sources) -> dict[str, str]:
    fields = {number: sources.fields[name] for number, name in sources.numbered.items()}
    names: dict[str, str] = {}
    for places, shortest in ((fields, SHORTEST_SHARED), (sources.turns, SHORTEST_TURN)):
        for name, text in places.items():
            if len(text) >= shortest:
                names[text] = names[n1(text)] = name
    return names


def _heading_line(item: Asked, against: str, names: Names) -> str:
    rubric = item.rubric.name
    return f"{rubric} | {_told_against(item, names)}" if against else rubric


def _shared(items: Iterable[Asked], known: Names) -> Sequence[str]:
    """The texts without a name that stand in several places, a line of another among them.

    The lines of a list come in its order, so that they can be told together; lists come last.
    """
    places = Counter(text for item in items for text in (item.text, item.against))
    lists = {text: text.split("\n") for text in places if "\n" in text}
    if not lists and len(places) == sum(places.values()):
        return ()
    whole = {text for text, number in places.items() if number > 1}
    places.update(line for lines in lists.values() for line in set(lines))
    longest_first = sorted(lists.values(), key=len, reverse=True)
    ordered = dict.fromkeys([*(line for lines in longest_first for line in lines), *places])
    texts = [
        text
        for text in ordered
        if places[text] > 1 and len(text) >= SHORTEST_SHARED and text not in known
    ]
    singles = [text for text in texts if text not in lists]
    return [*singles, *(text for text in texts if text in lists and text in whole)]


def _reason(item: Asked) -> str:
    """The reason of a mark that an item is held against; empty where it is held against none."""
    return marked.group(2) if (marked := _MARK.fullmatch(item.against)) else ""


def _told_against(item: Asked, names: Names) -> str:
    """What an item is held against; the mark of a form stands before the name of its reason."""
    marked = _MARK.fullmatch(item.against)
    if marked and marked.group(2) in names:
        return f"{marked.group(1)} {names[marked.group(2)]}"
    return _told(item.against, names)


def _told(text: str, names: Names) -> str:
    """A text by its name, by the names of its lines, or quoted."""
    if text in names:
        return names[text]
    lines = text.split("\n") if "\n" in text else ()
    if not any(line in names for line in lines):
        return shown(text)
    return " + ".join(_in_ranges([names.get(line) or shown(line) for line in lines]))


def _in_ranges(told: Sequence[str]) -> Iterator[str]:
    """Names that follow each other as `a1-a9`, all else as it is."""
    start = 0
    while start < len(told):
        end = start + 1
        while end < len(told) and told[end] == _next(told[end - 1]):
            end += 1
        if end - start >= SHORTEST_RANGE:
            yield f"{told[start]}-{told[end - 1]}"
        else:
            yield from told[start:end]
        start = end


def _next(name: str) -> str:
    """The name that follows; none follows a quoted text."""
    found = _NUMBERED.fullmatch(name)
    return f"{found.group(1)}{int(found.group(2)) + 1}" if found else ""
