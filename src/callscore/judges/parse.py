"""Parses a judge's answer: verdicts, or what is wrong with it (C-102). Nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.judging import Verdict
from callscore.judges.evidence import (
    EXPECTED,
    LONGEST_QUOTE,
    NONE,
    OUTPUT,
    Citation,
    QuoteSources,
)
from callscore.judges.items import JudgeItem
from callscore.judges.prompt import OUTPUT_FIELD, JudgePrompt

LONGEST_ANSWER = 1_000_000
MOST_PROBLEMS = 12
"""The most errors that are reported to the judge."""
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)


class VerdictEntry(msgspec.Struct, frozen=True):
    """One well-formed entry of an answer."""

    verdict: str
    cited: Citation
    source: str = ""
    """The place of the quote, as it is stored."""


class ParsedAnswer(msgspec.Struct, frozen=True):
    """A parsed answer.

    `broken` says why nothing of it can be used; `faults` has the reason for every unusable item, by
    id; `is_misled` says that a canary has a wrong verdict.
    """

    entries: Mapping[str, VerdictEntry]
    faults: Mapping[str, str] = {}
    broken: str = ""
    is_misled: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether every item has a valid verdict."""
        return not (self.broken or self.faults or self.is_misled)

    def problems(self) -> Sequence[str]:
        """The errors that are reported to the judge in the retry."""
        if self.broken:
            return [self.broken]
        listed = [f"item {key}: {why}" for key, why in self.faults.items()]
        more = len(listed) - MOST_PROBLEMS
        return listed if more <= 0 else [*listed[:MOST_PROBLEMS], f"and {more} more items"]


def parse_answer(text: str, request: JudgePrompt) -> ParsedAnswer:
    """Parse an answer, and check it: structure, ids, words, quotes, canaries."""
    try:
        raw = strip_wrapping(text).encode()
        value = strict_json.decode(raw, max_bytes=LONGEST_ANSWER).value
    except (strict_json.JsonFault, UnicodeEncodeError) as fault:
        cause = fault.cause if isinstance(fault, strict_json.JsonFault) else "no Unicode"
        return ParsedAnswer({}, broken=f"it is not one JSON object ({cause})")
    listed, problem = _items_of(value)
    if problem:
        return ParsedAnswer({}, broken=problem)
    entries, problem = _entries_by_id(listed, request)
    return ParsedAnswer({}, broken=problem) if problem else _check_entries(entries, request)


def verdicts_of(asked: JudgeItem, entry: VerdictEntry, by: str) -> Sequence[Verdict]:
    """The verdict on every question of this item."""
    cited = entry.cited
    return [
        Verdict(
            question.metric,
            question.item,
            verdict=entry.verdict,
            text=question.text,
            quote=cited.quote,
            source=entry.source,
            by=by,
            expected_outcome_field="" if cited.expected_field == NONE else cited.expected_field,
            model_output_field="" if cited.output_field == NONE else cited.output_field,
        )
        for question in asked.questions
    ]


def strip_wrapping(text: str) -> str:
    """The answer without reasoning and code fence, which judges without schema support add."""
    text = _THOUGHT.sub("", text, count=1)
    fenced = _FENCE.match(text)
    return (fenced.group(1) if fenced else text).strip()


def _items_of(value: Any) -> tuple[Sequence[Any], str]:
    """The items; other keys, such as a score, have no effect (C-100)."""
    if not isinstance(value, dict) or "items" not in value:
        return [], 'expected one object with the key "items"'
    listed = value["items"]
    return (listed, "") if isinstance(listed, list) else ([], '"items" is not an array')


def _entries_by_id(
    listed: Sequence[Any], request: JudgePrompt
) -> tuple[Mapping[str, VerdictEntry], str]:
    """The entries by id."""
    entries: dict[str, VerdictEntry] = {}
    for position, item in enumerate(listed):
        if problem := _structure_fault(item, request.keys):
            return {}, f"items[{position}]: {problem}"
        key = item["id"]
        if key not in request.items:
            return {}, f"items[{position}]: its id is not in this request"
        if key in entries:
            return {}, f"items[{position}]: the id {key} appears twice"
        cited = Citation(
            item["quote"],
            item["quote_from"].strip(),
            item["expected_outcome_field"].strip() or NONE,
            item.get(OUTPUT_FIELD, NONE).strip() or NONE,
        )
        entries[key] = VerdictEntry(item["verdict"], cited)
    return entries, ""


def _structure_fault(item: Any, keys: Sequence[str]) -> str:
    """What is wrong with the structure of an entry; empty if nothing is."""
    if not isinstance(item, dict):
        return "not an object"
    if missing := [key for key in keys if key not in item]:
        return f"{', '.join(missing)} missing"
    if len(item) > len(keys):
        return f"it has a key that was not asked for; expected {', '.join(keys)}"
    if not all(isinstance(value, str) for value in item.values()):
        return "every value must be text"
    return ""


def _check_entries(entries: Mapping[str, VerdictEntry], request: JudgePrompt) -> ParsedAnswer:
    faults: dict[str, str] = {}
    is_misled = False
    for key, asked in request.items.items():
        entry = entries.get(key)
        if fault := _fault(entry, asked, request.sources):
            faults[key] = fault
        if entry and asked.canary:
            # a word outside the rubric is a slip; a wrong one is not
            known = entry.verdict in asked.rubric.words
            is_misled |= known and entry.verdict not in asked.canary.verdicts
    kept = {
        key: entry if key in faults else _resolve_fields(entry, request.sources)
        for key, entry in entries.items()
    }
    return ParsedAnswer(kept, faults, is_misled=is_misled)


def _resolve_fields(entry: VerdictEntry, sources: QuoteSources) -> VerdictEntry:
    """The entry with its fields and its source as they are stored."""
    cited = entry.cited
    fields = msgspec.structs.replace(
        cited,
        expected_field=sources.field(EXPECTED, cited.expected_field) or NONE,
        output_field=sources.field(OUTPUT, cited.output_field) or NONE,
    )
    return VerdictEntry(entry.verdict, fields, sources.source(cited))


def _fault(entry: VerdictEntry | None, asked: JudgeItem, sources: QuoteSources) -> str:
    """Why one verdict is void; empty if it is valid."""
    if entry is None:
        return "no verdict given"
    rubric, cited = asked.rubric, entry.cited
    if entry.verdict not in rubric.words:
        return f"its verdict is not allowed; expected one of {', '.join(rubric.words)}"
    if len(cited.quote) > LONGEST_QUOTE:
        return f"the quote is longer than {LONGEST_QUOTE} characters"
    if asked.canary is None:  # a canary's own text is in no field
        needed = rubric.rests_on.get(entry.verdict, ())
        if problem := sources.citation_fault(cited, needed):
            return problem
    places = rubric.evidence.get(entry.verdict, ())
    return sources.quote_fault(cited, places, asked.own_texts)
