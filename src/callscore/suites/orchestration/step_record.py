"""The record of one step of one run, its lines in `--results` and `--records`, and its kind."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.scenarios import STEP_TASK
from callscore.core.scorecard import CaseResult, Status
from callscore.core.task import SCENARIO
from callscore.core.verdict_rules import FiveKeyRecord
from callscore.suites.orchestration.call.measures import CallScore
from callscore.suites.orchestration.call.schema import Difference
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.plan.measures import PlanScore
from callscore.suites.orchestration.replies import NOT_RUN, ScenarioReplies
from callscore.suites.orchestration.scenario.output_file import RecordedReply

LONGEST_SHOWN, DIFFERENCES_SHOWN = 1000, 5
"""Of a step in a record: characters of a text, and how many wrong arguments it names."""
KINDS = frozenset({"plan", "call", "rejection"})
_ROWS = {
    "plan": ("plan",),
    "call": ("name", "key", "value", "call_f1"),
    "rejection": ("reject_f1",),
}


class StepRecord(msgspec.Struct, frozen=True):
    """One step: what was due (`kind`), its agent, whether it was right, and the differences.

    `tool` is the tool that was due, or the type of the rejection; `size` is the number of agent
    steps in the gold plan; `expected` is the annotated text of the step.
    """

    case_id: str
    run: int
    scenario: str
    kind: Literal["plan", "call", "rejection"]
    agent: str
    tool: str = ""
    size: int = 0
    success: bool = False
    plan: PlanScore | None = None
    call: CallScore | None = None
    confusion: Confusion = Confusion()
    differences: tuple[Difference, ...] = ()
    flags: tuple[str, ...] = ()
    expected: str = ""
    reply: RecordedReply | None = None

    @property
    def may_be_right(self) -> bool:
        """Whether the step is right, or would be if its undecided values were        C-141"""
        call = self.call
        return self.success or (
            call is not None and call.name == call.key == 1.0 and call.value_at_best == 1.0
        )

    @property
    def step_id(self) -> int:
        """The number of the step in its scenario."""
        return int(self.case_id.rpartition("#")[2])

    @property
    def measures(self) -> Mapping[str, float]:
        """The measures of the step, by metric; a plan that cannot be read has none."""
        found = {"orchestration.success": float(self.success)}
        if self.plan is not None:
            found["orchestration.plan"] = self.plan.score
        if self.call is not None:
            for name in ("name", "key", "value"):
                found[f"orchestration.{name}"] = getattr(self.call, name)
        return found


def step_result(
    record: StepRecord, model: str, reply: Reply | None, flags: Sequence[str] = ()
) -> CaseResult:
    """The result of a scored step: 1 if everything is right, else 0."""
    metrics: dict[str, float | None] = {**record.measures}
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


def metric_records(step: StepRecord, model: str) -> Iterator[FiveKeyRecord]:
    """One record per measure of a step; a failed plan scores 0        C-118"""
    against = "; ".join(
        f"{difference.kind.replace('_', ' ')}: {difference.detail}"
        for difference in step.differences[:DIFFERENCES_SHOWN]
    )
    measures = {**step.measures}
    if step.kind == "plan":
        measures.setdefault("orchestration.plan", 0.0)
    for metric, score in measures.items():
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


def kinds_in(records: Iterable[StepRecord]) -> frozenset[str]:
    """The kinds that are due or predicted; predicted plans are answers to plan steps only."""
    found = set()
    for record in records:
        found.add(record.kind)
        confusion = record.confusion
        if confusion.fc_reject:
            found.add("rejection")
        if confusion.reject_fc:
            found.add("call")
    return frozenset(found)


def rows_left_out(kinds: Collection[str]) -> Sequence[str]:
    """The rows of the formula that no scenario has        C-142"""
    return [
        f"{SCENARIO}.{row}" for kind, rows in _ROWS.items() if kind not in kinds for row in rows
    ]


def name_kinds(kinds: Collection[str]) -> str:
    """`calls and rejections`: what the Final Score is over; empty if it is over everything."""
    if set(kinds) >= KINDS:
        return ""
    return " and ".join(f"{kind}s" for kind in _ROWS if kind in kinds)
