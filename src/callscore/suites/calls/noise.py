"""How `simulated` degrades expected outcomes of the four tasks."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from callscore.core.noise import JsonOutcome, Noise, objects_in, other_number

_LABELS = ("positive", "neutral", "negative")
INVENTED_FACT = "A supervisor promised a credit of 750 by Friday"
INVENTED_QUOTE = ' At 58:41 the agent says "I have noted all of it for you".'
INVENTED_ENTITY = "loyalty platinum upgrade"


def _degrade_qa(outcome: JsonOutcome, noise: Noise) -> None:
    for question in objects_in(outcome.get("questions")):
        if noise.wrong():
            question["score"] = _other_score(question, noise.chance)
        if noise.missing():
            question["reason"] = ""
        if noise.fabricated():
            question["reason"] = f"{question.get('reason') or ''}{INVENTED_QUOTE}"


def _other_score(question: JsonOutcome, chance: random.Random) -> float:
    score, highest = question.get("score"), question.get("max_score")
    if not isinstance(highest, (int, float)):
        return 0
    if not isinstance(score, (int, float)):
        return highest
    if question.get("type") == "PASS_FAIL" or highest <= 1:
        return 0 if score else highest
    return chance.choice([mark for mark in range(int(highest) + 1) if mark != score])


def _degrade_entity(outcome: JsonOutcome, noise: Noise) -> None:
    configured = [name for name in outcome.get("valid_entity_set") or [] if isinstance(name, str)]
    for key in ("detected_keywords", "detected_topics"):
        found = outcome.get(key)
        if not isinstance(found, list):
            continue
        kept = noise.kept(found)
        others = [name for name in configured if name not in found]
        kept = [noise.chance.choice(others) if others and noise.wrong() else e for e in kept]
        if noise.fabricated():
            kept.append(INVENTED_ENTITY)
        outcome[key] = list(dict.fromkeys(kept)) if _all_text(kept) else kept


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _degrade_text(outcome: JsonOutcome, noise: Noise) -> None:
    sentiment = outcome.get("sentiment")
    if isinstance(sentiment, list):
        outcome["sentiment"] = noise.kept(sentiment)
        for sentence in objects_in(outcome["sentiment"]):
            if noise.wrong():
                others = [label for label in _LABELS if label != sentence.get("label")]
                sentence["label"] = noise.chance.choice(others)
    summary = outcome.get("summary")
    if isinstance(summary, dict):
        _degrade_summary(summary, noise)
    emotion = outcome.get("emotion")
    if isinstance(emotion, dict) and emotion and noise.wrong():
        shares = list(emotion.values())
        outcome["emotion"] = dict(zip(emotion, shares[1:] + shares[:1], strict=True))


def _degrade_summary(summary: JsonOutcome, noise: Noise) -> None:
    highlights = summary.get("highlights")
    if isinstance(highlights, list):
        kept = [other_number(h) if noise.wrong() else h for h in noise.kept(highlights)]
        summary["highlights"] = [*kept, INVENTED_FACT] if noise.fabricated() else kept
    known = summary.get("call_extracted_info")
    if isinstance(known, dict):
        for field in known:
            if noise.missing():
                known[field] = ""


def _degrade_translation(outcome: JsonOutcome, noise: Noise) -> None:
    sentences = outcome.get("sentence_translations")
    if not isinstance(sentences, list):
        return
    before = _join_sentences(outcome)
    outcome["sentence_translations"] = noise.kept(sentences)
    for sentence in objects_in(outcome["sentence_translations"]):
        text = sentence.get("translated_text")
        if noise.wrong():
            text = other_number(text)
        if noise.fabricated():
            text = f"{text} ({INVENTED_FACT})"
        sentence["translated_text"] = text
    after = _join_sentences(outcome)
    if after != before:
        outcome["full_translation"] = after
    for key in ("domain_terms_handled", "named_entities_handled"):
        if isinstance(outcome.get(key), list):
            outcome[key] = noise.kept(outcome[key])


def _join_sentences(outcome: JsonOutcome) -> str:
    sentences = objects_in(outcome["sentence_translations"])
    return "\n".join(str(sentence.get("translated_text")) for sentence in sentences)


DEGRADE: Mapping[str, Callable[[JsonOutcome, Noise], None]] = {
    "qa": _degrade_qa,
    "entity": _degrade_entity,
    "text": _degrade_text,
    "translation": _degrade_translation,
}
