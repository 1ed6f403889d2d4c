"""Error propagation: free runs compared with the teacher-forced ones, on the same scenarios
and terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.scenarios import StoredReplies
from callscore.suites.orchestration import result as outcomes
from callscore.suites.orchestration.call.questions import Recorded
from callscore.suites.orchestration.extension import progress_rate, repeated_runs
from callscore.suites.orchestration.free_run import is_right
from callscore.suites.orchestration.free_runs import FreeReplies, free_replies
from callscore.suites.orchestration.replies import ScenarioReplies, Usage, usage_of_scenarios
from callscore.suites.orchestration.result import About
from callscore.suites.orchestration.result_format import key_metrics
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.parse import Place
from callscore.suites.orchestration.scenario.recording import Recording
from callscore.suites.orchestration.standard import Evaluated, evaluate
from callscore.suites.orchestration.step_record import StepRecord

Json = dict[str, Any]
_BASIS = (
    "teacher-forced and free-running, each step right where code finds nothing wrong; values that "
    "only a judge can compare count as unequal in the four scores of both"
)


class FreeScoring:
    """The free runs of one model on one set, collected scenario by scenario."""

    def __init__(self, model: str, part: ScenarioSet, repeats: int, stored: StoredReplies) -> None:
        self._model, self._part = model, part
        self._repeats, self._stored = repeats, stored
        self._forced: list[Evaluated] = []
        self._free: list[Evaluated] = []
        self._used: dict[str, Usage] = {}
        self._not_reached = 0
        self._left_out: list[str] = []

    def add(self, forced: ScenarioReplies) -> tuple[ScenarioReplies, Sequence[StepRecord]] | None:
        """Add one scenario with its records, if both passes are complete."""
        scenario = forced.scenario
        found = free_replies(self._part, scenario, self._model, self._repeats, self._stored)
        if isinstance(found, str) or forced.missing:
            self._left_out.append(found if isinstance(found, str) else forced.missing)
            return None
        try:
            both = [self._evaluated(each) for each in (forced.recording(), found.recording)]
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

    def _evaluated(self, recording: Recording) -> Evaluated:
        place = Place(self._part.lang, recording.scenario_id)
        return evaluate(recording, place, self._part.cards, Recorded({}), recording.scenario_id)

    def document(self) -> Json:
        """`x_extension.free_running`."""
        forced = _by_step(self._forced)
        free = _by_step(self._free)
        held = [step for step, right in forced.items() if right]
        propagated = sum(not free[step] for step in held)
        return {
            "basis": _BASIS,
            "scenarios": len(self._free),
            "left_out": self._left_out,
            "forced": _summary(self._forced),
            "free": _summary(self._free),
            "steps": len(forced),
            "not_reached": self._not_reached,
            "propagated": propagated,
            "propagated_share": propagated / len(held) if held else None,
            "recovered": sum(free[step] for step, right in forced.items() if not right),
            "by_position": _by_position(self._forced, self._free),
            "usage": usage_of_scenarios(self._used),
        }


def _summary(evaluated: Sequence[Evaluated]) -> Json:
    """The four scores, and the progress of the model."""
    records = _decided_by_code(record for each in evaluated for record in each.records)
    about = About("", "", "", "none", "", "")
    overall = outcomes.standard_outcome(about, evaluated, ()).overall
    named = key_metrics(overall.key_metrics)
    return {
        **{name: measure.value for name, measure in named.items()},
        "step_success": fmean(record.success for record in records) if records else None,
        "progress_rate": progress_rate(records),
        "scenario_success": repeated_runs(records, has_intervals=False)["scenario_success"],
    }


def _decided_by_code(records: Any) -> list[StepRecord]:
    return [msgspec.structs.replace(record, success=is_right(record)) for record in records]


def _by_step(evaluated: Sequence[Evaluated]) -> Mapping[tuple[str, int], bool]:
    return {
        (record.case_id, record.run): is_right(record)
        for each in evaluated
        for record in each.records
    }


def _by_position(forced: Sequence[Evaluated], free: Sequence[Evaluated]) -> list[Json]:
    """Success of the first, second, third … step of a scenario: errors accumulate."""
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
        for position, record in enumerate(sorted(run, key=_step), 1)
    ]


def _step(record: StepRecord) -> int:
    return int(record.case_id.rpartition("#")[2])
