"""The result of one model in one language, and its result file, in both modes (C-121, C-128)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import msgspec

from callscore.core.measure import IntervalMethod
from callscore.core.scenarios import (
    NO_FLOORS,
    NO_ROWS,
    DataFinding,
    Floors,
    Mode,
    ScenarioRows,
    ScenarioScore,
    ScenarioSinks,
    StepVerdicts,
    VerdictKey,
)
from callscore.core.scorecard import TaskScore
from callscore.core.task import SCENARIO
from callscore.scorecard.scored_reply import ReplyLabels
from callscore.scorecard.tally import TaskTally
from callscore.suites.orchestration import compat, extra_statistics, intervals, result_format
from callscore.suites.orchestration.call.questions import JUDGED_ROWS, RecordedVerdicts
from callscore.suites.orchestration.compat import evaluation as compat_evaluation
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.decision.parse import REPEATS_PLAN
from callscore.suites.orchestration.overall import (
    OverallStatistics,
    mean_of_languages,
    overall_statistics,
)
from callscore.suites.orchestration.replies import ReplyTimes
from callscore.suites.orchestration.result_format import Json, four_decimals, unrounded
from callscore.suites.orchestration.rows import CallRow, FailedRow, PlanRow, ResultRow
from callscore.suites.orchestration.scenario_tally import (
    NO_COSTS,
    Costs,
    score_tally,
    scored_row,
    tally_scenarios,
)
from callscore.suites.orchestration.spec import spec
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation, right_by_run
from callscore.suites.orchestration.step_record import KINDS, StepRecord, kinds_in, metric_records
from callscore.suites.orchestration.twins import (
    NO_TWINS,
    Outline,
    Twins,
    find_twins,
    resample_twins_together,
)

HEADLINES = {
    "orchestration.average": SCENARIO,
    "orchestration.classification": f"{SCENARIO}/classification",
    "orchestration.fc": f"{SCENARIO}/fc",
    "orchestration.plan": f"{SCENARIO}/plan",
}
"""By the name that a gate may use, its place on the scorecard."""


class ResultMetadata(msgspec.Struct, frozen=True):
    """Where a result comes from: the folder of the outputs, their model, and the settings."""

    directory: str
    language: str
    model: str
    judge: str
    data: str
    version: str
    judging: Json | None = None
    """What judging took; never part of the cost of the model."""
    answered_by: tuple[str, ...] = ()
    """Names under which the model replied, other than the requested one (R-26)."""
    asking_back: bool = False
    """Whether text that asks for something counts as AWAITING_USER_INPUT (C-142)."""
    protocol: str = ""
    """The protocol of the requests, if Callscore sent them (C-133)."""
    usage: Json | None = None
    """Tokens and cost, in total and by scenario; without times, so that it is reproducible."""
    free_running: Json | None = None
    """The pass in which the model saw its own history; never part of the scores."""
    origin: str = ""
    """The provider, if no model was asked: `simulated`."""


class LanguageResult(msgspec.Struct, frozen=True):
    """The scores of one model in one language."""

    metadata: ResultMetadata
    mode: Mode
    overall: OverallStatistics
    rows: tuple[ResultRow | FailedRow, ...]
    tally: TaskTally
    """The scenarios added up, for the scorecard."""
    records: tuple[StepRecord, ...] = ()
    findings: tuple[DataFinding, ...] = ()
    warnings: tuple[str, ...] = ()
    floors: Floors = NO_FLOORS
    kinds: frozenset[str] = KINDS
    """The kinds of steps in the scenarios (C-142)."""
    times: ReplyTimes = ReplyTimes()
    outlines: Mapping[str, Outline] = {}
    """By scenario, what the same scenario of another language has in common with it."""
    judged: int = 0
    """How many values a judging model decided."""
    labelled: frozenset[VerdictKey] = frozenset()
    """Those of them that people labelled."""

    @property
    def approximate(self) -> bool:
        """Whether a score depends on an undecided value or an unfinished search (C-115, C-117)."""
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
        ) or any(isinstance(row, ResultRow) and row.approximate_plans for row in self.rows)

    @property
    def signature(self) -> str:
        """The signature; two results may be compared only if it is equal (C-126)."""
        metadata = self.metadata
        parts = {
            "doc": spec().framework,
            "mode": self.mode,
            **({"protocol": metadata.protocol} if metadata.protocol else {}),
            **({"asking_back": "text"} if metadata.asking_back else {}),
            "lang": metadata.language,
            "data": metadata.data,
            "judge": metadata.judge,
            "n": self.overall.total_files,
            **({"repeats": runs} if (runs := len({each.run for each in self.records})) else {}),
            "ged": spec().plan.budget,
            "callscore": metadata.version,
        }
        return "orchestration|" + "|".join(f"{key}:{value}" for key, value in parts.items())

    def document(self, task: TaskScore | None = None, card: ScenarioRows = NO_ROWS) -> Json:
        """The result file; `task` has the intervals of its rows, if there are any        C-121"""
        rounding = four_decimals if self.mode == "standard" else unrounded
        metadata = self.metadata
        body = result_format.document(metadata.directory, self.overall, self.rows, rounding)
        extension = _round_floats(self._extension(task, card.method))
        if metadata.judging is not None:
            extension["judging"] = metadata.judging  # not rounded: the cost may be tiny
        if metadata.usage is not None:
            extension["usage"] = metadata.usage
        if metadata.free_running is not None:
            extension["free_running"] = _round_floats(metadata.free_running)
        return body | {"x_extension": extension}

    def _extension(self, task: TaskScore | None, method: IntervalMethod | None) -> Json:
        paths = result_format.undefined_paths(
            {"overall_statistics": result_format.statistics(self.overall)}
        )
        shown: Json = {
            "mode": self.mode,
            "signature": self.signature,
            "language": self.metadata.language,
            "model": self.metadata.model,
            **(
                {"answered_by": list(self.metadata.answered_by)}
                if self.metadata.answered_by
                else {}
            ),
            **({"origin": self.metadata.origin} if self.metadata.origin else {}),
            "judge": self.metadata.judge,
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
        rows = [row for row in self.rows if isinstance(row, ResultRow)]
        totals = compat_evaluation.mean_exact_plan(rows)
        as_shown = result_format.unrounded
        return {
            "exact": result_format.render(result_format.workflow_scores(totals), as_shown),
            "undercounted": [
                {"file_path": row.file_path}
                | result_format.render(result_format.workflow_scores(row.exact_plan), as_shown)
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
        open_items = extra_statistics.undecided_values(records)
        calls = self.overall.call
        return {
            "approximate": self.approximate,
            "undecided": {"count": len(open_items), "items": open_items},
            "value_score_answered_only": calls.value_answered_only.value,
            "value_score_positive_only": calls.value_positive_only.value,
            "choice": extra_statistics.decision_statistics(self.overall.confusion, records),
            "plan": extra_statistics.plan_statistics(records),
            "runs": extra_statistics.run_consistency(records, has_intervals=has_intervals),
            "breakdown": extra_statistics.breakdowns(records),
            "errors": extra_statistics.error_taxonomy(records),
            **({"floors": dict(self.floors)} if self.floors else {}),
            **({"kinds": sorted(self.kinds)} if self.kinds != KINDS else {}),
            "scenarios": {
                row.scenario: _outcomes(row) for row in self.rows if isinstance(row, ResultRow)
            },
            "data_report": [msgspec.structs.asdict(finding) for finding in self.findings],
        }


def _outcomes(row: ResultRow) -> Json:
    """What the card needs of a scenario besides the row of document 001        C-141"""
    shown: Json = {"right": list(row.right)}
    if row.right_at_best != row.right:
        shown["right_at_best"] = list(row.right_at_best)
    if row.undecided_values:
        shown["value_at_best"] = row.call.value_at_best.value
    if row.free_right:
        shown["free_right"] = list(row.free_right)
    return shown


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return four_decimals(value)
    if isinstance(value, dict):
        return {key: _round_floats(item) for key, item in value.items()}
    return [_round_floats(item) for item in value] if isinstance(value, list) else value


def standard_result(
    metadata: ResultMetadata,
    evaluated: Sequence[ScenarioEvaluation],
    failed: Sequence[FailedRow],
    costs: Costs = NO_COSTS,
    floors: Floors = NO_FLOORS,
) -> LanguageResult:
    """The result of one language in the mode `standard`        C-104 … C-121"""
    kinds = kinds_in(record for scenario in evaluated for record in scenario.records)
    plans_ran = any(scenario.plans_ran for scenario in evaluated)
    calls_ran = any(scenario.calls_ran for scenario in evaluated)
    evaluated = [
        _drop_not_run(scenario, plans_ran=plans_ran, calls_ran=calls_ran) for scenario in evaluated
    ]
    rows = [scenario.row for scenario in evaluated]
    tally = tally_scenarios(rows, failed, costs, labels=_labels_of(evaluated))
    totals = overall_statistics(rows, score_tally(tally))
    return LanguageResult(
        metadata=metadata,
        mode="standard",
        overall=totals,
        rows=(*rows, *failed),
        tally=tally,
        records=tuple(record for scenario in evaluated for record in scenario.records),
        findings=tuple(finding for scenario in evaluated for finding in scenario.findings),
        warnings=(*_warnings(totals, kinds), *_plan_warnings(metadata, evaluated)),
        floors=floors,
        kinds=kinds,
    )


def _labels_of(evaluated: Sequence[ScenarioEvaluation]) -> Mapping[str, ReplyLabels]:
    """By scenario, how far people labelled what a judge decided        STATS §5"""
    return {
        each.row.scenario: ReplyLabels(
            dict.fromkeys(JUDGED_ROWS, each.judged),
            dict.fromkeys(JUDGED_ROWS, each.labelled),
            None if each.people is None else scored_row(each.people.row),
        )
        for each in evaluated
        if each.judged
    }


def _drop_not_run(
    scenario: ScenarioEvaluation, *, plans_ran: bool, calls_ran: bool
) -> ScenarioEvaluation:
    """Drop plans or calls if no file has a reply to one: not run is not failed."""
    row, records = scenario.row, scenario.records
    if plans_ran and calls_ran:
        return scenario
    if not plans_ran:
        row = msgspec.structs.replace(row, plan=PlanRow())
        records = tuple(record for record in records if record.kind != "plan")
    if not calls_ran:
        row = msgspec.structs.replace(
            row, call=CallRow(), confusion=Confusion(), call_cases=0, rejection_cases=0
        )
        records = tuple(record for record in records if record.kind == "plan")
    row = msgspec.structs.replace(
        row,
        right=right_by_run(records),
        right_at_best=right_by_run(records, lambda record: record.may_be_right),
    )
    people = scenario.people
    if people is not None:
        people = _drop_not_run(people, plans_ran=plans_ran, calls_ran=calls_ran)
    return msgspec.structs.replace(scenario, row=row, records=records, people=people)


def compat_result(
    metadata: ResultMetadata,
    rows: Sequence[ResultRow],
    failed: Sequence[FailedRow],
    costs: Costs = NO_COSTS,
) -> LanguageResult:
    """The result of one language in the mode `compat`        C-128

    The document has exactly the numbers of the public evaluator. The scorecard is made of the same
    rows without its intermediate rounding, and may differ in the fourth decimal.
    """
    totals = compat_evaluation.overall_statistics(rows, len(rows) + len(failed))
    tally = tally_scenarios(rows, failed, costs, is_compat=True)
    listed: tuple[ResultRow | FailedRow, ...] = (*rows, *failed)
    return LanguageResult(metadata, "compat", totals, listed, tally, warnings=(compat.NOTE,))


def _warnings(overall: OverallStatistics, kinds: Collection[str]) -> list[str]:
    warnings = []
    if not overall.complete:
        warnings.append(
            f"incomplete: {overall.failed_files} of {overall.total_files} scenarios could not be "
            "evaluated (C-119)"
        )
    explained: tuple[str, ...] = ()
    if kinds and "plan" not in kinds:
        explained = ("Plan", "Average")
        warnings.append(
            "no plan step is expected: Plan and Average are null, the Final is that of the other "
            "steps (C-142)"
        )
    for name, measure in result_format.key_metrics(overall.key_metrics).items():
        if measure.absence == "not_run" and name not in explained:
            warnings.append(f"{name} is unavailable: {measure.why} (C-120)")
    confusion = overall.confusion
    for what, cases in (("call", confusion.call_cases), ("rejection", confusion.rejection_cases)):
        if not cases and confusion != Confusion():
            warnings.append(
                f"no {what} was due in this data: its F1 is undefined and counts 0, so the "
                "headline scores do not compare with those of other data (C-113)"
            )
    return warnings


def _plan_warnings(
    metadata: ResultMetadata, evaluated: Sequence[ScenarioEvaluation]
) -> Iterator[str]:
    """A warning if sub-agents repeat the plan of the history instead of acting."""
    records = [record for scenario in evaluated for record in scenario.records]
    steps = sum(record.kind != "plan" for record in records)
    repeated = sum(
        difference.kind == REPEATS_PLAN for record in records for difference in record.differences
    )
    if repeated:
        yield (
            f"{metadata.model}, {metadata.language}: repeats the plan in {repeated} of {steps} "
            "steps of sub-agents, instead of calling a tool or rejecting"
        )


def model_score(results: Sequence[LanguageResult]) -> ScenarioScore:
    """The scenarios of one model, added up, and the function that writes their document."""
    languages = [result.metadata.language for result in results]
    first = results[0]
    twins = find_twins({result.metadata.language: result.outlines for result in results})
    tallies = {result.metadata.language: result.tally for result in results}
    names = {result.metadata.language: [row.scenario for row in result.rows] for result in results}
    resample_twins_together(tallies, names, twins)

    def document(card: ScenarioRows) -> Json:
        return combine_languages(results, card, twins)

    return ScenarioScore(
        tallies=tallies,
        identity={
            "mode": first.mode,
            **({"protocol": first.metadata.protocol} if first.metadata.protocol else {}),
            **({"asking_back": "text"} if first.metadata.asking_back else {}),
            "lang": "+".join(languages),
            "ged": str(spec().plan.budget),
        },
        data="+".join(result.metadata.data for result in results),
        judge="+".join(
            dict.fromkeys(o.metadata.judge for o in results if o.metadata.judge != "none")
        ),
        document=document,
        judging=[result.metadata.judging for result in results if result.metadata.judging],
        warnings=[warning for result in results for warning in result.warnings],
        origin=first.metadata.origin,
        floors=[result.floors for result in results],
        latency=reduce(add, (result.times for result in results)).latency(),
        kinds=frozenset(kind for result in results for kind in result.kinds),
        judged=sum(result.judged for result in results),
        labelled=frozenset(key for result in results for key in result.labelled),
    )


def combine_languages(
    results: Sequence[LanguageResult], card: ScenarioRows = NO_ROWS, twins: Twins = NO_TWINS
) -> Json:
    """One result in the format of document 001; with several languages, each and their mean   §7"""
    documents = {
        result.metadata.language: result.document(
            card.languages.get(result.metadata.language), card
        )
        for result in results
    }
    if len(results) == 1:
        return documents[results[0].metadata.language]
    rounding = four_decimals if results[0].mode == "standard" else unrounded
    mean = mean_of_languages([result.overall.key_metrics for result in results])
    found = (
        intervals.key_metric_intervals(card.mean) if card.mean is not None and card.method else ()
    )
    limits = _round_floats({path: list(of) for path, of in found if of is not None})
    return {
        "languages": documents,
        "mean": result_format.render(result_format.key_metrics(mean), rounding),
        "x_extension": {
            "mode": results[0].mode,
            **({"intervals": {"ci95": limits}} if limits else {}),
            **({"twins": twins} if twins else {}),
        },
    }


def emit_records(results: Iterable[LanguageResult], sinks: ScenarioSinks) -> None:
    """Pass the records of every step on, if they are wanted."""
    if sinks.on_record is None:
        return
    for result in results:
        for step in result.records:
            for record in metric_records(step, result.metadata.model):
                sinks.on_record(record)


def add_judge(metadata: ResultMetadata, judged: StepVerdicts | None) -> ResultMetadata:
    """The metadata of a result, with the judge."""
    if judged is None:
        return metadata
    judges = [metadata.judge, judged.judge] if metadata.judge != "none" else [judged.judge]
    return msgspec.structs.replace(metadata, judge="+".join(judges), judging=dict(judged.judging))


def warn_of_unused_verdicts(scored: LanguageResult, given: RecordedVerdicts) -> LanguageResult:
    """The result, with a warning if verdicts from files were not used."""
    if not given.unused:
        return scored
    warning = f"{given.unused} verdicts name no open item of this model and language"
    return msgspec.structs.replace(scored, warnings=(*scored.warnings, warning))
