"""Reads a result file (document 001) back: its scenarios as the scorecard adds them up.

Counts are exact. Scores have the four decimals of the file, so that a card made of it may differ
from that of the run in the fourth decimal (C-114).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.measure import Measure, ratio
from callscore.core.scenarios import Json, Mode, ScenarioScore
from callscore.scorecard.tally import TaskTally
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.replies import NOT_RUN
from callscore.suites.orchestration.rows import NONE_DUE, CallRow, FailedRow, PlanRow, ResultRow
from callscore.suites.orchestration.scenario_tally import NO_COSTS, Costs, tally_scenarios
from callscore.suites.orchestration.step_record import KINDS
from callscore.suites.orchestration.twins import resample_twins_together

_OUT = "_out.json"
_IDENTITY = ("mode", "protocol", "asking_back", "lang", "ged")


class _Row(msgspec.Struct, frozen=True):
    """One of `detailed_results`; a file that could not be evaluated has only an error."""

    file_path: str
    error: str | None = None
    workflow_evaluation_with_failure: float | None = None
    workflow_evaluation_without_failure: float | None = None
    average_structural_GED: float | None = None  # noqa: N815
    average_component_GED: float | None = None  # noqa: N815
    failed_workflow_generation: int = 0
    total_comparison_steps_evaluated: int = 0
    function_name_accuracy: float | None = None
    arguments_key_score: float | None = None
    arguments_value_score_not_count_rejection: float | None = None
    total_function_call_cases: int = 0
    total_rejection_cases: int = 0
    total_true_positive_reject: int = 0
    total_false_positive_reject: int = 0
    total_false_negative_reject: int = 0
    total_true_positive_fc: int = 0
    total_false_negative_fc: int = 0
    total_true_negative_fc: int = 0
    total_rejection_type_mismatch: int = 0

    @property
    def scenario(self) -> str:
        name = PurePath(self.file_path).name
        return name.removesuffix(_OUT) if name.endswith(_OUT) else PurePath(name).stem


class _Undecided(msgspec.Struct, frozen=True):
    items: list[dict[str, Any]] = []


class _Usage(msgspec.Struct, frozen=True):
    by_scenario: dict[str, dict[str, Any]] = {}


class _Outcome(msgspec.Struct, frozen=True):
    right: tuple[bool, ...] = ()
    right_at_best: tuple[bool, ...] | None = None
    value_at_best: float | None = None
    free_right: tuple[bool, ...] = ()


class _Extension(msgspec.Struct, frozen=True):
    mode: Mode
    signature: str
    language: str
    model: str
    judge: str = "none"
    origin: str = ""
    warnings: list[str] = []
    undecided: _Undecided = _Undecided()
    usage: _Usage = _Usage()
    floors: dict[str, float] = {}
    scenarios: dict[str, _Outcome] = {}
    kinds: list[str] | None = None


class _Result(msgspec.Struct, frozen=True):
    detailed_results: list[_Row]
    x_extension: _Extension


class _SharedExtension(msgspec.Struct, frozen=True):
    twins: dict[str, str] = {}


class _ResultFile(msgspec.Struct, frozen=True):
    languages: dict[str, _Result] = {}
    x_extension: _SharedExtension = _SharedExtension()


def read_result(document: Json) -> tuple[str, ScenarioScore]:
    """The model of a result file that Callscore wrote, and its scenarios; raises DataError."""
    try:
        whole = msgspec.convert(document, _ResultFile)
        results = [*whole.languages.values()] or [msgspec.convert(document, _Result)]
    except msgspec.ValidationError as error:
        raise DataError(f"{error}; expected a result file of `callscore`") from None
    extensions = [result.x_extension for result in results]
    parts = [_parts(extension.signature) for extension in extensions]
    judges = [each.judge for each in extensions if each.judge != "none"]
    tallies = {each.x_extension.language: _tally(each) for each in results}
    names = {
        each.x_extension.language: [row.scenario for row in each.detailed_results]
        for each in results
    }
    resample_twins_together(tallies, names, whole.x_extension.twins)
    return extensions[0].model, ScenarioScore(
        tallies=tallies,
        identity={
            key: "+".join(dict.fromkeys(part[key] for part in parts if key in part))
            for key in _IDENTITY
            if key in parts[0]
        },
        data="+".join(part.get("data", "") for part in parts),
        judge="+".join(dict.fromkeys(judges)),
        document=lambda rows: document,
        warnings=[warning for each in extensions for warning in each.warnings],
        origin=extensions[0].origin,
        floors=[each.floors for each in extensions],
        kinds=frozenset(
            kind for each in extensions for kind in (KINDS if each.kinds is None else each.kinds)
        ),
    )


def _parts(signature: str) -> Mapping[str, str]:
    return dict(part.split(":", 1) for part in signature.split("|") if ":" in part)


def _tally(result: _Result) -> TaskTally:
    extension, is_compat = result.x_extension, result.x_extension.mode == "compat"
    repeats = _parts(extension.signature).get("repeats")
    runs = int(repeats or 1)
    undecided = [str(item.get("case_id")) for item in extension.undecided.items]
    rows = [
        _add_outcome(
            _row(row, runs, sum(_scenario_of(case) == row.scenario for case in undecided)),
            extension.scenarios.get(row.scenario, _Outcome()),
        )
        for row in result.detailed_results
        if row.error is None
    ]
    failed = [
        FailedRow(row.file_path, row.error, row.scenario, row.error.endswith(NOT_RUN))
        for row in result.detailed_results
        if row.error is not None
    ]
    # In the mode `compat`, the file does not say how many runs its costs are the sum of.
    costs = NO_COSTS if repeats is None else _costs(extension.usage, runs)
    return tally_scenarios(rows, failed, costs, is_compat=is_compat)


def _add_outcome(row: ResultRow, outcome: _Outcome) -> ResultRow:
    """Add what the extension has about a scenario; a file of other origin has nothing   C-141"""
    if not outcome.right:
        return row
    value, at_best = row.call.value, outcome.value_at_best
    if at_best is not None and row.call_cases:
        value = ratio(at_best * row.call_cases, row.call_cases)
    return msgspec.structs.replace(
        row,
        call=msgspec.structs.replace(row.call, value_at_best=value),
        right=outcome.right,
        right_at_best=outcome.right if outcome.right_at_best is None else outcome.right_at_best,
        free_right=outcome.free_right,
    )


def _scenario_of(case_id: str) -> str:
    """The scenario in `LANG/SCENARIO#STEP`."""
    return case_id.rpartition("#")[0].partition("/")[2]


def _costs(usage: _Usage, runs: int) -> Costs:
    """By scenario, its cost in equal parts: the file has the sum over its runs."""
    return {
        scenario: (cost / runs if (cost := used.get("cost_usd")) is not None else None,) * runs
        for scenario, used in usage.by_scenario.items()
    }


def _row(row: _Row, runs: int, undecided: int) -> ResultRow:
    confusion = Confusion(
        fc_fc=row.total_true_positive_fc,
        fc_reject=row.total_false_positive_reject,
        fc_failed=row.total_false_negative_fc - row.total_false_positive_reject,
        reject_fc=row.total_false_negative_reject,
        reject_same_type=row.total_true_positive_reject - row.total_rejection_type_mismatch,
        reject_other_type=row.total_rejection_type_mismatch,
        reject_failed=row.total_true_negative_fc - row.total_true_positive_reject,
    )
    scored = row.total_comparison_steps_evaluated
    calls = row.total_function_call_cases
    return ResultRow(
        row.file_path,
        PlanRow(
            _mean(row.workflow_evaluation_with_failure, scored + row.failed_workflow_generation),
            _mean(row.workflow_evaluation_without_failure, scored),
            _mean(row.average_structural_GED, scored),
            _mean(row.average_component_GED, scored),
            failed=row.failed_workflow_generation,
            evaluated=scored,
        ),
        CallRow(
            _mean(row.function_name_accuracy, calls),
            _mean(row.arguments_key_score, calls),
            _mean(row.arguments_value_score_not_count_rejection, calls),
        ),
        confusion,
        calls,
        row.total_rejection_cases,
        undecided_values=undecided,
        scenario=row.scenario,
        runs=runs,
    )


def _mean(value: float | None, number: int) -> Measure:
    """A mean over `number` steps; without steps there is none, whatever the file has  C-113"""
    return ratio(value * number, number) if value is not None and number else NONE_DUE
