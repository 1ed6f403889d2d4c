"""Random choices, and the words in random calls."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

Json = dict[str, Any]
Thing = TypeVar("Thing")

WORDS: dict[str, tuple[str, ...]] = {
    "en": ("agent", "customer", "account", "payment", "quickly", "delivery", "thanks", "blue"),
    "es": ("agente", "cliente", "factura", "señal", "rápido", "envío", "gracias", "canción"),
    "hi": ("एजेंट", "ग्राहक", "खाता", "भुगतान", "धन्यवाद", "शिकायत", "जानकारी", "कार्ड"),
    "el": ("πελάτης", "λογαριασμός", "πληρωμή", "γρήγορα", "ευχαριστώ", "κάρτα"),
}
"""Words of several scripts; none is a number in words, so only digits are facts."""


class Recipe(NamedTuple):
    """The functions of one task: make a case, add random errors, make one right item wrong.

    `spoil` returns None if the answer has no right item.
    """

    make: Callable[[Random, str], Json]
    mutate: Callable[[Random, Json, float], Json]
    spoil: Callable[[Random, Json, Json], Json | None]


def chance(dice: Random, probability: float) -> bool:
    """True with this probability; the lowest draw is False, so shrinking causes fewer events."""
    return dice.random() > 1 - probability


def choose_some(dice: Random, things: Sequence[Thing], least: int = 0) -> list[Thing]:
    """Choose at least `least` of the things, in random order."""
    return dice.sample(list(things), dice.randint(min(least, len(things)), len(things)))


def phrase(dice: Random, language: str, longest: int = 4) -> str:
    """A few words of a language."""
    return " ".join(dice.choice(WORDS[language]) for _ in range(dice.randint(1, longest)))


def turns(dice: Random, texts: Sequence[str]) -> Any:
    """A transcript in either of its forms."""
    if chance(dice, 0.5):
        return "\n".join(f"[00:{at:02}] Agent: {text}" for at, text in enumerate(texts))
    return [{"id": at, "speaker": "agent", "text": text} for at, text in enumerate(texts)]


def perfect_answer(case: Json) -> Json:
    """The expected outcome, with a reason where the human gave none."""
    answer: Json = copy.deepcopy(case["expected_outcome"])
    if case["task"] == "qa":
        for question in answer["questions"]:
            if "reason" in question and not question["reason"]:
                question["reason"] = "The agent said so in the opening words"
    return answer


def add_repeats(dice: Random, items: list[Json], noise: float, change: Json) -> list[Json]:
    """Repeat some items, either unchanged or with a contradiction (C-19)."""
    repeated = []
    for item in items:
        if chance(dice, noise):
            repeated.append(dict(item) if chance(dice, 0.5) else item | change)
    return items + repeated


def unique_items(items: Sequence[Json], id_key: str) -> list[tuple[int, Json]]:
    """The items whose id occurs once, with their index: only these are certainly right or wrong."""
    ids = [str(item[id_key]) for item in items]
    return [(at, item) for at, item in enumerate(items) if ids.count(ids[at]) == 1]


def choose_one(dice: Random, things: Sequence[Thing]) -> Thing | None:
    """One of the things; None if there are none."""
    return dice.choice(list(things)) if things else None
