"""Random translations: sentences with terms, names and numbers in several scripts."""

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

TERMS = ("KYC", "PrepaidPlus", "सिमकार्ड", "FlexiPlan")
NOUNS = ("Marta", "प्रिया शर्मा", "Łódź", "Ravindra", "O'Brien")
OUTCOMES = ("supervisor informed", "ticket closed")
TERM_LIST, NOUN_LIST = "domain_terms_handled", "named_entities_handled"


def _make_case(dice: Random, case_id: str) -> Json:
    language = dice.choice(("es", "hi", "el"))
    sentences, facts = [], []
    terms, nouns = set(), set()
    for number in range(1, dice.randint(2, 7)):
        words, inserted = phrase(dice, language).split(), []
        if chance(dice, 0.3):
            inserted.append(dice.choice(TERMS))
            terms.add(inserted[-1])
        if chance(dice, 0.3):
            inserted.append(dice.choice(NOUNS))
            nouns.add(inserted[-1])
        if chance(dice, 0.4):
            inserted.append(str(100 * number + dice.randint(11, 99)))
            facts.append(inserted[-1])
        if chance(dice, 0.1):
            inserted.append(OUTCOMES[number % 2])
            facts.append(inserted[-1])
        for word in inserted:
            words.insert(dice.randint(0, len(words)), word)
        sentences.append(_sentence(dice, number, words, inserted))
    case = _translation_case(dice, case_id, sentences, language)
    outcome = case["expected_outcome"]
    outcome[TERM_LIST] = [{"term": term, "handled_as": term} for term in sorted(terms)]
    outcome[NOUN_LIST] = [{"entity": f"{n} (en)", "handled_as": n} for n in sorted(nouns)]
    _annotate(dice, case, facts)
    return case


def _sentence(dice: Random, number: int, words: list[str], inserted: list[str]) -> Json:
    translated = " ".join(words)
    return {
        "source_id": number if chance(dice, 0.7) else f"s{number}",
        "source_text": translated if chance(dice, 0.1) else " ".join(("the", "source", *inserted)),
        "translated_text": translated,
    }


def _translation_case(dice: Random, case_id: str, sentences: list[Json], language: str) -> Json:
    return {
        "id": case_id,
        "task": "translation",
        "lang": "en",
        "transcript": turns(dice, [sentence["source_text"] for sentence in sentences]),
        "config": {"source_language": "en", "target_language": language},
        "expected_outcome": {
            "full_translation": " ".join(sentence["translated_text"] for sentence in sentences),
            "sentence_translations": sentences,
        },
    }


def _annotate(dice: Random, case: Json, facts: list[str]) -> None:
    given = [{"fact": f"{fact} in English", "expected": fact} for fact in facts]
    if not chance(dice, 0.1):  # if none are listed, code finds the numbers (C-74)
        case["annotations"] = {"critical_facts": facts if chance(dice, 0.5) else given}
    if chance(dice, 0.1):
        case["expected_outcome"][TERM_LIST].append({"term": "IBAN", "handled_as": "IBAN-code"})
    if chance(dice, 0.15):
        part = dice.choice((TERM_LIST, NOUN_LIST, "full_translation", "sentence_translations"))
        case["expected_parts"] = {part: "absent"}
        del case["expected_outcome"][part]


def _mutate(dice: Random, case: Json, noise: float) -> Json:
    answer = perfect_answer(case)
    items: list[Json] = []
    for item in answer.get("sentence_translations", ()):
        if chance(dice, noise):
            item["translated_text"] = _reword(dice, item, noise)
        if not chance(dice, noise / 4):
            items.append(item)
    if "sentence_translations" in answer:
        items = add_repeats(dice, items, noise / 4, {"translated_text": "otra cosa"})
        if chance(dice, noise):
            items.append({"source_id": 99, "source_text": "", "translated_text": "de más"})
        dice.shuffle(items)
        answer["sentence_translations"] = items
    if chance(dice, noise) and "full_translation" in answer:
        answer["full_translation"] = dice.choice(("", None, 3))
    return answer


def _reword(dice: Random, item: Json, noise: float) -> Any:
    if chance(dice, 0.4):
        return dice.choice(
            ("", " ", "n/a", None, 7, item["source_text"], "source THE", "otra cosa")
        )
    words = []
    for word in item["translated_text"].split():
        if chance(dice, noise):
            words.append(_other_word(dice, word))
        else:
            words.append(word)
    added = f" bien {dice.randint(1011, 1099)}" if chance(dice, noise) else ""
    return " ".join(words) + added + dice.choice(("", " bien", "."))


def _other_word(dice: Random, word: str) -> str:
    if word.isdigit():
        return dice.choice(("mas", "975"))
    return dice.choice((word.lower(), word.upper(), f"{word}s", word.replace("'", "´"), "mas"))


def reword_outcomes(answer: Json) -> None:
    """Replace the outcomes of the call with other words."""
    for item in answer.get("sentence_translations", ()):
        for outcome in OUTCOMES:
            if isinstance(item["translated_text"], str):
                other = item["translated_text"].replace(outcome, "arreglado")
                item["translated_text"] = other


def _spoil(dice: Random, case: Json, answer: Json) -> Json | None:
    if "sentence_translations" not in answer:
        return None
    spoiled = copy.deepcopy(answer)
    items = spoiled["sentence_translations"]
    expected = {
        str(item["source_id"]): item["translated_text"]
        for item in case["expected_outcome"]["sentence_translations"]
    }
    index = choose_one(
        dice,
        [
            index
            for index, item in unique_items(items, "source_id")
            if item["translated_text"] == expected.get(str(item["source_id"]))
        ],
    )
    if index is None:
        return None
    replacement = dice.choice(("drop", "", None, "WRONG words"))
    if replacement == "drop":
        del items[index]
    else:
        items[index]["translated_text"] = replacement
    return spoiled


TRANSLATION = Recipe(_make_case, _mutate, _spoil)
