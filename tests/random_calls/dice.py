"""Dice, and the words that random calls are made of."""

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
"""Words of several scripts; none is a number in words, so that digits alone are facts."""


class Case(NamedTuple):
    """The recipe of one task: a case, an answer gone wrong, an answer with one right item spoiled.

    `spoiled` is None where the answer has no right item left.
    """

    make: Callable[[Random, str], Json]
    mutated: Callable[[Random, Json, float], Json]
    spoiled: Callable[[Random, Json, Json], Json | None]


def chance(dice: Random, probability: float) -> bool:
    """True with this probability; the lowest throw says no, so that shrinking makes less happen."""
    return dice.random() > 1 - probability


def some(dice: Random, things: Sequence[Thing], least: int = 0) -> list[Thing]:
    """Some of the things, in any order."""
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
    """The expected outcome, with a reason wherever the human left none."""
    answer: Json = copy.deepcopy(case["expected_outcome"])
    if case["task"] == "qa":
        for question in answer["questions"]:
            if "reason" in question and not question["reason"]:
                question["reason"] = "The agent said so in the opening words"
    return answer


def with_repeats(dice: Random, items: list[Json], noise: float, change: Json) -> list[Json]:
    """Some items again: the same once more, or contradicting themselves (C-19)."""
    repeated = []
    for item in items:
        if chance(dice, noise):
            repeated.append(dict(item) if chance(dice, 0.5) else item | change)
    return items + repeated


def unrepeated(items: Sequence[Json], id_key: str) -> list[tuple[int, Json]]:
    """The items whose id stands once, with their places: only these are surely right or wrong."""
    ids = [str(item[id_key]) for item in items]
    return [(at, item) for at, item in enumerate(items) if ids.count(ids[at]) == 1]


def place_of(dice: Random, places: Sequence[Thing]) -> Thing | None:
    """One of the places, None where there is none."""
    return dice.choice(list(places)) if places else None
