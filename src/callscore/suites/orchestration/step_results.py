"""The result of every step of a scenario: one line per step and run in `--results`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.core.case import Failed, Reply
from callscore.core.scenarios import STEP_TASK
from callscore.core.scorecard import CaseResult, Status
from callscore.suites.orchestration.replies import NOT_RUN, ScenarioReplies
from callscore.suites.orchestration.step_record import StepRecord


def step_result(
    record: StepRecord, model: str, reply: Reply | None, flags: Sequence[str] = ()
) -> CaseResult:
    """The result of a scored step: 1 if everything is right, else 0."""
    metrics: dict[str, float | None] = {"orchestration.success": float(record.success)}
    if record.plan is not None:
        metrics["orchestration.plan"] = record.plan.score
    if record.call is not None:
        metrics |= {
            "orchestration.name": record.call.name,
            "orchestration.key": record.call.key,
            "orchestration.value": record.call.value,
        }
    if reply is not None:
        metrics |= {
            "orchestration.input_tokens": reply.input_tokens,
            "orchestration.output_tokens": reply.output_tokens,
            "orchestration.cost_usd": reply.cost_usd,
            "orchestration.latency_ms": reply.latency_ms,
        }
    return CaseResult(
        record.case_id,
        model,
        record.run,
        STEP_TASK,
        "valid",
        score=float(record.success),
        ungated_score=float(record.success),
        reasons=tuple(difference.kind for difference in record.differences),
        flags=(*record.flags, *flags),
        metrics=metrics,
    )


def failed_results(replies: ScenarioReplies) -> Iterator[CaseResult]:
    """The results of the steps without a reply, each with its cause."""
    for step in sorted(replies.steps, key=lambda step: (step.run, step.case.step_id)):
        if not isinstance(step.reply, Reply):
            yield missing_result(step.case.id, replies.model, step.run, step.reply)


def missing_result(case_id: str, model: str, run: int, found: Failed | None) -> CaseResult:
    """The result of a step without a reply: not run, or why it failed."""
    status: Status = "not_run" if found is None else "error"
    why = NOT_RUN if found is None else found.why or found.stage
    return CaseResult(case_id, model, run, STEP_TASK, status, flags=(why,))
