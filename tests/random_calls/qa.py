"""Random QA forms."""

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

SCALES = (1, 2, 3, 4, 5, 10, 2.5)
REASONS = ("", "n/a", "At 00:12.", None, "WRONG: it was said", "The agent greeted the customer", 7)


def _make(dice: Random, case_id: str) -> Json:
    questions = [_question(dice, number) for number in range(1, dice.randint(2, 7))]
    case: Json = {
        "id": case_id,
        "task": "qa",
        "transcript": turns(dice, [phrase(dice, "en") for _ in range(3)]),
        "config": {},
        "expected_outcome": {"questions": questions},
    }
    if chance(dice, 0.1):
        case["expected_parts"] = {"reason": "absent", "summary": "see the notes"}
        if chance(dice, 0.5):
            for question in questions:
                del question["reason"]
    return case


def _question(dice: Random, number: int) -> Json:
    is_pass_fail = chance(dice, 0.5)
    maximum = dice.choice(SCALES)
    score: float | None = dice.choice((0, maximum))
    if not is_pass_fail:
        score = dice.randint(0, int(2 * maximum)) / 2
    if chance(dice, 0.1):
        score = None
    return {
        "question_id": number if chance(dice, 0.3) else f"Q{number}",
        "score": score,
        "max_score": maximum,
        "type": "PASS_FAIL" if is_pass_fail else "SCORE",
        "reason": "" if chance(dice, 0.2) else f"Agent said {phrase(dice, 'en')} in turn {number}",
    }


def _mutate(dice: Random, case: Json, noise: float) -> Json:
    items: list[Json] = []
    for question in perfect_answer(case)["questions"]:
        if not chance(dice, noise):
            items.append(question)
        elif not chance(dice, 0.2):
            items.append(_change_question(dice, question))
    items = add_repeats(dice, items, noise / 3, {"score": dice.choice((0, 1, True))})
    if chance(dice, noise):
        keys = case["expected_outcome"]["questions"][0]
        items.append({key: value for key, value in _question(dice, 99).items() if key in keys})
    dice.shuffle(items)
    return {"questions": items}


def _change_question(dice: Random, question: Json) -> Json:
    maximum, score = question["max_score"], question["score"] or 0
    given: tuple[Any, ...] = (
        *(0, maximum, maximum / 2, maximum + 1, -1, True, None, str(maximum)),
        *(score + maximum / 10, score - maximum / 10, score - maximum / 5),
    )
    change = dice.choice(("score", "score", "max_score", "type", "reason", "question_id"))
    if change == "reason" and "reason" in question:
        return question | {"reason": dice.choice(REASONS)}
    if change == "max_score":
        return question | {"max_score": dice.choice((maximum * 2, 1, None, "5"))}
    if change == "type":
        return question | {"type": dice.choice(("SCORE", "PASS_FAIL", None))}
    if change == "question_id":
        return question | {"question_id": str(question["question_id"])}
    return question | {"score": dice.choice(given)}


def _spoil(dice: Random, case: Json, answer: Json) -> Json | None:
    spoiled = copy.deepcopy(answer)
    items = spoiled["questions"]
    expected = {str(q["question_id"]): q for q in case["expected_outcome"]["questions"]}
    right = [at for at, item in unique_items(items, "question_id") if _is_right(item, expected)]
    at = choose_one(dice, right)
    if at is None:
        return None
    question = items[at]
    maximum, score = question["max_score"], question["score"]
    far = maximum if score < maximum / 2 else 0
    how = dice.choice(("score", "null", "drop", "reason"))
    if how == "drop":
        del items[at]
    elif how == "reason" and "reason" in question:
        question["reason"] = "WRONG: nobody knows"
    else:
        question["score"] = None if how == "null" else far
    return spoiled


def _is_right(item: Json, expected: dict[str, Json]) -> bool:
    question = expected.get(str(item["question_id"]))
    return (
        question is not None
        and question["score"] is not None
        and item["score"] is not True
        and (item["score"], item["max_score"]) == (question["score"], question["max_score"])
    )


QA = Recipe(_make, _mutate, _spoil)
