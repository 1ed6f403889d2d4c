"""Answers of people checked, compared, and made into the expected outcome of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import turns
from callscore.core.errors import DataError
from callscore.labelling.items import NOT_APPLICABLE, Call, LabelItem

Key = tuple[str, str, str]


class Given(msgspec.Struct, frozen=True):
    """What a person answered to one item."""

    answer: str
    comment: str = ""


Answers = Mapping[Key, Given]


def read_answers(rows: Iterable[tuple[Mapping[str, str], str]]) -> dict[Key, Given]:
    """The answers of a filled-in sheet: rows by column name, each with its place."""
    found: dict[Key, Given] = {}
    for row, place in rows:
        missing = [name for name in ("call_id", "part", "item", "answer") if name not in row]
        if missing:
            raise DataError(
                f"has no column {missing[0]!r}; expected a sheet of `callscore annotate --sheet`",
                place=place,
            )
        key = (row["call_id"], row["part"], row["item"])
        if not row["answer"].strip():
            continue
        if key in found and found[key].answer != row["answer"]:
            raise DataError(f"item {key[2]!r} of call {key[0]!r} is answered twice", place=place)
        found[key] = Given(row["answer"].strip(), row.get("comment", "").strip())
    return found


def checked_answer(item: LabelItem, answer: str) -> str:
    """The answer as its option is written; raises DataError for anything else."""
    if not item.options:
        return answer
    for option in item.options:
        if option.casefold() == answer.strip().casefold():
            return option
    raise DataError(
        f"{answer!r} is no answer; expected one of {', '.join(item.options)}",
        field=f"{item.part}.{item.item}",
        case_id=item.call_id,
    )


def open_items(items: Sequence[LabelItem], answers: Answers) -> list[LabelItem]:
    """The items without an answer that need one."""
    return [item for item in items if item.required and item.key not in answers]


def expected_outcome(
    task: str, call: Call, items: Sequence[LabelItem], answers: Answers, config: Mapping[str, Any]
) -> dict[str, Any]:
    """The expected outcome that the answers make; every required item must have one."""
    given = {
        (item.part, item.item): Given(
            checked_answer(item, answers[item.key].answer), answers[item.key].comment
        )
        for item in items
        if item.key in answers
    }
    return _MAKING[task](call, given, config)


_Found = Mapping[tuple[str, str], Given]


def _qa(call: Call, given: _Found, config: Mapping[str, Any]) -> dict[str, Any]:
    questions = []
    for question in config["questions"]:
        mark = given["questions", str(question["question_id"])]
        questions.append(
            {
                "question_id": question["question_id"],
                "score": _mark(mark.answer, question, call),
                "max_score": question["max_score"],
                "type": question["type"],
                "reason": mark.comment,
            }
        )
    return {"questions": questions}


def _mark(answer: str, question: Mapping[str, Any], call: Call) -> float | None:
    if answer.casefold() == NOT_APPLICABLE.casefold():
        return None
    most = float(question["max_score"])
    if question["type"] == "PASS_FAIL":
        return most if answer.casefold() == "yes" else 0.0
    return _number(answer, call, f"questions.{question['question_id']}", most)


def _number(answer: str, call: Call, field: str, most: float) -> float:
    try:
        value = float(answer.replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise DataError(
            f"{answer!r}; expected a number from 0 to {most:g}", field=field, case_id=call.name
        )
    return value


def _entity(call: Call, given: _Found, config: Mapping[str, Any]) -> dict[str, Any]:
    del call
    present = {
        part: [
            name
            for name in config.get(part) or ()
            if given[part, str(name)].answer.casefold() == "yes"
        ]
        for part in ("keywords", "topics")
    }
    return {
        "detected_keywords": present["keywords"],
        "detected_topics": present["topics"],
        "valid_entity_set": [*present["keywords"], *present["topics"]],
    }


def _text(call: Call, given: _Found, config: Mapping[str, Any]) -> dict[str, Any]:
    sentiment = [
        {
            "sentence_id": turn.id,
            "text": turn.text,
            "label": given["sentiment", str(turn.id)].answer,
        }
        for turn in turns(call.transcript)
    ]
    highlights = given["summary", "highlights"].answer.replace(";", "\n").split("\n")
    emotions = {
        item: _number(answer.answer, call, f"emotion.{item}", 100.0)
        for (part, item), answer in given.items()
        if part == "emotion"
    }
    outcome: dict[str, Any] = {
        "sentiment": sentiment,
        "summary": {
            "call_purpose": given["summary", "call_purpose"].answer,
            "highlights": [line.strip() for line in highlights if line.strip()],
            "call_extracted_info": {
                field: given["fields", field].answer if ("fields", field) in given else ""
                for field in map(str, config.get("required_fields") or ())
            },
        },
    }
    if emotions:
        outcome["emotion"] = emotions
    return outcome


def _translation(call: Call, given: _Found, config: Mapping[str, Any]) -> dict[str, Any]:
    sentences = [
        {
            "source_id": turn.id,
            "source_text": turn.text,
            "translated_text": given["sentences", str(turn.id)].answer,
        }
        for turn in turns(call.transcript)
    ]
    handled = {
        part: [
            {name: item, "handled_as": given[part, item].answer}
            for item in map(str, config.get(key) or ())
            if (part, item) in given
        ]
        for part, key, name in (
            ("terms", "domain_terms", "term"),
            ("names", "named_entities", "entity"),
        )
    }
    return {
        "full_translation": " ".join(str(one["translated_text"]) for one in sentences),
        "sentence_translations": sentences,
        "domain_terms_handled": handled["terms"],
        "named_entities_handled": handled["names"],
    }


_MAKING: Mapping[str, Callable[[Call, _Found, Mapping[str, Any]], dict[str, Any]]] = {
    "qa": _qa,
    "entity": _entity,
    "text": _text,
    "translation": _translation,
}


class Disagreement(msgspec.Struct, frozen=True):
    """An item that two people answered differently."""

    item: LabelItem
    answers: Sequence[str]


def compare_answers(
    items: Sequence[LabelItem], sheets: Sequence[Answers]
) -> tuple[dict[Key, Given], list[Disagreement], list[tuple[str, str]]]:
    """What several people agree on, where they differ, and the pairs of their answers.

    Only items with options can be agreed on; of free text the first answer is taken.
    """
    agreed: dict[Key, Given] = {}
    differing: list[Disagreement] = []
    pairs: list[tuple[str, str]] = []
    for item in items:
        given = [sheet[item.key] for sheet in sheets if item.key in sheet]
        if not given:
            continue
        words = [checked_answer(item, one.answer) for one in given]
        if item.options and len(words) > 1:
            pairs += [(words[0], word) for word in words[1:]]
        if item.options and len(set(words)) > 1:
            differing.append(Disagreement(item, words))
        else:
            agreed[item.key] = given[0]
    return agreed, differing, pairs
