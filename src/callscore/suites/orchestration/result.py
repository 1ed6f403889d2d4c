"""Evaluated scenarios → one result with its extension, for either reading (C-121, C-128)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from callscore.core.interval import IntervalMethod
from callscore.core.scenarios import NO_ROWS, Finding, Mode, ScenarioRows, ScenarioScore
from callscore.core.scorecard import TaskScore
from callscore.core.task import SCENARIO
from callscore.scorecard.tally import TaskTally
from callscore.suites.orchestration import compat, extension, final, intervals, result_format
from callscore.suites.orchestration.compat import evaluation as compat_evaluation
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.final import KeyMetrics, Overall, Ran
from callscore.suites.orchestration.result_format import Json, as_calculated, four_decimals
from callscore.suites.orchestration.rows import CallRow, FailedRow, PlanRow, Row
from callscore.suites.orchestration.scenario_tally import NO_COSTS, Costs, score_of, tally_of
from callscore.suites.orchestration.spec import spec
from callscore.suites.orchestration.standard import Evaluated
from callscore.suites.orchestration.step_record import StepRecord

HEADLINES = {
    "orchestration.average": SCENARIO,
    "orchestration.classification": f"{SCENARIO}/classification",
    "orchestration.fc": f"{SCENARIO}/fc",
    "orchestration.plan": f"{SCENARIO}/plan",
}
"""What a gate may name, and where it is on the scorecard."""


class About(msgspec.Struct, frozen=True):
    """What a result is about: the folder of the outputs, their model, and the settings."""

    directory: str
    language: str
    model: str
    judge: str
    data: str
    version: str
    judging: Json | None = None
    """The cost of judging; never part of the model's cost."""
    answered_by: tuple[str, ...] = ()
    """Names under which the model replied, other than the requested one (R-26)."""
    protocol: str = ""
    """The protocol of the prompts, if Callscore sent them (C-133)."""
    usage: Json | None = None
    """Tokens and cost, of all steps and by scenario; without times, to be reproducible."""
    free_running: Json | None = None
    """The pass in which the model saw its own history; never part of the scores above it."""


class LanguageResult(msgspec.Struct, frozen=True):
    """One language of one model, scored."""

    about: About
    mode: Mode
    overall: Overall
    rows: tuple[Row | FailedRow, ...]
    tally: TaskTally
    """What the scenarios add up to, for the scorecard."""
    records: tuple[StepRecord, ...] = ()
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def approximate(self) -> bool:
        """Whether a value depends on an undecided item or an unfinished search (C-115, C-117)."""
        return self.has_undecided_calls or self.has_unfinished_plans

    @property
    def has_undecided_calls(self) -> bool:
        """Whether an argument value was not compared, and counts as unequal (C-115)."""
        return any(record.call is not None and record.call.undecided for record in self.records)

    @property
    def has_unfinished_plans(self) -> bool:
        """Whether a search for the distance of two plans was cut off (C-117)."""
        return any(
            record.plan is not None and record.plan.approximate for record in self.records
        ) or any(isinstance(row, Row) and row.approximate_plans for row in self.rows)

    @property
    def signature(self) -> str:
        """The signature: two results may be compared only if it is equal (C-126)."""
        about = self.about
        parts = {
            "doc": spec().framework,
            "mode": self.mode,
            **({"protocol": about.protocol} if about.protocol else {}),
            "lang": about.language,
            "data": about.data,
            "judge": about.judge,
            "n": self.overall.total_files,
            **({"repeats": runs} if (runs := len({each.run for each in self.records})) else {}),
            "ged": spec().plan.budget,
            "callscore": about.version,
        }
        return "orchestration|" + "|".join(f"{key}:{value}" for key, value in parts.items())

    def document(self, task: TaskScore | None = None, card: ScenarioRows = NO_ROWS) -> Json:
        """The result file; `task` has its rows with their intervals, if there are any      C-121"""
        rounding = four_decimals if self.mode == "standard" else as_calculated
        about = self.about
        body = result_format.document(about.directory, self.overall, self.rows, rounding)
        extension = _rounded(self._extension(task, card.method))
        if about.judging is not None:
            extension["judging"] = about.judging  # not rounded: it may be tiny
        if about.usage is not None:
            extension["usage"] = about.usage
        if about.free_running is not None:
            extension["free_running"] = _rounded(about.free_running)
        return body | {"x_extension": extension}

    def _extension(self, task: TaskScore | None, method: IntervalMethod | None) -> Json:
        paths = result_format.undefined_paths(
            {"overall_statistics": result_format.statistics(self.overall)}
        )
        shown: Json = {
            "mode": self.mode,
            "signature": self.signature,
            "language": self.about.language,
            "model": self.about.model,
            **({"answered_by": list(self.about.answered_by)} if self.about.answered_by else {}),
            "judge": self.about.judge,
            "status": "valid" if self.overall.complete else "incomplete",
            "warnings": list(self.warnings),
            "undefined": list(paths),
            "failed_evaluations": [
                {"file_path": row.file_path, "error": row.error}
                for row in self.rows
                if isinstance(row, FailedRow)
            ],
        }
        if task is not None and method is not None and self.overall.evaluated_files:
            statistics = result_format.statistics(self.overall)
            scenarios = self.overall.evaluated_files
            shown["intervals"] = intervals.intervals(task, method, statistics, scenarios)
        if self.mode == "compat":
            return shown | {"plan": self._exact_plan()}
        return shown | self._standard_extension(has_intervals=method is not None)

    def _exact_plan(self) -> Json:
        """The plan scores of `compat` with the exact edit cost, and the rows that differ  C-128"""
        rows = [row for row in self.rows if isinstance(row, Row)]
        totals = compat_evaluation.exact_plan(rows)
        as_shown = result_format.as_calculated
        return {
            "exact": result_format.written(result_format.workflow_scores(totals), as_shown),
            "undercounted": [
                {"file_path": row.file_path}
                | result_format.written(result_format.workflow_scores(row.exact_plan), as_shown)
                for row in rows
                if row.exact_plan is not None and row.exact_plan != row.plan
            ],
            "approximate": [
                {"file_path": row.file_path, "plans": row.approximate_plans}
                for row in rows
                if row.approximate_plans
            ],
        }

    def _standard_extension(self, *, has_intervals: bool) -> Json:
        records = self.records
        open_items = extension.undecided(records)
        positive = self.overall.call.value_positive_only.value
        return {
            "approximate": self.approximate,
            "undecided": {"count": len(open_items), "items": open_items},
            "value_score_positive_only": positive,
            "choice": extension.choice_extension(self.overall.confusion, records),
            "plan": extension.plan_extension(records),
            "runs": extension.repeated_runs(records, has_intervals=has_intervals),
            "breakdown": extension.breakdowns(records),
            "errors": extension.error_taxonomy(records),
            "data_report": [msgspec.structs.asdict(finding) for finding in self.findings],
        }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return four_decimals(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def standard_outcome(
    about: About,
    evaluated: Sequence[Evaluated],
    failed: Sequence[FailedRow],
    costs: Costs = NO_COSTS,
) -> LanguageResult:
    """The standard reading        C-104 … C-121"""
    ran = Ran(
        plans=any(scenario.plans_ran for scenario in evaluated),
        calls=any(scenario.calls_ran for scenario in evaluated),
    )
    evaluated = [_drop_not_run(scenario, ran) for scenario in evaluated]
    rows = [scenario.row for scenario in evaluated]
    tally = tally_of(rows, failed, costs)
    totals = final.overall(rows, score_of(tally))
    return LanguageResult(
        about=about,
        mode="standard",
        overall=totals,
        rows=(*rows, *failed),
        tally=tally,
        records=tuple(record for scenario in evaluated for record in scenario.records),
        findings=tuple(finding for scenario in evaluated for finding in scenario.findings),
        warnings=tuple(_warnings(totals)),
    )


def _drop_not_run(scenario: Evaluated, ran: Ran) -> Evaluated:
    """Without the half of the suite that no file has a reply for: not run is not failed."""
    row, records = scenario.row, scenario.records
    if not ran.plans:
        row = msgspec.structs.replace(row, plan=PlanRow())
        records = tuple(record for record in records if record.kind != "plan")
    if not ran.calls:
        row = msgspec.structs.replace(
            row, call=CallRow(), confusion=Confusion(), call_cases=0, rejection_cases=0
        )
        records = tuple(record for record in records if record.kind == "plan")
    return msgspec.structs.replace(scenario, row=row, records=records)


def compat_outcome(
    about: About, rows: Sequence[Row], failed: Sequence[FailedRow], costs: Costs = NO_COSTS
) -> LanguageResult:
    """The public evaluator's reading        C-128

    The document has its numbers to the digit. The scorecard is made of the same rows without its
    roundings on the way, and may differ in the fourth decimal.
    """
    totals = compat_evaluation.overall(rows, len(rows) + len(failed))
    tally = tally_of(rows, failed, costs, is_compat=True)
    listed: tuple[Row | FailedRow, ...] = (*rows, *failed)
    return LanguageResult(about, "compat", totals, listed, tally, warnings=(compat.NOTE,))


def _warnings(overall: Overall) -> list[str]:
    warnings = []
    if not overall.complete:
        warnings.append(
            f"incomplete: {overall.failed_files} of {overall.total_files} scenarios could not be "
            "evaluated (C-119)"
        )
    for name, measure in _named(overall.key_metrics):
        if measure.absence == "not_run":
            warnings.append(f"{name} is unavailable: {measure.why} (C-120)")
    confusion = overall.confusion
    for what, cases in (("call", confusion.call_cases), ("rejection", confusion.rejection_cases)):
        if not cases and confusion != Confusion():
            warnings.append(
                f"no {what} was due in this data: its F1 is undefined and counts 0, so the "
                "headline scores do not compare with those of other data (C-113)"
            )
    return warnings


def _named(metrics: KeyMetrics) -> list[tuple[str, Any]]:
    return list(result_format.key_metrics(metrics).items())


def model_score(outcomes: Sequence[LanguageResult]) -> ScenarioScore:
    """The scenarios of one model, added up, and how their document is written."""
    languages = [outcome.about.language for outcome in outcomes]
    first = outcomes[0]

    def document(card: ScenarioRows) -> Json:
        return combine_languages(outcomes, card)

    return ScenarioScore(
        tallies={outcome.about.language: outcome.tally for outcome in outcomes},
        identity={
            "mode": first.mode,
            **({"protocol": first.about.protocol} if first.about.protocol else {}),
            "lang": "+".join(languages),
            "ged": str(spec().plan.budget),
        },
        data="+".join(outcome.about.data for outcome in outcomes),
        judge="+".join(dict.fromkeys(o.about.judge for o in outcomes if o.about.judge != "none")),
        document=document,
        judging=[outcome.about.judging for outcome in outcomes if outcome.about.judging],
        warnings=[warning for outcome in outcomes for warning in outcome.warnings],
    )


def combine_languages(outcomes: Sequence[LanguageResult], card: ScenarioRows = NO_ROWS) -> Json:
    """One result in the format of document 001; with several languages, each and their mean   §7"""
    documents = {
        outcome.about.language: outcome.document(card.languages.get(outcome.about.language), card)
        for outcome in outcomes
    }
    if len(outcomes) == 1:
        return documents[outcomes[0].about.language]
    rounding = four_decimals if outcomes[0].mode == "standard" else as_calculated
    mean = final.mean_of_languages([outcome.overall.key_metrics for outcome in outcomes])
    found = intervals.of_key_metrics(card.mean) if card.mean is not None and card.method else ()
    limits = _rounded({path: list(of) for path, of in found if of is not None})
    return {
        "languages": documents,
        "mean": result_format.written(result_format.key_metrics(mean), rounding),
        "x_extension": {
            "mode": outcomes[0].mode,
            **({"intervals": {"ci95": limits}} if limits else {}),
        },
    }
