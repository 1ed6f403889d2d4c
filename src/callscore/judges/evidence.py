"""What a judge may quote and cite: turns of the call, fields of the reference and of the output.

Names of sources and fields are read generously, quotes letter by letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from callscore.core.case import JsonObject
from callscore.core.judging import JudgeRequest
from callscore.core.lazy import lazy_regex
from callscore.judges.offline.word_lists import split_words, stem, stems
from callscore.judges.rubric import Place, Side
from callscore.metrics.text import contains, n2

SHORTEST_QUOTE = 8
"""Characters; a shorter quote from a turn is no evidence, unless it is the whole turn."""
LONGEST_QUOTE = 300
"""Characters; the same limit as in the contract that judges are sent."""
NONE = "none"
EXPECTED: Final = "expected_outcome"
OUTPUT: Final = "model_output"
SIDES: Sequence[Side] = (EXPECTED, OUTPUT)
_TURN = lazy_regex(
    r"(?:transcript\W{0,3})?(?:turn[\s_#:-]{0,3}|t)([0-9]{1,6})(?![0-9])", re.IGNORECASE
)
_BLOCK = lazy_regex(
    r"(?:the\s+)?(transcript|turns?|expected_outcome|model_output|claim|items?)(?![a-z0-9_])",
    re.IGNORECASE,
)
_PLACES: Mapping[str, Place] = {
    "transcript": "turn",
    "turn": "turn",
    "turns": "turn",
    EXPECTED: "field",
    OUTPUT: "answer",
}
_KEY_IN_QUOTES = lazy_regex(r"\[(['\"])([^'\"\]]*)\1\]")
_INDEX_AFTER_DOT = lazy_regex(r"\.(\d+)(?=[.\[]|\Z)")
_LAST_STEP = lazy_regex(r"(?:\.[^.\[\]]*|\[[^\[\]]*\])\Z")
_SENTENCE_END = lazy_regex(r"(?<=[.!?।。！？])\s*")
_SHORTEST_WORD = 4
"""Letters of a word that two texts share; shorter ones occur everywhere."""


class OwnTexts(NamedTuple):
    """The texts of an item: its claim, the part that came from the output, and what it is
    compared with.
    """

    claim: str
    answer: str
    against: str = ""


class Citation(msgspec.Struct, frozen=True):
    """The evidence of one verdict, as a judge gives it."""

    quote: str
    quote_from: str
    expected_field: str = NONE
    output_field: str = NONE


class Evidence(NamedTuple):
    """A quote that was found in its source, and the source as it is stored: a turn, or a path."""

    quote: str = ""
    source: str = ""
    is_found_by_code: bool = False
    """Whether the judge named the turn or field only, and code has chosen the words."""


class _Source(NamedTuple):
    """A part of a request that a judge names as the source of a quote."""

    place: Place
    texts: Mapping[str, str]
    """The texts that it may mean, by their name as it is stored."""
    named: str = ""
    """The one that it names, if it names one."""


class QuoteSources(msgspec.Struct, frozen=True, dict=True):
    """The texts of a request that can be quoted, by their place."""

    turns: Mapping[str, str]
    """By name: `t1`, `t2`, …"""
    expected: JsonObject
    output: Any = None
    """The output as JSON; None if the judge does not see it."""

    @cached_property
    def expected_fields(self) -> Mapping[str, Any]:
        """Every field of the reference by its path, including whole parts."""
        return fields_of(self.expected)

    @cached_property
    def output_fields(self) -> Mapping[str, Any]:
        """Every field of the output by its path, including whole parts."""
        return fields_of(self.output)

    def _fields(self, side: Side) -> Mapping[str, Any]:
        return self.expected_fields if side == EXPECTED else self.output_fields

    def field(self, side: Side, cited: str) -> str | None:
        """The path of a cited field; None if that side has no such field."""
        fields = self._fields(side)
        if cited in fields:
            return cited
        path = plain_path(cited, side)
        return path if path in fields else None

    def cited_field(self, side: Side, cited: str, texts: Sequence[str]) -> str | None:
        """The field that a verdict relies on: the one that it names, else the one with its texts,
        else the part that the name lies in.
        """
        if cited != NONE and (path := self.field(side, cited)) is not None:
            return path
        if texts and (found := self._field_with(side, [n2(text) for text in texts if text])):
            return found
        path, fields = plain_path(cited, side), self._fields(side)
        while path and path not in fields:
            shorter = _LAST_STEP.sub("", path)
            path = "" if shorter == path else shorter
        return path or None

    def _field_with(self, side: Side, texts: Sequence[str]) -> str | None:
        """The first field that contains one of the texts, or is contained in one."""
        for path, value in self._fields(side).items():
            held = n2(value) if isinstance(value, str) else ""
            if held and any(
                contains(held, text) or (len(held) >= SHORTEST_QUOTE and contains(text, held))
                for text in texts
            ):
                return path
        return None

    def check_fields(
        self, given: Citation, needed: Sequence[Side], texts: Sequence[str]
    ) -> tuple[Citation, str]:
        """The citation with its fields as they are stored, and why they are invalid if they are."""
        stored, problem = [], ""
        for side, cited in zip(SIDES, (given.expected_field, given.output_field), strict=True):
            path = self.cited_field(side, cited, texts if side in needed else ())
            stored.append(path or NONE)
            if path or problem or side not in needed or not self._fields(side):
                continue
            problem = f"{side}_field names a field that {side} does not have"
            if cited == NONE:
                problem = f"{side}_field must name the field that this verdict rests on"
        return Citation(given.quote, given.quote_from, *stored), problem

    def find_evidence(
        self, given: Citation, places: Sequence[Place], own: OwnTexts
    ) -> Evidence | str:
        """The evidence that a verdict quotes, or why it is invalid."""
        source = self._source(given, places, own)
        if not places:
            # no quote is needed: one that cannot be checked is dropped
            found = _find_quote(given.quote, source) if source and given.quote else None
            return found or Evidence()
        if source is None:
            asked = _join_places(places)
            if not given.quote:
                return f"this verdict needs a quote from {asked}"
            return f"quote_from names no source; expected {asked}"
        if source.place not in places:
            return f"this verdict needs a quote from {_join_places(places)}, and has another source"
        if found := _find_quote(given.quote, source):
            return found
        if _is_no_quote(given.quote, own.claim) and (chosen := _choose_words(own.claim, source)):
            return chosen
        return _mismatch(given.quote, source)

    def _source(self, given: Citation, places: Sequence[Place], own: OwnTexts) -> _Source | None:
        """The source that a judge names: a turn, a block, or any path below one."""
        name = given.quote_from.strip().strip("`\"'")
        if found := _TURN.match(name):
            turn = f"t{int(found.group(1))}"
            text = self.turns.get(turn)
            return None if text is None else _Source("turn", {turn: text}, turn)
        if found := _BLOCK.match(name):
            block = found.group(1).lower()
            return self._block(_PLACES.get(block, "claim"), name[found.end() :], given, own)
        # a path without the name of its block
        if "field" in places and self.field(EXPECTED, name) is not None:
            return self._block("field", name, given, own)
        if "answer" in places and self.field(OUTPUT, name) is not None:
            return self._block("answer", name, given, own)
        return None

    def _block(self, place: Place, path: str, given: Citation, own: OwnTexts) -> _Source:
        if place == "turn":
            return _Source(place, self.turns)
        if place == "field":
            fields, paths = self.expected_fields, (path, given.expected_field)
            cited = [name for p in paths if (name := self.field(EXPECTED, p)) is not None]
            leaves = [name for name, value in fields.items() if not _is_part(value)]
            texts = {f"ref:{name}": text_of(fields[name]) for name in (*cited, *leaves)}
            return _Source(place, texts, f"ref:{cited[0]}" if cited else "")
        return _Source(place, {"answer": own.answer if place == "answer" else own.claim}, "answer")


PLACES: Mapping[Place, str] = {
    "turn": "a turn of the transcript",
    "field": "expected_outcome",
    "answer": "model_output",
    "claim": "the claim",
}
"""The places of quotes, as a judge's prompt names them."""

_QUOTED: Mapping[Place, str] = {
    "turn": "the turn that quote_from names",
    "field": "expected_outcome",
    "answer": "the part of model_output that the item is about",
    "claim": "the claim",
}


def sources_of(judge_request: JudgeRequest) -> QuoteSources:
    """The turns, numbered from 1, the reference, and the output."""
    turns = {f"t{n}": turn.text for n, turn in enumerate(judge_request.turns, start=1)}
    return QuoteSources(turns, judge_request.expected_outcome, judge_request.model_output)


def shares_word(one: str, other: str) -> bool:
    """Whether two texts have a longer word or a number in common."""
    return not _stems_in(one).isdisjoint(_stems_in(other))


def _stems_in(text: str) -> frozenset[str]:
    normal = n2(text)
    words = split_words(normal)
    if normal.isascii():
        telling = (word for word in words if len(word) >= _SHORTEST_WORD or word.isdecimal())
        return frozenset(map(stem, telling))
    return frozenset(form for word in words if _is_telling(word) for form in stems(word))


def _is_telling(word: str) -> bool:
    return len(word) >= _SHORTEST_WORD or word.isdecimal() or not word.isascii()


def _find_quote(quote: str, source: _Source) -> Evidence | None:
    """The quote with the text of a source that contains it letter by letter."""
    sought = n2(quote)
    if not any(char.isalnum() for char in sought):
        return None
    for name, text in source.texts.items():
        held = n2(text)
        is_short = source.place == "turn" and len(sought) < SHORTEST_QUOTE and sought != held
        if not is_short and contains(held, sought):
            return Evidence(quote, name)
    return None


def _is_no_quote(quote: str, claim: str) -> bool:
    """Whether there is no quote, or only the words of the claim."""
    sought, own = n2(quote), n2(claim)
    return not sought or contains(own, sought) or contains(sought, own)


def _choose_words(claim: str, source: _Source) -> Evidence | None:
    """The sentence of the named text that shares most words with the claim."""
    sought, text = _stems_in(claim), source.texts.get(source.named, "")
    sentences = [part.strip() for part in _SENTENCE_END.split(text)]
    best = max(sentences, key=lambda part: len(sought & _stems_in(part)), default="")
    if sought.isdisjoint(_stems_in(best)):
        return None
    return Evidence(best[:LONGEST_QUOTE], source.named, is_found_by_code=True)


def _mismatch(quote: str, source: _Source) -> str:
    """Why a quote is not found in its source."""
    sought = n2(quote)
    if quote and not any(char.isalnum() for char in sought):
        return "the quote contains no word"
    if not quote:
        return f"this verdict needs a quote from {_QUOTED[source.place]}"
    if any(contains(n2(text), sought) for text in source.texts.values()):
        return "the quote is too short to prove anything; quote the whole passage"
    return f"the quote does not occur letter by letter in {_QUOTED[source.place]}"


def fields_of(value: Any) -> Mapping[str, Any]:
    """Every value in a JSON document by its path (`summary.highlights[0]`), including
    whole parts.
    """
    found: dict[str, Any] = {}
    if isinstance(value, (dict, list, tuple, Mapping)):
        _gather_fields(value, "", found)
    return found


def text_of(value: Any) -> str:
    """All the text of a JSON value."""
    return value if isinstance(value, str) else "\n".join(leaves_of(value))


def leaves_of(value: Any) -> list[str]:
    """Every text and number within a JSON value, in its order."""
    leaves: list[str] = []
    _gather_leaves(value, leaves)
    return leaves


def _gather_leaves(value: Any, leaves: list[str]) -> None:
    # Exact types before general ones: nearly everything comes from JSON.
    if isinstance(value, str):
        leaves.append(value)
    elif type(value) is int:
        leaves.append(str(value))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _gather_leaves(inner, leaves)
    elif isinstance(value, (dict, Mapping)):
        for inner in value.values():
            _gather_leaves(inner, leaves)
    else:
        leaves.append(json.dumps(value, default=str))


def _gather_fields(value: Any, path: str, found: dict[str, Any]) -> None:
    """Collect everything in a value under its path."""
    entries: Iterable[tuple[str, Any]]
    if isinstance(value, (dict, Mapping)):
        before = f"{path}." if path else ""
        entries = ((f"{before}{key}", inner) for key, inner in value.items())
    else:
        entries = ((f"{path}[{n}]", inner) for n, inner in enumerate(value))
    for inner_path, inner in entries:
        found[inner_path] = inner
        if _is_part(inner):
            _gather_fields(inner, inner_path, found)


def plain_path(cited: str, side: Side) -> str:
    """A path in our notation, from common other notations."""
    path = _KEY_IN_QUOTES.sub(r".\2", cited.strip().strip("`"))
    path = path.removeprefix("$").removeprefix(".")
    path = path.removeprefix(side).removeprefix(":").strip().removeprefix(".")
    return _INDEX_AFTER_DOT.sub(r"[\1]", path)


def _is_part(value: Any) -> bool:
    """Whether a value has fields of its own."""
    return not isinstance(value, (str, int)) and isinstance(value, (dict, list, tuple, Mapping))


def _join_places(places: Sequence[Place]) -> str:
    return " or ".join(PLACES[place] for place in places)
