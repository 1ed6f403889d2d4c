"""Scenarios as cases of the scorecard: their measures, added up over scenarios (C-118, C-119).

A scenario is one case, and the replies to all its steps in all its runs are one answer to it: its
runs are pooled, not averaged first. A scenario with a failed request is a case that failed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import ABSENT, Measure, ratio, undefined, vacuous
from callscore.core.scorecard import TaskScore
from callscore.core.spec import ScoreSettings
from callscore.core.task import SCENARIO, Measured
from callscore.scorecard.formula import CaseScore, formula_for
from callscore.scorecard.model_score import score_task
from callscore.scorecard.scored_reply import ReplyLabels, ScoredReply
from callscore.scorecard.tally import TaskTally
from callscore.stats.contributions import Charge, TaskContributions, call_key
from callscore.suites.orchestration.decision.confusion import (
    Confusion,
    or_zero,
    public_cells,
)
from callscore.suites.orchestration.rows import FailedRow, ResultRow
from callscore.suites.orchestration.spec import card_spec

Costs = Mapping[str, Sequence[float | None]]
"""By scenario, what each of its runs cost in dollars; None if a price is unknown."""

NO_COSTS: Costs = {}
NO_LABELS: Mapping[str, ReplyLabels] = {}
SETTINGS = ScoreSettings()
NOT_DUE = undefined("nothing of this kind was due")


def measure_scenario(row: ResultRow, *, is_compat: bool = False) -> Measured:
    """The value of every row of the scorecard on one scenario        001, C-113 … C-119"""
    if is_compat:
        confusion, cases = public_cells(row.confusion), row.call_cases
    else:
        confusion, cases = row.confusion, row.confusion.call_cases
    found = {
        **_plan_measures(row, is_compat=is_compat),
        **_call_measures(row, is_compat=is_compat),
        **_decision_measures(confusion, cases, is_compat=is_compat),
        **_success_measures(row),
    }
    return Measured({f"{SCENARIO}.{name}": measure for name, measure in found.items()})


def _plan_measures(row: ResultRow, *, is_compat: bool) -> dict[str, Measure]:
    """Σ score / expected plans, and means over the scored ones        C-118"""
    plan = row.plan
    due = is_compat or plan.evaluated + plan.failed > 0
    found = {
        "plan": plan.with_failure,
        "plan_without_failure": plan.without_failure,
        "plan_structural": plan.structural,
        "plan_component": plan.component,
    }
    if is_compat:  # a file without plans counts 0 (Q17)
        found = {name: Measure(or_zero(measure)) for name, measure in found.items()}
    found = {name: measure if due else ABSENT for name, measure in found.items()}
    if row.approximate_plans and found["plan"].value is not None:
        found["plan"] = msgspec.structs.replace(found["plan"], approximate=True)
    return found


def _call_measures(row: ResultRow, *, is_compat: bool) -> dict[str, Measure]:
    """The mean over the steps where a call was due        C-115

    A scenario has the weight 1, so that the row is the mean over the scenarios with such a step.
    """
    call = row.call
    found = {
        name: _per_scenario(measure, is_compat=is_compat)
        for name, measure in (("name", call.name), ("key", call.key), ("value", call.value))
    }
    if row.undecided_values and found["value"].value is not None:
        found["value"] = msgspec.structs.replace(found["value"], approximate=True)
    return found


def _success_measures(row: ResultRow) -> dict[str, Measure]:
    """Runs with every step right / runs; all runs right, if there are several        C-141"""
    at_best = row.call.value_at_best.value
    return {
        "value_at_best": ABSENT if at_best is None else ratio(at_best, 1),
        "success": _share(row.right),
        "success_at_best": _share(row.right_at_best),
        "pass_k": Measure(float(all(row.right))) if len(row.right) > 1 else ABSENT,
        "free_success": _share(row.free_right),
    }


def _share(outcomes: Sequence[bool]) -> Measure:
    return Measure(sum(outcomes) / len(outcomes)) if outcomes else ABSENT


def _per_scenario(measure: Measure, *, is_compat: bool) -> Measure:
    if is_compat:  # a file without a pair counts 0 (Q17)
        return ratio(or_zero(measure), 1)
    return ABSENT if measure.value is None else ratio(measure.value, 1)


def _decision_measures(c: Confusion, cases: int, *, is_compat: bool) -> dict[str, Measure]:
    """P = TP/(TP+FP), R = TP/(TP+FN), F1 = 2TP/(2TP+FP+FN), A = (TP+TN)/all        001, C-108"""
    sides = {
        "reject": (c.tp_reject, c.fp_reject, c.fn_reject, c.tn_reject, c.rejection_cases),
        "call": (c.tp_fc, c.fp_fc, c.fn_fc, c.tn_fc, c.call_cases),
    }
    found: dict[str, Measure] = {}
    for side, (tp, fp, fn, tn, due) in sides.items():
        counts = {
            "f1": (2 * tp, 2 * tp + fp + fn),
            "precision": (tp, tp + fp),
            "recall": (tp, tp + fn),
            "accuracy": (tp + tn, tp + fp + fn + tn),
        }
        for name, (part, whole) in counts.items():
            found[f"{side}_{name}"] = ratio(part, whole) if whole else NOT_DUE
        if due and found[f"{side}_f1"] is NOT_DUE:
            found[f"{side}_f1"] = vacuous(0.0)  # due, and answered with neither call nor rejection
    if not is_compat and not (c.call_cases or c.rejection_cases):
        found = dict.fromkeys(found, ABSENT)
    types = ratio(c.reject_same_type, c.tp_reject) if c.tp_reject else NOT_DUE
    made = ratio(c.fc_fc, cases) if cases else NOT_DUE
    return {**found, "rejection_type": types, "calls_made": made}


def tally_scenarios(
    rows: Sequence[ResultRow],
    failed: Sequence[FailedRow] = (),
    costs: Costs = NO_COSTS,
    *,
    is_compat: bool = False,
    labels: Mapping[str, ReplyLabels] = NO_LABELS,
) -> TaskTally:
    """All scenarios of one model in one language, added up; `labels` by scenario."""
    formula = formula_for(card_spec(), SCENARIO, SETTINGS)
    kept = TaskContributions()
    tally = TaskTally(contributions=kept)
    cases: list[tuple[str, list[ScoredReply]]] = []
    charges: list[Charge] = []
    for row in rows:
        of_runs = costs.get(row.scenario, (None,) * row.runs)
        tally.add_calls(of_runs, 0)
        tally.most_runs = max(tally.most_runs, row.runs)
        scored = scored_row(row, labels.get(row.scenario), is_compat=is_compat)
        cases.append((row.file_path, [scored]))
        charges.append(_charge(row.scenario, of_runs))
    if cases:
        tally.add_cases(formula, cases, charges)
    for each in failed:
        if each.not_run:
            tally.add_not_run()
            continue
        of_runs = costs.get(each.scenario, ())
        tally.add_calls(of_runs, len(of_runs))
        tally.add_error()
        kept.add_unanswered(_charge(each.scenario, of_runs, answered=False))
    return tally


def scored_row(
    row: ResultRow, labels: ReplyLabels | None = None, *, is_compat: bool = False
) -> ScoredReply:
    """A scenario with its measures and its score, as one reply."""
    found = measure_scenario(row, is_compat=is_compat)
    return ScoredReply(found, scenario_score(found), labels=labels)


def scenario_score(found: Measured) -> CaseScore:
    """The mean of the parts that a scenario has, each over the rows that have a value

    A race adds up these scores; the Average is computed from the rows of all scenarios.
    """
    values = {slug: measure.value for slug, measure in found.measures.items()}
    parts = [
        (part.weight, _weighted_mean([(w, values[slug]) for slug, w in part.weights.items()]))
        for part in card_spec().scores[SCENARIO].parts.values()
    ]
    score = _weighted_mean(parts)
    return CaseScore("incomplete" if score is None else "valid", score, score, (), (), values)


def _weighted_mean(terms: Sequence[tuple[float, float | None]]) -> float | None:
    """Σ weight × value / Σ weight, over the terms that have a value"""
    known = [(weight, value) for weight, value in terms if value is not None]
    whole = math.fsum(weight for weight, _ in known)
    return math.fsum(weight * value for weight, value in known) / whole if known else None


def _charge(scenario: str, costs: Sequence[float | None], *, answered: bool = True) -> Charge:
    spend = math.fsum(cost or 0.0 for cost in costs)
    return Charge(unit_key(scenario), spend, len(costs) if answered else 0)


def unit_key(scenario: str) -> int:
    """The unit of resampling: the scenario (STATS §2)."""
    return call_key(f"{SCENARIO}/{scenario}", "")


def score_tally(tally: TaskTally) -> TaskScore:
    """The rows, the sub-scores and the Average        001 Key Metrics, C-120"""
    return score_task(formula_for(card_spec(), SCENARIO, SETTINGS), tally, SETTINGS).score
