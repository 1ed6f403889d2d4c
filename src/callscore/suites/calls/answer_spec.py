"""What a prompt requests in one case: exactly what the reply is scored on (C-130).

The reference defines the items, the config their wording. Only names are taken from the reference:
ids, source texts, scales, fields, emotions and the list of entities; never a value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, JsonObject, turns
from callscore.core.suite import DataNames
from callscore.metrics.text import item_id

CONFIG_KEYS = frozenset(
    (
        "questions",
        "keywords",
        "topics",
        "entities",
        "aliases",
        "entity_language",
        "sentences",
        "required_fields",
        "emotions",
        "domain_terms",
        "named_entities",
        "critical_facts",
        "instructions",
        "source_language",
        "target_language",
    )
)
"""The known keys of a config (C-123)."""
SAMPLE_EMOTIONS = ("anger", "neutral", "joy", "fear", "sadness")
"""The emotions of the framework's sample, if neither config nor data set names any (C-25)."""


class _EmotionOfOutcome(msgspec.Struct, gc=False):
    emotion: dict[str, Any] = {}


class _EmotionOfCase(msgspec.Struct, gc=False):
    expected_outcome: _EmotionOfOutcome


_EMOTION = msgspec.json.Decoder(_EmotionOfCase)


def emotion_names(line: bytes) -> Collection[str]:
    """The emotions that the reference on a line of a case file names."""
    if b'"emotion"' not in line:
        return ()
    try:
        return _EMOTION.decode(line).expected_outcome.emotion
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()


def texts(value: object) -> tuple[str, ...]:
    """The strings of a list, each once; empty if it is not a list."""
    items = value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(item for item in items if isinstance(item, str) and item.strip()))


def asked_emotions(config: JsonObject, of_data: DataNames) -> Sequence[str]:
    """config.emotions, else those of the data set, else those of the sample        C-25, C-130"""
    given = texts(config.get("emotions"))
    return given or in_known_order(of_data()) or SAMPLE_EMOTIONS


def in_known_order(emotions: Sequence[str]) -> Sequence[str]:
    """In the order of the sample, then the others: the order of the cases does not matter."""
    others = sorted(set(emotions) - set(SAMPLE_EMOTIONS))
    return (*(name for name in SAMPLE_EMOTIONS if name in emotions), *others)


def asked_fields(case: Case) -> Sequence[str]:
    """config.required_fields, and the fields of the expected summary that it leaves out    C-130"""
    summary = case.expected_outcome.get("summary")
    known = summary.get("call_extracted_info") if isinstance(summary, dict) else None
    known = known if isinstance(known, dict) else {}
    return tuple(dict.fromkeys((*texts(case.config.get("required_fields")), *known)))


def asked_sentences(
    case: Case, part: str, id_key: str, text_key: str
) -> Sequence[JsonObject] | None:
    """The sentences of the reference by id and source text; None if they are the turns.

    A sentence with the same id in the config is worded as there.
    """
    given = _by_id(case.config.get("sentences"), (id_key, "id"))
    spoken = {item_id(turn.id): turn.text for turn in turns(case.transcript)}
    asked: list[JsonObject] = []
    for item in objects(case.expected_outcome.get(part)):
        key = item_id(item.get(id_key))
        own = given.get(key, {})
        read = (own.get("text"), own.get(text_key), item.get(text_key), spoken.get(key))
        text = next((one for one in read if isinstance(one, str) and one.strip()), "")
        others = {name: own[name] for name in own if name not in ("id", "text")}
        asked.append({**others, id_key: item.get(id_key), text_key: text})
    as_turns = [(item_id(item[id_key]), item[text_key]) for item in asked]
    return None if as_turns == list(spoken.items()) else asked


def asked_questions(case: Case) -> Sequence[JsonObject]:
    """The questions of the expected form, as the config words them, on the expected scale  C-130"""
    given = _by_id(case.config.get("questions"), ("question_id",))
    asked: list[JsonObject] = []
    for item in objects(case.expected_outcome.get("questions")):
        names = {key: item[key] for key in _OF_QUESTION if key in item}
        asked.append({**given.get(item_id(item.get("question_id")), {}), **names})
    return asked


_OF_QUESTION = ("question_id", "question", "max_score", "type")
"""The keys of an expected question that do not give the answer away."""


def _by_id(items: object, keys: Sequence[str]) -> Mapping[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for item in objects(items):
        key = next((item[key] for key in keys if key in item), None)
        if key is not None:
            found.setdefault(item_id(key), item)
    return found


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; empty if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
