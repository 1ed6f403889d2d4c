"""A reply of each task as the benchmarks see it: its facts, claims, arguments and closed fields.

QA: scores are facts, reasons are claims and arguments. Entity: every reported entity is a fact.
Text: the summary makes claims, labels are closed. Translation: numbers, dates and outcomes are
facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from callscore.core.judging import Item, Question, Verdicts
from callscore.core.spec import TOLERANCE
from callscore.metrics.classification import counts
from callscore.metrics.text import n1, n2
from callscore.suites.calls.benchmarks.view import (
    ClosedFields,
    FactFindings,
    ReplyFindings,
    ReplyView,
    id_usage,
)
from callscore.suites.calls.benchmarks.words import (
    ARGUMENT,
    CORRECTNESS,
    FAITHFULNESS,
    HALLUCINATION,
    OFFERED,
    VALUES,
)
from callscore.suites.calls.entity.reference import EntityReference
from callscore.suites.calls.entity.task import EntityOutput
from callscore.suites.calls.items import is_confirmed, is_empty, number
from callscore.suites.calls.qa.measures import (
    MOST_POINTS,
    Mark,
    evidence_points,
    is_correct,
    is_own_words,
    reason_of,
)
from callscore.suites.calls.qa.reference import ExpectedQuestion
from callscore.suites.calls.qa.task import mark_of
from callscore.suites.calls.text import sentiment
from callscore.suites.calls.text.claims import Claim, claims
from callscore.suites.calls.text.measures import CLASSES, dominant_emotion, top_emotions
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.text.summary import (
    COUNTING,
    CountedClaims,
    claim_findings,
    limit_supported,
)
from callscore.suites.calls.text.task import TextOutput
from callscore.suites.calls.translation.facts import count_supported
from callscore.suites.calls.translation.reference import SENTENCES, TERMS, TranslationReference
from callscore.suites.calls.translation.task import TranslationOutput, fact_count

CLOSED_OF_A_QUESTION = 3
"""Its id, its score and its type."""


def texts_cited_by_form(view: ReplyView) -> Sequence[str]:
    """What the reply takes from the call: the moments that its reasons cite."""
    return [
        reason for question in _applicable_questions(view) if (reason := _reason(view, question))
    ]


def questions_on_form(view: ReplyView) -> list[Question]:
    """For every reason in its own words: is its ground right?        C-95"""
    return [
        Question(ARGUMENT, question.id, reason, _human_ground(question), OFFERED[ARGUMENT])
        for question in _applicable_questions(view)
        if (reason := _reason(view, question)) and not is_own_words(reason, question.reason)
    ]


def findings_of_form(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The claims, facts, closed fields, rules and arguments of the reply."""
    margin = view.reference.settings.score_margin_fraction
    marks = [
        mark_of(question, view.output.by_id.get(question.id), set())
        for question in _applicable_questions(view)
    ]
    right = [is_correct(mark, margin) for mark in marks]
    supported = [
        _is_supported(view, question, verdicts, flags)
        for question in _applicable_questions(view)
        if _reason(view, question)
    ]
    given = [correct for mark, correct in zip(marks, right, strict=True) if mark.given is not None]
    steps = [
        _argument_points(view, mark.question, correct, verdicts, flags)
        for mark, correct in zip(marks, right, strict=True)
    ]
    return ReplyFindings(
        CountedClaims(supported),
        FactFindings(right, given),
        _closed_fields_of_form(view),
        _check_rules_of_form(view, marks),
        steps,
    )


def _human_ground(question: ExpectedQuestion) -> str:
    """The human mark and ground, as the judge sees them."""
    return f"{question.score:g} of {question.max_score:g}: {question.reason}"


def _applicable_questions(view: ReplyView) -> list[ExpectedQuestion]:
    return [q for q in view.reference.questions.values() if q.score is not None]


def _reason(view: ReplyView, question: ExpectedQuestion) -> str:
    """The reason given; empty if it says nothing."""
    reason = reason_of(view.output.by_id.get(question.id))
    return "" if reason is None or is_empty(reason) else reason


def _is_supported(
    view: ReplyView, question: ExpectedQuestion, verdicts: Verdicts, flags: set[str]
) -> bool | None:
    """A reason is supported if its moment occurs as described; a vague one is not."""
    for metric in (FAITHFULNESS, HALLUCINATION):
        words = [v.verdict for v in verdicts.get(Item(metric, question.id), ())]
        if words:
            return COUNTING.issuperset(words)
    points = evidence_points(_reason(view, question), question, verdicts, flags)
    return None if points is None else points == MOST_POINTS


def _argument_points(
    view: ReplyView,
    question: ExpectedQuestion,
    is_right: bool,
    verdicts: Verdicts,
    flags: set[str],
) -> float | None:
    """(right score + right ground) / 2, 0 without a reason        C-95"""
    reason = _reason(view, question)
    if not reason:
        return 0.0
    item = Item(ARGUMENT, question.id)
    values = [v.value for v in verdicts.get(item, ()) if v.value in VALUES[ARGUMENT]]
    if values:
        return min(value for value in values if value is not None)
    grounded = is_confirmed(verdicts, item, "yes", flags)
    if grounded is None and is_own_words(reason, question.reason):
        grounded = True
    return None if grounded is None else (is_right + grounded) / 2


def _closed_fields_of_form(view: ReplyView) -> ClosedFields:
    """Ids, scores without a margin, and types        C-97"""
    applicable = _applicable_questions(view)
    matches = 0
    for question in applicable:
        item = view.output.by_id.get(question.id)
        if item is None:
            continue
        score = number(item.get("score"))
        assert question.score is not None  # only applicable questions are compared
        is_same = score is not None and abs(score - question.score) <= TOLERANCE
        matches += 1 + is_same + (item.get("type") == question.type)
    ids = id_usage(view.value.get("questions", ()), "question_id", view.reference.questions)
    total = len(applicable) + len(ids.unexpected)
    return ClosedFields(matches, CLOSED_OF_A_QUESTION * total)


def _check_rules_of_form(view: ReplyView, marks: Sequence[Mark]) -> list[bool]:
    """Every id once, none unexpected, scores in range, PASS_FAIL only 0 or full marks     C-96"""
    ids = id_usage(view.value.get("questions", ()), "question_id", view.reference.questions)
    given = [(mark.question, mark.given) for mark in marks]
    in_range = [score is not None and 0 <= score <= q.max_score for q, score in given]
    whole = [score in (0, q.max_score) for q, score in given if q.pass_fail]
    return [ids.once, not ids.unexpected, all(in_range), *([all(whole)] if whole else [])]


def findings_of_entities(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The reported and the expected entities; a keyword is not a topic (C-49)."""
    reference: EntityReference = view.reference
    output: EntityOutput = view.output
    keywords = counts(reference.keywords, output.keywords)
    topics = counts(reference.topics, output.topics)
    both, only_given, missed = (
        keywords.tp + topics.tp,
        keywords.fp + topics.fp,
        keywords.fn + topics.fn,
    )
    facts = FactFindings([True] * both + [False] * missed, [True] * both + [False] * only_given)
    is_configured = output.keywords | output.topics <= reference.configured
    closed = ClosedFields(both, both + only_given + missed)
    return ReplyFindings(CountedClaims(()), facts, closed, [is_configured])


def texts_cited_by_summary(view: ReplyView) -> Sequence[str]:
    """What the reply takes from the call: the claims of its summary."""
    return [claim.text for claim in claims(view.output.summary)]


def questions_on_summary(view: ReplyView) -> list[Question]:
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


def findings_of_text(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The claims, facts, closed fields and rules of the reply."""
    reference: TextReference = view.reference
    output: TextOutput = view.output
    expected, given = _both_sides(view)
    facts = FactFindings(
        _match_facts(expected, "expected", given, verdicts, flags),
        _match_facts(given, "claim", expected, verdicts, flags),
    )
    known = reference.claim_forms
    supported = limit_supported(
        claim_findings(given, known, verdicts, flags),
        len(known),
        view.padding_factor,
        flags,
    )
    return ReplyFindings(
        supported, facts, _closed_labels(reference, output, view.value), _check_rules_of_text(view)
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


def _closed_labels(
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


def _check_rules_of_text(view: ReplyView) -> list[bool]:
    """Every id once, none unexpected, labels from the set        C-96"""
    reference: TextReference = view.reference
    if not reference.sentences:
        return []
    items = view.value.get("sentiment", ())
    ids = id_usage(items, "sentence_id", reference.sentences)
    labels = [item.get("label") for item in items]
    known = [isinstance(label, str) and n2(label) in CLASSES for label in labels]
    return [ids.once, not ids.unexpected, all(known)]


def findings_of_translation(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The facts, closed fields and rules of the reply; added facts are unsupported claims."""
    reference: TranslationReference = view.reference
    output: TranslationOutput = view.output
    if not reference.sentences:
        return ReplyFindings(CountedClaims(()), FactFindings((), ()), _closed_terms(view), ())
    facts = count_supported(reference.facts, output.translation.text)
    claims = [True] * facts.supported + [False] * facts.added
    supported = limit_supported(claims, reference.total_facts, view.padding_factor, flags)
    counted = fact_count(reference, output.translation, verdicts, flags)
    kept = counted.total - counted.lost
    return ReplyFindings(
        supported,
        FactFindings([True] * kept + [False] * counted.lost, [True] * kept + [False] * facts.added),
        _closed_terms(view),
        _check_rules_of_translation(view),
    )


def _closed_terms(view: ReplyView) -> ClosedFields:
    """The listed domain terms with their renderings, N1        C-97"""
    if view.case.is_absent(TERMS):
        return ClosedFields(0, 0)
    expected = _forms_by_term(view.case.expected_outcome.get(TERMS, ()))
    given = _forms_by_term(view.value.get(TERMS, ()))
    matches = sum(given.get(term) == forms for term, forms in expected.items())
    return ClosedFields(matches, len(expected.keys() | given.keys()))


def _forms_by_term(entries: Iterable[Mapping[str, Any]]) -> Mapping[str, frozenset[str]]:
    """Every term with all renderings in a list."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        term, form = entry.get("term"), entry.get("handled_as")
        if isinstance(term, str) and isinstance(form, str):
            found.setdefault(n1(term), set()).add(n1(form))
    return {term: frozenset(forms) for term, forms in found.items()}


def _check_rules_of_translation(view: ReplyView) -> list[bool]:
    """Every id once, none unexpected, every sentence translated        C-96"""
    ids = id_usage(view.value.get(SENTENCES, ()), "source_id", view.reference.sentences)
    sentences = view.output.translation.by_id.values()
    return [ids.once, not ids.unexpected, all(r.is_translated for r in sentences)]
