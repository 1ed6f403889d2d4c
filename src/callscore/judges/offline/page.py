"""What can support a claim: the turns of the call and the reference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import msgspec

from callscore.core.judging import JudgeRequest
from callscore.judges.offline.lexicon import lexicon
from callscore.judges.offline.wording import Wording
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
    wording: Wording
    role: str | None = None
    start: float | None = None
    context: frozenset[str] = frozenset()
    """The content words of the previous turn: "No, I don't" negates what was asked there."""

    @property
    def is_reference(self) -> bool:
        """Whether it is part of the reference."""
        return self.source.startswith("ref:")

    @cached_property
    def near(self) -> frozenset[str]:
        """Its content words and those of the previous turn."""
        return self.wording.content | self.context


class Page(msgspec.Struct, frozen=True, dict=True):
    """All turns and the reference, ready to be searched."""

    turns: Sequence[Passage]
    reference: Sequence[Passage]
    speakers: frozenset[str]
    """The folded words of the speakers' names."""
    fields: frozenset[str]
    """The names of the fields of the reference."""
    tolerance_s: float = SECONDS

    def without_field(self, claim: str) -> str:
        """A claim "field: value" without the name of its field."""
        field, mark, value = claim.partition(": ")
        is_label = field in self.fields or ("_" in field and field.isidentifier())
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
        return frozenset().union(*(p.wording.content for p in self.passages), self.speakers)

    @cached_property
    def names(self) -> frozenset[str]:
        """All words, folded, to look up names."""
        said = (word.casefold() for p in self.passages for word in p.wording.words)
        return self.speakers.union(word.removesuffix("'s") for word in said)

    def introduced(self, role: str, *, own: bool) -> frozenset[str]:
        """The names with which speakers of this side (or, without `own`, of another) introduce
        themselves.
        """
        turns = (turn for turn in self.turns if turn.role and (turn.role == role) is own)
        return frozenset().union(*(turn.wording.introduced for turn in turns))

    @cached_property
    def facts(self) -> Index:
        """All facts in digits or in number words."""
        return Index([fact for p in self.passages for fact in p.wording.said.facts])

    @cached_property
    def loose_numbers(self) -> frozenset[str]:
        """Numbers without a unit, or possible combinations of consecutive numbers."""
        facts = (fact for p in self.passages for fact in p.wording.said.facts)
        bare = (key[2] for fact in facts for key in fact.keys if key[:2] == ("number", ""))
        return frozenset(bare).union(*(p.wording.said.together for p in self.passages))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """All numbers, in digits or in words."""
        digits = (n for p in self.passages for fact in p.wording.said.facts for n in fact.numbers)
        return frozenset(digits) | self.loose_numbers

    @cached_property
    def dictated(self) -> str:
        """All digits of the call in order: an account number may be read out over several turns."""
        return "".join(p.wording.said.digits for p in self.passages)

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
        return " ".join("".join(w[0].casefold() for w in p.wording.words) for p in self.passages)


def page(judge_request: JudgeRequest, tolerance_s: float = SECONDS) -> Page:
    """The page of a request."""
    turns = list(_turns(judge_request))
    known = [turn.speaker for turn in judge_request.turns if turn.speaker]
    speakers = (
        word.casefold() for name in known for word in Wording(name, judge_request.lang).words
    )
    return Page(
        turns,
        list(_leaves(judge_request.expected_outcome, "", judge_request.lang)),
        frozenset(speakers),
        frozenset(_fields(judge_request.expected_outcome)),
        tolerance_s,
    )


def _turns(judge_request: JudgeRequest) -> Iterator[Passage]:
    before: frozenset[str] = frozenset()
    for number, turn in enumerate(judge_request.turns, start=1):
        wording = Wording(turn.text, judge_request.lang)
        role = _role(turn.speaker, judge_request.lang)
        yield Passage(f"t{number}", wording, role, turn.start, before)
        before = wording.content


def _statements(passage: Passage) -> Iterator[Passage]:
    text, before = passage.wording.text, passage.context
    if len(text) <= LONGEST_STATEMENT:
        yield passage
        return
    for sentence in filter(None, _SENTENCE_END.split(text)):
        wording = Wording(sentence, passage.wording.lang)
        yield msgspec.structs.replace(passage, wording=wording, context=before)
        before = wording.content


def _role(speaker: str | None, lang: str | None) -> str | None:
    """The side of a speaker, if the name says so."""
    roles = lexicon(lang).roles
    named = (roles.get(word.casefold()) for word in Wording(speaker or "", lang).words)
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
        yield Passage(f"ref:{path}", Wording(text, lang))


def _fields(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(str, value)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _fields(inner)
