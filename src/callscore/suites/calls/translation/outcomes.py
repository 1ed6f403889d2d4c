"""Outcomes as critical facts: found in the reference once per case, then checked in replies (C-74).

The text of one source id may be several sentences, each with its own question. The judge says which
of them state an outcome, and quotes the words; that list is frozen before any reply is judged.
Numbers, dates and ids are in `facts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.suites.calls.items import is_confirmed
from callscore.suites.calls.translation.judge_questions import (
    CRITICAL_FACTS,
    FACT_WORDS,
    OUTCOME_PREFIX,
    OUTCOME_WORDS,
)
from callscore.suites.calls.translation.reference import TranslationReference
from callscore.suites.calls.translation.sentence_match import ModelTranslation, SentenceState

KEPT = "kept:"
STATES = ("outcome", "no_outcome")


class StatedOutcome(NamedTuple):
    """An outcome that the reference states: its name, its source id, and its wording."""

    name: str
    """The source id, or `id[2]`, `id[3]` … for further outcomes under that id."""
    source_id: str
    words: str


class StatedOutcomes(NamedTuple):
    """The outcomes of a case, and whether all sentences were decided."""

    found: Sequence[StatedOutcome]
    is_complete: bool


class OutcomeCount(NamedTuple):
    """The outcomes that a reply lost, all outcomes, and whether one awaits a verdict."""

    lost: int
    total: int
    is_open: bool


NOTHING_LOST = OutcomeCount(0, 0, is_open=False)
NOT_JUDGED = OutcomeCount(0, 0, is_open=True)


def is_frozen(item: Item) -> bool:
    """Whether a verdict is about the reference alone, the same for every model."""
    return item.metric == CRITICAL_FACTS and item.item.startswith(OUTCOME_PREFIX)


def case_questions(reference: TranslationReference) -> list[Question]:
    """For every sentence of the reference: does it state an outcome? None if facts are given."""
    return [
        Question(CRITICAL_FACTS, OUTCOME_PREFIX + name, piece.text, "", OUTCOME_WORDS)
        for name, piece in reference.may_state_outcomes.items()
    ]


def presume_outcomes(questions: Sequence[Question]) -> Verdicts:
    """Verdicts as if every such sentence stated an outcome."""
    return {
        Item(question.metric, question.item): [Verdict(question.metric, question.item, STATES[0])]
        for question in questions
        if is_frozen(Item(question.metric, question.item))
    }


def outcomes_of(reference: TranslationReference, verdicts: Verdicts) -> StatedOutcomes:
    """The outcomes of a case; complete if every sentence has a verdict that is no estimate."""
    found: list[StatedOutcome] = []
    decided = 0
    pieces = reference.may_state_outcomes
    for name, piece in pieces.items():
        given = verdicts.get(Item(CRITICAL_FACTS, OUTCOME_PREFIX + name), ())
        words = [v for v in given if v.verdict in STATES and not v.approximate]
        decided += bool(words)
        if words and words[0].verdict == STATES[0]:
            found.append(StatedOutcome(name, piece.source_id, words[0].quote or piece.text))
    return StatedOutcomes(found, decided == len(pieces))


def outcome_questions(
    reference: TranslationReference, translation: ModelTranslation, frozen: Verdicts
) -> list[Question]:
    """For every outcome in a sentence that differs from the human's: is it preserved?"""
    return [
        Question(
            CRITICAL_FACTS,
            KEPT + outcome.name,
            _sentence_in_reply(outcome, translation),
            outcome.words,
            FACT_WORDS,
        )
        for outcome in outcomes_of(reference, frozen).found
        if not _is_same(outcome, translation)
    ]


def count_outcomes(
    reference: TranslationReference,
    translation: ModelTranslation,
    verdicts: Verdicts,
    flags: set[str],
) -> OutcomeCount:
    """Outcomes altered or omitted; one that was not judged counts as preserved        C-75"""
    if not verdicts:
        return NOTHING_LOST if translation.is_reference else NOT_JUDGED
    found, is_complete = outcomes_of(reference, verdicts)
    changed = [outcome for outcome in found if not _is_same(outcome, translation)]
    kept = [_is_kept(outcome, verdicts, flags) for outcome in changed]
    is_open = None in kept or not (is_complete or translation.is_reference)
    return OutcomeCount(kept.count(False), len(found), is_open)


def lost_outcomes(
    reference: TranslationReference, translation: ModelTranslation, verdicts: Verdicts
) -> list[str]:
    """The outcomes that `count_outcomes` counts as lost, as the reference words them."""
    return [
        outcome.words
        for outcome in outcomes_of(reference, verdicts).found
        if not _is_same(outcome, translation) and _is_kept(outcome, verdicts, set()) is False
    ]


def _is_kept(outcome: StatedOutcome, verdicts: Verdicts, flags: set[str]) -> bool | None:
    item = Item(CRITICAL_FACTS, KEPT + outcome.name)
    exact = [verdict for verdict in verdicts.get(item, ()) if not verdict.approximate]
    return is_confirmed({item: exact}, item, "preserved", flags)


def _is_same(outcome: StatedOutcome, translation: ModelTranslation) -> bool:
    return translation.by_id[outcome.source_id].state is SentenceState.SAME


def _sentence_in_reply(outcome: StatedOutcome, translation: ModelTranslation) -> str:
    """The sentence in the reply; if it is missing, the whole text of the reply."""
    sentence = translation.by_id[outcome.source_id]
    return sentence.text if sentence.is_translated else translation.text
