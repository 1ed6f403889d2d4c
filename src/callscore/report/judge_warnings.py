"""Warnings about the judge of a scorecard, for its header        STATS §5"""

from __future__ import annotations

from collections.abc import Iterator

from callscore.core.scorecard import Scorecard
from callscore.report.judging_text import show_disagreement

TOO_MUCH = 0.10
"""The share of audited items on which two judges may disagree without a warning."""


def judge_warnings(card: Scorecard) -> Iterator[str]:
    """Yield what keeps a reader from trusting the judged values."""
    judging = card.judging
    if judging is None:
        return
    if (judging.disagreement or 0.0) > TOO_MUCH:
        yield f"the second one disagrees on {show_disagreement(judging)}; see --labels."
    for sentence in judging.at_risk:
        yield f"{sentence}; see --labels."
