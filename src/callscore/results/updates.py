"""Keeps the scorings of an index up to date: with the data of their runs, and with reviews."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import CallscoreError, UsageError
from callscore.core.events import GivenReview, Review, standing_reviews
from callscore.core.task import SCENARIO
from callscore.report.source import CaseView
from callscore.results.fingerprint import data_in, fingerprint, with_people
from callscore.results.review_log import AUDIT, ItemOfReply, ReviewLog, StaleReviews
from callscore.results.rows import decode_view
from callscore.results.scoring_parts import decode_head
from callscore.runner.people import (
    PeopleVerdicts,
    PlacedLine,
    join_lines,
    placed_lines,
    reference_hash,
    references_of,
)
from callscore.runner.run_key import RunKey
from callscore.store.address import StoreAddress
from callscore.store.index_rows import Scoring
from callscore.store.protocol import Store
from callscore.store.results_index import ResultsIndex
from callscore.store.run_records import RunRecord
from callscore.store.worklists import OpenItem

if TYPE_CHECKING:  # what scores is imported when a run is scored: the server starts without it
    from callscore.config.config import EvalConfig
    from callscore.config.score import ScoreConfig
    from callscore.evaluate.block_scoring import Workers
    from callscore.results.reviewed_run import RunOfReviews

Reading = Callable[[], AbstractContextManager[Store]]
RecordOf = Callable[[int], tuple[RunRecord, str]]
"""A run and its progress."""


class _PeopleOfRun:
    """What people say about the replies of a run, as lines that are known already."""

    def __init__(self, data: str, times_read: int) -> None:
        self.depends_on = (data, times_read)
        """The data of the run, and which reading of the log."""
        self.end = -1
        """The number of the last event that was read."""
        self.verdicts = PeopleVerdicts()
        self.lines: dict[bytes, list[PlacedLine]] = {}
        """By subject."""
        self.references: dict[str, str] = {}
        self.stale: dict[ItemOfReply, StaleReviews] = {}
        """The items whose reviews rely on another reference than the run has now."""


class ScoringUpdates:
    """Brings scorings up to date, at once or in the background; for several threads."""

    def __init__(
        self,
        store: tuple[StoreAddress, Path | None],
        index: ResultsIndex,
        reading: Reading,
        record: RecordOf,
    ) -> None:
        """`store`: with the eval file of its runs, if it does not name it."""
        self._address, self._eval_file = store
        self._index, self._reading, self._record = index, reading, record
        self._lock = RLock()
        self._changing = RLock()
        self._stack = ExitStack()
        self.log = ReviewLog()
        self._configs: dict[int, tuple[tuple[int, int], EvalConfig]] = {}
        self._people: dict[int, _PeopleOfRun] = {}
        self._runs: dict[int, tuple[str, RunOfReviews]] = {}
        """By run, its data and what its cases have in common."""
        self._as_a_whole: dict[int, str] = {}
        """By run, the fingerprint that only a pass over all cases gives."""
        self._threads: dict[int, Thread] = {}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._checked: dict[int, str] = {}
        """By run, the data that are known to be its own."""
        self._failed: dict[int, tuple[str, str]] = {}
        """By run, the fingerprint that could not be scored, and why."""
        self._closed = False

    def close(self) -> None:
        """End background work."""
        self._closed = True
        for process in list(self._processes.values()):
            process.terminate()
        for thread in list(self._threads.values()):
            thread.join()
        self._stack.close()

    def config(self, run: int) -> EvalConfig:
        """The eval file of a run, read again when it has changed."""
        record, _ = self._record(run)
        known = self._configs.get(run)
        if known is not None and _stamp(known[1].path) == known[0]:
            return known[1]
        from callscore.runner.stored_runs import config_of_run

        config = config_of_run(record, self._address, self._eval_file)
        self._configs[run] = (_stamp(config.path), config)
        return config

    def scoring_config(self, run: int) -> ScoreConfig:
        """How a run is scored: its eval file, and the options that it was started with."""
        record, _ = self._record(run)
        scoring, key = self.config(run).scoring, RunKey.parse(record.header.config_hash)
        return msgspec.structs.replace(
            scoring, limit=key.limit, weights=key.weights or scoring.weights
        )

    # What a scoring depends on

    def data(self, run: int) -> str:
        """The fingerprint of a run without verdicts of people."""
        _, progress = self._record(run)
        return data_in(fingerprint(progress, self.config(run)))

    def reviews(self) -> ReviewLog:
        """What people say about verdicts, up to the last event."""
        with self._lock, self._reading() as store:
            self.log.read(store)
            return self.log

    def people(self, run: int) -> PeopleVerdicts:
        """What people say about the replies of a run."""
        data = self.data(run)
        with self._lock:
            log = self.reviews()
            known = self._people.get(run)
            if known is None or known.depends_on != (data, log.times_read):
                known = self._people[run] = _PeopleOfRun(data, log.times_read)
            if known.end == log.end:
                return known.verdicts
            new = log.since(known.end)
            self._look_up_references(run, known, {one.review.case_id for one in new})
            keys = self._reply_keys(run, new)
            for subject in {given.event.subject for given in new}:
                known.lines[subject] = [
                    line
                    for given in log.standing(subject)
                    for line in placed_lines(
                        given,
                        known.references[given.review.case_id],
                        keys[given.review.case_id],
                    )
                ]
            for given in new:
                self._note_stale(known, given.review, keys[given.review.case_id])
            known.end = log.end
            joined = join_lines(line for some in known.lines.values() for line in some)
            known.verdicts = PeopleVerdicts(joined, log.end)
            return known.verdicts

    def _reply_keys(
        self, run: int, reviews: Iterable[GivenReview]
    ) -> Mapping[str, Mapping[tuple[str, int], bytes]]:
        """By case of some reviews, the keys of its replies."""
        with self._reading() as store:
            cases = dict.fromkeys(given.review.case_id for given in reviews)
            return {case_id: store.reply_keys(run, case_id) for case_id in cases}

    def _note_stale(
        self, known: _PeopleOfRun, review: Review, keys: Mapping[tuple[str, int], bytes]
    ) -> None:
        """Note whether the reviews of an item rely on another reference.

        Reviews of the audit queue are left out: it is blind.
        """
        item = (review.reply, review.metric, review.item)
        reference = known.references[review.case_id]
        standing = [
            given
            for given in standing_reviews(self.log.by_item[item])
            if given.review.queue != AUDIT
        ]
        about = [answer for answer, key in keys.items() if key.hex() == review.reply]
        known.stale.pop(item, None)
        if standing and about and all(one.review.reference != reference for one in standing):
            known.stale[item] = StaleReviews(review.case_id, *about[0], standing)

    def stale(self, run: int) -> Mapping[ItemOfReply, StaleReviews]:
        """The items whose reviews rely on another reference than the run has now."""
        with self._lock:
            self.people(run)
            return dict(self._people[run].stale)

    def check_data(self, run: int) -> None:
        """Raise UsageError if the run cannot be scored with its data as they are now.

        The data are read only after a file has changed.
        """
        data, scoring = self.data(run), self._index.newest(run)
        if data == self._checked.get(run):
            return
        if scoring is None or data_in(scoring.fingerprint) != data:
            from callscore.results.reviewed_run import check_data_of_run

            check_data_of_run(self._record(run)[0], self.config(run))
        self._checked[run] = data

    def _look_up_references(self, run: int, known: _PeopleOfRun, cases: set[str]) -> None:
        """Look up the references of cases: in the index if it is of the same data."""
        missing = cases - known.references.keys()
        scoring = self._index.newest(run)
        if scoring is not None and data_in(scoring.fingerprint) == known.depends_on[0]:
            for case_id in sorted(missing):
                place = self._index.place_of(scoring.id, case_id)
                raw = None if place is None else self._index.view(scoring.id, place)
                if raw is not None:
                    case = decode_view(raw).case
                    is_step = case.task == SCENARIO
                    known.references[case_id] = "" if is_step else reference_hash(case)
        missing = cases - known.references.keys()
        found = references_of(self.config(run), missing)
        known.references.update({case_id: found.get(case_id, "") for case_id in missing})

    def reference_of(self, run: int, case_id: str) -> str:
        """The hash of the expected outcome of a case; empty for a step of a scenario."""
        with self._lock:
            self.people(run)
            known = self._people[run]
            self._look_up_references(run, known, {case_id})
            return known.references[case_id]

    def open_items(self, run: int, view: CaseView) -> list[OpenItem]:
        """The items of the replies to a case that await a verdict; of a step, none are listed."""
        if view.case.task == SCENARIO:
            return []
        from callscore.results.verdict_changes import open_items_of

        with self._changing:
            return open_items_of(self._run(run), view, self.people(run))

    def fingerprint(self, run: int) -> str:
        """What the newest scoring of a run should depend on."""
        return with_people(self.data(run), self.people(run).lines)

    def is_fresh(self, run: int) -> bool:
        """Whether the values of a scoring hold; its intervals may be computed yet."""
        scoring = self._index.newest(run)
        return scoring is not None and scoring.fingerprint == self.fingerprint(run)

    # Updates

    def build(self, run: int, workers: Workers | None = None) -> None:
        """Score the whole run now, and wait for it."""
        from callscore.evaluate.block_scoring import ONE_PROCESS
        from callscore.results.build import build_index

        data, number = self.data(run), workers or ONE_PROCESS
        build_index(self._index, data, run, self._address, self._eval_file, number)

    def catch_up(self, run: int) -> bool:
        """Score the run with the verdicts of people now; False if that needs a full pass."""
        with self._changing:
            while True:
                scoring = self._index.newest(run)
                if scoring is None or data_in(scoring.fingerprint) != self.data(run):
                    return False
                people = self.people(run)
                found = with_people(data_in(scoring.fingerprint), people.lines)
                if scoring.fingerprint == found:
                    return True
                if self._as_a_whole.get(run) == found:
                    return False
                changed = self._change(scoring, people)
                if changed is None:
                    self._as_a_whole[run] = found
                    return False
                if changed:
                    return True

    def _change(self, scoring: Scoring, people: PeopleVerdicts) -> bool | None:
        """Whether a scoring has these verdicts now; None if that needs a full pass."""
        from callscore.results.single_case import ScoredAsAWhole
        from callscore.results.verdict_changes import with_verdicts

        try:
            return with_verdicts(self._index, scoring, self._run(scoring.run), people)
        except ScoredAsAWhole:
            return None

    def refresh(self, run: int, workers: Workers | None = None) -> None:
        """Bring the scoring of a run up to date, with its intervals, and wait for it."""
        while True:
            if not self.catch_up(run):
                self.build(run, workers)
            scoring = self._index.newest(run)
            if scoring is None or not decode_head(scoring.head).values_only:
                return
            from callscore.results.verdict_changes import with_intervals

            if with_intervals(self._index, scoring, self._run(run)) and self.is_fresh(run):
                return

    def _run(self, run: int) -> RunOfReviews:
        """What the cases of a run have in common; its judge stays open."""
        data = self.data(run)
        known = self._runs.get(run)
        if known is None or known[0] != data:
            from callscore.results.reviewed_run import open_run

            record, _ = self._record(run)
            configs = self.config(run), self.scoring_config(run)
            opened = self._stack.enter_context(open_run(record, *configs, self._reading))
            known = self._runs[run] = (data, opened)
        return known[1]

    # In the background

    def in_background(self, run: int, found: str) -> str:
        """Start an update to a fingerprint, unless there is one; returns why there cannot be."""
        with self._lock:
            failed, why = self._failed.get(run, ("", ""))
            if failed == found:
                return why
            thread = self._threads.get(run)
            is_done = thread is None or not thread.is_alive()
            if is_done and not self._index.is_building(run) and not self._closed:
                thread = self._threads[run] = Thread(target=self._update, args=(run, found))
                thread.start()
        return ""

    def finish(self, run: int) -> None:
        """Wait until a run is no longer updated in the background."""
        thread = self._threads.get(run)
        if thread is not None:
            thread.join()

    def _update(self, run: int, found: str) -> None:
        try:
            if isinstance(self._address, Path) and self._index.is_kept:
                self._update_in_process(run, self._address)
            else:
                self.refresh(run)
        except CallscoreError as error:
            self._failed[run] = (found, str(error))

    def _update_in_process(self, run: int, store: Path) -> None:
        """Update in another process, so that scoring does not delay who reads."""
        command = [sys.executable, "-m", "callscore.results.build", str(store.absolute()), str(run)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self._processes[run] = process
        _, errors = process.communicate()
        del self._processes[run]
        if process.returncode > 0:
            raise UsageError(errors.decode("utf-8", "replace").strip() or "cannot be scored")


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (-1, -1)
    return found.st_size, found.st_mtime_ns
