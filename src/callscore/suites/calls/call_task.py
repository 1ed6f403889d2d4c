"""The common part of the four tasks; each hook is imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from callscore.core.case import Case, Malformed
from callscore.core.errors import DataError
from callscore.core.judging import Item, Verdicts
from callscore.core.prompt_template import VARIABLES, as_json, case_values
from callscore.core.task import BenchmarkLayer, Faults, ItemCount, RecordPart, Task
from callscore.suites.calls.prompt import CONFIG_KEYS, prompt_file
from callscore.suites.calls.spec import Settings

if TYPE_CHECKING:
    from callscore.core.case import Prompt
    from callscore.core.labelling import Labelling
    from callscore.core.noise import FakeReply, JsonOutcome, Noise


Reference = TypeVar("Reference")
Output = TypeVar("Output")


class CallTask(Task[Reference, Output]):
    """The hooks of a task of document 003."""

    settings: Settings

    def outcome_keys(self) -> Sequence[str]:
        """The keys of the documented reply, which an expected outcome has as well."""
        return tuple(prompt_file(self.name).schema["properties"])

    prompt_variables = {**VARIABLES, "form": False}

    def prompt_values(self, case: Case, prompt: Prompt) -> Mapping[str, str]:
        """The config as the prompt has it (C-123, C-130), and the form of the reply."""
        document = msgspec.json.decode(prompt.messages[-1].content)
        form = as_json(document["form"]) if "form" in document else ""
        config = as_json(document["config"])
        return {**case_values(case, prompt), "config": config, "form": form}

    def has_item(self, reference: Reference, output: Output | Malformed, item: Item) -> bool:
        """Whether the case or the reply has the item that a verdict names."""
        from callscore.suites.calls.verdict_rules import has_item

        return has_item(reference, output, item)

    def count_items(self, case: Case) -> ItemCount:
        """The most items that a judge can be asked about, for any reply."""
        from callscore.suites.calls.verdict_rules import count_items

        return count_items(case)

    def contradictions(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """Contradictions in a reference, or between it and its config        C-131"""
        if case.config.keys() <= CONFIG_KEYS and not self.may_contradict(case, reference):
            return ()
        from callscore.suites.calls.lint import contradictions

        return contradictions(case, reference)

    def may_contradict(self, case: Case, reference: Reference) -> bool:
        """A quick check that lets most cases skip the full one; config keys are known."""
        return False

    def warnings(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """Warnings about a case; none is a reason to refuse stored replies."""
        from callscore.suites.calls.lint import config_warnings

        return config_warnings(case, reference)

    def explain(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Faults:
        """What counted against a reply, by metric."""
        if isinstance(output, Malformed):
            from callscore.scorecard.five_key_records import malformed_reason

            return malformed_reason(self.name, output)
        module: Any = import_module(f"callscore.suites.calls.{self.name}.explain")
        found: Faults = module.faults(reference, output, verdicts)
        return found

    def benchmarks(self) -> BenchmarkLayer | None:
        """The eleven benchmarks."""
        from callscore.suites.calls.benchmarks.layer import CallBenchmarks
        from callscore.suites.calls.benchmarks.words import criteria_of

        return CallBenchmarks(self.settings) if criteria_of(self.name) else None

    def labelling(self) -> Labelling:
        """The label sheet of the task."""
        from callscore.suites.calls.labelling import LABELLINGS

        return LABELLINGS[self.name]

    def record_part(self, slug: str) -> RecordPart:
        """The part of the reply that a metric or a benchmark is about."""
        return part_of(slug, self.name)

    def answer_by_rules(self, prompt: Prompt) -> FakeReply:
        """Keywords and word lists, in the form of the schema."""
        from callscore.suites.calls.noise import answer

        return answer(self.name, prompt)

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> None:
        """Degrade an expected outcome, like the reply of a weaker model."""
        from callscore.suites.calls.noise import DEGRADE

        DEGRADE[self.name](outcome, noise)


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
