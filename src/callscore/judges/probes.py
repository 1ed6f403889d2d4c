"""Built-in cases with known verdicts, and changes of their items that test a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import resources

import msgspec

from callscore.core.case import JsonObject, Turn
from callscore.core.judging import JudgeRequest, Question
from callscore.judges.rubric import Library, Rubric

MASTER_KEYS = (":", ".", ",", "Thought process:", "Solution:", "Let's solve this step by step.")
FILLER = (
    " In this connection it should be added, for the sake of completeness, that the above is"
    " meant just as it stands and neither more nor less."
)


class ProbeItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item with its true verdict, and its variants."""

    metric: str
    rubric: str
    text: str
    truth: str
    reference: str = ""
    flipped: str = ""
    flipped_reference: str = ""
    rephrased: str = ""
    other_reference: str = ""


class ProbeCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call with its reference and items."""

    task: str
    turns: Sequence[Turn]
    expected_outcome: JsonObject
    items: Sequence[ProbeItem]


class _Probes(msgspec.Struct, frozen=True):
    cases: Sequence[ProbeCase]


Change = Callable[[ProbeItem], ProbeItem | None]
"""A variant of an item; None if the change does not apply."""


@lru_cache(maxsize=1)
def probe_cases() -> Sequence[ProbeCase]:
    """The cases that come with the package."""
    raw = (resources.files(__package__) / "probes.toml").read_bytes()
    return msgspec.toml.decode(raw, type=_Probes).cases


def probe_request(case: ProbeCase, items: Iterable[ProbeItem], library: Library) -> JudgeRequest:
    """A request with these items, named `probe:0`, `probe:1`, …"""
    questions = [
        Question(
            item.metric,
            f"probe:{number}",
            item.text,
            item.reference,
            tuple(library.rubrics[item.rubric].words),
        )
        for number, item in enumerate(items)
    ]
    return JudgeRequest(case.task, case.turns, {}, case.expected_outcome, questions)


def reverse_items(case: ProbeCase) -> ProbeCase:
    """The case with its items from last to first."""
    return msgspec.structs.replace(case, items=list(reversed(case.items)))


def add_markdown(item: ProbeItem) -> ProbeItem:
    """The same text with Markdown and blank lines around it."""
    return msgspec.structs.replace(item, text=f"\n\n- **{item.text}**\n\n")


def pad(item: ProbeItem, rubric: Rubric) -> ProbeItem | None:
    """An output's text that should not pass, with a neutral sentence after it."""
    if rubric.worth(item.truth) == 1 or not rubric.vain or rubric.name == "fluency":
        return None
    return msgspec.structs.replace(item, text=item.text + FILLER)


def rephrase(item: ProbeItem) -> ProbeItem | None:
    """The same meaning in other words."""
    return msgspec.structs.replace(item, text=item.rephrased) if item.rephrased else None


def flip(item: ProbeItem) -> ProbeItem | None:
    """The text, or what it is compared with, with another amount, name, date or outcome."""
    if item.flipped:
        return msgspec.structs.replace(item, text=item.flipped)
    if item.flipped_reference:
        return msgspec.structs.replace(item, reference=item.flipped_reference)
    return None


def swap_reference(item: ProbeItem) -> ProbeItem | None:
    """The same text compared with another reference."""
    if not item.other_reference:
        return None
    return msgspec.structs.replace(item, reference=item.other_reference)


def replace_text(item: ProbeItem, rubric: Rubric, phrase: str) -> ProbeItem | None:
    """The item with a phrase without content instead of the output's text."""
    return msgspec.structs.replace(item, text=phrase) if rubric.vain else None
