"""What happened at one step of one run: the evidence behind every number of the extension."""

from __future__ import annotations

from typing import Literal

import msgspec

from callscore.suites.orchestration.call.measures import CallMeasured, Difference
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.plan.measures import PlanMeasured
from callscore.suites.orchestration.scenario.recording import RecordedReply


class StepRecord(msgspec.Struct, frozen=True):
    """One step: what was due (`kind`), by whom, whether all of it was right, and what was not.

    `tool` is the tool that was due, or the type of the rejection; `size` the number of agent
    steps in the gold plan; `expected` the step as annotated, `answer` what came back for it.
    """

    case_id: str
    run: int
    scenario: str
    kind: Literal["plan", "call", "rejection"]
    agent: str
    tool: str = ""
    size: int = 0
    success: bool = False
    plan: PlanMeasured | None = None
    call: CallMeasured | None = None
    confusion: Confusion = Confusion()
    differences: tuple[Difference, ...] = ()
    flags: tuple[str, ...] = ()
    expected: str = ""
    answer: RecordedReply | None = None
