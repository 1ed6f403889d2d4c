"""A text reply as the benchmarks see it: its summary makes claims, its labels are closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.text import n2
from callscore.suites.calls.benchmarks.view import Closed, Facts, Subject, View, finding, ids_of
from callscore.suites.calls.benchmarks.words import CORRECTNESS, OFFERED
from callscore.suites.calls.text import fabrication, sentiment
from callscore.suites.calls.text.claims import Claim, claims
from callscore.suites.calls.text.measures import CLASSES, dominant_emotion, top_emotions
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.text.task import TextOutput


def said(subject: Subject) -> Sequence[str]:
    """What the reply takes from the call: the claims of its summary."""
    return [claim.text for claim in claims(subject.output.summary)]


def questions(subject: Subject) -> list[Question]:
    """For every fact of one side that the other does not have verbatim: does it state it?   C-93"""
    expected, given = _both_sides(subject)
    return [
        *_ask(expected, "expected", given, "model_output.summary"),
        *_ask(given, "claim", expected, "expected_outcome.summary"),
    ]


def _ask(facts: Sequence[Claim], kind: str, others: Sequence[Claim], place: str) -> list[Question]:
    if not others:
        return []
    forms = {other.form for other in others}
    joined = "\n".join(other.text for other in others)
    return [
        Question(CORRECTNESS, _item(kind, number), fact.text, joined, OFFERED[CORRECTNESS], place)
        for number, fact in enumerate(facts, start=1)
        if fact.form not in forms
    ]


def view(subject: Subject, verdicts: Verdicts, flags: set[str]) -> View:
    """The claims, facts, closed fields and rules of the reply."""
    reference: TextReference = subject.reference
    output: TextOutput = subject.output
    expected, given = _both_sides(subject)
    facts = Facts(
        _matched(expected, "expected", given, verdicts, flags),
        _matched(given, "claim", expected, verdicts, flags),
    )
    known = reference.claim_forms
    supported = fabrication.without_padding(
        fabrication.supported(given, known, verdicts, flags), len(known), flags
    )
    return View(supported, facts, _closed(reference, output, subject.value), _rules(subject))


def _both_sides(subject: Subject) -> tuple[Sequence[Claim], Sequence[Claim]]:
    """The facts of the expected summary, and those of the reply's."""
    case = subject.case
    summary = {} if case.is_absent("summary") else case.expected_outcome["summary"]
    return claims(summary), claims(subject.output.summary)


def _matched(
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
        or finding(verdicts, Item(CORRECTNESS, _item(kind, number)), "match", flags)
        for number, fact in enumerate(facts, start=1)
    ]


def _item(kind: str, number: int) -> str:
    return f"{kind}:{number}"


def _closed(reference: TextReference, output: TextOutput, value: Mapping[str, Any]) -> Closed:
    """Labels under N2, and the top emotion        C-97"""
    pairs = sentiment.label_pairs(reference.sentences, output.sentences, set())
    matches, fields = sum(expected == given for expected, given in pairs), len(pairs)
    if reference.sentences:
        ids = ids_of(value.get("sentiment", ()), "sentence_id", reference.sentences)
        fields += sum(item.get("label") is not None for item in ids.unexpected)
    if reference.emotions:
        given_top = top_emotions(output.emotion)
        matches += dominant_emotion(reference.top_emotions, given_top).value == 1
        fields += 1
    return Closed(matches, fields)


def _rules(subject: Subject) -> list[bool]:
    """Every id once, none unexpected, labels from the set        C-96"""
    reference: TextReference = subject.reference
    if not reference.sentences:
        return []
    items = subject.value.get("sentiment", ())
    ids = ids_of(items, "sentence_id", reference.sentences)
    labels = [item.get("label") for item in items]
    known = [isinstance(label, str) and n2(label) in CLASSES for label in labels]
    return [ids.once, not ids.unexpected, all(known)]
