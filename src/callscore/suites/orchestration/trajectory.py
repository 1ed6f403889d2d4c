"""The trajectory of a scenario: every step with request, reply, expected step and verdict."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.case import Failed, Prompt, Reply
from callscore.core.scenarios import History, Json
from callscore.suites.orchestration.replies import (
    NOT_RUN,
    ScenarioReplies,
    StepReply,
    reply_text,
)
from callscore.suites.orchestration.scenario.model import gold_reply
from callscore.suites.orchestration.step_record import StepRecord


def trajectory(
    replies: ScenarioReplies, records: Sequence[StepRecord], history: History = "gold"
) -> list[Json]:
    """Every step of one scenario, run by run."""
    found = {(record.case_id, record.run): record for record in records}
    by_run = sorted(replies.steps, key=lambda step: (step.run, step.case.step_id))
    return [
        _line(replies.model, step, found.get((step.case.id, step.run)), history) for step in by_run
    ]


def _line(model: str, step: StepReply, record: StepRecord | None, history: History) -> Json:
    case = step.case
    return {
        "case_id": case.id,
        "model": model,
        "run": step.run,
        "history": history,
        "kind": "plan" if case.is_plan else "agent" if record is None else record.kind,
        "agent": case.agent,
        "request": request_json(case.prompt),
        "reply": reply_json(step.reply) if isinstance(step.reply, Reply) else None,
        "gold": gold_reply(case.step),
        "verdict": _verdict(step.reply, record),
    }


def request_json(prompt: Prompt) -> Json:
    """The messages, and the names of the tools."""
    return {
        "messages": [msgspec.to_builtins(message) for message in prompt.messages],
        "tools": [tool.name for tool in prompt.tools],
    }


def reply_json(reply: Reply) -> Json:
    """The reply, with what it took."""
    return {
        "text": reply_text(reply),
        "tool_calls": [msgspec.structs.asdict(call) for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "answered_by": reply.model,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "cost_usd": reply.cost_usd,
        "latency_ms": reply.latency_ms,
    }


def _verdict(found: Reply | Failed | None, record: StepRecord | None) -> Json:
    """The scores of the step; `not_scored` if the scenario or the expected step is incomplete."""
    if record is None:
        status = "not_scored" if isinstance(found, Reply) else "error" if found else "not_run"
        why = (
            found.why or found.stage if isinstance(found, Failed) else NOT_RUN if not found else ""
        )
        return {"status": status, "why": why, "success": None, "flags": [], "differences": []}
    return {
        "status": "valid",
        "why": "",
        "success": record.success,
        "flags": list(record.flags),
        "differences": [difference._asdict() for difference in record.differences],
        "metrics": {
            slug.rpartition(".")[2]: value
            for slug, value in record.measures.items()
            if slug != "orchestration.success"
        },
    }
