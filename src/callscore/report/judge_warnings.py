"""Warnings about the judge of a scorecard, for its header        STATS §5"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from callscore.core.scorecard import Scorecard
from callscore.report.judging_text import show_disagreement
from callscore.report.numbers import show, show_interval
from callscore.scorecard.decision import corrected_breaches

TOO_MUCH = 0.10
"""The share of audited items on which two judges may disagree without a warning."""


class JudgeWarning(NamedTuple):
    """A warning with its keyword."""

    keyword: str
    text: str


def judge_warnings(card: Scorecard) -> Iterator[JudgeWarning]:
    """Yield what keeps a reader from trusting the judged values."""
    judging = card.judging
    if judging is not None and (judging.disagreement or 0.0) > TOO_MUCH:
        yield JudgeWarning(
            "JUDGES", f"the second one disagrees on {show_disagreement(judging)}. Label a sample."
        )
    for model in card.models:
        for slug in corrected_breaches(model):
            metric = model.tasks[slug.partition(".")[0]].metrics[slug]
            corrected = metric.corrected
            if corrected is None or metric.value is None:
                continue
            limits = "" if corrected.ci95 is None else show_interval(corrected.ci95, metric.unit)
            yield JudgeWarning(
                "LABELS",
                f"{model.model}: {slug} is {show(metric.value, metric.unit)} as judged, but "
                f"{show(corrected.value, metric.unit)} {limits} corrected by {corrected.labels} "
                "human labels, which is a blocker.",
            )
