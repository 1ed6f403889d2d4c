"""Random entity calls."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from random_calls.dice import (
    Json,
    Recipe,
    chance,
    choose_one,
    choose_some,
    perfect_answer,
    phrase,
    turns,
)

KNOWN = (
    *("refund", "Loan", "account_management", "KYC", "रिफंड", "café", "card block", "返金"),
    *("children's card", "फ़ोन", "plan 12"),
)
OTHER_LETTERS = str.maketrans({"'": "’", "1": "१", "2": "２", "़": ""})
"""Letters that people write in several ways, and one that they leave out (C-18)."""
ALIASES = {
    "refund": ["money return", "Reembolso"],
    "Loan": ["borrowed money"],
    "KYC": ["kyc check"],
}
SPOKEN = ("parcel", "voucher")
INVENTED = ("insurance", "spaceship", "बीमा", "warranty plan", "jetpack")
LISTS = ("detected_keywords", "detected_topics")


def _make(dice: Random, case_id: str) -> Json:
    configured = choose_some(dice, KNOWN, least=2)
    said = [*choose_some(dice, KNOWN), *choose_some(dice, SPOKEN)]
    case: Json = {
        "id": case_id,
        "task": "entity",
        "transcript": turns(dice, [f"{phrase(dice, 'en')}, {word}, please" for word in said]),
        "config": _config(dice, configured),
        "expected_outcome": {
            "detected_keywords": choose_some(dice, configured),
            "detected_topics": choose_some(dice, configured),
            "valid_entity_set": configured,
        },
    }
    if chance(dice, 0.5):
        case["lang"] = dice.choice(("hi", "en-GB", "x-unknown"))
    if chance(dice, 0.15):
        part = dice.choice((*LISTS, "valid_entity_set"))
        case["expected_parts"] = {part: "absent"}
        del case["expected_outcome"][part]
    return case


def _config(dice: Random, configured: list[str]) -> Json:
    config: Json = {}
    split = dice.randint(0, len(configured))
    how = dice.randint(0, 2)
    if how == 0:
        config = {"keywords": configured[:split], "topics": configured[split:]}
    elif how == 1:
        config = {"entities": configured}
    if chance(dice, 0.4):
        config["aliases"] = {name: ALIASES[name] for name in configured if name in ALIASES}
    if chance(dice, 0.5):
        config["entity_language"] = dice.choice(("en", "hi", dict.fromkeys(configured[1:], "en")))
    return config


def _mutate(dice: Random, case: Json, noise: float) -> Json:
    answer = perfect_answer(case)
    for name in LISTS:
        if name not in answer:
            continue
        answer[name] = [_respell(dice, case, form, noise) for form in answer[name]]
        answer[name] = [form for form in answer[name] if not chance(dice, noise)]
        while chance(dice, noise):
            answer[name].append(_extra_entity(dice, case))
        dice.shuffle(answer[name])
    return answer


def _respell(dice: Random, case: Json, form: str, noise: float) -> str:
    if not chance(dice, noise):
        return form
    aliases = case["config"].get("aliases", {}).get(form)
    if aliases and chance(dice, 0.5):
        return str(dice.choice(aliases))
    forms = (form.upper(), f" {form} ", form.replace("_", " "), f"{form}.")
    return dice.choice((*forms, form.translate(OTHER_LETTERS)))


def _extra_entity(dice: Random, case: Json) -> Any:
    configured = case["expected_outcome"].get("valid_entity_set") or ["refund"]
    pool = (*configured, *SPOKEN, *INVENTED, "REFUND", "", " - ", 7, None, True)
    return dice.choice(pool)


def _spoil(dice: Random, case: Json, answer: Json) -> Json | None:
    spoiled = copy.deepcopy(answer)
    expected = case["expected_outcome"]
    right = [
        (name, at)
        for name in LISTS
        if name in expected
        for at, form in enumerate(spoiled[name])
        if form in expected[name] and _is_unique(form, spoiled[name], case)
    ]
    place = choose_one(dice, right)
    if place is None:
        return None
    name, at = place
    wrong = [form for form in KNOWN if form not in expected[name]]
    spoiled[name][at] = dice.choice([*wrong, *INVENTED, *SPOKEN])
    return spoiled


def _is_unique(form: str, reported: list[Any], case: Json) -> bool:
    """Whether no other entry of the list means the same, so that changing this one is an error."""
    same = {_simplify(form), *map(_simplify, case["config"].get("aliases", {}).get(form, ()))}
    return sum(_simplify(entry) in same for entry in reported) == 1


def _simplify(entry: Any) -> str:
    return str(entry).translate(OTHER_LETTERS).casefold().strip(" .").replace("_", " ")


ENTITY = Recipe(_make, _mutate, _spoil)
