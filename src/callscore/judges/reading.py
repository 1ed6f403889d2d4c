"""A judge's answer → verdicts, or exactly what is wrong with it (C-102). Nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.judging import Verdict
from callscore.judges.prompt import Request
from callscore.judges.sheet import Asked

LONGEST_ANSWER = 1_000_000
LONGEST_QUOTE, LONGEST_FAULT = 300, 200
MOST_PROBLEMS = 12
"""Told to the judge at most; an answer that is wrong throughout needs no longer list."""
_KEYS = frozenset(("id", "quote", "source", "verdict"))
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)


class Entry(msgspec.Struct, frozen=True):
    """One entry of an answer whose shape is right."""

    quote: str
    source: str
    verdict: str
    items: int = 1
    """How many items it stands for."""


class Read(msgspec.Struct, frozen=True):
    """An answer taken apart.

    `broken` says why nothing of it can be used; `faults` holds the ids that cannot, with why;
    `obeys_others` that an item with a known answer came back wrong.
    """

    entries: Mapping[str, Entry]
    faults: Mapping[str, str] = {}
    broken: str = ""
    obeys_others: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether every item has a valid verdict."""
        return not (self.broken or self.faults or self.obeys_others)

    def problems(self) -> Sequence[str]:
        """What the judge is told when it is asked once more."""
        if self.broken:
            return [self.broken]
        listed = [f"item {key}: {why}" for key, why in self.faults.items()]
        more = len(listed) - MOST_PROBLEMS
        return listed if more <= 0 else [*listed[:MOST_PROBLEMS], f"and {more} more items"]


def read(text: str, request: Request) -> Read:
    """Check an answer against its request: shape, ids, words, quotes, canaries."""
    try:
        raw = _bare(text).encode()
        value = strict_json.decode(raw, max_bytes=LONGEST_ANSWER).value
    except (strict_json.JsonFault, UnicodeEncodeError) as fault:
        return Read({}, broken=f"it is not one JSON object ({fault})"[:LONGEST_FAULT])
    listed, problem = _listed(value)
    if problem:
        return Read({}, broken=problem)
    entries, problem = _by_id(listed, request)
    return Read({}, broken=problem) if problem else _checked(entries, request)


def verdicts_of(asked: Asked, entry: Entry, by: str) -> Sequence[Verdict]:
    """The verdict on every question that this item stands for."""
    return [
        Verdict(
            question.metric,
            question.item,
            verdict=entry.verdict,
            text=question.text,
            quote=entry.quote,
            source="" if entry.source == "none" else entry.source,
            by=by,
        )
        for question in asked.questions
    ]


def _bare(text: str) -> str:
    """The answer without what a judge that knows no schema puts around it: thought, one fence."""
    text = _THOUGHT.sub("", text, count=1)
    fenced = _FENCE.match(text)
    return (fenced.group(1) if fenced else text).strip()


def _listed(value: Any) -> tuple[Sequence[Any], str]:
    """The items; whatever else a judge adds, a score above all, has no effect (C-100)."""
    if not isinstance(value, dict) or "items" not in value:
        return [], 'expected one object with the key "items"'
    listed = value["items"]
    return (listed, "") if isinstance(listed, list) else ([], '"items" is not an array')


def _by_id(listed: Sequence[Any], request: Request) -> tuple[Mapping[str, Entry], str]:
    """The entries under their ids; one may stand for several, which a space keeps apart."""
    entries: dict[str, Entry] = {}
    for position, item in enumerate(listed):
        entry = _entry(item)
        if isinstance(entry, str):
            return {}, f"items[{position}]: {entry}"
        for key in item["id"].split(" "):
            if key not in request.sheet:
                return {}, f"items[{position}]: {key[:20]!r} is not an id of this request"
            if key in entries:
                return {}, f"items[{position}]: {key} stands twice"
            entries[key] = entry
    return entries, ""


def _entry(item: Any) -> Entry | str:
    """One item in its shape, or what is wrong with it."""
    if not isinstance(item, dict):
        return "not an object"
    if item.keys() != _KEYS:
        missing, extra = _KEYS - item.keys(), item.keys() - _KEYS
        if missing:
            return f"{', '.join(sorted(missing))} missing"
        return f"{min(extra)[:20]!r} was not asked for"
    for value in item.values():
        if not isinstance(value, str):
            return "every value must be text"
    number = item["id"].count(" ") + 1
    return Entry(item["quote"], item["source"], item["verdict"], number)


def _checked(entries: Mapping[str, Entry], request: Request) -> Read:
    faults: dict[str, str] = {}
    obeys_others = False
    for key, asked in request.sheet.items():
        entry = entries.get(key)
        if fault := _fault(entry, asked, request):
            faults[key] = fault
        if entry and asked.canary:
            # a word that the rubric does not know is a slip; a wrong one is not
            known = entry.verdict in asked.rubric.words
            obeys_others |= known and entry.verdict not in asked.canary.verdicts
    kept = {key: _with_full_source(entry, request) for key, entry in entries.items()}
    return Read(kept, faults, obeys_others=obeys_others)


def _with_full_source(entry: Entry, request: Request) -> Entry:
    """The entry as it is kept: a number means nothing without its request."""
    source = request.sources.named(entry.source)
    return entry if source == entry.source else msgspec.structs.replace(entry, source=source)


def _fault(entry: Entry | None, asked: Asked, request: Request) -> str:
    """Why one verdict is void; empty where it stands."""
    if entry is None:
        return "no verdict given"
    rubric = asked.rubric
    if entry.verdict not in rubric.words:
        offered = ", ".join(rubric.words)
        return f"{entry.verdict[:40]!r} is no word of {rubric.name}; expected one of {offered}"
    if entry.quote and entry.items > 1:
        return "a quote proves one item; give each an entry of its own"
    if len(entry.quote) > LONGEST_QUOTE:
        return f"the quote is longer than {LONGEST_QUOTE} characters"
    places = rubric.evidence.get(entry.verdict, ())
    return request.sources.problem(entry.quote, entry.source, places, asked.own_texts)
