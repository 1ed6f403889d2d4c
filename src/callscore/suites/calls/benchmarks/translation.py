"""A translation as the benchmarks see it: its numbers, dates and outcomes are facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from callscore.core.judging import Verdicts
from callscore.metrics.text import n1
from callscore.suites.calls.benchmarks.view import Closed, Facts, Subject, View, ids_of
from callscore.suites.calls.text.fabrication import without_padding
from callscore.suites.calls.translation.facts import stated
from callscore.suites.calls.translation.reference import SENTENCES, TERMS, TranslationReference
from callscore.suites.calls.translation.task import TranslationOutput, fact_count


def view(subject: Subject, verdicts: Verdicts, flags: set[str]) -> View:
    """The facts, closed fields and rules of the reply; added facts are unsupported claims."""
    reference: TranslationReference = subject.reference
    output: TranslationOutput = subject.output
    if not reference.sentences:
        return View((), Facts((), ()), _closed(subject), ())
    facts = stated(reference.facts, output.rendered.text)
    claims = [True] * facts.supported + [False] * facts.added
    supported = without_padding(claims, reference.total_facts, flags)
    counted = fact_count(reference, output.rendered, verdicts, flags)
    kept = counted.total - counted.lost
    return View(
        supported,
        Facts([True] * kept + [False] * counted.lost, [True] * kept + [False] * facts.added),
        _closed(subject),
        _rules(subject),
    )


def _closed(subject: Subject) -> Closed:
    """The listed domain terms with their renderings, N1        C-97"""
    if subject.case.is_absent(TERMS):
        return Closed(0, 0)
    expected = _renderings(subject.case.expected_outcome.get(TERMS, ()))
    given = _renderings(subject.value.get(TERMS, ()))
    matches = sum(given.get(term) == forms for term, forms in expected.items())
    return Closed(matches, len(expected.keys() | given.keys()))


def _renderings(entries: Iterable[Mapping[str, Any]]) -> Mapping[str, frozenset[str]]:
    """Every term with all renderings in a list."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        term, form = entry.get("term"), entry.get("handled_as")
        if isinstance(term, str) and isinstance(form, str):
            found.setdefault(n1(term), set()).add(n1(form))
    return {term: frozenset(forms) for term, forms in found.items()}


def _rules(subject: Subject) -> list[bool]:
    """Every id once, none unexpected, every sentence translated        C-96"""
    ids = ids_of(subject.value.get(SENTENCES, ()), "source_id", subject.reference.sentences)
    renderings = subject.output.rendered.by_id.values()
    return [ids.once, not ids.unexpected, all(r.is_translated for r in renderings)]
