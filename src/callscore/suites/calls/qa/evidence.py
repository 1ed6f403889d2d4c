"""How much evidence a reason gives: by code if possible, else by verdicts (C-37 … C-39)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from callscore.core.judging import Item, Verdicts
from callscore.metrics.text import n2
from callscore.suites.calls.placeholders import is_empty
from callscore.suites.calls.qa.reference import FormQuestion

EVIDENCE = "qa.evidence_backed_reasoning"
OFFERED: Mapping[str, tuple[str, ...]] = {
    EVIDENCE: ("vague", "specific", "as_described", "differs", "absent", "cannot_tell")
}
POINTS: Mapping[str, int] = {
    "vague": 0,
    "as_described": 2,
    "differs": 1,
    "absent": 1,
    "cannot_tell": 0,
}
"""Points of a reason by verdict (C-37); `specific` needs a second verdict."""
MOST_POINTS = 2

LONGEST_BARE_TIME = 40
_WINDOW, _LETTERS = 24, 4
_TIMESTAMP = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?")
_WORD = re.compile(r"[^\W\d_]+")


def reason_of(item: Mapping[str, Any] | None) -> str | None:
    """The reason that a reply gives for a question; None if it gives none."""
    reason = item.get("reason") if item is not None else None
    return reason if isinstance(reason, str) else None


def points_by_code(reason: str | None, expected: str) -> int | None:
    """Points without a judge: no reason, a bare time, or the human's own words  C-37, C-38, C-39"""
    if reason is None or is_empty(reason):
        return 0
    if len(reason) <= LONGEST_BARE_TIME and ":" in reason and _is_bare_time(reason):
        return 0
    return MOST_POINTS if is_own_words(reason, expected) else None


def is_own_words(reason: str, expected: str) -> bool:
    """Whether a reason equals the human's (N2), if there is one        C-37

    The first letters are compared before the whole: two reasons that differ there differ.
    """
    if not expected or reason == expected:
        return bool(expected)
    start, human = n2(reason[:_WINDOW])[:_LETTERS], n2(expected[:_WINDOW])[:_LETTERS]
    if start != human and len(start) == len(human) == _LETTERS:
        return False
    return n2(reason) == n2(expected)


def _is_bare_time(reason: str) -> bool:
    """A timestamp and at most one word, as in "At 00:12."        C-39"""
    rest, times = _TIMESTAMP.subn("", reason)
    return times > 0 and len(_WORD.findall(rest)) <= 1


def points(
    reason: str | None, question: FormQuestion, verdicts: Verdicts, flags: set[str]
) -> int | None:
    """The points of a reason; the lowest of several verdicts, None without one.

    A verdict on the human's own words outranks the points they get without one (C-37).
    """
    decided = points_by_code(reason, question.reason)
    if decided == 0 or not verdicts:
        return decided
    words = [v.verdict for v in verdicts.get(Item(EVIDENCE, question.id), ())]
    if "cannot_tell" in words:
        flags.add("abstained")
    given = [POINTS[word] for word in words if word is not None and word in POINTS]
    return min(given) if given else decided
