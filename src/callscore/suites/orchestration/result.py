"""Evaluated scenarios → one result with its extension, for either reading (C-121, C-128)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from callscore.core.scenarios import Finding, Headline, Mode, ScenarioCost, ScenarioScore, Spread
from callscore.stats.bca import IntervalEstimate
from callscore.suites.orchestration import card, compat, extension, final, intervals, result_format
from callscore.suites.orchestration.compat import evaluation as compat_evaluation
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.final import KeyMetrics, Overall, Ran
from callscore.suites.orchestration.result_format import Json, as_calculated, four_decimals
from callscore.suites.orchestration.rows import CallRow, FailedRow, PlanRow, Row
from callscore.suites.orchestration.spec import spec
from callscore.suites.orchestration.standard import Evaluated
from callscore.suites.orchestration.step_record import StepRecord

AVERAGE, CLASSIFICATION = "orchestration.average", "orchestration.classification"
FC, PLAN = "orchestration.fc", "orchestration.plan"
HEADLINES = (AVERAGE, CLASSIFICATION, FC, PLAN)


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


class LanguageResult(msgspec.Struct, frozen=True, dict=True):
    """One language of one model, scored."""

    about: About
    mode: Mode
    overall: Overall
    rows: tuple[Row | FailedRow, ...]
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
            "doc": spec().document,
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

    def document(self) -> Json:
        """The result file        C-121"""
        rounding = four_decimals if self.mode == "standard" else as_calculated
        about = self.about
        body = result_format.document(about.directory, self.overall, self.rows, rounding)
        extension = _rounded(self._extension())
        if about.judging is not None:
            extension["judging"] = about.judging  # not rounded: it may be tiny
        if about.usage is not None:
            extension["usage"] = about.usage
        if about.free_running is not None:
            extension["free_running"] = _rounded(about.free_running)
        return body | {"x_extension": extension}

    def _extension(self) -> Json:
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
        if found := self._intervals():
            shown["intervals"] = found
        if self.mode == "compat":
            return shown | {"plan": self._exact_plan()}
        return shown | self._standard_extension()

    @cached_property
    def resampled(self) -> intervals.Found:
        """Every number, resampled over the scenarios that could be evaluated."""
        rows = [row for row in self.rows if isinstance(row, Row)]
        in_order = sorted(rows, key=lambda row: result_format.natural_order(row.file_path))
        return intervals.resampled(in_order, is_compat=self.mode == "compat")

    def _intervals(self) -> Json | None:
        if not self.overall.evaluated_files:
            return None
        statistics = result_format.statistics(self.overall)
        return intervals.intervals(self.resampled, statistics, self.overall.evaluated_files)

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

    def _standard_extension(self) -> Json:
        records = self.records
        open_items = extension.undecided(records)
        positive = self.overall.call.value_positive_only.value
        return {
            "approximate": self.approximate,
            "undecided": {"count": len(open_items), "items": open_items},
            "value_score_positive_only": positive,
            "choice": extension.choice_extension(self.overall.confusion, records),
            "plan": extension.plan_extension(records),
            "runs": extension.repeated_runs(records),
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
    about: About, evaluated: Sequence[Evaluated], failed: Sequence[FailedRow]
) -> LanguageResult:
    """The standard reading        C-104 … C-121"""
    ran = Ran(
        plans=any(scenario.plans_ran for scenario in evaluated),
        calls=any(scenario.calls_ran for scenario in evaluated),
    )
    evaluated = [_drop_not_run(scenario, ran) for scenario in evaluated]
    rows = [scenario.row for scenario in evaluated]
    totals = final.overall(rows, len(evaluated) + len(failed), ran)
    return LanguageResult(
        about=about,
        mode="standard",
        overall=totals,
        rows=(*rows, *failed),
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
        row = Row(row.file_path, row.plan, CallRow(), Confusion(), 0, 0)
        records = tuple(record for record in records if record.kind == "plan")
    return msgspec.structs.replace(scenario, row=row, records=records)


def compat_outcome(
    about: About, rows: Sequence[Row], failed: Sequence[FailedRow]
) -> LanguageResult:
    """The public evaluator's reading        C-128"""
    totals = compat_evaluation.overall(rows, len(rows) + len(failed))
    return LanguageResult(about, "compat", totals, (*rows, *failed), warnings=(compat.NOTE,))


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


def headline(outcomes: Sequence[LanguageResult]) -> Headline:
    """The four numbers of one model, of one language or as the mean of several."""
    of_languages = [outcome.overall.key_metrics for outcome in outcomes]
    mean = of_languages[0] if len(outcomes) == 1 else final.mean_of_languages(of_languages)
    fc = any(outcome.has_undecided_calls for outcome in outcomes)
    plan = any(outcome.has_unfinished_plans for outcome in outcomes)
    numbers = {
        AVERAGE: (mean.average, fc or plan),
        CLASSIFICATION: (mean.classification, False),
        FC: (mean.fc, fc),
        PLAN: (mean.plan, plan),
    }
    return Headline(
        {
            name: msgspec.structs.replace(number, approximate=approximate)
            for name, (number, approximate) in numbers.items()
        },
        scenarios=sum(outcome.overall.total_files for outcome in outcomes),
        evaluated=sum(outcome.overall.evaluated_files for outcome in outcomes),
        complete=all(outcome.overall.complete for outcome in outcomes),
        spreads=_spreads(outcomes, mean),
    )


def _spreads(outcomes: Sequence[LanguageResult], mean: KeyMetrics) -> Mapping[str, Spread]:
    """The intervals of the four numbers, not rounded        STATS §2"""
    names = dict(zip(result_format.key_metrics(mean), HEADLINES, strict=True))
    limits = _mean_intervals(outcomes, mean)
    return {names[path.removeprefix(intervals.KEY)]: Spread(*of) for path, of in limits.items()}


def model_score(outcomes: Sequence[LanguageResult]) -> ScenarioScore:
    """The result of one model as a column of a scorecard."""
    numbers = headline(outcomes)
    return ScenarioScore(
        combine_languages(outcomes),
        numbers,
        "; ".join(outcome.signature for outcome in outcomes),
        card.task_score(numbers),
        card.cost_of([_cost(outcome) for outcome in outcomes]),
        [warning for outcome in outcomes for warning in outcome.warnings],
    )


def _cost(outcome: LanguageResult) -> ScenarioCost:
    usage = outcome.about.usage or {}
    runs = len({record.run for record in outcome.records}) or 1
    asked = outcome.overall.total_files * runs
    return ScenarioCost(asked, usage.get("answers", 0), usage.get("cost_usd"))


def combine_languages(outcomes: Sequence[LanguageResult]) -> Json:
    """One result in the format of document 001; with several languages, each and their mean   §7"""
    if len(outcomes) == 1:
        return outcomes[0].document()
    rounding = four_decimals if outcomes[0].mode == "standard" else as_calculated
    mean = final.mean_of_languages([outcome.overall.key_metrics for outcome in outcomes])
    found = _mean_intervals(outcomes, mean)
    limits = _rounded({path: [limits.low, limits.high] for path, limits in found.items()})
    return {
        "languages": {outcome.about.language: outcome.document() for outcome in outcomes},
        "mean": result_format.written(result_format.key_metrics(mean), rounding),
        "x_extension": {
            "mode": outcomes[0].mode,
            **({"intervals": {"ci95": limits}} if limits else {}),
        },
    }


def _mean_intervals(
    outcomes: Sequence[LanguageResult], mean: KeyMetrics
) -> Mapping[str, IntervalEstimate]:
    scenarios = [outcome.overall.evaluated_files for outcome in outcomes]
    named = result_format.key_metrics(mean).items()
    paths = [f"{intervals.KEY}{name}" for name, measure in named if measure.value is not None]
    if not all(scenarios) or not paths:
        return {}
    return intervals.mean_intervals([each.resampled for each in outcomes], scenarios, paths)
