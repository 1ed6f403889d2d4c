"""What sections of a report count over all cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from callscore.report.details.decoded_case import decode_case
from callscore.report.details.form_agreement import (
    CallDecisionConfusion,
    FormTotals,
    QuestionCounter,
    SentimentConfusion,
)
from callscore.report.details.slices import Slices
from callscore.report.source import CaseView
from callscore.results.port import ReportCounts


def count_cases(views: Iterable[CaseView], settings: Mapping[str, object]) -> ReportCounts:
    """What sections of a report count over some cases."""
    statuses: dict[str, dict[str, int]] = {}
    verdicts: dict[str, int] = {}
    labels: dict[str, int] = {}
    total = 0
    questions, forms, slices = QuestionCounter(settings), FormTotals(), Slices()
    sentiments, decisions = SentimentConfusion(), CallDecisionConfusion()
    for view in views:
        total += 1
        case = decode_case(view)
        questions.add(case)
        forms.add(case)
        sentiments.add_case(case)
        decisions.add_case(case)
        slices.add(case)
        for answer in view.answers:
            of_model = statuses.setdefault(answer.model, {})
            of_model[answer.result.status] = of_model.get(answer.result.status, 0) + 1
            for one in answer.verdicts:
                verdicts[one.by] = verdicts.get(one.by, 0) + 1
            for one in answer.labels:
                labels[one.by] = labels.get(one.by, 0) + 1
    return ReportCounts(
        questions, forms, sentiments, decisions, slices, statuses, verdicts, labels, total
    )
