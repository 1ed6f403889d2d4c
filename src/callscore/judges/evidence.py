"""What a judge may quote and cite: turns of the call, fields of the reference and of the output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from callscore.core.case import JsonObject
from callscore.core.judging import JudgeRequest
from callscore.judges.rubric import Place, Side
from callscore.metrics.text import contains, n2

SHORTEST_QUOTE = 8
"""Characters; a shorter quote from a turn is no evidence, unless it is the whole turn."""
LONGEST_QUOTE = 300
NONE = "none"
CLAIM = ("the claim", "claim")
EXPECTED: Final = "expected_outcome"
OUTPUT: Final = "model_output"
SIDES: Sequence[Side] = (EXPECTED, OUTPUT)
TURN = re.compile(r"(?:turn\s*|t)([0-9]{1,6})", re.IGNORECASE)
_KEY_IN_QUOTES = re.compile(r"\[(['\"])([^'\"\]]*)\1\]")
_INDEX_AFTER_DOT = re.compile(r"\.(\d+)(?=[.\[]|\Z)")


class OwnTexts(NamedTuple):
    """The texts of an item that may be quoted: its claim, and the part that came from the
    output.
    """

    claim: str
    answer: str


class Citation(msgspec.Struct, frozen=True):
    """The evidence of one verdict, as a judge gives it."""

    quote: str
    quote_from: str
    expected_field: str = NONE
    output_field: str = NONE


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
        path = _plain_path(cited, side)
        return path if path in fields else None

    def citation_fault(self, given: Citation, needed: Sequence[Side]) -> str:
        """Why the fields that a verdict names are invalid; empty if they are valid."""
        for side, cited in zip(SIDES, (given.expected_field, given.output_field), strict=True):
            if cited == NONE:
                if side in needed and self._fields(side):
                    return f"{side}_field must name the field that this verdict rests on"
            elif self.field(side, cited) is None:
                return f"{side}_field names a field that {side} does not have"
        return ""

    def quote_fault(self, given: Citation, places: Sequence[Place], own: OwnTexts) -> str:
        """Why a quote is invalid; empty if it is valid."""
        if not given.quote:
            if places:
                return f"this verdict needs a quote from {_join_places(places)}"
            return (
                "" if given.quote_from == NONE else f"the quote is empty, so quote_from is {NONE}"
            )
        place, text = self._quoted_text(given, own)
        if place is None:
            return f"quote_from names no source; expected {_join_places(places or list(PLACES))}"
        if places and place not in places:
            return f"this verdict needs a quote from {_join_places(places)}, and has another source"
        if text is None:
            return "the quote is from expected_outcome, so expected_outcome_field names its field"
        return _mismatch(n2(given.quote), n2(text), place)

    def source(self, given: Citation) -> str:
        """The place of a quote, as it is stored: a turn, or a field's path."""
        if found := TURN.fullmatch(given.quote_from):
            return f"t{int(found.group(1))}"
        if given.quote_from == EXPECTED:
            return f"ref:{self.field(EXPECTED, given.expected_field)}"
        return "answer" if given.quote_from in (OUTPUT, *CLAIM) else ""

    def _quoted_text(self, given: Citation, own: OwnTexts) -> tuple[Place | None, str | None]:
        if given.quote_from == OUTPUT:
            return "answer", own.answer
        if given.quote_from in CLAIM:
            return "claim", own.claim
        if given.quote_from == EXPECTED:
            path = self.field(EXPECTED, given.expected_field)
            return "field", None if path is None else text_of(self.expected_fields[path])
        found = TURN.fullmatch(given.quote_from)
        text = self.turns.get(f"t{int(found.group(1))}") if found else None
        return (None, None) if text is None else ("turn", text)


PLACES: Mapping[Place, str] = {
    "turn": "a turn of the transcript",
    "field": "expected_outcome",
    "answer": "model_output",
    "claim": "the claim",
}
"""The places of quotes, as a judge's prompt names them."""

_QUOTED: Mapping[Place, str] = {
    "turn": "that turn",
    "field": "the field that expected_outcome_field names",
    "answer": "the part of model_output that the item is about",
    "claim": "the claim",
}


def sources_of(judge_request: JudgeRequest) -> QuoteSources:
    """The turns, numbered from 1, the reference, and the output."""
    turns = {f"t{n}": turn.text for n, turn in enumerate(judge_request.turns, start=1)}
    return QuoteSources(turns, judge_request.expected_outcome, judge_request.model_output)


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
        if not isinstance(inner, (str, int)) and isinstance(inner, (dict, list, tuple, Mapping)):
            _gather_fields(inner, inner_path, found)


def _plain_path(cited: str, side: Side) -> str:
    """A path in our notation, from common other notations."""
    path = _KEY_IN_QUOTES.sub(r".\2", cited.strip().strip("`"))
    path = path.removeprefix("$").removeprefix(".")
    path = path.removeprefix(side).removeprefix(":").strip().removeprefix(".")
    return _INDEX_AFTER_DOT.sub(r"[\1]", path)


def _mismatch(quote: str, text: str, place: Place) -> str:
    if not any(char.isalnum() for char in quote):
        return "the quote contains no word"
    if place == "turn" and len(quote) < SHORTEST_QUOTE and quote != text:
        return "the quote is too short to prove anything; quote the whole passage"
    if not contains(text, quote):
        return f"the quote does not occur letter by letter in {_QUOTED[place]}"
    return ""


def _join_places(places: Sequence[Place]) -> str:
    return " or ".join(PLACES[place] for place in places)
