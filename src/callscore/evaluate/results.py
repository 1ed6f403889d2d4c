"""Case results and verdicts as the records that are written, and leaks found in replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


LEAK = "leak:"
"""Prefix of the flags that report data which must not be written down."""
SHOWN = 5


class Findings:
    """Collects the cases with a leak, by model and kind."""

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str], list[str]] = {}

    def add(self, model: str, case_id: str, flags: Iterable[str]) -> None:
        """Add the leaks among the flags of one reply."""
        for flag in flags:
            if flag.startswith(LEAK):
                found = self._cases.setdefault((model, flag), [])
                if not found or found[-1] != case_id:
                    found.append(case_id)

    def notes(self) -> list[str]:
        """One line for each model and kind of leak."""
        return [
            f"{model}: {flag.removeprefix(LEAK).replace('_', ' ')} in the answers to "
            f"{len(cases)} {'case' if len(cases) == 1 else 'cases'}, which must not be written "
            f"down: {', '.join(cases[:SHOWN])}{', …' if len(cases) > SHOWN else ''}"
            for (model, flag), cases in sorted(self._cases.items())
        ]
