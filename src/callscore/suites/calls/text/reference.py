"""The expected outcome of a text case, checked and prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from callscore.core.case import Case, JsonObject
from callscore.core.errors import DataError
from callscore.metrics.text import n2
from callscore.suites.calls.items import (
    ItemFields,
    absent_parts,
    check_keys,
    expected_id,
    expected_list,
    is_empty,
)
from callscore.suites.calls.reply_parser import (
    AskedNames,
    Structure,
    StructureSources,
    no_asked_names,
    structure_of,
)
from callscore.suites.calls.text.claims import Claim, claim_forms
from callscore.suites.calls.text.measures import CLASSES, top_emotions

PARTS = ("sentiment", "summary", "emotion")
SENTENCE_FIELDS = ("sentence_id", "text", "label")
SENTENCE_KEYS = frozenset(SENTENCE_FIELDS)
SUMMARY_KEYS = ("call_purpose", "highlights", "call_extracted_info")
SAMPLE_ITEMS = {"sentiment": SENTENCE_KEYS}

_SENTIMENT = ("text.sentiment_accuracy", "text.sentiment_macro_f1", "text.missing_labels")
_HIGHLIGHTS = ("text.highlight_recall", "text.highlight_correctness")
_FACTS = ("text.fabrication_free", "text.hallucination_rate")
METRICS_OF_PART: Mapping[str, Sequence[str]] = {
    "sentiment": _SENTIMENT,
    "sentence_id": _SENTIMENT,
    "label": _SENTIMENT,
    "summary": ("text.call_intent", *_HIGHLIGHTS, "text.field_presence", *_FACTS),
    "call_purpose": ("text.call_intent",),
    "highlights": _HIGHLIGHTS,
    "call_extracted_info": ("text.field_presence",),
    "emotion": ("text.dominant_emotion",),
}
"""Metrics that cannot be measured if the reference declares a part absent (C-127)."""

_SENTIMENT_PATH = "expected_outcome.sentiment"
_SUMMARY = "expected_outcome.summary"
_form = attrgetter("form")
_SENTENCES = ItemFields(*SENTENCE_FIELDS)
_KINDS = (("call_purpose", str, "text"), ("call_extracted_info", dict, "an object"))


class LabelledSentence(msgspec.Struct, frozen=True, gc=False):
    """One expected sentence; without a label it is not counted (C-50)."""

    text: str | None
    label: str | None


class TextReference(msgspec.Struct, frozen=True):
    """The expected sentences, summary and emotion, and the structure that replies must have."""

    case: Case
    structure: Structure
    absent: frozenset[str]
    """Slugs of the metrics that this case cannot measure."""
    sentences: Mapping[str, LabelledSentence]
    purpose: str
    highlights: Sequence[Claim]
    required_fields: Sequence[str]
    highlight_forms: frozenset[str]
    claim_forms: frozenset[str]
    """Everything that the expected summary states, under N2."""
    emotions: Sequence[str]
    top_emotions: frozenset[str]


def read_reference(
    case: Case, sources: StructureSources, asked_names: AskedNames = no_asked_names
) -> TextReference:
    """The expected outcome of a case; raises DataError (C-20)."""
    expected = case.expected_outcome
    check_keys(expected, PARTS, case)
    parts = absent_parts(case)
    absent = _unmeasurable_metrics(parts) if parts else parts
    emotions: Sequence[str] = ()
    top: frozenset[str] = frozenset()
    if "emotion" not in parts:
        emotions, top = _emotion(expected["emotion"], parts)
    summary = {} if "summary" in parts else _summary(expected["summary"], case)
    highlights = _highlights(summary, case) if summary else []
    return TextReference(
        case=case,
        structure=structure_of(case, sources, asked_names),
        absent=absent,
        sentences={} if "text.missing_labels" in absent else _sentences(expected, case),
        purpose="" if "text.call_intent" in absent else summary["call_purpose"],
        highlights=highlights,
        required_fields=[] if "text.field_presence" in absent else _required_fields(summary, parts),
        highlight_forms=frozenset(map(_form, highlights)),
        claim_forms=claim_forms(summary),
        emotions=emotions,
        top_emotions=top,
    )


def _unmeasurable_metrics(absent: frozenset[str]) -> frozenset[str]:
    return frozenset([slug for part in absent for slug in METRICS_OF_PART.get(part, ())])


def _sentences(expected: JsonObject, case: Case) -> Mapping[str, LabelledSentence]:
    sentences: dict[str, LabelledSentence] = {}
    items = expected_list(expected, "sentiment", case)
    for index, (given_id, text, label) in enumerate(_SENTENCES.read(items, case, _SENTIMENT_PATH)):
        key = expected_id(given_id, "sentence_id", _SENTIMENT_PATH, index)
        if key in sentences:
            raise DataError(
                f"the id {key!r} appears twice; expected unique ids",
                field=f"{_SENTIMENT_PATH}[{index}].sentence_id",
            )
        sentences[key] = LabelledSentence(
            text if isinstance(text, str) else None,
            label if label is None or label in CLASSES else _label(label, index),
        )
    return sentences


def _label(given: object, index: int) -> str:
    label = n2(given) if isinstance(given, str) else ""
    if label not in CLASSES:
        raise DataError(
            f"{given!r} is not a label; expected null or one of {', '.join(CLASSES)}",
            field=f"{_SENTIMENT_PATH}[{index}].label",
        )
    return label


def _summary(summary: Any, case: Case) -> Mapping[str, Any]:
    check_keys(summary, SUMMARY_KEYS, case, _SUMMARY)
    checked: Mapping[str, Any] = summary
    for key, kind, kind_name in _KINDS:
        if not isinstance(summary.get(key), kind) and not case.is_absent(key):
            raise DataError(f"expected {kind_name}", field=f"{_SUMMARY}.{key}")
    return checked


def _highlights(summary: Mapping[str, Any], case: Case) -> list[Claim]:
    """The highlights that a reply must capture; empty ones are left out."""
    highlights: list[Claim] = []
    for index, text in enumerate(
        expected_list(summary, "highlights", case, path=_SUMMARY, filled=False)
    ):
        field = f"highlights[{index}]"
        if not isinstance(text, str):
            raise DataError("expected text", field=f"{_SUMMARY}.{field}")
        if not is_empty(text):
            highlights.append(Claim(f"expected_{field}", text, field, n2(text)))
    return highlights


def _required_fields(summary: Mapping[str, Any], absent: frozenset[str]) -> list[str]:
    """The fields whose expected value is not empty        C-58"""
    info = summary["call_extracted_info"]
    return [name for name, value in info.items() if not is_empty(value) and name not in absent]


def _emotion(emotion: Any, absent: frozenset[str]) -> tuple[Sequence[str], frozenset[str]]:
    """The emotions that count, and the greatest of them, which must be above 0 (C-63)."""
    path = "expected_outcome.emotion"
    if not isinstance(emotion, dict):
        raise DataError("expected an object", field=path)
    if absent:
        emotion = {name: value for name, value in emotion.items() if name not in absent}
    for name, value in emotion.items():
        if isinstance(value, (int, float)) and value < 0:
            raise DataError(
                f"{value!r} is not a share; expected a number from 0", field=f"{path}.{name}"
            )
    top = top_emotions(emotion)
    if not top:
        raise DataError("no emotion is dominant; expected a number above 0", field=path)
    return tuple(emotion), top
