"""An entity reply as the benchmarks see it: every reported entity is a fact."""

from __future__ import annotations

from callscore.core.judging import Verdicts
from callscore.metrics.classification import counts
from callscore.suites.calls.benchmarks.view import (
    ClosedFields,
    FactFindings,
    ReplyFindings,
    ReplyView,
)
from callscore.suites.calls.entity.reference import EntityReference
from callscore.suites.calls.entity.task import EntityOutput
from callscore.suites.calls.text.fabrication import CountedClaims


def findings(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
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
