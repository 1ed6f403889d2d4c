"""The sentences, terms, names and facts that counted against a translation."""

from __future__ import annotations

from collections.abc import Iterable

from callscore.core.judging import Verdicts
from callscore.core.task import Faults
from callscore.scorecard.five_key_records import quote
from callscore.suites.calls.translation import judge_questions, outcomes
from callscore.suites.calls.translation.facts import drift, lost_facts
from callscore.suites.calls.translation.judge_questions import CRITICAL_FACTS, FLUENCY, MEANING
from callscore.suites.calls.translation.reference import TranslationReference
from callscore.suites.calls.translation.sentence_match import ModelTranslation
from callscore.suites.calls.translation.task import (
    COMPLETENESS,
    DRIFT,
    SLUGS,
    TranslationOutput,
    lost_terms,
)


def faults(
    reference: TranslationReference, output: TranslationOutput, verdicts: Verdicts
) -> Faults:
    """Sentences missing or least similar to the human's, lost terms and names, wrong facts."""
    translation = output.translation
    if translation.is_reference:
        return {}
    sentences = translation.by_id.values()
    translated = [sentence for sentence in sentences if sentence.is_translated]
    drifted = _drift_faults(reference, translation, verdicts)
    return {
        COMPLETENESS: [
            f"{quote(r.expected.id)} ({r.state.value})" for r in sentences if not r.is_translated
        ],
        MEANING: _lowest_first(
            (r.expected.id, judge_questions.similarity(r, verdicts)) for r in sentences
        ),
        FLUENCY: _lowest_first(
            (r.expected.id, judge_questions.fluency(r, verdicts, set())) for r in translated
        ),
        **_term_faults(reference, translation, verdicts),
        CRITICAL_FACTS: drifted,
        DRIFT: drifted,
    }


def _lowest_first(values: Iterable[tuple[str, float | None]]) -> list[str]:
    """The sentences below 1, the lowest first."""
    below = [(value, key) for key, value in values if value is not None and value < 1]
    return [f"{quote(key)} ({value:.3f})" for value, key in sorted(below)]


def _term_faults(
    reference: TranslationReference, translation: ModelTranslation, verdicts: Verdicts
) -> Faults:
    found: dict[str, list[str]] = {}
    for part, terms in reference.terms.items():
        lost = lost_terms(part, reference, translation, verdicts, set())
        forms = {term.name: term.form for term in reversed(terms)}
        found[SLUGS[part]] = [
            f"{quote(name)} (expected {quote(form)})"
            for name, form in reversed(forms.items())
            if name in lost
        ]
    return found


def _drift_faults(
    reference: TranslationReference, translation: ModelTranslation, verdicts: Verdicts
) -> list[str]:
    """Facts lost, as the reference words them, and facts added, as the reply words them."""
    found = drift(reference.facts, translation.text)
    facts = lost_facts(reference.facts, found, verdicts)
    stated = outcomes.lost_outcomes(reference, translation, verdicts)
    return [
        *(f"lost {quote(words)}" for words in (*facts, *stated)),
        *(f"added {quote(words)}" for words in found.added),
    ]
