"""Case results and verdicts as the records that are written."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.case import Case, Failed
from callscore.core.judging import Verdict
from callscore.core.scorecard import CaseResult
from callscore.scorecard.tally import ScoredReply
from callscore.store.verdict_records import VerdictRecord


def result_of(
    case: Case, model: str, run: int, answer: ScoredReply, marks: Sequence[str]
) -> CaseResult:
    """The result of a measured reply, with the flags common to all results of its model."""
    score, flags = answer.score, answer.measured.flags
    metrics = score.values
    if answer.benchmarks:
        second = {slug: measure.value for slug, measure in answer.benchmarks.items()}
        metrics = {**metrics, **second}
    return CaseResult(
        case.id,
        model,
        run,
        case.task,
        score.status,
        score.score,
        score.ungated_score,
        score.reasons,
        sorted({*flags, *marks}) if marks else flags,
        metrics,
    )


def error_of(case: Case, model: str, run: int, failure: Failed) -> CaseResult:
    """The result of a run without a reply."""
    return CaseResult(case.id, model, run, case.task, "error", flags=(failure.why,))


def verdict_record(case_id: str, model: str | None, run: int, verdict: Verdict) -> VerdictRecord:
    """A verdict with its model and run; without a model it is about the case itself."""
    return VerdictRecord(
        case_id=case_id,
        metric=verdict.metric,
        item=verdict.item,
        model=model,
        run=run,
        verdict=verdict.verdict,
        value=verdict.value,
        text=verdict.text,
        quote=verdict.quote,
        source=verdict.source,
        by=verdict.by,
        approximate=verdict.approximate,
        expected_outcome_field=verdict.expected_outcome_field,
        model_output_field=verdict.model_output_field,
        note=verdict.note,
    )
