"""The sentences, terms, names and facts that counted against a translation."""

from __future__ import annotations

from collections.abc import Iterable

from callscore.core.judging import Verdicts
from callscore.core.task import Faults
from callscore.scorecard.explain import quoted
from callscore.suites.calls.translation import critical, judge_questions, outcomes
from callscore.suites.calls.translation.facts import drift
from callscore.suites.calls.translation.judge_questions import CRITICAL_FACTS, FLUENCY, MEANING
from callscore.suites.calls.translation.reference import TranslationReference
from callscore.suites.calls.translation.sentence_match import Rendered
from callscore.suites.calls.translation.task import (
    COMPLETENESS,
    DRIFT,
    SLUGS,
    TranslationOutput,
    not_kept,
)


def faults(
    reference: TranslationReference, output: TranslationOutput, verdicts: Verdicts
) -> Faults:
    """Sentences missing or least similar to the human's, lost terms and names, wrong facts."""
    rendered = output.rendered
    if rendered.is_reference:
        return {}
    renderings = rendered.by_id.values()
    translated = [rendering for rendering in renderings if rendering.is_translated]
    drifted = _drifted(reference, rendered, verdicts)
    return {
        COMPLETENESS: [
            f"{quoted(r.sentence.id)} ({r.state.value})" for r in renderings if not r.is_translated
        ],
        MEANING: _least(
            (r.sentence.id, judge_questions.similarity(r, verdicts)) for r in renderings
        ),
        FLUENCY: _least(
            (r.sentence.id, judge_questions.fluency(r, verdicts, set())) for r in translated
        ),
        **_names(reference, rendered, verdicts),
        CRITICAL_FACTS: drifted,
        DRIFT: drifted,
    }


def _least(values: Iterable[tuple[str, float | None]]) -> list[str]:
    """The sentences below 1, the lowest first."""
    below = [(value, key) for key, value in values if value is not None and value < 1]
    return [f"{quoted(key)} ({value:.3f})" for value, key in sorted(below)]


def _names(reference: TranslationReference, rendered: Rendered, verdicts: Verdicts) -> Faults:
    found: dict[str, list[str]] = {}
    for part, wordings in reference.wordings.items():
        lost = not_kept(part, reference, rendered, verdicts, set())
        forms = {wording.name: wording.form for wording in reversed(wordings)}
        found[SLUGS[part]] = [
            f"{quoted(name)} (expected {quoted(form)})"
            for name, form in reversed(forms.items())
            if name in lost
        ]
    return found


def _drifted(reference: TranslationReference, rendered: Rendered, verdicts: Verdicts) -> list[str]:
    """Facts lost, as the reference words them, and facts added, as the reply words them."""
    found = drift(reference.facts, rendered.text)
    facts = critical.lost(reference.facts, found, verdicts)
    stated = outcomes.lost(reference, rendered, verdicts)
    return [
        *(f"lost {quoted(words)}" for words in (*facts, *stated)),
        *(f"added {quoted(words)}" for words in found.added),
    ]
