"""Error propagation: free runs compared with the teacher-forced ones on the same scenarios."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.scenarios import StoredReplies
from callscore.suites.orchestration.call.questions import RecordedVerdicts
from callscore.suites.orchestration.extra_statistics import progress_rate, run_consistency
from callscore.suites.orchestration.free_run import FreeReplies, free_replies, is_right
from callscore.suites.orchestration.replies import ReplyUsage, ScenarioReplies, usage_by_scenario
from callscore.suites.orchestration.result import ResultMetadata, standard_result
from callscore.suites.orchestration.result_format import key_metrics
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.output_file import ScenarioRecording
from callscore.suites.orchestration.scenario.parse import ScenarioKey
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation, evaluate_scenario
from callscore.suites.orchestration.step_record import StepRecord

Json = dict[str, Any]
_BASIS = (
    "teacher-forced and free-running, each step right where code finds nothing wrong; values that "
    "only a judge can compare count as unequal in the four scores of both"
)


class FreeRunScorer:
    """Scores the free runs of one model in one language, scenario by scenario."""

    def __init__(
        self, model: str, scenario_set: ScenarioSet, repeats: int, stored: StoredReplies
    ) -> None:
        self._model, self._set = model, scenario_set
        self._repeats, self._stored = repeats, stored
        self._forced: list[ScenarioEvaluation] = []
        self._free: list[ScenarioEvaluation] = []
        self._used: dict[str, ReplyUsage] = {}
        self._not_reached = 0
        self._left_out: list[str] = []

    @property
    def has_scenarios(self) -> bool:
        """Whether a scenario was added, complete or not."""
        return bool(self._free or self._left_out)

    def add(self, forced: ScenarioReplies) -> tuple[ScenarioReplies, Sequence[StepRecord]] | None:
        """Add one scenario; returns its free replies and records, None if a pass is incomplete."""
        scenario = forced.scenario
        found = free_replies(self._set, scenario, self._model, self._repeats, self._stored)
        if isinstance(found, str) or forced.missing:
            self._left_out.append(found if isinstance(found, str) else forced.missing)
            return None
        try:
            both = [self._evaluate(each) for each in (forced.to_recording(), found.recording)]
        except DataError as error:
            self._left_out.append(error.problem)
            return None
        self._forced.append(both[0])
        self._free.append(both[1])
        self._count(scenario.id, found)
        return found.replies, both[1].records

    def _count(self, scenario: str, found: FreeReplies) -> None:
        self._used[scenario] = found.replies.usage()
        self._not_reached += found.not_reached

    def _evaluate(self, recording: ScenarioRecording) -> ScenarioEvaluation:
        key = ScenarioKey(self._set.lang, recording.scenario_id)
        return evaluate_scenario(
            recording, key, self._set.cards, RecordedVerdicts({}), recording.scenario_id
        )

    def document(self) -> Json:
        """`x_extension.free_running`."""
        forced = _success_by_step(self._forced)
        free = _success_by_step(self._free)
        right_when_forced = [step for step, right in forced.items() if right]
        propagated = sum(not free[step] for step in right_when_forced)
        return {
            "basis": _BASIS,
            "scenarios": len(self._free),
            "left_out": self._left_out,
            "forced": _summary(self._forced),
            "free": _summary(self._free),
            "steps": len(forced),
            "not_reached": self._not_reached,
            "propagated": propagated,
            "propagated_share": propagated / len(right_when_forced) if right_when_forced else None,
            "recovered": sum(free[step] for step, right in forced.items() if not right),
            "by_position": _success_by_position(self._forced, self._free),
            "usage": usage_by_scenario(self._used),
        }


def _summary(evaluated: Sequence[ScenarioEvaluation]) -> Json:
    """The four headline scores, and success rates of steps and scenarios."""
    records = _decide_by_code(record for each in evaluated for record in each.records)
    metadata = ResultMetadata("", "", "", "none", "", "")
    overall = standard_result(metadata, evaluated, ()).overall
    named = key_metrics(overall.key_metrics)
    return {
        **{name: measure.value for name, measure in named.items()},
        "step_success": fmean(record.success for record in records) if records else None,
        "progress_rate": progress_rate(records),
        "scenario_success": run_consistency(records, has_intervals=False)["scenario_success"],
    }


def _decide_by_code(records: Any) -> list[StepRecord]:
    return [msgspec.structs.replace(record, success=is_right(record)) for record in records]


def _success_by_step(evaluated: Sequence[ScenarioEvaluation]) -> Mapping[tuple[str, int], bool]:
    return {
        (record.case_id, record.run): is_right(record)
        for each in evaluated
        for record in each.records
    }


def _success_by_position(
    forced: Sequence[ScenarioEvaluation], free: Sequence[ScenarioEvaluation]
) -> list[Json]:
    """The success rate of the first, second, third … step: errors accumulate."""
    shares: dict[int, tuple[list[bool], list[bool]]] = defaultdict(lambda: ([], []))
    for side, evaluated in enumerate((forced, free)):
        for each in evaluated:
            for position, success in _positions(each.records):
                shares[position][side].append(success)
    return [
        {"position": n, "steps": len(found[0]), "forced": fmean(found[0]), "free": fmean(found[1])}
        for n, found in sorted(shares.items())
    ]


def _positions(records: Sequence[StepRecord]) -> list[tuple[int, bool]]:
    by_run: dict[int, list[StepRecord]] = defaultdict(list)
    for record in records:
        by_run[record.run].append(record)
    return [
        (position, is_right(record))
        for run in by_run.values()
        for position, record in enumerate(sorted(run, key=lambda each: each.step_id), 1)
    ]
