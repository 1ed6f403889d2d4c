"""The pass in which models see their own plans and calls (`history: own`), in rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.scenarios import StepRequest, StoredReplies
from callscore.suites.orchestration.free_run import FreeRun, own_case_id
from callscore.suites.orchestration.replies import ScenarioReplies, StepReply, answer_of
from callscore.suites.orchestration.scenario.cases import step_case
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.model import Scenario
from callscore.suites.orchestration.scenario.recording import ScenarioRecording


class _FreeRunInProgress:
    """One free run in progress."""

    def __init__(self, model: str, free: FreeRun, run: int) -> None:
        self.model = model
        self.free = free
        self.run = run

    def request(self) -> StepRequest | None:
        """The next step; None if the run is over."""
        step = self.free.following
        if step is None:
            return None
        return StepRequest(self.model, self.run, step_case(step, own_case_id(step.id)), step.prompt)

    def settled(self, stored: StoredReplies) -> bool:
        """Add the reply to the requested step; False if there is none."""
        step = self.free.following
        assert step is not None
        found = stored(self.model, own_case_id(step.id)).get(self.run)
        if not isinstance(found, Reply):
            return False
        self.free.take(answer_of(found))
        return True


class FreeRuns:
    """All free runs of a run. A round requests one step of each that is not over."""

    def __init__(
        self,
        sets: Sequence[ScenarioSet],
        models: Sequence[str],
        repeats: int,
        stored: StoredReplies,
    ) -> None:
        self._stored = stored
        self._asked = False
        self._going = [
            _FreeRunInProgress(model, FreeRun(scenario, part.cards, part.protocol), run)
            for part in sets
            for scenario in part.scenarios()
            for model in models
            for run in range(1, repeats + 1)
        ]

    def next_round(self, left_out: frozenset[str]) -> Sequence[StepRequest]:
        """One step of every run; a run whose last step got no reply ends."""
        if self._asked:
            self._going = [going for going in self._going if going.settled(self._stored)]
        self._asked = True
        requests = [
            (going, going.request()) for going in self._going if going.model not in left_out
        ]
        self._going = [going for going, request in requests if request is not None]
        return [request for _, request in requests if request is not None]


class FreeReplies(msgspec.Struct, frozen=True):
    """The replies of a model to one scenario with its own history."""

    replies: ScenarioReplies
    recording: ScenarioRecording
    not_reached: int
    """Steps of all runs that the model's own plans left out."""


def free_replies(
    part: ScenarioSet, scenario: Scenario, model: str, repeats: int, stored: StoredReplies
) -> FreeReplies | str:
    """The stored free runs of a scenario; or why they are incomplete."""
    steps: list[StepReply] = []
    runs, not_reached = [], 0
    for number in range(1, repeats + 1):
        free = FreeRun(scenario, part.cards, part.protocol)
        steps += _walk(free, model, number, stored)
        if free.following is not None:
            return _why(steps[-1])
        runs.append(free.run(number))
        not_reached += len(free.not_reached)
    replies = ScenarioReplies(scenario, model, repeats, steps)
    recording = ScenarioRecording(scenario.id, tuple(runs), (scenario.raw,) * repeats, model)
    return FreeReplies(replies, recording, not_reached)


def _walk(free: FreeRun, model: str, run: int, stored: StoredReplies) -> Iterator[StepReply]:
    """The steps of one run up to its end, or to the first without a reply."""
    while (case := free.following) is not None:
        found = stored(model, own_case_id(case.id)).get(run)
        yield StepReply(case, run, found)
        if not isinstance(found, Reply):
            return
        free.take(answer_of(found))


def _why(step: StepReply) -> str:
    why = step.found.why if isinstance(step.found, Failed) else answer_of(step.found).error
    return f"{step.case.id}, run {step.run}: {why}"
