"""The passages that can support a claim: the turns of the call, and the values of the reference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import msgspec

from callscore.core.judging import JudgeRequest
from callscore.judges.offline.text_analysis import TextAnalysis
from callscore.judges.offline.word_lists import word_lists
from callscore.metrics.facts.fact import Index

SHORTEST_ROOT = 4
LONGEST_ENDING = 3
"""Letters that another form of a name must share, and those that may differ."""
LONGEST_STATEMENT = 200
"""Characters up to which a turn is one statement."""
SECONDS = 5.0
"""How far a timestamp may be off by default (C-39)."""

_SENTENCE_END = re.compile(r"(?<=[.!?。！？।])\s+|\n+")


class Passage(msgspec.Struct, frozen=True, dict=True):
    """One turn, or one value of the reference; `source` is its place: `t3`, `ref:…`."""

    source: str
    analysis: TextAnalysis
    role: str | None = None
    start: float | None = None
    context: frozenset[str] = frozenset()
    """The content words of the previous turn: "No, I don't" negates what was asked there."""

    @property
    def is_reference(self) -> bool:
        """Whether it is part of the reference."""
        return self.source.startswith("ref:")


class PassageIndex(msgspec.Struct, frozen=True, dict=True):
    """The turns of a call and the values of its reference, indexed for rules."""

    turns: Sequence[Passage]
    reference: Sequence[Passage]
    speakers: frozenset[str]
    """The folded words of the speakers' names."""
    field_names: frozenset[str]
    """The names of the fields of the reference."""
    tolerance_s: float = SECONDS

    def without_field(self, claim: str) -> str:
        """A claim "field: value" without the name of its field."""
        field, mark, value = claim.partition(": ")
        is_label = field in self.field_names or ("_" in field and field.isidentifier())
        return value if mark and is_label else claim

    @property
    def passages(self) -> Iterable[Passage]:
        """Turns first, then the reference."""
        return chain(self.turns, self.reference)

    @cached_property
    def statements(self) -> Sequence[Passage]:
        """The passages, long ones split into sentences."""
        return [statement for passage in self.passages for statement in _statements(passage)]

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems of all content words, including speakers."""
        return frozenset().union(*(p.analysis.content for p in self.passages), self.speakers)

    @cached_property
    def names(self) -> frozenset[str]:
        """All words, folded, to look up names."""
        said = (word.casefold() for p in self.passages for word in p.analysis.words)
        return self.speakers.union(word.removesuffix("'s") for word in said)

    def introduced_names(self, role: str, *, own: bool) -> frozenset[str]:
        """The names with which speakers of this side (or, without `own`, of another) introduce
        themselves.
        """
        turns = (turn for turn in self.turns if turn.role and (turn.role == role) is own)
        return frozenset().union(*(turn.analysis.introduced_names for turn in turns))

    @cached_property
    def facts(self) -> Index:
        """All facts in digits or in number words."""
        return Index([fact for p in self.passages for fact in p.analysis.spoken_numbers.facts])

    @cached_property
    def loose_numbers(self) -> frozenset[str]:
        """Numbers without a unit, or possible combinations of consecutive numbers."""
        facts = (fact for p in self.passages for fact in p.analysis.spoken_numbers.facts)
        bare = (key[2] for fact in facts for key in fact.keys if key[:2] == ("number", ""))
        return frozenset(bare).union(
            *(p.analysis.spoken_numbers.combinations for p in self.passages)
        )

    @cached_property
    def numbers(self) -> frozenset[str]:
        """All numbers, in digits or in words."""
        digits = (
            n
            for p in self.passages
            for fact in p.analysis.spoken_numbers.facts
            for n in fact.numbers
        )
        return frozenset(digits) | self.loose_numbers

    @cached_property
    def digit_sequence(self) -> str:
        """All digits of the call in order: an account number may be read out over several turns."""
        return "".join(p.analysis.spoken_numbers.digits for p in self.passages)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The beginnings of words, without up to three letters: "Canadian" matches "Canada"."""
        return frozenset(
            name[:end]
            for name in self.names
            for end in range(max(SHORTEST_ROOT, len(name) - LONGEST_ENDING), len(name) + 1)
        )

    @cached_property
    def initials(self) -> str:
        """The first letters of all words by turn, to match abbreviations."""
        return " ".join("".join(w[0].casefold() for w in p.analysis.words) for p in self.passages)


def index_passages(judge_request: JudgeRequest, tolerance_s: float = SECONDS) -> PassageIndex:
    """Index the call and the reference of a request."""
    turns = list(_turns(judge_request))
    known = [turn.speaker for turn in judge_request.turns if turn.speaker]
    speakers = (
        word.casefold() for name in known for word in TextAnalysis(name, judge_request.lang).words
    )
    return PassageIndex(
        turns,
        list(_leaves(judge_request.expected_outcome, "", judge_request.lang)),
        frozenset(speakers),
        frozenset(_field_names(judge_request.expected_outcome)),
        tolerance_s,
    )


def _turns(judge_request: JudgeRequest) -> Iterator[Passage]:
    before: frozenset[str] = frozenset()
    for number, turn in enumerate(judge_request.turns, start=1):
        analysis = TextAnalysis(turn.text, judge_request.lang)
        role = _role(turn.speaker, judge_request.lang)
        yield Passage(f"t{number}", analysis, role, turn.start, before)
        before = analysis.content


def _statements(passage: Passage) -> Iterator[Passage]:
    text, before = passage.analysis.text, passage.context
    if len(text) <= LONGEST_STATEMENT:
        yield passage
        return
    for sentence in filter(None, _SENTENCE_END.split(text)):
        analysis = TextAnalysis(sentence, passage.analysis.lang)
        yield msgspec.structs.replace(passage, analysis=analysis, context=before)
        before = analysis.content


def _role(speaker: str | None, lang: str | None) -> str | None:
    """The side of a speaker, if the name says so."""
    roles = word_lists(lang).roles
    named = (roles.get(word.casefold()) for word in TextAnalysis(speaker or "", lang).words)
    return next(filter(None, named), None)


def _leaves(value: Any, path: str, lang: str | None) -> Iterator[Passage]:
    """Every value of the reference with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key), lang)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]", lang)
    elif value is not None and value != "":
        text = value if isinstance(value, str) else json.dumps(value)
        yield Passage(f"ref:{path}", TextAnalysis(text, lang))


def _field_names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(str, value)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _field_names(inner)
