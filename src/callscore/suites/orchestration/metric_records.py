"""One record per step, model, run and metric (`--records`), scored by code        C-100"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from callscore.core.scenarios import ScenarioSinks
from callscore.core.verdict_rules import FiveKeyRecord
from callscore.suites.orchestration.result import LanguageResult
from callscore.suites.orchestration.scenario.output_file import RecordedReply
from callscore.suites.orchestration.step_record import StepRecord

LONGEST_SHOWN = 1000
DIFFERENCES_SHOWN = 5


def emit_records(results: Iterable[LanguageResult], sinks: ScenarioSinks) -> None:
    """Pass the records of every step on, if they are wanted."""
    if sinks.on_record is None:
        return
    for result in results:
        for step in result.records:
            for record in metric_records(step, result.metadata.model):
                sinks.on_record(record)


def metric_records(step: StepRecord, model: str) -> Iterator[FiveKeyRecord]:
    """One record per measure of a step; a failed plan scores 0        C-118"""
    against = "; ".join(
        f"{difference.kind.replace('_', ' ')}: {difference.detail}"
        for difference in step.differences[:DIFFERENCES_SHOWN]
    )
    for metric, score in step_metrics(step).items():
        yield FiveKeyRecord(
            case_id=step.case_id,
            model=model,
            run=step.run,
            slug=metric,
            metric=metric,
            score=score,
            expected_outcome_reference=_truncate(step.expected),
            model_output_observed=_truncate(_reply_text(step.reply)),
            reason=_truncate(against),
        )


def step_metrics(step: StepRecord) -> Mapping[str, float]:
    """The measures of a step, by metric."""
    metrics = {"orchestration.success": float(step.success)}
    if step.kind == "plan":
        metrics["orchestration.plan"] = step.plan.score if step.plan is not None else 0.0
    if step.call is not None:
        metrics |= {
            "orchestration.name": step.call.name,
            "orchestration.key": step.call.key,
            "orchestration.value": step.call.value,
        }
    return metrics


def _reply_text(reply: RecordedReply | None) -> str:
    """The text of the reply, or text and calls as JSON; empty without a reply."""
    if reply is None:
        return ""
    if isinstance(reply.content, str) and not reply.tool_calls:
        return reply.content
    given = {"content": reply.content, "tool_calls": reply.tool_calls}
    return json.dumps(given, ensure_ascii=False, default=str)


def _truncate(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
