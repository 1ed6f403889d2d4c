"""Answers to the four tasks without a model: noise for `simulated`, rules for `baseline`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from callscore.core.case import Prompt
from callscore.core.noise import FakeReply, JsonOutcome, Noise, objects_in, other_number
from callscore.metrics.keywords import occurs, overlap, sentiment, topic_words, words

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


Json = dict[str, Any]
ENOUGH = 1 / 3
"""The share of a question's words that must be spoken for it to count as met."""
HIGHLIGHTS = 3
LONGEST_QUOTE = 160


def answer(task: str, prompt: Prompt) -> FakeReply:
    """The answer to the prompt of a task, in the form of its schema."""
    document = _document(prompt)
    found = _RULES[task](_config(document), _turns(document))
    return FakeReply(msgspec.json.encode(_fit(found, prompt.schema)).decode())


def _document(prompt: Prompt) -> Json:
    """The JSON document in the last message; empty if there is none."""
    try:
        found = msgspec.json.decode(prompt.messages[-1].content)
    except (msgspec.MsgspecError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def _fit(value: Any, schema: Any) -> Any:
    """A value with the properties that a schema requires, blank if no rule sets them."""
    if not isinstance(schema, Mapping):
        return value
    if alternatives := schema.get("anyOf"):
        schema = alternatives[0]  # they differ in values, not in names
    if isinstance(members := schema.get("properties"), Mapping):
        given = value if isinstance(value, Mapping) else {}
        return {name: _fit(given.get(name), inner) for name, inner in members.items()}
    if schema.get("type") == "array":
        items = value if isinstance(value, list) else ()
        return [_fit(item, schema.get("items")) for item in items]
    return "" if isinstance(value, (dict, list)) else value


def _config(document: Json) -> Json:
    config = document.get("config")
    return config if isinstance(config, dict) else {}


def _turns(document: Json) -> list[Json]:
    turns = objects_in(document.get("transcript"))
    return [{**turn, "text": str(turn.get("text", ""))} for turn in turns]


def _answer_qa(config: Json, turns: list[Json]) -> Json:
    """A question is met if enough of its words are spoken; the reason quotes that turn."""
    return {"questions": [_answer_question(q, turns) for q in objects_in(config.get("questions"))]}


def _answer_question(question: Json, turns: list[Json]) -> Json:
    asked = str(question.get("question", ""))
    about = topic_words(asked)
    best = max(turns, key=lambda turn: overlap(about, turn["text"]), default={"text": ""})
    share = overlap(about, best["text"])
    highest = question.get("max_score")
    highest = highest if isinstance(highest, (int, float)) else 0
    score: float | None = highest if share >= ENOUGH else 0
    if asked.casefold().startswith(("if ", "si ")) and share < ENOUGH:
        score = None
    quote = f'{_clock(best)}"{best["text"][:LONGEST_QUOTE]}"'
    return {
        "question_id": question.get("question_id"),
        "score": score,
        "max_score": question.get("max_score"),
        "type": question.get("type"),
        "reason": quote if score else f"Nothing like it is said; the nearest is {quote}",
    }


def _clock(turn: Json) -> str:
    start = turn.get("start")
    return f"At {start}: " if isinstance(start, str) else ""


def _answer_entity(config: Json, turns: list[Json]) -> Json:
    """Keywords that are spoken; topics of which half of the words are."""
    spoken = words(" ".join(turn["text"] for turn in turns))
    everything = " ".join(spoken)
    keywords = _texts(config.get("keywords")) or _texts(config.get("entities"))
    topics = _texts(config.get("topics"))
    aliases = config.get("aliases")
    aliases = aliases if isinstance(aliases, dict) else {}
    return {
        "detected_keywords": [
            name
            for name in keywords
            if any(occurs(form, spoken) for form in (name, *_texts(aliases.get(name))))
        ],
        "detected_topics": [
            name for name in topics if overlap(topic_words(name), everything) >= 1 / 2
        ],
        "valid_entity_set": list(dict.fromkeys(keywords + topics)),
    }


def _answer_text(config: Json, turns: list[Json]) -> Json:
    """A label by positive and negative words, the first request as the purpose, turns with numbers
    as facts.
    """
    sentences = objects_in(config.get("sentences")) or turns
    labelled = [
        {
            "sentence_id": sentence.get("sentence_id", sentence.get("id")),
            "text": sentence.get("text"),
            "label": sentiment(str(sentence.get("text", ""))),
        }
        for sentence in sentences
    ]
    return {
        "sentiment": labelled,
        "summary": _answer_summary(config, turns),
        "emotion": _emotion_shares(config, [str(sentence["label"]) for sentence in labelled]),
    }


def _answer_summary(config: Json, turns: list[Json]) -> Json:
    texts = [turn["text"] for turn in turns]
    wishes = [turn["text"] for turn in turns if not _is_agent(turn)]
    facts = [text for text in texts if any(letter.isdigit() for letter in text)]
    return {
        "call_purpose": next(iter(wishes or texts), ""),
        "highlights": (facts or texts)[:HIGHLIGHTS],
        "call_extracted_info": dict.fromkeys(_texts(config.get("required_fields")), ""),
    }


def _is_agent(turn: Json) -> bool:
    return str(turn.get("speaker", "")).casefold().startswith(("agent", "asesor", "एजेंट"))


def _emotion_shares(config: Json, labels: list[str]) -> dict[str, int]:
    """Negative words are anger, positive words are joy, the rest is neutral; the shares add up to
    100.
    """
    emotions = _texts(config.get("emotions")) or ["neutral"]
    shares = dict.fromkeys(emotions, 0)
    for label, emotion in (("negative", "anger"), ("positive", "joy")):
        if emotion in shares and labels:
            shares[emotion] = 100 * labels.count(label) // len(labels)
    rest = "neutral" if "neutral" in shares else emotions[0]
    shares[rest] += 100 - sum(shares.values())
    return shares


def _answer_translation(config: Json, turns: list[Json]) -> Json:
    """The source text itself: shows what translating it adds."""
    sentences = objects_in(config.get("sentences")) or turns
    texts = [str(sentence.get("source_text", sentence.get("text", ""))) for sentence in sentences]
    spoken = words(" ".join(texts))
    return {
        "full_translation": "\n".join(texts),
        "sentence_translations": [
            {
                "source_id": sentence.get("source_id", sentence.get("id")),
                "source_text": text,
                "translated_text": text,
            }
            for sentence, text in zip(sentences, texts, strict=True)
        ],
        "domain_terms_handled": [
            {"term": term, "handled_as": term}
            for term in _texts(config.get("domain_terms"))
            if occurs(term, spoken)
        ],
        "named_entities_handled": [
            {"entity": name, "handled_as": name}
            for name in _texts(config.get("named_entities"))
            if occurs(name, spoken)
        ],
    }


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


_RULES: Mapping[str, Callable[[Json, list[Json]], Json]] = {
    "qa": _answer_qa,
    "entity": _answer_entity,
    "text": _answer_text,
    "translation": _answer_translation,
}
