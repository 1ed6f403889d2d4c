"""Evaluates a recorded scenario by document 001: its row and step records (C-104 … C-119)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from callscore.core.case import Malformed
from callscore.core.errors import DataError
from callscore.core.measure import Measure, ratio
from callscore.core.scenarios import DataFinding, OpenStep
from callscore.suites.orchestration.call.measures import NO_CALL, Tools, measure_calls
from callscore.suites.orchestration.call.questions import VerdictSource
from callscore.suites.orchestration.call.schema import Difference
from callscore.suites.orchestration.decision.confusion import Confusion, cell
from callscore.suites.orchestration.decision.parse import (
    REPEATS_PLAN,
    NoDecision,
    Prediction,
    ToolCalls,
    read_prediction,
)
from callscore.suites.orchestration.plan.measures import PlanScore, measure_plan
from callscore.suites.orchestration.plan.parse import READING_REPAIRS, read_plan
from callscore.suites.orchestration.rows import NONE_DUE, CallRow, PlanRow, ResultRow
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.cases import case_for_judge
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    RawStep,
    Scenario,
    case_id,
)
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    RecordedRun,
    ScenarioRecording,
)
from callscore.suites.orchestration.scenario.parse import ScenarioKey, interpret_steps
from callscore.suites.orchestration.step_record import StepRecord


class ScenarioEvaluation(msgspec.Struct, frozen=True):
    """The row of a scenario, the records of its steps, and the findings about its data."""

    row: ResultRow
    records: tuple[StepRecord, ...]
    findings: tuple[DataFinding, ...]
    plans_ran: bool
    """Whether a run has a reply to a plan step."""
    calls_ran: bool
    """Whether a run has a reply to an agent step."""
    judged: int = 0
    """How many values a judging model decided."""
    labelled: int = 0
    """How many of these people labelled."""
    people: ScenarioEvaluation | None = None
    """The same with the words of people on the labelled values (STATS §5)."""


def open_steps(
    recording: ScenarioRecording, key: ScenarioKey, cards: Cards, verdicts: VerdictSource
) -> Iterator[OpenStep]:
    """Every step of every run with a value that neither code nor `verdicts` decide        C-115"""
    for run, scenario in _scenario_by_run(recording, key, cards):
        for step in scenario.agent_steps:
            if step.has_card or step.step_id in run.steps:
                record = _agent_record(step, run, scenario, cards.tools_of(step.agent), verdicts)
                if record.call is not None and record.call.undecided:
                    shown = case_for_judge(scenario, step)
                    yield OpenStep(run.number, shown, record.call.undecided)


def evaluate_scenario(
    recording: ScenarioRecording,
    key: ScenarioKey,
    cards: Cards,
    verdicts: VerdictSource,
    file_path: str,
) -> ScenarioEvaluation:
    """Evaluate every step of every run; raises DataError for a recorded infrastructure error."""
    records: list[StepRecord] = []
    findings: dict[DataFinding, None] = {}
    for run, scenario in _scenario_by_run(recording, key, cards):
        findings |= dict.fromkeys(scenario.findings)
        findings |= dict.fromkeys(_stray_findings(run, key))
        records += [_plan_record(plan, run, scenario) for plan in scenario.plans]
        for step in scenario.agent_steps:
            if not step.has_card and step.step_id not in run.steps:
                findings[_not_requested_finding(step, scenario)] = None
                continue
            records.append(_agent_record(step, run, scenario, cards.tools_of(step.agent), verdicts))
    return ScenarioEvaluation(
        _row(file_path, records, recording),
        tuple(records),
        tuple(findings),
        plans_ran=any(run.plans for run in recording.runs),
        calls_ran=any(run.steps for run in recording.runs),
    )


def _scenario_by_run(
    recording: ScenarioRecording, key: ScenarioKey, cards: Cards
) -> Iterator[tuple[RecordedRun, Scenario]]:
    """Every run with its scenario; equal steps are interpreted once."""
    known: dict[tuple[RawStep, ...], Scenario] = {}
    for run, raw in zip(recording.runs, recording.raw_steps, strict=True):
        if raw not in known:
            known[raw] = interpret_steps(raw, key, cards)
        yield run, known[raw]


def _stray_findings(run: RecordedRun, key: ScenarioKey) -> list[DataFinding]:
    where = f"{key.lang}/{key.scenario}"
    return [
        DataFinding(where, "stray_answer", "noted", f"run {run.number}: {s}") for s in run.stray
    ]


def _not_requested_finding(step: AgentStep, scenario: Scenario) -> DataFinding:
    where = case_id(scenario.lang, scenario.id, step.step_id)
    return DataFinding(
        where, "agent_without_card", "set_aside", "the model was never asked this step"
    )


def _reply_to(
    replies: Mapping[int, RecordedReply], step_id: int, where: str
) -> RecordedReply | None:
    reply = replies.get(step_id)
    if reply is not None and reply.error:
        raise DataError(f"error: {reply.error}", case_id=where, field="error")
    return reply


def _plan_record(step: PlanStep, run: RecordedRun, scenario: Scenario) -> StepRecord:
    """The record of a plan; a missing or malformed one is one failed step        C-118, Q2, Q5"""
    where = case_id(scenario.lang, scenario.id, step.step_id)
    reply = _reply_to(run.plans, step.step_id, where)
    text = reply.content if reply is not None else None
    plan = read_plan(text) if isinstance(text, str) else Malformed("no_plan", "no text")
    record = StepRecord(
        where,
        run.number,
        scenario.id,
        "plan",
        "main",
        size=step.gold.size,
        expected=scenario.text_of(step.step_id),
        reply=reply,
    )
    if isinstance(plan, Malformed):
        failed = Difference("failed_plan", f"{plan.cause}: {plan.detail[:80]}")
        return msgspec.structs.replace(record, differences=(failed,))
    score = measure_plan(plan, step.gold)
    return msgspec.structs.replace(
        record,
        plan=score,
        success=score.is_right,
        flags=(*score.flags, *(kind for kind in READING_REPAIRS if kind in plan.repairs)),
        differences=_plan_differences(score),
    )


def _plan_differences(score: PlanScore) -> tuple[Difference, ...]:
    if score.exact_plan:
        return ()
    differences = []
    if score.structural.similarity < 1:
        detail = f"structural similarity {score.structural.similarity:.4f}"
        differences.append(Difference("wrong_dependencies", detail))
    if score.component.similarity < 1 or score.node_f1 < 1 or score.edge_f1 < 1:
        detail = f"component similarity {score.component.similarity:.4f}"
        differences.append(Difference("wrong_steps", detail))
    return tuple(differences)


def _agent_record(
    step: AgentStep, run: RecordedRun, scenario: Scenario, tools: Tools, verdicts: VerdictSource
) -> StepRecord:
    where = case_id(scenario.lang, scenario.id, step.step_id)
    reply = _reply_to(run.steps, step.step_id, where)
    prediction = read_prediction(reply)
    confusion = cell(step.due, prediction)
    record = StepRecord(
        where,
        run.number,
        scenario.id,
        "call" if isinstance(step.due, CallsDue) else "rejection",
        step.agent,
        tool=step.due.tool if isinstance(step.due, CallsDue) else step.due.type,
        confusion=confusion,
        flags=() if isinstance(prediction, NoDecision) else prediction.flags,
        expected=scenario.text_of(step.step_id),
        reply=reply,
    )
    wrong = _decision_difference(step, prediction, confusion)
    is_comparable = isinstance(step.due, CallsDue) and step.due.readable
    if wrong is not None:
        score = NO_CALL if is_comparable else None
        return msgspec.structs.replace(record, call=score, differences=(wrong,))
    if isinstance(prediction, ToolCalls) and isinstance(step.due, CallsDue) and is_comparable:
        score = measure_calls(
            prediction.calls,
            step.due.calls,
            prediction.malformed,
            tools,
            lambda question: verdicts.verdict_on(where, run.number, question),
        )
        perfect = score.name == score.key == score.value == 1.0
        return msgspec.structs.replace(
            record, call=score, success=perfect, differences=score.differences
        )
    return msgspec.structs.replace(record, success=True)


def _decision_difference(
    step: AgentStep, prediction: Prediction, confusion: Confusion
) -> Difference | None:
    """The error of the decision itself, by the error taxonomy; None if the decision is right."""
    if isinstance(prediction, NoDecision):
        if prediction.why == REPEATS_PLAN:
            return Difference(REPEATS_PLAN, f"a plan where {_due_name(step)} was due")
        return Difference("failed_answer", prediction.why)
    if isinstance(prediction, ToolCalls):
        names = ", ".join(call.name for call in prediction.calls)
        return Difference("overaction", f"called {names[:80]}") if confusion.reject_fc else None
    if confusion.fc_reject:
        return Difference("underaction", f"{prediction.type} for a call of {_due_name(step)}")
    if confusion.reject_other_type:
        return Difference("wrong_rejection_type", f"{prediction.type} for {_due_name(step)}")
    return None


def _due_name(step: AgentStep) -> str:
    return step.due.tool if isinstance(step.due, CallsDue) else step.due.type


def _row(file_path: str, records: Sequence[StepRecord], recording: ScenarioRecording) -> ResultRow:
    confusion = sum((record.confusion for record in records), Confusion())
    calls = [record.call for record in records if record.call is not None]
    plans = [record.plan for record in records if record.plan is not None]
    return ResultRow(
        file_path,
        _plan_row([record for record in records if record.kind == "plan"]),
        _call_row([record for record in records if record.call is not None]),
        confusion,
        confusion.call_cases,
        confusion.rejection_cases,
        approximate_plans=sum(plan.approximate for plan in plans),
        undecided_values=sum(len(call.undecided) for call in calls),
        scenario=recording.scenario_id,
        runs=len(recording.runs),
        right=right_by_run(records),
        right_at_best=right_by_run(records, lambda record: record.may_be_right),
    )


def right_by_run(
    records: Iterable[StepRecord],
    is_right: Callable[[StepRecord], bool] = lambda record: record.success,
) -> tuple[bool, ...]:
    """By run, whether every step of a scenario is right        C-141"""
    found: dict[int, bool] = {}
    for record in records:
        found[record.run] = found.get(record.run, True) and is_right(record)
    return tuple(found[run] for run in sorted(found))


def _mean(values: Sequence[float]) -> Measure:
    return ratio(math.fsum(values), len(values)) if values else NONE_DUE


def _plan_row(records: Sequence[StepRecord]) -> PlanRow:
    """Σ/(evaluated + failed), Σ/evaluated, averages over scored steps; runs pooled   C-118"""
    scored = [record.plan for record in records if record.plan is not None]
    total = math.fsum(plan.score for plan in scored)
    return PlanRow(
        with_failure=ratio(total, len(records)) if records else NONE_DUE,
        without_failure=_mean([plan.score for plan in scored]),
        structural=_mean([plan.structural.similarity for plan in scored]),
        component=_mean([plan.component.similarity for plan in scored]),
        failed=len(records) - len(scored),
        evaluated=len(scored),
    )


def _call_row(records: Sequence[StepRecord]) -> CallRow:
    """Means over the steps where a call was due; 0 if none was made        C-115"""
    due = [record.call for record in records if record.call is not None]
    return CallRow(
        name=_mean([call.name for call in due]),
        key=_mean([call.key for call in due]),
        value=_mean([call.value for call in due]),
        value_positive_only=_mean([call.value for call in due if call.value > 0]),
        value_answered_only=_mean(
            [r.call.value for r in records if r.call is not None and r.confusion.fc_fc]
        ),
        value_at_best=_mean([call.value_at_best for call in due]),
        perfect=sum(record.success for record in records),
    )
