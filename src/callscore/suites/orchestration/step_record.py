"""The record of one step of one run, from which the extra statistics are computed."""

from __future__ import annotations

from typing import Literal

import msgspec

from callscore.suites.orchestration.call.difference import Difference
from callscore.suites.orchestration.call.measures import CallScore
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.plan.measures import PlanScore
from callscore.suites.orchestration.scenario.output_file import RecordedReply


class StepRecord(msgspec.Struct, frozen=True):
    """One step: what was due (`kind`), its agent, whether it was right, and the differences.

    `tool` is the tool that was due, or the type of the rejection; `size` is the number of agent
    steps in the gold plan; `expected` is the annotated text of the step.
    """

    case_id: str
    run: int
    scenario: str
    kind: Literal["plan", "call", "rejection"]
    agent: str
    tool: str = ""
    size: int = 0
    success: bool = False
    plan: PlanScore | None = None
    call: CallScore | None = None
    confusion: Confusion = Confusion()
    differences: tuple[Difference, ...] = ()
    flags: tuple[str, ...] = ()
    expected: str = ""
    reply: RecordedReply | None = None

    @property
    def may_be_right(self) -> bool:
        """Whether the step is right, or would be if its undecided values were        C-141"""
        call = self.call
        return self.success or (
            call is not None and call.name == call.key == 1.0 and call.value_at_best == 1.0
        )

    @property
    def step_id(self) -> int:
        """The number of the step in its scenario."""
        return int(self.case_id.rpartition("#")[2])
