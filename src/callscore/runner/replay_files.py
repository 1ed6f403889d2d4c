"""Recorded outputs for replaying models: looked up by case and run, not kept in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from callscore.core.case import Failed, Reply
from callscore.core.errors import DataError, UsageError
from callscore.core.languages import UNKNOWN_LANGUAGE, language_of
from callscore.evaluate.reply_source import duplicate_output
from callscore.providers.replay import Recorded
from callscore.store.files import LinesByKey, lines_of
from callscore.store.input_records import read_output, read_output_head, reply_of, run_of
from callscore.store.scenario_files import OUTPUT_SUFFIX, read_whole
from callscore.suites.registry import scenario_suite

MOST_KEPT = 4
"""Decoded files in memory: the steps of a scenario are requested one after the other."""


class Recordings:
    """The outputs of one model in some files, which may have several models.

    Lines of outputs, recorded runs of scenarios (`*_out.json`), or both.
    """

    def __init__(self, name: str, model: str, files: Sequence[Path]) -> None:
        paths = [path for path in files if not path.name.endswith(OUTPUT_SUFFIX)]
        self._other: Recorded = lambda case_id, run: None
        """The replies to steps of scenarios, if there are recordings."""
        if len(paths) < len(files):
            recorded = [path for path in files if path.name.endswith(OUTPUT_SUFFIX)]
            self._other = ScenarioRecordings(name, recorded)
        self._lines = LinesByKey(paths)
        self._positions: dict[str, int] = {}
        models = {read_output_head(line).model for line in lines_of(paths)}
        self._model = _choose_model(name, model, models) if paths else ""
        for line in lines_of(paths):
            head = read_output_head(line)
            if head.model == self._model:
                position = self._positions.setdefault(head.case_id, len(self._positions))
                self._lines.add(position, line)

    def __call__(self, case_id: str, run: int) -> Reply | Failed | None:
        """The recorded reply for a case and a run; None if there is none."""
        position = self._positions.get(case_id)
        if position is None:
            return self._other(case_id, run)
        found: Reply | Failed | None = None
        for line in self._lines.lines(position):
            record = read_output(line)
            if run_of(record) != run:
                continue
            if found is not None:
                raise duplicate_output(record, line)
            found = reply_of(record)
        return found

    def close(self) -> None:
        """Close the files."""
        self._lines.close()


def _choose_model(name: str, model: str, models: set[str]) -> str:
    """The recorded model: the one named by `model`, by `name`, or the only one."""
    for wanted in (model, name):
        if wanted in models:
            return wanted
    if len(models) == 1 and not model:
        return next(iter(models))
    listed = ", ".join(sorted(models)) or "none"
    raise UsageError(
        f"model {name!r}: {model or name!r} is not among the recorded models; "
        f"expected `model` to be one of {listed}"
    )


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
        """The recorded reply for a step and a run; None if there is none."""
        where, _, step = case_id.rpartition("#")
        lang, _, scenario = where.partition("/")
        path = self._paths.get((lang, scenario)) or self._paths.get((UNKNOWN_LANGUAGE, scenario))
        if path is None or not step.isdecimal():
            return None
        return self._replies(path).get((run, int(step)))


def _replies(path: Path) -> Mapping[tuple[int, int], Reply | Failed]:
    """The replies in a file, by run and step; raises DataError if it is not a recording."""
    try:
        return scenario_suite().read_outputs(read_whole(path), path.name)
    except DataError as error:
        raise error.with_place(str(path)) from None
