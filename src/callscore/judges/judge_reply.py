"""Parses a judge's answer: verdicts, or what is wrong with it (C-102). No verdict is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.core.judging import Verdict
from callscore.core.lazy import lazy_regex
from callscore.judges.evidence import (
    LONGEST_QUOTE,
    NONE,
    Citation,
    Evidence,
    QuoteSources,
    shares_word,
)
from callscore.judges.judge_items import JudgeItem
from callscore.judges.judge_prompt import KEYS, OUTPUT_FIELD, JudgePrompt

QUOTE_UNRELATED = "quote_unrelated"
"""A flag: the quote occurs letter by letter, but has no word of the claim."""
QUOTE_CHOSEN = "quote_chosen"
"""A flag: the judge named the place only, and code has chosen the words."""
NEEDED = ("id", "verdict")
LONGEST_ANSWER = 1_000_000
"""Bytes; hundreds of verdicts with quotes fit, and more is not parsed."""
MOST_PROBLEMS = 12
"""The most errors that are reported to the judge."""
_THOUGHT = lazy_regex(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = lazy_regex(r"\A\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)


class VerdictEntry(msgspec.Struct, frozen=True):
    """One well-formed entry of an answer."""

    verdict: str
    cited: Citation
    evidence: Evidence = Evidence()
    """The quote and its place, as they are stored."""
    is_unrelated: bool = False
    """Whether the quote has no word of the claim: it may prove nothing."""

    def find_flags(self) -> Iterator[str]:
        """What is remarkable about the quote."""
        if self.evidence.is_found_by_code:
            yield QUOTE_CHOSEN
        elif self.is_unrelated:
            yield QUOTE_UNRELATED


class ParsedAnswer(msgspec.Struct, frozen=True):
    """A parsed answer.

    `broken` says why nothing of it can be used; `faults` has the reason for every unusable item, by
    id; `wrong_canary` says that a canary has a wrong verdict.
    """

    entries: Mapping[str, VerdictEntry]
    faults: Mapping[str, str] = {}
    broken: str = ""
    wrong_canary: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether every item has a valid verdict."""
        return not (self.broken or self.faults or self.wrong_canary)

    @property
    def is_uniform(self) -> bool:
        """Whether every item has the same verdict."""
        return len({entry.verdict for entry in self.entries.values()}) == 1 < len(self.entries)

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
        return ParsedAnswer({}, broken=f"the answer is not one JSON object; {cause}")
    listed, problem = _items_of(value)
    if problem:
        return ParsedAnswer({}, broken=problem)
    entries, problem = _entries_by_id(listed, request)
    return ParsedAnswer({}, broken=problem) if problem else _check_entries(entries, request)


def verdicts_of(asked: JudgeItem, entry: VerdictEntry, by: str) -> Sequence[Verdict]:
    """The verdict on every question of this item."""
    cited, evidence = entry.cited, entry.evidence
    return [
        Verdict(
            question.metric,
            question.item,
            verdict=entry.verdict,
            text=question.text,
            quote=evidence.quote,
            source=evidence.source,
            by=by,
            note="".join(entry.find_flags()),
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
        return [], 'the answer has no key "items"; expected one object with it'
    listed = value["items"]
    return (listed, "") if isinstance(listed, list) else ([], 'its "items" are not an array')


def _entries_by_id(
    listed: Sequence[Any], request: JudgePrompt
) -> tuple[Mapping[str, VerdictEntry], str]:
    """The entries by id."""
    entries: dict[str, VerdictEntry] = {}
    for position, item in enumerate(listed):
        if problem := _structure_fault(item):
            return {}, f"an item of the answer {problem}; items[{position}]"
        key = item["id"]
        if key not in request.items:
            return {}, f"the answer has an id that is not in this request; items[{position}]"
        if key in entries:
            return {}, f"an id appears twice in the answer; items[{position}], {key}"
        cited = Citation(
            item.get("quote") or "",
            (item.get("quote_from") or NONE).strip(),
            (item.get("expected_outcome_field") or NONE).strip() or NONE,
            (item.get(OUTPUT_FIELD) or NONE).strip() or NONE,
        )
        entries[key] = VerdictEntry(item["verdict"].strip(), cited)
    return entries, ""


def _structure_fault(item: Any) -> str:
    """What is wrong with the structure of an entry; empty if nothing is.

    Its id and its verdict are needed; evidence is checked where a verdict needs it, and other keys
    have no effect.
    """
    if not isinstance(item, dict):
        return "is not an object"
    if missing := [key for key in NEEDED if key not in item]:
        return f"has no {' and no '.join(missing)}"
    given = [item.get(key) for key in KEYS]
    if not all(isinstance(value, str) or value is None for value in given):
        return "has a value that is not text"
    if any(item[key] is None for key in NEEDED):
        return f"has null as {' or '.join(NEEDED)}"
    return ""


def _check_entries(entries: Mapping[str, VerdictEntry], request: JudgePrompt) -> ParsedAnswer:
    faults: dict[str, str] = {}
    kept: dict[str, VerdictEntry] = {}
    wrong_canary = False
    for key, asked in request.items.items():
        entry = entries.get(key)
        checked = _check_entry(entry, asked, request.sources)
        if isinstance(checked, str):
            faults[key] = checked
        if entry is None:
            continue
        kept[key] = entry if isinstance(checked, str) else checked
        if asked.canary:
            # a word outside the rubric is a slip; a wrong one is not
            known = entry.verdict in asked.rubric.words
            wrong_canary |= known and entry.verdict not in asked.canary.verdicts
    return ParsedAnswer(kept, faults, wrong_canary=wrong_canary)


def _check_entry(
    entry: VerdictEntry | None, asked: JudgeItem, sources: QuoteSources
) -> VerdictEntry | str:
    """The entry with its evidence as it is stored, or why its verdict is void."""
    if entry is None:
        return "an item got no verdict"
    rubric, cited, own = asked.rubric, entry.cited, asked.own_texts
    if entry.verdict not in rubric.words:
        return f"a verdict is not allowed; expected one of {', '.join(rubric.words)}"
    if len(cited.quote) > LONGEST_QUOTE:
        return f"the quote is longer than {LONGEST_QUOTE} characters"
    found = sources.find_evidence(cited, rubric.evidence.get(entry.verdict, ()), own)
    if isinstance(found, str):
        return found
    texts = (own.claim, own.answer, own.against, found.quote)
    needed = rubric.rests_on.get(entry.verdict, ())
    fields, problem = sources.check_fields(cited, needed, texts)
    if problem and asked.canary is None:  # a canary's own text is in no field
        return problem
    is_unrelated = bool(found.quote) and not shares_word(found.quote, own.claim)
    return VerdictEntry(entry.verdict, fields, found, is_unrelated)
