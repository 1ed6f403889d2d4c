"""The Text task: prompt · read · ask · measure (003 Task 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import ABSENT, MALFORMED, Measure
from callscore.core.spec import holds
from callscore.core.suite import DataNames, no_data_names
from callscore.core.task import FloorTally, Measured, Needs
from callscore.suites.calls.call_task import CallTask
from callscore.suites.calls.items import match_items, number
from callscore.suites.calls.prompt import (
    OMITTED,
    asked_emotions,
    asked_fields,
    asked_sentences,
    build_prompt,
    reply_form,
)
from callscore.suites.calls.reply_parser import StructureSources, parse_reply, structure_of
from callscore.suites.calls.spec import Settings, load_spec, metric_names
from callscore.suites.calls.structure import COMPLIES, DIFFERS
from callscore.suites.calls.text import measures as formulas
from callscore.suites.calls.text import sentiment, summary
from callscore.suites.calls.text.claims import Claim, claim_forms, claims
from callscore.suites.calls.text.reference import SAMPLE_ITEMS, TextReference, read_reference
from callscore.suites.calls.text.summary import (
    CALL_INTENT,
    FABRICATION_FREE,
    HALLUCINATION_RATE,
    HIGHLIGHT_CORRECTNESS,
    HIGHLIGHT_RECALL,
    Highlights,
    claim_findings,
    limit_supported,
)

EMOTION, FIELDS = "emotion", "summary.call_extracted_info"
"""Paths where names are content: requested names and those of the reference (C-25)."""
DOMINANT_EMOTION = "text.dominant_emotion"
STRUCTURE = "text.structure"
_SUPPORT = (
    "supported_by_transcript",
    "supported_by_reference",
    "contradicted",
    "not_found",
    "cannot_tell",
)
SAME_GOAL = (*summary.INTENT_POINTS, "cannot_tell")
ANY_OTHER_GOAL = ("no", "yes", "cannot_tell")
OFFERED: Mapping[str, tuple[str, ...]] = {
    CALL_INTENT: (*summary.INTENT_POINTS, *ANY_OTHER_GOAL),
    HIGHLIGHT_RECALL: ("stated", "partly", "contradicted", "not_stated", "cannot_tell"),
    HIGHLIGHT_CORRECTNESS: _SUPPORT,
    FABRICATION_FREE: _SUPPORT,
    HALLUCINATION_RATE: _SUPPORT,
}
VALUES: Mapping[str, tuple[float, ...]] = {CALL_INTENT: (0.0, 0.5, 1.0)}


class TextOutput(msgspec.Struct, frozen=True, gc=False):
    """The model's sentences by id, its summary and its emotion; absent parts are empty."""

    sentences: Mapping[str, Mapping[str, Any]]
    summary: Mapping[str, Any]
    emotion: Mapping[str, Any]
    flags: Sequence[str]


class TextTask(CallTask[TextReference, TextOutput]):
    """Labels sentiment, summarises a call, names its emotion."""

    name = "text"

    def __init__(self, settings: Settings, emotions: DataNames = no_data_names) -> None:
        self.settings = settings
        self._sources = StructureSources(
            SAMPLE_ITEMS, "sentence_id", settings.open_maps, form=reply_form("text")
        )
        self._emotions = emotions

    def reference(self, case: Case) -> TextReference:
        """The expected sentences, summary and emotion, checked (C-20)."""
        return read_reference(case, self._sources, partial(self._asked_names, case))

    def _asked_names(self, case: Case) -> Mapping[str, Sequence[str]]:
        """The names that are content: emotions and fields        C-25, C-130"""
        return {
            EMOTION: asked_emotions(case.config, self._emotions),
            FIELDS: asked_fields(case),
        }

    def may_contradict(self, case: Case, reference: TextReference) -> bool:
        """Whether fields are required, which the expected summary may leave empty."""
        return bool(case.config.get("required_fields"))

    def prompt(self, case: Case) -> Prompt:
        """The sentences, the requested fields and emotions, and the transcript."""
        structure = structure_of(case, self._sources, partial(self._asked_names, case))
        asked: dict[str, Any] = {}
        if not case.is_absent("sentiment"):
            sentences = asked_sentences(case, "sentiment", "sentence_id", "text")
            asked["sentences"] = OMITTED if sentences is None else sentences
        if not case.is_absent("summary"):
            asked["required_fields"] = structure.asked[FIELDS]
        if not case.is_absent("emotion"):
            asked["emotions"] = structure.asked[EMOTION]
        return build_prompt(case, asked, structure)

    def read(self, reference: TextReference, reply: Reply) -> TextOutput | Malformed:
        """The parts of the reply, or why it cannot be scored."""
        parsed = parse_reply(reply, reference.structure, self.settings.parse)
        if isinstance(parsed, Malformed):
            return parsed
        value = parsed.value
        matched = match_items(
            value.get("sentiment", ()) if reference.sentences else (),
            "sentence_id",
            reference.sentences,
        )
        return TextOutput(
            matched.by_id,
            {} if reference.case.is_absent("summary") else value.get("summary", {}),
            _emotions_of(reference, value),
            parsed.flags + matched.flags,
        )

    def ask(self, reference: TextReference, output: TextOutput) -> Sequence[Question]:
        """The purpose, highlights and claims that code cannot decide."""
        given = highlights_of(reference, output, set())
        joined = "\n".join(highlight.text for highlight in given.texts)
        listed = "\n".join(highlight.text for highlight in reference.highlights)
        facts = claims(output.summary)
        stated_in = summary.find_stated
        return [
            *_ask_intent(reference, output),
            *_ask_about(
                HIGHLIGHT_RECALL,
                reference.highlights,
                summary.capture_findings(reference, given),
                joined,
                "model_output.summary.highlights",
            ),
            *_ask_about(
                HIGHLIGHT_CORRECTNESS,
                given.texts,
                stated_in(reference.highlight_forms, given.texts),
                listed,
            ),
            *_ask_about(FABRICATION_FREE, facts, stated_in(reference.claim_forms, facts)),
        ]

    def needs(self, reference: TextReference, of_case: Verdicts) -> Needs:
        """A judge for the parts of the summary."""
        return Needs(judged=[slug for slug in OFFERED if slug not in reference.absent])

    def floor(self) -> FloorTally:
        """Scores of trivial answers        C-135"""
        from callscore.suites.calls.text.floors import TextFloor

        return TextFloor(self.settings)

    def measure(
        self, reference: TextReference, output: TextOutput | Malformed, verdicts: Verdicts
    ) -> Measured:
        """All Text measures of one reply."""
        if isinstance(output, Malformed):
            return _malformed_measures(reference, output)
        flags = set(output.flags)
        measures = {
            **self._sentiment_measures(reference, output, flags),
            **self._summary_measures(reference, output, verdicts, flags),
            DOMINANT_EMOTION: _emotion_measure(reference, output, flags),
            STRUCTURE: COMPLIES,
        }
        if reference.absent:
            measures.update(dict.fromkeys(reference.absent, ABSENT))
        flags.update(summary.card_data_flags(output.summary))
        return Measured(measures, sorted(flags))

    def _sentiment_measures(
        self, reference: TextReference, output: TextOutput, flags: set[str]
    ) -> dict[str, Measure]:
        pairs = sentiment.label_pairs(reference.sentences, output.sentences, flags)
        if sentiment.is_resegmented(reference.sentences, output.sentences):
            flags.add("resegmented")
        return {
            "text.sentiment_accuracy": formulas.sentiment_accuracy(pairs),
            "text.sentiment_macro_f1": formulas.sentiment_macro_f1(pairs, self.settings.macro_f1),
            "text.missing_labels": formulas.missing_labels(pairs),
        }

    def _summary_measures(
        self, reference: TextReference, output: TextOutput, verdicts: Verdicts, flags: set[str]
    ) -> dict[str, Measure]:
        info = output.summary.get("call_extracted_info", {})
        facts = limit_supported(
            _claim_findings(reference, output, verdicts, flags),
            len(reference.claim_forms),
            self.settings.padding_factor,
            flags,
        )
        fabrication_free = formulas.fabrication_free(facts.findings)
        if _is_resolution_limited(fabrication_free.denominator):
            flags.add("resolution_limited")
        return {
            CALL_INTENT: formulas.call_intent(_intent_points(reference, output, verdicts, flags)),
            **_highlight_measures(reference, output, verdicts, flags),
            "text.field_presence": formulas.field_presence(summary.filled_fields(reference, info)),
            FABRICATION_FREE: facts.mark(fabrication_free),
            HALLUCINATION_RATE: facts.mark(formulas.hallucination_rate(facts.findings)),
        }


def _emotions_of(reference: TextReference, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The emotions of a reply; if the case declares them absent, any value is allowed      C-127"""
    if not reference.emotions:
        return {}
    given: Mapping[str, Any] = value.get("emotion", {})
    if not reference.case.expected_parts:
        return given
    return {name: share for name, share in given.items() if not reference.case.is_absent(name)}


def _malformed_measures(reference: TextReference, output: Malformed) -> Measured:
    measures = dict.fromkeys(metric_names().by_task["text"], MALFORMED)
    measures.update(dict.fromkeys(reference.absent, ABSENT))
    measures[STRUCTURE] = DIFFERS
    return Measured(measures, (output.cause,))


def highlights_of(reference: TextReference, output: TextOutput, flags: set[str]) -> Highlights:
    """The highlights of a reply; none if the reference declares them absent."""
    if HIGHLIGHT_RECALL in reference.absent:
        return summary.NO_HIGHLIGHTS
    return summary.read_highlights(output.summary.get("highlights", ()), flags)


def _ask_about(
    metric: str,
    statements: Sequence[Claim],
    found: Sequence[bool | None],
    reference: str = "",
    place: str = "",
) -> list[Question]:
    """A question for every statement that code left open."""
    return [
        Question(metric, statement.item, statement.text, reference, OFFERED[metric], place)
        for statement, supported in zip(statements, found, strict=True)
        if supported is None
    ]


def _ask_intent(reference: TextReference, output: TextOutput) -> list[Question]:
    given = output.summary.get("call_purpose")
    if CALL_INTENT in reference.absent or not isinstance(given, str):
        return []
    if summary.intent_by_code(reference.purpose, given) is not None:
        return []
    return [
        Question(CALL_INTENT, summary.PURPOSE, given, reference.purpose, SAME_GOAL),
        Question(CALL_INTENT, summary.OTHER_GOAL, given, reference.purpose, ANY_OTHER_GOAL),
    ]


def _claim_findings(
    reference: TextReference, output: TextOutput, verdicts: Verdicts, flags: set[str]
) -> Sequence[bool | None]:
    known = reference.claim_forms
    if verdicts:
        return claim_findings(claims(output.summary), known, verdicts, flags)
    return [True if form in known else None for form in claim_forms(output.summary)]


def _highlight_measures(
    reference: TextReference, output: TextOutput, verdicts: Verdicts, flags: set[str]
) -> dict[str, Measure]:
    given = highlights_of(reference, output, flags)
    captured = summary.capture_findings(reference, given)
    accurate = summary.find_stated(reference.highlight_forms, given.texts)
    if verdicts:
        settle = summary.apply_verdicts
        captured = settle(HIGHLIGHT_RECALL, reference.highlights, captured, verdicts, flags)
        accurate = settle(HIGHLIGHT_CORRECTNESS, given.texts, accurate, verdicts, flags)
    return {
        HIGHLIGHT_RECALL: formulas.highlight_recall(captured),
        HIGHLIGHT_CORRECTNESS: formulas.highlight_correctness(
            accurate + [False] * given.not_text, any_expected=bool(reference.highlights)
        ),
    }


def _intent_points(
    reference: TextReference, output: TextOutput, verdicts: Verdicts, flags: set[str]
) -> float | None:
    if CALL_INTENT in reference.absent:
        return None
    given = output.summary.get("call_purpose")
    if not isinstance(given, str):
        flags.add("bad_scalar")
    decided = summary.intent_by_code(reference.purpose, given)
    return summary.intent_by_verdicts(verdicts, flags) if decided is None else decided


@lru_cache(maxsize=1024)
def _is_resolution_limited(facts: float) -> bool:
    """Whether one fabricated fact would already breach the gate: 1 / N > 3 %        C-61"""
    gate = load_spec().metrics[FABRICATION_FREE].gate
    return facts > 0 and gate is not None and gate.is_breached(1 - 1 / facts)


def _emotion_measure(reference: TextReference, output: TextOutput, flags: set[str]) -> Measure:
    """The top emotion, without values that are not shares (C-63, C-64)."""
    if DOMINANT_EMOTION in reference.absent:
        return ABSENT
    shares: dict[str, float] = {}
    for name, given in output.emotion.items():
        share = number(given)
        if share is None or share < 0:
            flags.add("bad_scalar")
        else:
            shares[name] = share
    if not holds(abs(math.fsum(shares.values()) - 100), "<=", 1):
        flags.add("emotion_sum")
    return formulas.dominant_emotion(reference.top_emotions, formulas.top_emotions(shares))
