"""Intent, highlights and fields of a summary, by code and by verdicts (C-54 … C-59)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.judging import Item, Verdict, Verdicts
from callscore.metrics.payment_cards import card_leaks
from callscore.metrics.text import n2
from callscore.suites.calls.items import is_empty, verdict_words
from callscore.suites.calls.text.claims import Claim
from callscore.suites.calls.text.reference import TextReference

CALL_INTENT = "text.call_intent"
HIGHLIGHT_RECALL = "text.highlight_recall"
HIGHLIGHT_CORRECTNESS = "text.highlight_correctness"

PURPOSE = "call_purpose"
OTHER_GOAL = "call_purpose:other_goal"
INTENT_POINTS: Mapping[str, float] = {"same": 1.0, "same_domain_incomplete": 0.5, "different": 0.0}
WITH_ANOTHER_GOAL = 0.5
"""The most points of a purpose that names the right intent and a wrong one (C-54)."""
FEWEST_DIGITS = 3
"""The fewest digits of a security code."""
COUNTING = frozenset({"stated", "supported_by_transcript", "supported_by_reference"})
"""The verdicts in favour of the model; all others, and abstaining, count against it."""


class Highlights(msgspec.Struct, frozen=True, gc=False):
    """The model's highlights: the texts, and how many are not text."""

    texts: Sequence[Claim]
    not_text: int


NO_HIGHLIGHTS = Highlights((), 0)


def read_highlights(given: Sequence[Any], flags: set[str]) -> Highlights:
    """The highlights of a reply; empty ones are dropped, those that are not text are wrong."""
    texts: list[Claim] = []
    not_text = 0
    for index, text in enumerate(given):
        if not isinstance(text, str):
            flags.add("bad_scalar")
            not_text += 1
        elif is_empty(text):
            flags.add("empty_highlight")
        else:
            item = f"highlights[{index}]"
            texts.append(Claim(item, text, item, n2(text)))
    return Highlights(texts, not_text)


def intent_by_code(expected: str, given: object) -> float | None:
    """1 if equal under N2, 0 if empty or not text, else None        C-54"""
    if not isinstance(given, str):
        return 0.0
    if given == expected or n2(given) == n2(expected):
        return 1.0
    return 0.0 if is_empty(given) else None


def intent_by_verdicts(verdicts: Verdicts, flags: set[str]) -> float | None:
    """The lowest points given, at most 0.5 with another goal; None without verdicts        C-54"""
    given = (
        *verdicts.get(Item(CALL_INTENT, PURPOSE), ()),
        *verdicts.get(Item(CALL_INTENT, OTHER_GOAL), ()),
    )
    words = verdict_words(given, flags)
    points = [INTENT_POINTS[word] for word in words if word in INTENT_POINTS]
    points += [v.value for v in given if v.value is not None and v.value in INTENT_POINTS.values()]
    if not points:
        return None
    return min([*points, WITH_ANOTHER_GOAL] if "yes" in words else points)


def capture_findings(reference: TextReference, given: Highlights) -> list[bool | None]:
    """For every expected highlight: do the model's highlights state it?        C-55"""
    if not given.texts:
        return [False] * len(reference.highlights)
    forms: set[str] = set()
    for highlight in given.texts:
        forms.add(highlight.form)
    return find_stated(forms, reference.highlights)


def find_stated(forms: Collection[str], statements: Sequence[Claim]) -> list[bool | None]:
    """True for each statement whose form is among these; None if only a judge can decide"""
    found: list[bool | None] = []
    for statement in statements:
        found.append(True if statement.form in forms else None)
    return found


def filled_fields(reference: TextReference, info: Mapping[str, Any]) -> list[bool]:
    """For every required field: is it present and not empty?        C-58, C-59"""
    return [not is_empty(info.get(name)) for name in reference.required_fields]


def apply_verdicts(
    metric: str,
    statements: Sequence[Claim],
    found: list[bool | None],
    verdicts: Verdicts,
    flags: set[str],
) -> list[bool | None]:
    """The findings of code, completed by verdicts."""
    if not verdicts or None not in found:
        return found
    return [
        verdict_finding(verdicts.get(Item(metric, statement.item), ()), flags)
        if supported is None
        else supported
        for statement, supported in zip(statements, found, strict=True)
    ]


def verdict_finding(given: Sequence[Verdict], flags: set[str]) -> bool | None:
    """Whether all verdicts on an item are in its favour; None if there is none."""
    words = verdict_words(given, flags)
    return COUNTING.issuperset(words) if words else None


def card_data_flags(given: Mapping[str, Any]) -> Sequence[str]:
    """Flags for card numbers and security codes that a summary repeats; no metric counts them."""
    text = "\n".join(_strings(given))
    if sum(map(text.count, "0123456789")) < FEWEST_DIGITS:
        return ()
    return card_leaks(text)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
