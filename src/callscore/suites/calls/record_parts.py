"""The parts of a reply that records quote, by metric (C-100)."""

from __future__ import annotations

from collections.abc import Mapping

from callscore.core.task import RecordPart

_SCORES = RecordPart(("questions",), ("question_id", "score"))
_REASONS = RecordPart(("questions",), ("question_id", "score", "reason"))
_LABELS = RecordPart(("sentiment",), ("sentence_id", "label"))
_SENTENCES = RecordPart(("sentence_translations",), ("source_id", "translated_text"))
_SUMMARY, _HIGHLIGHTS = RecordPart(("summary",)), RecordPart(("summary.highlights",))
_CLAIMS = RecordPart(("summary",), faults_only=True)
_KEYWORDS, _TOPICS = RecordPart(("detected_keywords",)), RecordPart(("detected_topics",))
_ENTITIES = RecordPart(("detected_keywords", "detected_topics"))
PARTS: Mapping[str, RecordPart] = {
    "qa.question_score_accuracy": _SCORES,
    "qa.score_gap_accuracy": _SCORES,
    "qa.false_pass_rate": _SCORES,
    "qa.evidence_backed_reasoning": RecordPart(("questions",), ("question_id", "reason")),
    "entity.keyword_precision": _KEYWORDS,
    "entity.keyword_recall": _KEYWORDS,
    "entity.keyword_f1": _KEYWORDS,
    "entity.topic_precision": _TOPICS,
    "entity.topic_recall": _TOPICS,
    "entity.topic_f1": _TOPICS,
    "entity.config_adherence": RecordPart(
        ("detected_keywords", "detected_topics"), expected_paths=("valid_entity_set",)
    ),
    "entity.cross_language_match_rate": _ENTITIES,
    "entity.fabricated_count": _ENTITIES,
    "text.sentiment_accuracy": _LABELS,
    "text.sentiment_macro_f1": _LABELS,
    "text.missing_labels": _LABELS,
    "text.call_intent": RecordPart(("summary.call_purpose",)),
    "text.highlight_recall": _HIGHLIGHTS,
    "text.highlight_correctness": _HIGHLIGHTS,
    "text.field_presence": RecordPart(("summary.call_extracted_info",)),
    "text.fabrication_free": _CLAIMS,
    "text.hallucination_rate": _CLAIMS,
    "text.dominant_emotion": RecordPart(("emotion",)),
    "translation.completeness": _SENTENCES,
    "translation.meaning": _SENTENCES,
    "translation.fluency": _SENTENCES,
    "translation.domain_terms": RecordPart(("domain_terms_handled",), ("term", "handled_as")),
    "translation.proper_nouns": RecordPart(("named_entities_handled",), ("entity", "handled_as")),
    "translation.critical_facts": _SENTENCES,
    "translation.drift": _SENTENCES,
}
"""The part that a metric is about; structure checks quote the keys of the whole reply."""
BENCHMARK_PARTS: Mapping[str, RecordPart] = {
    "qa": _REASONS,
    "entity": _ENTITIES,
    "text": _SUMMARY,
    "translation": _SENTENCES,
}
"""The part that the benchmarks measure, by task."""


def part_of(slug: str, task: str) -> RecordPart:
    """The part that a metric is about, or that the benchmarks measure."""
    if slug.startswith("bench."):
        return BENCHMARK_PARTS[task]
    return PARTS.get(slug, RecordPart())
