"""The judge that a framework describes, and the words of its five-key records (C-100).

Used by `style: document` and for verdicts given as five-key records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

WHOLE = "*"
"""The item of a verdict that scores a metric as a whole."""
DOCUMENT = "document"
"""The source of such scores. It is part of the signature; they are never mixed with others."""
RECORD_KEYS = ("metric", "score", "expected_outcome_reference", "model_output_observed", "reason")
NOT_CITED = "citation_not_found"
"""A flag, with the metric: a citation that is neither a field nor found; its score counts."""
SAME_SCORE = 1e-9


class FiveKeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one reply in the five keys of the framework, with its case and author (C-100).

    Written by `--records`, and by `--save-verdicts` for scores of whole metrics.
    """

    case_id: str
    model: str | None = None
    run: int = 1
    slug: str = ""
    """The metric, where several have the same name."""
    metric: str
    """The name of the metric in the framework's scorecard; several tasks may share it."""
    score: float | None
    expected_outcome_reference: Any
    model_output_observed: Any
    reason: str
    by: str | msgspec.UnsetType = msgspec.UNSET
    """The judge; code if there is none."""


class JudgedMetric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A metric as the framework describes it to a judge."""

    name: str
    layer: int
    definition: str
    steps: Sequence[float] = ()
    """The allowed scores; if empty, any from 0 to 1 (C-17, C-100)."""

    def fault(self, score: float) -> str:
        """Why a score is invalid; empty if it is valid."""
        if not 0 <= score <= 1:
            return "is not between 0 and 1"
        if self.steps and not any(abs(score - step) <= SAME_SCORE for step in self.steps):
            return f"is none of {', '.join(f'{step:g}' for step in self.steps)}"
        return ""


class FrameworkJudge(msgspec.Struct, frozen=True):
    """What the framework of a suite asks its judge, verbatim."""

    prompt: str = ""
    """The system prompt."""
    metrics: Mapping[str, JudgedMetric] = {}
    """The metrics that it may score, by slug."""
    scored_with: Mapping[str, Sequence[str]] = {}
    """By the metric that has questions: all metrics that are scored with it, itself included."""
    digest: str = ""
    """A hash of the text that a judge is given."""
