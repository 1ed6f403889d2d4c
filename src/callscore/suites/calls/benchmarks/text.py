"""A text reply as the benchmarks see it: its summary makes claims, its labels are closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.text import n2
from callscore.suites.calls.benchmarks.view import (
    ClosedFields,
    FactFindings,
    ReplyFindings,
    ReplyView,
    id_usage,
)
from callscore.suites.calls.benchmarks.words import CORRECTNESS, OFFERED
from callscore.suites.calls.items import is_confirmed
from callscore.suites.calls.text import fabrication, sentiment
from callscore.suites.calls.text.claims import Claim, claims
from callscore.suites.calls.text.measures import CLASSES, dominant_emotion, top_emotions
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.text.task import TextOutput


def cited_texts(view: ReplyView) -> Sequence[str]:
    """What the reply takes from the call: the claims of its summary."""
    return [claim.text for claim in claims(view.output.summary)]


def questions(view: ReplyView) -> list[Question]:
    """For every fact of one side that the other does not have verbatim: does it state it?   C-93"""
    expected, given = _both_sides(view)
    return [
        *_fact_questions(expected, "expected", given, "model_output.summary"),
        *_fact_questions(given, "claim", expected, "expected_outcome.summary"),
    ]


def _fact_questions(
    facts: Sequence[Claim], kind: str, others: Sequence[Claim], place: str
) -> list[Question]:
    if not others:
        return []
    forms = {other.form for other in others}
    joined = "\n".join(other.text for other in others)
    return [
        Question(
            CORRECTNESS, _item_id(kind, number), fact.text, joined, OFFERED[CORRECTNESS], place
        )
        for number, fact in enumerate(facts, start=1)
        if fact.form not in forms
    ]


def findings(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The claims, facts, closed fields and rules of the reply."""
    reference: TextReference = view.reference
    output: TextOutput = view.output
    expected, given = _both_sides(view)
    facts = FactFindings(
        _match_facts(expected, "expected", given, verdicts, flags),
        _match_facts(given, "claim", expected, verdicts, flags),
    )
    known = reference.claim_forms
    supported = fabrication.limit_supported(
        fabrication.claim_findings(given, known, verdicts, flags),
        len(known),
        view.padding_factor,
        flags,
    )
    return ReplyFindings(
        supported, facts, _closed_fields(reference, output, view.value), _check_rules(view)
    )


def _both_sides(view: ReplyView) -> tuple[Sequence[Claim], Sequence[Claim]]:
    """The facts of the expected summary, and those of the reply's."""
    case = view.case
    summary = {} if case.is_absent("summary") else case.expected_outcome["summary"]
    return claims(summary), claims(view.output.summary)


def _match_facts(
    facts: Sequence[Claim],
    kind: str,
    others: Sequence[Claim],
    verdicts: Verdicts,
    flags: set[str],
) -> list[bool | None]:
    """Which facts the other side has: verbatim, or by verdict."""
    if not others:
        return [False] * len(facts)
    forms = {other.form for other in others}
    return [
        fact.form in forms
        or is_confirmed(verdicts, Item(CORRECTNESS, _item_id(kind, number)), "match", flags)
        for number, fact in enumerate(facts, start=1)
    ]


def _item_id(kind: str, number: int) -> str:
    return f"{kind}:{number}"


def _closed_fields(
    reference: TextReference, output: TextOutput, value: Mapping[str, Any]
) -> ClosedFields:
    """Labels under N2, and the top emotion        C-97"""
    pairs = sentiment.label_pairs(reference.sentences, output.sentences, set())
    matches, fields = sum(expected == given for expected, given in pairs), len(pairs)
    if reference.sentences:
        ids = id_usage(value.get("sentiment", ()), "sentence_id", reference.sentences)
        fields += sum(item.get("label") is not None for item in ids.unexpected)
    if reference.emotions:
        given_top = top_emotions(output.emotion)
        matches += dominant_emotion(reference.top_emotions, given_top).value == 1
        fields += 1
    return ClosedFields(matches, fields)


def _check_rules(view: ReplyView) -> list[bool]:
    """Every id once, none unexpected, labels from the set        C-96"""
    reference: TextReference = view.reference
    if not reference.sentences:
        return []
    items = view.value.get("sentiment", ())
    ids = id_usage(items, "sentence_id", reference.sentences)
    labels = [item.get("label") for item in items]
    known = [isinstance(label, str) and n2(label) in CLASSES for label in labels]
    return [ids.once, not ids.unexpected, all(known)]
