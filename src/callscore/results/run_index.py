"""Writes the index of a run while `callscore run` scores it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import msgspec

from callscore.config.config import EvalConfig
from callscore.core.blocks import BLOCK
from callscore.core.errors import StoreError
from callscore.evaluate.sub_blocks import KeptSubBlock
from callscore.export.sources import source_of_run
from callscore.export.step_cases import StepCases
from callscore.report.source import CaseView
from callscore.results.fingerprint import fingerprint
from callscore.results.writer import IndexWriter, WithCard, verdicts_on_steps
from callscore.runner.people import PEOPLE, PeopleVerdicts
from callscore.runner.prepare import PreparedRun, RunOptions, ScoredParts
from callscore.runner.run import RunResult
from callscore.store.address import open_store
from callscore.store.results_index import ResultsIndex, open_index

T = TypeVar("T")


class RunIndex:
    """The index of a run, written with its scores; it is left out if it cannot be written."""

    def __init__(self, config: EvalConfig, *, is_wanted: bool = True) -> None:
        """It is not wanted if options of the command change what reports show of the run."""
        self._config, self._is_wanted = config, is_wanted
        self._stack = ExitStack()
        self._index: ResultsIndex | None = None
        self._writer: IndexWriter | None = None
        self._steps: StepCases | None = None
        self._scored: list[ScoredParts] = []
        self._size = BLOCK

    def close(self) -> None:
        """Drop what is not finished."""
        self._stack.close()

    def add_to(self, options: RunOptions) -> RunOptions:
        """Add callbacks to the options of a run, if it is scored as reports score it."""
        as_stored = not (options.unstored or options.race or options.labels or options.mode)
        if not self._is_wanted or not as_stored or self._config.scoring.sends_requests:
            return options
        self._steps = self._stack.enter_context(StepCases())
        self._size = options.workers.size
        return msgspec.structs.replace(
            options,
            on_case=_both(options.on_case, self._add),
            on_step=_both(options.on_step, self._steps.add),
            on_scored=_both(options.on_scored, self._scored.append),
            on_sub_block=_both(options.on_sub_block, self._add_sub_block),
        )

    def _add(self, view: CaseView) -> None:
        self._write(lambda writer: writer.add(view))

    def _add_sub_block(self, kept: KeptSubBlock) -> None:
        self._write(lambda writer: writer.add_sub_block(kept))

    def _write(self, write: Callable[[IndexWriter], None]) -> None:
        """Write to the index, from the first case that is scored: by then there is a store."""
        if self._steps is None:
            return
        try:
            if self._writer is None:
                self._open()
            if self._writer is not None:
                write(self._writer)
        except StoreError:
            self._steps = self._writer = None

    def _open(self) -> None:
        index = open_index(self._config.store)
        self._index = index
        self._stack.callback(index.close)
        if index.is_kept:
            self._writer = self._stack.enter_context(IndexWriter(index, size=self._size))
        else:
            self._steps = None

    def finish(self, prepared: PreparedRun, ran: RunResult) -> None:
        """Complete the index of a run that has ended."""
        if self._steps is None or ran.card is None:
            return
        try:
            if self._writer is None:
                self._open()
            if self._writer is None:
                return
            with open_store(self._config.store, only_reading=True) as store:
                progress = store.progress()[ran.run_id]
            # The verdicts that it was scored with: there may be more by now.
            given = [path for path in prepared.options.verdicts if path.name == PEOPLE]
            people = PeopleVerdicts(b"".join(path.read_bytes() for path in given))
            parts = self._scored[0]
            self._writer.add_steps(self._steps, verdicts_on_steps(parts))
            source = source_of_run(prepared, ran, (), ())
            found = fingerprint(progress, self._config, people.lines)
            self._writer.finish(ran, found, source, WithCard(parts, people))
        except StoreError:
            self._steps = None


def _both(
    first: Callable[[T], object] | None, second: Callable[[T], object]
) -> Callable[[T], None]:
    def call(value: T) -> None:
        if first is not None:
            first(value)
        second(value)

    return call
