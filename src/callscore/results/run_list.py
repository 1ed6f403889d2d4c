"""The runs of a store as lists show them; a run that has ended is counted once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

import msgspec

from callscore.core.errors import StoreError
from callscore.results.fingerprint import progress_in
from callscore.results.port import RunLine, State
from callscore.results.scoring_parts import Head
from callscore.store.index_rows import Scoring
from callscore.store.protocol import Store
from callscore.store.results_index import ResultsIndex
from callscore.store.run_records import Failure, RunRecord

_encode_record = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(RunRecord).decode

RunWithProgress = tuple[RunRecord, str]


class RunList:
    """The runs of one store; `head` reads what lists need of a scoring."""

    def __init__(
        self,
        index: ResultsIndex,
        reading: Callable[[], AbstractContextManager[Store]],
        head: Callable[[Scoring], Head],
    ) -> None:
        self._index, self._reading, self._head = index, reading, head

    def lines(self) -> Sequence[RunLine]:
        """Every run, newest first."""
        newest = self._index.all_newest()
        return [self._line(*found, newest.get(found[0].id)) for found in self.records()]

    def line(self, run: int) -> RunLine:
        """One run; raises UsageError if it does not exist."""
        return self._line(*self.record(run), self._index.newest(run))

    def records(self) -> list[RunWithProgress]:
        """Every run as the store has it, newest first, with its progress."""
        kept = self._index.kept_records()
        with self._reading() as store:
            return [
                self._record(store, run, progress, kept)
                for run, progress in store.progress().items()
            ]

    def record(self, run: int) -> RunWithProgress:
        """One run with its progress; raises UsageError if it does not exist."""
        kept = self._index.kept_records()
        with self._reading() as store:
            return self._record(store, run, store.progress().get(run, ""), kept)

    def _record(
        self, store: Store, run: int, progress: str, kept: Mapping[tuple[int, str], bytes]
    ) -> RunWithProgress:
        raw = kept.get((run, progress))
        if raw is not None:
            return _decode_record(raw), progress
        record = store.run(run)
        if not progress.startswith("running/"):
            with suppress(StoreError):  # on a full disk it is counted again each time
                self._index.keep_record(run, progress, _encode_record(record))
        return record, progress

    def _failures(self, record: RunRecord) -> Sequence[Failure]:
        """Why requests of a running run have failed."""
        if record.status != "running" or not record.failed:
            return ()
        with self._reading() as store:
            return store.failures(record.id)

    def _line(self, record: RunRecord, progress: str, scoring: Scoring | None) -> RunLine:
        """Of lists: whether the files have changed is not looked up."""
        state: State = "missing"
        head: Head | None = None
        if scoring is not None:
            head = self._head(scoring)
            state = "fresh" if progress_in(scoring.fingerprint) == progress else "stale"
        if state != "fresh" and self._index.is_building(record.id):
            state = "building"
        header = record.header
        return RunLine(
            id=record.id,
            name=header.name,
            eval_file=header.eval_file,
            status=record.status,
            started_at=record.started_at,
            finished_at=record.finished_at,
            total=header.total,
            answered=record.answered,
            failed=record.failed,
            cost_usd=record.cost_usd,
            judge_usd=record.judge_usd,
            uncertain_usd=record.uncertain_usd,
            state=state,
            leader=None if head is None else head.leader,
            leader_final=None if head is None else head.leader_final,
            race=record.race,
            failures=self._failures(record),
            unpriced=record.unpriced,
            unstored=header.unstored,
            held_since=None if record.holder is None else record.holder.since,
        )
