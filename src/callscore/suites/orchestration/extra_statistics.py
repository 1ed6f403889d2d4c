"""Statistics beyond document 001: `x_extension` in the mode `standard`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb
from statistics import fmean
from typing import Any

from callscore.stats.contributions import call_key
from callscore.stats.rates import interval_of_counts
from callscore.suites.orchestration.decision.confusion import Confusion, or_zero, recall_strict
from callscore.suites.orchestration.plan.parse import READING_REPAIRS
from callscore.suites.orchestration.step_record import StepRecord

Json = dict[str, Any]
EVIDENCE_SHOWN = 50
"""Examples kept for each kind of error; the count is always complete."""


def mean_or_none(values: Iterable[float]) -> float | None:
    """The mean, or None without values"""
    listed = list(values)
    return fmean(listed) if listed else None


def plan_statistics(records: Sequence[StepRecord]) -> Json:
    """Node F1, edge F1, rate of exact plans over all expected ones; flags; bounds of searches"""
    due = [record for record in records if record.kind == "plan"]
    scored = [(record, record.plan) for record in due if record.plan is not None]
    return {
        "node_f1": mean_or_none(plan.node_f1 for _, plan in scored),
        "edge_f1": mean_or_none(plan.edge_f1 for _, plan in scored),
        "exact_plan_rate": mean_or_none(
            record.plan is not None and record.plan.exact_plan for record in due
        ),
        "flags": {
            flag: [record.case_id for record, plan in scored if flag in plan.flags]
            for flag in ("cycle", "dangling_dependency")
        },
        "read_leniently": _plans_by_repair(due),
        "approximate": [
            {
                "case_id": record.case_id,
                "run": record.run,
                "structural": [plan.structural.low, plan.structural.high],
                "component": [plan.component.low, plan.component.high],
            }
            for record, plan in scored
            if plan.approximate
        ],
    }


def _plans_by_repair(records: Sequence[StepRecord]) -> dict[str, list[str]]:
    """Plans that are neither valid JSON nor valid YAML, by the repair they needed        C-128"""
    found = {
        kind: [record.case_id for record in records if kind in record.flags]
        for kind in READING_REPAIRS
    }
    return {kind: cases for kind, cases in found.items() if cases}


def decision_statistics(confusion: Confusion, records: Sequence[StepRecord]) -> Json:
    """FAILED by expected decision, strict recall, replies that call and reject    C-105, C-107"""
    return {
        "failed_on_fc": confusion.fc_failed,
        "failed_on_reject": confusion.reject_failed,
        "reject_recall_strict": or_zero(recall_strict(confusion)),
        "call_and_reject": [r.case_id for r in records if "call_and_reject" in r.flags],
        "malformed_call": [r.case_id for r in records if "malformed_call" in r.flags],
    }


def undecided_values(records: Sequence[StepRecord]) -> list[Json]:
    """Argument values that only a judge can compare, and that were not judged        C-115"""
    return [
        {
            "case_id": record.case_id,
            "run": record.run,
            "metric": question.metric,
            "item": question.item,
            "text": question.text,
            "reference": question.reference,
        }
        for record in records
        if record.call is not None
        for question in record.call.undecided
    ]


def run_consistency(records: Sequence[StepRecord], *, has_intervals: bool = True) -> Json:
    """pass^k over scenarios, flip rate over steps, whole-scenario success"""
    by_run: dict[tuple[str, int], list[bool]] = defaultdict(list)
    by_step: dict[str, list[bool]] = defaultdict(list)
    for record in records:
        by_run[record.scenario, record.run].append(record.success)
        by_step[record.case_id].append(record.success)
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for (scenario, _), successes in by_run.items():
        outcomes[scenario].append(all(successes))
    return {
        "scenario_success": mean_or_none(won for runs in outcomes.values() for won in runs),
        "pass_hat_k": pass_hat_k(list(outcomes.values())),
        "flip_rate": flip_rate(list(by_step.values())),
        **({"flip_rate_ci95": _flip_interval(records)} if has_intervals else {}),
        "progress_rate": progress_rate(records),
    }


def progress_rate(records: Sequence[StepRecord]) -> float | None:
    """Steps before the first wrong one / all steps; mean over scenarios and runs"""
    by_run: dict[tuple[str, int], dict[int, bool]] = defaultdict(dict)
    for record in records:
        by_run[record.scenario, record.run][record.step_id] = record.success
    return mean_or_none(_progress(steps) for steps in by_run.values())


def _progress(success: Mapping[int, bool]) -> float:
    in_order = [success[step] for step in sorted(success)]
    return (in_order.index(False) if False in in_order else len(in_order)) / len(in_order)


def pass_hat_k(outcomes: Sequence[Sequence[bool]]) -> dict[str, float]:
    """mean of C(successes, k) / C(runs, k), for every k that each scenario has runs for"""
    runs = min((len(scenario) for scenario in outcomes), default=0)
    return {
        str(k): fmean(comb(sum(scenario), k) / comb(len(scenario), k) for scenario in outcomes)
        for k in range(1, runs + 1)
    }


def flip_rate(outcomes: Sequence[Sequence[bool]]) -> float | None:
    """Steps that are right in one run and wrong in another / steps with several runs"""
    return mean_or_none(len(set(step)) > 1 for step in outcomes if len(step) > 1)


def _flip_interval(records: Sequence[StepRecord]) -> list[float] | None:
    """The 95 % interval of the flip rate, over scenarios        STATS §2"""
    by_step: dict[tuple[str, str], set[bool]] = defaultdict(set)
    runs: dict[tuple[str, str], int] = defaultdict(int)
    for record in records:
        by_step[record.scenario, record.case_id].add(record.success)
        runs[record.scenario, record.case_id] += 1
    counts: dict[int, tuple[int, int]] = {}
    for step, outcomes in by_step.items():
        if runs[step] > 1:
            scenario = call_key(step[0], "")
            flipped, repeated = counts.get(scenario, (0, 0))
            counts[scenario] = (flipped + (len(outcomes) > 1), repeated + 1)
    if not counts:
        return None
    found = interval_of_counts(counts)
    return None if found is None else [found.low, found.high]


def breakdowns(records: Sequence[StepRecord]) -> Json:
    """Success by agent, tool, rejection type and plan size"""
    calls = [record for record in records if record.kind == "call"]
    return {
        "by_agent": _group_by([r for r in records if r.kind != "plan"], lambda r: r.agent),
        "by_tool": _group_by(calls, lambda r: r.tool),
        "by_rejection_type": _group_by(
            [r for r in records if r.kind == "rejection"], lambda r: r.tool
        ),
        "by_plan_size": _group_by([r for r in records if r.kind == "plan"], lambda r: str(r.size)),
    }


def _group_by(records: Sequence[StepRecord], key: Callable[[StepRecord], str]) -> Json:
    groups: dict[str, list[StepRecord]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return {
        name: _summarize_group(groups[name]) for name in sorted(groups, key=lambda n: (len(n), n))
    }


def _summarize_group(records: Sequence[StepRecord]) -> Json:
    confusion = sum((record.confusion for record in records), Confusion())
    scored_calls = [record.call for record in records if record.call is not None]
    plans = [record.plan for record in records if record.plan is not None]
    shown: Json = {"steps": len(records), "success": fmean(r.success for r in records)}
    if confusion.call_cases:
        shown["called"] = confusion.fc_fc / confusion.call_cases
    if scored_calls:
        shown["value_f1"] = fmean(call.value for call in scored_calls)
    if plans:
        shown["plan_score"] = fmean(plan.score for plan in plans)
    return shown


def error_taxonomy(records: Sequence[StepRecord]) -> Json:
    """Every kind of error with its count and the steps where it occurs"""
    counts: Counter[str] = Counter()
    evidence: dict[str, list[Json]] = defaultdict(list)
    for record in records:
        for kind, detail in record.differences:
            counts[kind] += 1
            if len(evidence[kind]) < EVIDENCE_SHOWN:
                evidence[kind].append(
                    {"case_id": record.case_id, "run": record.run, "detail": detail}
                )
    return {
        kind: {"count": number, "evidence": evidence[kind]}
        for kind, number in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    }
