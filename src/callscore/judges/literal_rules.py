"""Decides items by the words that two texts share, for fake judges: no meaning is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from callscore.judges.evidence import LONGEST_QUOTE, SHORTEST_QUOTE
from callscore.metrics.text import contains, n2

STEM, ENOUGH = 4, 0.6
_DECISIONS = "approved rejected refused granted cancelled closed resolved refunded escalated"


class PromptItem(NamedTuple):
    """One item of a prompt."""

    id: str
    rubric: str
    text: str
    against: str


class ParsedPrompt(NamedTuple):
    """A parsed prompt: the texts of turns and fields by their names."""

    turns: Mapping[str, str]
    expected_fields: Mapping[str, str]
    output_fields: Mapping[str, str]
    has_answer: bool
    items: Sequence[PromptItem]


class FakeVerdict(NamedTuple):
    """A verdict as a judge writes it; the cited fields are looked up by its words."""

    quote: str
    quote_from: str
    verdict: str
    field: str = ""
    """The field of the reference that it quotes."""


def decide(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """The verdict on one item."""
    return _RULES[item.rubric](item, seen)


def _judge_support(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    if found := _passage(item.text, seen.turns):
        return FakeVerdict(found[1], found[0], "supported_by_transcript")
    if found := _passage(item.text, seen.expected_fields):
        return FakeVerdict(found[1], "expected_outcome", "supported_by_reference", found[0])
    return FakeVerdict("", "none", "not_found")


def _judge_evidence(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    if found := _passage(item.text, seen.turns):
        return FakeVerdict(found[1], found[0], "as_described")
    word = "absent" if len(stems_of(item.text)) > STEM else "vague"
    return FakeVerdict("", "none", word)


def _judge_need(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    for name, text in seen.expected_fields.items():
        if len(stems_of(text)) > 1 and _coverage(text, item.text) >= ENOUGH:
            return FakeVerdict(text[:LONGEST_QUOTE], "expected_outcome", "needed", name)
    return FakeVerdict("", "none", "not")


def _judge_fluency(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """Whether enough words are those of the other text, and some of them in the same order."""
    is_fluent = _coverage(item.text, item.against) >= ENOUGH
    pairs, others = _pairs(item.text), _pairs(item.against)
    is_fluent &= not pairs or len(pairs & others) / len(pairs) >= ENOUGH / 2
    return FakeVerdict("", "none", "native" if is_fluent else "incomprehensible")


def _judge_goal(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """Whether a purpose names something besides the expected one."""
    word = "yes" if len(stems_of(item.text) - stems_of(item.against)) > 2 else "no"
    return FakeVerdict("", "none", word)


def _covered_rule(
    good: str, bad: str, quoted: str = ""
) -> Callable[[PromptItem, ParsedPrompt], FakeVerdict]:
    """The good word if enough of the text occurs in what it is compared with."""

    def rule(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        if _coverage(item.text, item.against) < ENOUGH:
            return FakeVerdict("", "none", bad)
        line = max(item.against.split("\n"), key=lambda line: _coverage(item.text, line))
        return FakeVerdict(line[:LONGEST_QUOTE] if quoted else "", quoted or "none", good)

    return rule


def _contained_rule(good: str, bad: str) -> Callable[[PromptItem, ParsedPrompt], FakeVerdict]:
    """The good word if enough of what it is compared with occurs in the text."""

    def rule(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        if _coverage(item.against, item.text) < ENOUGH:
            return FakeVerdict("", "none", bad)
        return FakeVerdict(item.text[:LONGEST_QUOTE], "model_output", good)

    return rule


def _judge_outcome(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """Whether a sentence has a word of decision."""
    if stems_of(item.text) & stems_of(_DECISIONS):
        return FakeVerdict(item.text[:LONGEST_QUOTE], "the claim", "outcome")
    return FakeVerdict("", "none", "no_outcome")


_RULES: Mapping[str, Callable[[PromptItem, ParsedPrompt], FakeVerdict]] = {
    "support": _judge_support,
    "evidence": _judge_evidence,
    "needed": _judge_need,
    "fluency": _judge_fluency,
    "intent": _covered_rule("same", "different"),
    "other_goal": _judge_goal,
    "recall": _covered_rule("stated", "not_stated", "model_output"),
    "answer_match": _covered_rule("match", "none"),
    "argument": _covered_rule("yes", "no"),
    "used": _covered_rule("used", "not", "model_output"),
    "instruction": _covered_rule("followed", "not_followed"),
    "name": _contained_rule("same_name", "different_name"),
    "fact": _contained_rule("preserved", "omitted"),
    "outcome": _judge_outcome,
    "value": _covered_rule("same", "different"),
}


def _passage(text: str, places: Mapping[str, str]) -> tuple[str, str] | None:
    """A turn or field that the text contains, or that contains the text; its name and a quote."""
    sought = n2(text)
    for name, place in places.items():
        held = n2(place)
        if len(held) >= SHORTEST_QUOTE and contains(sought, held):
            return name, place[:LONGEST_QUOTE]
        if len(sought) >= SHORTEST_QUOTE and contains(held, sought):
            return name, text[:LONGEST_QUOTE]
    return None


def _coverage(text: str, other: str) -> float:
    if (sought := n2(text)) and contains(n2(other), sought):
        return 1.0
    stems = stems_of(text)
    return len(stems & stems_of(other)) / len(stems) if stems else 0.0


def _pairs(text: str) -> set[tuple[str, str]]:
    """Neighbouring words."""
    words = n2(text).split()
    return set(zip(words, words[1:], strict=False))


@lru_cache(maxsize=1024)  # every item is compared with every field
def stems_of(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text, and its numbers."""
    words = "".join(char if char.isalnum() else " " for char in n2(text)).split()
    return frozenset(word[:STEM] for word in words if len(word) >= STEM or word.isdecimal())
