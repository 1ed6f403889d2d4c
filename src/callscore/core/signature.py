"""Signatures: what must be equal before two results may be compared (C-126)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

VERSION = "callscore"
"""The part that may differ: a newer Callscore gives the same numbers."""

LABELS = "labels"
"""The part with a hash of the labels of people."""

KINDS = "kinds"
"""In a signature of scenarios, the kinds of their steps, if some are missing (C-142)."""

SCENARIOS = "scenarios"
"""In a signature of calls and scenarios, the part with the signature of the scenarios."""

WORDS = {
    "suite": "suite",
    "framework": "framework version",
    "data": "data set",
    "repeats": "repeats per case",
    "settings": "settings",
    "judge": "judge or its prompt",
    "embedder": "embedder",
    "over": "tasks of the Final Score",
    "option": "option of the Final Score",
    "weights": "weights",
    "workload": "workload",
    "labels": "labels of people",
    "mode": "mode",
    "protocol": "protocol",
    "lang": "languages",
    "ged": "limit of the search for plan distances",
    "spec": "specification",
}


class SignatureChange(NamedTuple):
    """One part of two signatures that differs."""

    part: str
    first: str
    second: str

    def __str__(self) -> str:
        """`embedder: muse … and labse …`"""
        name = WORDS.get(self.part, self.part)
        return f"{name}: {self.first or 'not given'} and {self.second or 'not given'}"


def parts_of(signature: str) -> dict[str, str]:
    """A signature by its parts: `suite:calls|data:…` as `{"suite": "calls", "data": …}`."""
    found: dict[str, str] = {}
    last = ""
    for piece in signature.split("|"):
        name, colon, value = piece.partition(":")
        if colon and name.isidentifier():
            found[name], last = value, name
        elif last:  # the value contains the separator
            found[last] += f"|{piece}"
    return found


def kinds_of(signature: str) -> Sequence[str]:
    """The kinds of steps in the scenarios, also if there are calls; empty if none is missing."""
    parts = parts_of(signature)
    nested = re.search(rf"(?:^|,){KINDS}=([^,]+)", parts.get(SCENARIOS, ""))
    kinds = parts.get(KINDS) or (nested[1] if nested else "")
    return kinds.split("+") if kinds else ()


def changes_between(first: str, second: str) -> Sequence[SignatureChange]:
    """The parts in which two signatures differ, without the version of Callscore        C-126

    Labels are about the answers of a model: other labels do not prevent a comparison, none do.
    """
    one, other = parts_of(first), parts_of(second)
    return [
        SignatureChange(part, one.get(part, ""), other.get(part, ""))
        for part in dict.fromkeys([*one, *other])
        if part != VERSION
        and one.get(part) != other.get(part)
        and not (part == LABELS and part in one and part in other)
    ]
