"""Recorded runs of scenarios (`*_out.json`, either form) for the replaying models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from callscore.app_orchestration import UNKNOWN_LANGUAGE, language_of
from callscore.core.case import Failed, Reply
from callscore.core.errors import DataError, UsageError
from callscore.core.recorded_calls import recorded_calls
from callscore.store.orchestration_files import OUTPUT_SUFFIX, read_whole
from callscore.suites.orchestration.scenario.recording import (
    RecordedReply,
    decode_file,
    read_recording,
)

AT_HAND = 4
"""Decoded files kept: the steps of a scenario are asked for one after the other."""
Answers = Mapping[tuple[int, int], RecordedReply]
"""By run and step."""


class ScenarioRecordings:
    """The files of one model, found by the language and name of their scenario."""

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self._paths: dict[tuple[str, str], Path] = {}
        for path in paths:
            key = (language_of(path.parent), path.name.removesuffix(OUTPUT_SUFFIX))
            if key in self._paths:
                raise UsageError(
                    f"model {name!r}: {self._paths[key]} and {path} are outputs of one scenario; "
                    "expected one file for each"
                )
            self._paths[key] = path
        self._answers = lru_cache(AT_HAND)(_answers)

    def __call__(self, case_id: str, run: int) -> Reply | Failed | None:
        """What was recorded for a step and a run; None where nothing was."""
        where, _, step = case_id.rpartition("#")
        lang, _, scenario = where.partition("/")
        path = self._paths.get((lang, scenario)) or self._paths.get((UNKNOWN_LANGUAGE, scenario))
        if path is None or not step.isdecimal():
            return None
        answer = self._answers(path).get((run, int(step)))
        return None if answer is None else _reply(answer)


def _answers(path: Path) -> Answers:
    """The answers in a file; raises DataError where it is none."""
    try:
        recording = read_recording(decode_file(read_whole(path)), path.name)
    except DataError as error:
        raise error.located(str(path)) from None
    return {
        (run.number, step): answer
        for run in recording.runs
        for step, answer in {**run.plans, **run.steps}.items()
    }


def _reply(answer: RecordedReply) -> Reply | Failed:
    if answer.error:
        return Failed("model", answer.error)
    return Reply(_text(answer.content), tool_calls=recorded_calls(answer.tool_calls))


def _text(content: Any) -> str:
    if content is None:
        return ""
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()
