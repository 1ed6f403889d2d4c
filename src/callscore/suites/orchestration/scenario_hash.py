"""The hash of scenarios: messages and expected steps, however they were recorded (C-132, C-134)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from callscore.core.errors import DataError
from callscore.suites.orchestration.scenario.model import RawStep
from callscore.suites.orchestration.scenario.output_file import read_recording

SHOWN_DIGITS = 12


def canonical_hash(value: Any) -> str:
    """SHA-256 of the value as canonical JSON with sorted keys        C-132"""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def scenarios_hash(cards: str, scenarios: Iterable[tuple[str, Sequence[RawStep] | None]]) -> str:
    """The hash of the cards' hash and of every scenario's id and steps, in any order        C-134

    Ids of tool calls differ in every public run and are left out, like data that only a scenario
    file has. A scenario without readable steps counts by its id.
    """
    content = sorted(
        [name, [[step.step_id, step.agent, step.content] for step in steps or ()]]
        for name, steps in scenarios
    )
    return canonical_hash([cards, content])[:SHOWN_DIGITS]


def recorded_steps(data: Any, scenario_id: str) -> Sequence[RawStep] | None:
    """The steps of the first run in a decoded output file; None if it has none."""
    if not isinstance(data, Mapping):
        return None
    try:
        return next(iter(read_recording(data, scenario_id).raw_steps), None)
    except DataError:
        return None
