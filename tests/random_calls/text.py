"""Random text calls: sentiment, summary, emotion."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from random_calls.dice import (
    Json,
    Recipe,
    add_repeats,
    chance,
    choose_one,
    perfect_answer,
    phrase,
    turns,
    unique_items,
)

CLASSES = ("positive", "neutral", "negative")
FIELDS = ("customer_name", "issue_type", "resolution", "follow_up")
EMOTIONS = ("anger", "joy", "fear", "neutral", "sadness")
ABSENT = ("sentiment", "summary", "emotion", "highlights", "call_purpose", "call_extracted_info")
LABELS = (*CLASSES, "Negative", " neutral.", "angry", "", None, 5, True)


def _make(dice: Random, case_id: str) -> Json:
    language = dice.choice(("en", "es", "hi", "el"))
    outcome: Json = {
        "sentiment": _sentences(dice, language),
        "summary": _summary(dice, language),
        "emotion": _emotion(dice),
    }
    case: Json = {
        "id": case_id,
        "task": "text",
        "transcript": turns(dice, [phrase(dice, language) for _ in range(3)]),
        "config": {"emotions": list(EMOTIONS)} if chance(dice, 0.3) else {},
        "expected_outcome": outcome,
    }
    if chance(dice, 0.2):
        part = dice.choice(ABSENT)
        case["expected_parts"] = {part: "absent"}
        outcome.pop(part, None)
        outcome.get("summary", {}).pop(part, None)
    return case


def _sentences(dice: Random, language: str) -> list[Json]:
    return [
        {
            "sentence_id": number if chance(dice, 0.7) else f"s{number}",
            "text": phrase(dice, language),
            "label": None if chance(dice, 0.1) else dice.choice(CLASSES),
        }
        for number in range(1, dice.randint(2, 9))
    ]


def _summary(dice: Random, language: str) -> Json:
    said = [f"{phrase(dice, language)} {mark}" for mark in "ABC"[: dice.randint(0, 3)]]
    if chance(dice, 0.1):
        said.append(" - ")
    filled = {name: f"{phrase(dice, language)} {name}" for name in FIELDS}
    for name in FIELDS:
        if chance(dice, 0.2):
            filled[name] = dice.choice(("", "N/A", "unknown"))
    return {
        "call_purpose": f"purpose {phrase(dice, language)}",
        "highlights": said,
        "call_extracted_info": filled,
    }


def _emotion(dice: Random) -> Json:
    names = EMOTIONS[: dice.randint(2, 5)]
    shares: Json = {name: dice.choice((0, 10, 20, 30, 0.5)) for name in names}
    shares[dice.choice(names)] = 30
    return shares


def _mutate(dice: Random, case: Json, noise: float) -> Json:
    answer = perfect_answer(case)
    if "sentiment" in answer:
        answer["sentiment"] = _mutate_sentences(dice, answer["sentiment"], noise)
    if "summary" in answer:
        _mutate_summary(dice, answer["summary"], noise)
    if "emotion" in answer and "emotions" in case["config"] and chance(dice, 0.5):
        answer["emotion"] = {**dict.fromkeys(EMOTIONS, 0), **answer["emotion"]}
    for name in answer.get("emotion", ()):
        if chance(dice, noise):
            answer["emotion"][name] = dice.choice((0, 30, 60, 0.5, -1, "60", None, True))
    return answer


def _mutate_sentences(dice: Random, items: list[Json], noise: float) -> list[Json]:
    kept = [item for item in items if not chance(dice, noise / 4)]
    for item in kept:
        if chance(dice, noise):
            item["label"] = dice.choice(LABELS)
        if chance(dice, noise):
            item["sentence_id"] = str(item["sentence_id"])
    kept = add_repeats(dice, kept, noise / 4, {"label": dice.choice(CLASSES)})
    if chance(dice, noise):
        kept.append({"sentence_id": 99, "text": "", "label": "neutral"})
    dice.shuffle(kept)
    return kept


def _mutate_summary(dice: Random, summary: Json, noise: float) -> None:
    purpose = summary.get("call_purpose")
    if purpose is not None and chance(dice, noise):
        other: tuple[Any, ...] = (
            purpose.upper(),
            f"{purpose}.",
            "another goal",
            "",
            None,
            3,
            " - ",
        )
        summary["call_purpose"] = dice.choice(other)
    if "highlights" in summary:
        kept = [text for text in summary["highlights"] if not chance(dice, noise)]
        while chance(dice, noise):
            kept.append(dice.choice(("said something else", "Paid a visit", "", "none", 7, None)))
        dice.shuffle(kept)
        summary["highlights"] = kept
    fields = summary.get("call_extracted_info", {})
    for name in list(fields):
        if chance(dice, noise):
            fields[name] = dice.choice(("", None, "n/a", 0, False, "made up", "in other words"))
        if chance(dice, noise / 2):
            del fields[name]


def _spoil(dice: Random, case: Json, answer: Json) -> Json | None:
    spoiled = copy.deepcopy(answer)
    place = choose_one(dice, _right_parts(case["expected_outcome"], spoiled))
    if place is None:
        return None
    where, key = place
    if where == "label":
        items = spoiled["sentiment"]
        wrong = [name for name in CLASSES if name != items[key]["label"]]
        items[key]["label"] = dice.choice([*wrong, "angry", None, ""])
    elif where == "purpose":
        spoiled["summary"]["call_purpose"] = dice.choice(("WRONG goal", "", None))
    elif where == "highlight":
        spoiled["summary"]["highlights"][key] = dice.choice(("WRONG fact", 5))
    elif where == "field":
        spoiled["summary"]["call_extracted_info"][key] = dice.choice(("WRONG value", "", "n/a"))
    else:
        wrong = [name for name in case["expected_outcome"]["emotion"] if name not in key]
        spoiled["emotion"][dice.choice(wrong)] = 1000
    return spoiled


def _right_parts(expected: Json, answer: Json) -> list[tuple[str, Any]]:
    labels = {str(s["sentence_id"]): s["label"] for s in expected.get("sentiment", ())}
    right: list[tuple[str, Any]] = [
        ("label", at)
        for at, item in unique_items(answer.get("sentiment", ()), "sentence_id")
        if item["label"] is not None and item["label"] == labels.get(str(item["sentence_id"]))
    ]
    wanted, given = expected.get("summary", {}), answer.get("summary", {})
    if "call_purpose" in wanted and given["call_purpose"] == wanted["call_purpose"]:
        right.append(("purpose", ""))
    highlights = wanted.get("highlights", ())
    right += [
        ("highlight", at)
        for at, text in enumerate(given.get("highlights", ()))
        if text in highlights and text != " - "
    ]
    fields = given.get("call_extracted_info", {})
    right += [
        ("field", name)
        for name, value in wanted.get("call_extracted_info", {}).items()
        if value not in ("", "N/A", "unknown") and fields.get(name) == value
    ]
    tops = _top_emotions(expected.get("emotion", {}))
    if tops and len(tops) < len(expected["emotion"]) and tops == _top_emotions(answer["emotion"]):
        right.append(("emotion", tops))
    return right


def _top_emotions(shares: Json) -> list[str]:
    numbers = {n: s for n, s in shares.items() if isinstance(s, (int, float)) and s is not True}
    return sorted(n for n, s in numbers.items() if s == max(numbers.values()) and s > 0)


TEXT = Recipe(_make, _mutate, _spoil)
