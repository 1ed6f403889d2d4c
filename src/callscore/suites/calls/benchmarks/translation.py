"""A translation as the benchmarks see it: its numbers, dates and outcomes are facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from callscore.core.judging import Verdicts
from callscore.metrics.text import n1
from callscore.suites.calls.benchmarks.view import (
    ClosedFields,
    FactFindings,
    ReplyFindings,
    ReplyView,
    id_usage,
)
from callscore.suites.calls.text.fabrication import CountedClaims, limit_supported
from callscore.suites.calls.translation.facts import count_supported
from callscore.suites.calls.translation.reference import SENTENCES, TERMS, TranslationReference
from callscore.suites.calls.translation.task import TranslationOutput, fact_count


def findings(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The facts, closed fields and rules of the reply; added facts are unsupported claims."""
    reference: TranslationReference = view.reference
    output: TranslationOutput = view.output
    if not reference.sentences:
        return ReplyFindings(CountedClaims(()), FactFindings((), ()), _closed_fields(view), ())
    facts = count_supported(reference.facts, output.translation.text)
    claims = [True] * facts.supported + [False] * facts.added
    supported = limit_supported(claims, reference.total_facts, view.padding_factor, flags)
    counted = fact_count(reference, output.translation, verdicts, flags)
    kept = counted.total - counted.lost
    return ReplyFindings(
        supported,
        FactFindings([True] * kept + [False] * counted.lost, [True] * kept + [False] * facts.added),
        _closed_fields(view),
        _check_rules(view),
    )


def _closed_fields(view: ReplyView) -> ClosedFields:
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


def _check_rules(view: ReplyView) -> list[bool]:
    """Every id once, none unexpected, every sentence translated        C-96"""
    ids = id_usage(view.value.get(SENTENCES, ()), "source_id", view.reference.sentences)
    sentences = view.output.translation.by_id.values()
    return [ids.once, not ids.unexpected, all(r.is_translated for r in sentences)]
