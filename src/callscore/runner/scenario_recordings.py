"""Recorded runs of scenarios (`*_out.json`, either form) for the replaying models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from callscore.core.case import Failed, Reply
from callscore.core.errors import DataError, UsageError
from callscore.core.languages import UNKNOWN_LANGUAGE, language_of
from callscore.store.orchestration_files import OUTPUT_SUFFIX, read_whole
from callscore.suites.registry import scenario_suite

MOST_KEPT = 4
"""Decoded files kept: the steps of a scenario are asked for one after the other."""


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
        self._replies = lru_cache(MOST_KEPT)(_replies)

    def __call__(self, case_id: str, run: int) -> Reply | Failed | None:
        """What was recorded for a step and a run; None where nothing was."""
        where, _, step = case_id.rpartition("#")
        lang, _, scenario = where.partition("/")
        path = self._paths.get((lang, scenario)) or self._paths.get((UNKNOWN_LANGUAGE, scenario))
        if path is None or not step.isdecimal():
            return None
        return self._replies(path).get((run, int(step)))


def _replies(path: Path) -> Mapping[tuple[int, int], Reply | Failed]:
    """The replies in a file, by run and step; raises DataError where it is none."""
    try:
        return scenario_suite().read_outputs(read_whole(path), path.name)
    except DataError as error:
        raise error.located(str(path)) from None
