"""The pass with own history in rounds: free runs by the script, and conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from callscore.core.case import Reply
from callscore.core.scenarios import (
    FollowUpBound,
    ScenarioSettings,
    StepRequest,
    StoredReplies,
)
from callscore.suites.orchestration.conversation import FreeConversation, bounds_of
from callscore.suites.orchestration.free_run import FreeRun, own_case_id
from callscore.suites.orchestration.replies import to_recorded_reply
from callscore.suites.orchestration.scenario.cases import step_case
from callscore.suites.orchestration.scenario.data import ScenarioSet

AT_ONCE = 32
"""Conversations that run at the same time: each may have servers of its own."""


class _Run(Protocol):
    """A run in progress; `request` is what is asked next, None at the end."""

    model: str

    @property
    def request(self) -> StepRequest | None: ...

    def add(self, reply: Reply) -> None: ...


class _ScriptedRun:
    """A free run by the script."""

    def __init__(self, model: str, free: FreeRun, run: int) -> None:
        self.model, self._free, self._number = model, free, run

    @property
    def request(self) -> StepRequest | None:
        """The request of the next step."""
        step = self._free.next_step
        if step is None:
            return None
        case = step_case(step, own_case_id(step.id))
        return StepRequest(self.model, self._number, case, step.prompt)

    def add(self, reply: Reply) -> None:
        """Add the reply to the step."""
        self._free.add_reply(to_recorded_reply(reply, self._free.asking_back))


def advance(run: _Run, stored: StoredReplies) -> None:
    """Add the stored replies to a run, up to the first request without one."""
    while (request := run.request) is not None:
        found = stored(request.model, request.case.id).get(request.run)
        if not isinstance(found, Reply):
            return
        run.add(found)


class FreeRuns:
    """All runs with own history; a round has one request of each that has not ended."""

    def __init__(
        self,
        sets: Sequence[ScenarioSet],
        settings: ScenarioSettings,
        models: Sequence[str],
        repeats: int,
        stored: StoredReplies,
    ) -> None:
        self._stored = stored
        self._asked: list[_Run] = []
        """The runs of which something was requested in the last round."""
        runs = [
            (scenario_set, scenario, model, run)
            for scenario_set in sets
            for scenario in scenario_set.scenarios()
            for model in models
            for run in range(1, repeats + 1)
        ]
        self._waiting: Iterator[_Run] = (
            FreeConversation(scenario, of.cards, of.protocol, settings, model, run)
            for of, scenario, model, run in runs
            if scenario.ending.facts
        )
        self._scripted: Iterator[_Run] = (
            _ScriptedRun(model, FreeRun(scenario, of.cards, of.protocol), run)
            for of, scenario, model, run in runs
            if not scenario.ending.facts
        )

    def next_round(self, left_out: frozenset[str]) -> Sequence[StepRequest]:
        """One request of every run; a run whose last request got no reply ends."""
        going: list[_Run] = []
        for run in self._asked:
            before = run.request
            advance(run, self._stored)
            if (
                run.request is not None
                and before is not None
                and (run.request.case.id != before.case.id)
            ):
                going.append(run)
        requests: list[StepRequest] = []
        self._asked = []
        for run in (*going, *self._scripted):
            self._ask(run, left_out, requests)
        # A conversation that ended makes room for the next one.
        room = AT_ONCE - sum(isinstance(run, FreeConversation) for run in self._asked)
        while room > 0 and (more := list(islice(self._waiting, room))):
            for run in more:
                advance(run, self._stored)
                self._ask(run, left_out, requests)
            room = AT_ONCE - sum(isinstance(run, FreeConversation) for run in self._asked)
        return requests

    def _ask(self, run: _Run, left_out: frozenset[str], requests: list[StepRequest]) -> None:
        request = run.request
        if request is not None and not left_out & {run.model, request.model}:
            self._asked.append(run)
            requests.append(request)


def follow_up_bounds(
    sets: Sequence[ScenarioSet], settings: ScenarioSettings
) -> Iterator[FollowUpBound]:
    """The most that the pass with own history can take, for every model and run."""
    for scenario_set in sets:
        for scenario in scenario_set.scenarios():
            if scenario.ending.facts:
                first = FreeConversation(
                    scenario, scenario_set.cards, scenario_set.protocol, settings, "", 1
                )
                yield from bounds_of(first)
                continue
            plans = results = 0
            for step in scenario_set.requested_steps(scenario):
                # Plans stay in the history, and the task of an agent is a part of one.
                case = step_case(step, own_case_id(step.id))
                more = results * LONGEST_NO_RESULT
                yield FollowUpBound(case, step.prompt, 1, "", more, 2 * plans, 1)
                plans += step.is_plan
                results += not step.is_plan


LONGEST_NO_RESULT = 2_000
"""Bytes of what a call returns that nothing is recorded for: a text of ours, with tool names."""
