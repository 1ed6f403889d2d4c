"""The record of one step of one run, from which the numbers of the extension are computed."""

from __future__ import annotations

from typing import Literal

import msgspec

from callscore.suites.orchestration.call.measures import CallScore, Difference
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.plan.measures import PlanScore
from callscore.suites.orchestration.scenario.output_file import RecordedReply


class StepRecord(msgspec.Struct, frozen=True):
    """One step: what was due (`kind`), its agent, whether it was right, and the differences.

    `tool` is the tool that was due, or the type of the rejection; `size` the number of agent
    steps in the gold plan; `expected` the step as annotated, `reply` the reply.
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
