"""The framework's own judge: its system prompt and the metrics that need judgement, verbatim.

Used by `style: document` and for verdicts given as five-key records (C-100).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

WHOLE = "*"
"""The item of a verdict that scores a metric as a whole."""
DOCUMENT = "document"
"""The source of such scores. It is part of the signature; they are never mixed with others."""
RECORD_KEYS = ("metric", "score", "expected_outcome_reference", "model_output_observed", "reason")
NOT_CITED = "citation_not_found"
"""A flag, with the metric: a citation that is neither a field nor found; its score counts."""
SAME_SCORE = 1e-9


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


class _MetricsFile(msgspec.Struct, frozen=True):
    metrics: Mapping[str, JudgedMetric]


@lru_cache(maxsize=1)
def judged_metrics() -> Mapping[str, JudgedMetric]:
    """The metrics that a judge may score, by slug."""
    return msgspec.toml.decode(_read("metrics.toml"), type=_MetricsFile).metrics


@lru_cache(maxsize=1)
def judge_prompt() -> str:
    """The framework's judge system prompt."""
    return _read("judge_prompt.txt").decode().rstrip("\n")


@lru_cache(maxsize=1)
def framework_digest() -> str:
    """A hash of the text that a judge is given."""
    content = _read("judge_prompt.txt") + b"\0" + _read("metrics.toml")
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _read(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()
