"""The results of the runs of a store, read from its index, which is built where it is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from callscore.core.case import Case, Reply
from callscore.core.errors import CallscoreError, StoreError, UsageError
from callscore.core.events import LoggedEvent
from callscore.core.scorecard import CaseResult
from callscore.report.source import Answer, CaseView, ReportSource
from callscore.results.counts import count_cases
from callscore.results.fingerprint import data_in
from callscore.results.port import (
    PAGE_ROWS,
    QUEUES,
    IndexedCaseView,
    MatrixCell,
    MatrixPage,
    MatrixQuery,
    Neighbours,
    QueryError,
    Reading,
    Remeasured,
    ReportCounts,
    RunLine,
    ScoredRun,
    State,
    VerdictFilter,
    VerdictItem,
    VerdictPage,
)
from callscore.results.queries import (
    Ratings,
    check_allowed,
    filter_of,
    matrix_cell,
    matrix_row,
    parse_key,
)
from callscore.results.review_log import ItemOfReply, ReviewLog, StaleReviews
from callscore.results.rows import decode_view
from callscore.results.run_list import RunList
from callscore.results.scoring_parts import Head, KeptCard, decode_card, decode_head
from callscore.results.updates import ScoringUpdates
from callscore.store.address import StoreAddress, open_store
from callscore.store.files import lines_of
from callscore.store.index_rows import FoundCase, Scoring, VerdictsWanted
from callscore.store.protocol import Store
from callscore.store.results_filter import CaseFilter
from callscore.store.results_index import open_index
from callscore.store.run_records import RunRecord
from callscore.store.worklists import OpenItem
from callscore.suites.registry import template_of

if TYPE_CHECKING:
    from callscore.config.config import EvalConfig
    from callscore.evaluate.block_scoring import Workers
    from callscore.results.comparison_data import KeptContributions, KeptResults

T = TypeVar("T")


class StoredResults:
    """The results of one store; may be used by several threads."""

    def __init__(
        self, store: StoreAddress, eval_file: Path | None = None, most_s: float | None = None
    ) -> None:
        """`eval_file`: of its runs, if the store does not name it or the file was moved.

        `most_s`: how long a search over all cases or verdicts may take.
        """
        self._address = store
        self._lock = RLock()
        self._store: Store = open_store(store, only_reading=True)
        self._index = open_index(store, most_s)
        self._runs = RunList(self._index, self._reading, self._head)
        self._updates = ScoringUpdates(
            (store, eval_file), self._index, self._reading, self._runs.record
        )
        self._counts = _OfNewest[ReportCounts]()
        self._heads = _OfNewest[Head]()
        self._cards = _OfNewest[KeptCard]()

    def close(self) -> None:
        """End background work, and close the files."""
        self._updates.close()
        with self._lock:
            self._store.close()
            self._index.close()

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        with self._lock:
            yield self._store

    # Runs

    def runs(self) -> Sequence[RunLine]:
        """Every run, newest first."""
        return self._runs.lines()

    def records(self) -> list[RunRecord]:
        """Every run as the store has it, newest first; runs that have ended are counted once."""
        return [record for record, _ in self._runs.records()]

    def run(self, run: int) -> RunLine:
        """One run; raises UsageError if it does not exist."""
        return self._runs.line(run)

    def version(self, run: int) -> str:
        """Changes whenever anything that screens show of the run changes."""
        with self._reading() as store:
            progress = store.progress().get(run)
        if progress is None:
            raise UsageError(f"{self._address}: has no run {run}")
        scoring = self._index.newest(run)
        state = "0" if scoring is None else f"{scoring.id}.{scoring.edition}.{scoring.fingerprint}"
        return f"{run}-{state}-{progress}"

    # Scoring

    def config(self, run: int) -> EvalConfig:
        """The eval file of a run, as it is now."""
        return self._updates.config(run)

    def is_indexed(self, run: int, workers: Workers | None = None) -> bool:
        """Bring the index of a run up to date; False if none can be kept, as on a full disk."""
        if not self._index.is_kept:
            return False
        try:
            if not self.is_fresh(run):
                self.refresh(run, workers)
        except StoreError:
            return False
        return True

    def is_fresh(self, run: int) -> bool:
        """Whether the index of a run holds, with its intervals."""
        scoring = self._index.newest(run)
        return self._updates.is_fresh(run) and not (
            scoring is None or self._head(scoring).values_only
        )

    def build(self, run: int, workers: Workers | None = None) -> None:
        """Score the whole run now, and wait for it."""
        self._updates.build(run, workers)

    def refresh(self, run: int, workers: Workers | None = None) -> None:
        """Bring the index of a run up to date, with its intervals, and wait for it."""
        self._updates.refresh(run, workers)

    def scored(self, run: int) -> ScoredRun:
        """The scorecard; starts to build the index in the background if it is missing or stale.

        Verdicts of people are reckoned with at once, if they change a few cases only.
        """
        try:
            self._updates.catch_up(run)
            found = self._updates.fingerprint(run)
        except CallscoreError as error:
            if self._index.newest(run) is None:
                raise
            return ScoredRun("stale", self.source(run), self.version(run), str(error))
        scoring = self._index.newest(run)
        if scoring is not None and scoring.fingerprint == found:
            values_only = self._head(scoring).values_only
            if values_only:
                self._updates.in_background(run, found)
            source = self.source(run)
            return ScoredRun("fresh", source, self.version(run), values_only=values_only)
        why = self._updates.in_background(run, found)
        state: State = "stale"
        if scoring is None:
            state = "missing" if why else "building"
        source_now = None if scoring is None else self.source(run)
        return ScoredRun(state, source_now, self.version(run), why)

    def finish_build(self, run: int) -> None:
        """Wait until the index of a run is no longer being built in the background."""
        self._updates.finish(run)

    def _scoring(self, run: int) -> Scoring:
        """The scoring that screens show; builds it if there is none."""
        found = self._index.newest(run)
        if found is None:
            self.build(run)
            found = self._index.newest(run)
        assert found is not None  # it was just written
        return found

    def _head(self, scoring: Scoring) -> Head:
        return self._heads.get(scoring, lambda: decode_head(scoring.head))

    def _card(self, scoring: Scoring) -> KeptCard:
        return self._cards.get(scoring, lambda: decode_card(self._index.card(scoring.id)))

    def source(self, run: int) -> ReportSource:
        """What reports read of a run, as it is in the index."""
        from callscore.export.sources import TaskPromptBuilder

        scoring = self._scoring(run)
        kept = self._card(scoring)
        config = self.config(run)
        return ReportSource(
            kept.card,
            template_of(kept.card),
            kept.title,
            IndexedCases(self, scoring, self._head(scoring).cases),
            kept.absent,
            kept.provenance,
            TaskPromptBuilder(config.scoring),
        )

    def read_with(self, run: int, reading: Reading) -> ReportSource:
        """The same with other weights, workload or rule of decision; computes intervals again."""
        from callscore.export.sources import read_as
        from callscore.results.reading import card_read_with

        source = self.source(run)
        if not reading.changes_scores:
            return read_as(source, reading.decide)
        config, (record, _) = self._updates.scoring_config(run), self._runs.record(run)
        card = card_read_with(self._index, self._scoring(run), record, config, reading)
        return msgspec.structs.replace(
            source,
            card=card,
            template=template_of(card),
            provenance=msgspec.structs.replace(source.provenance, decide=reading.decide),
        )

    def contributions(self, run: int) -> KeptContributions:
        """By model, what its calls add to its scores."""
        scoring = self._scoring(run)
        from callscore.results.comparison_data import KeptContributions

        return KeptContributions(self._index, scoring.id, self._card(scoring).card)

    def results(
        self, run: int, change: Callable[[CaseResult], CaseResult]
    ) -> Mapping[str, KeptResults]:
        """By model and case, the results of a run, each as `change` returns it."""
        scoring = self._scoring(run)
        from callscore.results.comparison_data import CaseResults, KeptResults

        cases = CaseResults(self._index, scoring.id, change)
        return {model: KeptResults(model, cases) for model in self._head(scoring).models}

    # Cases

    def matrix(self, run: int, query: MatrixQuery) -> MatrixPage:
        """A page of cases; raises QueryError that names the allowed values."""
        scoring = self._scoring(run)
        head = self._head(scoring)
        chosen = filter_of(query, head)
        after = parse_key(query.after) if query.after else None
        found = self._index.select(scoring.id, chosen, after, PAGE_ROWS + 1)
        page = found[:PAGE_ROWS]
        cells = self._cells(scoring, page, chosen, head)
        rows = [matrix_row(one, cells[one.place]) for one in page]
        return MatrixPage(
            rows,
            self._total(scoring, chosen, head),
            list(query.model) or head.models,
            rows[-1].key if len(found) > len(page) else "",
            head.tasks,
            head.langs,
            head.tags,
            head.metrics,
        )

    def _total(self, scoring: Scoring, chosen: CaseFilter, head: Head) -> int:
        return head.cases if chosen.is_everything else self._index.count(scoring.id, chosen)

    def _cells(
        self, scoring: Scoring, page: Sequence[FoundCase], chosen: CaseFilter, head: Head
    ) -> Mapping[int, Sequence[MatrixCell]]:
        order = list(chosen.models) or list(head.models)
        found: dict[int, dict[str, MatrixCell]] = {one.place: {} for one in page}
        rating = Ratings(chosen.metric)
        for place, cell in self._index.cells(scoring.id, [one.place for one in page]):
            if cell.model in order:
                found[place][cell.model] = matrix_cell(cell, chosen.metric, rating)
        return {
            place: [cells[model] for model in order if model in cells]
            for place, cells in found.items()
        }

    def neighbours(self, run: int, query: MatrixQuery, place: int) -> Neighbours:
        """The cases before and after one."""
        scoring = self._scoring(run)
        head = self._head(scoring)
        chosen = filter_of(query, head)
        total = self._total(scoring, chosen, head)
        value = self._index.value_of(scoring.id, chosen, place)
        if value is None:
            return Neighbours(None, None, None, total)
        key = (value, place)
        before = self._index.before(scoring.id, chosen, key)
        after = self._index.select(scoring.id, chosen, key, 1)
        in_place = chosen.is_everything and chosen.sort == "place"
        return Neighbours(
            None if before is None else before.place,
            after[0].place if after else None,
            place if in_place else self._index.count(scoring.id, chosen, key),
            total,
        )

    def case(self, run: int, place: int) -> IndexedCaseView:
        """One case with its answers; raises QueryError if there is none at this place."""
        scoring = self._scoring(run)
        raw = self._index.view(scoring.id, place)
        if raw is None:
            raise QueryError(f"case {place}: expected 1 to {self._head(scoring).cases}")
        view = self.with_replies(scoring.run, decode_view(raw))
        return IndexedCaseView(place, view, self._has_changed(run, scoring, view.case))

    def with_replies(self, run: int, view: CaseView) -> CaseView:
        """The case with the replies of the store, where the index does not have them."""
        if not any(map(_lacks_reply, view.answers)):
            return view
        with self._reading() as store:
            replies = store.replies_to(run, view.case.id)
        answers = [
            _with_reply(answer, replies.get(answer.model, {}).get(answer.run))
            if _lacks_reply(answer)
            else answer
            for answer in view.answers
        ]
        return msgspec.structs.replace(view, answers=answers)

    def views(self, scoring: Scoring) -> Iterator[CaseView]:
        """Every case of a scoring, in the order of places."""
        after = 0
        while found := self._index.views(scoring.id, after):
            after, together = found
            for raw in together:
                yield self.with_replies(scoring.run, decode_view(raw))

    def _has_changed(self, run: int, scoring: Scoring, case: Case) -> bool:
        """Whether a case file has another case by this id now, or none."""
        from callscore.store.input_records import read_case, read_case_head

        try:
            if data_in(scoring.fingerprint) == self._updates.data(run):
                return False
            config = self.config(run)
            lines = (line for line in lines_of(config.scoring.case_sources))
            now = next((read_case(o)[0] for o in lines if read_case_head(o).id == case.id), None)
        except CallscoreError:
            return True
        return now != case and not (now is None and config.scenarios)

    def place_of(self, run: int, case_id: str) -> int | None:
        """The place of a case by its id; None if the run does not have it."""
        return self._index.place_of(self._scoring(run).id, case_id)

    def counts(self, run: int) -> ReportCounts:
        """What sections of a report count over all cases; kept until the run changes."""
        scoring = self._scoring(run)
        settings = self._card(scoring).provenance.settings
        return self._counts.get(scoring, lambda: count_cases(self.views(scoring), settings))

    # Verdicts

    def verdict_items(self, run: int, filter: VerdictFilter) -> VerdictPage:
        """The verdicts of a queue."""
        scoring = self._scoring(run)
        head = self._head(scoring)
        check_allowed("queue", filter.queue, QUEUES)
        if filter.model:
            check_allowed("model", filter.model, head.models)
        wanted = VerdictsWanted(
            filter.queue, filter.metric, filter.model, filter.by, filter.unreviewed
        )
        most = filter.limit + 1
        found, total = self._index.verdicts(scoring.id, wanted, filter.after, most)
        page = found[: filter.limit]
        items = [VerdictItem(*row[:8], *row[8:12]) for _, row in page]
        return VerdictPage(items, total, page[-1][0] if len(found) > len(page) else 0)

    def verdicts_of_case(self, run: int, place: int) -> Sequence[VerdictItem]:
        """The verdicts on every answer to a case."""
        found = self._index.verdicts_of_case(self._scoring(run).id, place)
        return [VerdictItem(*row[:12]) for row in found]

    def open_items(self, run: int, place: int) -> Sequence[OpenItem]:
        """The items of the replies to a case that await a verdict; measures the case."""
        return self._updates.open_items(run, self.case(run, place).view)

    def remeasure(self, run: int, place: int, model: str, rep: int) -> Remeasured:
        """Measure one reply again with what people say about it now, and add everything up.

        The values are those of a full pass. Where a change of single cases cannot give them they
        follow from the background, as the intervals always do.
        """
        before = _result_of(self.case(run, place).view, model, rep)
        is_measured = self._updates.catch_up(run)
        if not is_measured:
            self._updates.in_background(run, self._updates.fingerprint(run))
        scoring = self._scoring(run)
        if is_measured and self._head(scoring).values_only:
            self._updates.in_background(run, scoring.fingerprint)
        result = _result_of(self.case(run, place).view, model, rep)
        card = self._card(scoring).card
        return Remeasured(before, result, card, self.version(run), follows=not is_measured)

    # What people say

    def events(self) -> Sequence[LoggedEvent]:
        """Every event of the store, in its order."""
        with self._reading() as store, store.events() as events:
            return events.since()

    def reviews(self) -> ReviewLog:
        """What people say about verdicts, up to the last event."""
        return self._updates.reviews()

    def check_data(self, run: int) -> None:
        """Raise UsageError if the run cannot be scored with its data as they are now."""
        self._updates.check_data(run)

    def stale_reviews(self, run: int) -> Mapping[ItemOfReply, StaleReviews]:
        """The items whose reviews rely on another reference than the run has now."""
        return self._updates.stale(run)

    def verdicts_of_people(self, run: int) -> bytes:
        """What people say about the replies of a run, as lines of a verdicts file."""
        return self._updates.people(run).lines

    def reply_key(self, run: int, case_id: str, model: str, rep: int) -> bytes:
        """The key of a stored reply; raises QueryError if there is none."""
        with self._reading() as store:
            found = store.reply_keys(run, case_id)
        if (model, rep) not in found:
            raise QueryError(f"{model} {rep}: has no stored reply to {case_id!r}")
        return found[model, rep]

    def reference_of(self, run: int, case_id: str) -> str:
        """The hash of the expected outcome of a case; empty for a step of a scenario."""
        return self._updates.reference_of(run, case_id)


class _OfNewest(Generic[T]):
    """Something of the newest scoring of every run, made once until that is changed."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[tuple[int, int, str], T]] = {}

    def get(self, scoring: Scoring, make: Callable[[], T]) -> T:
        """What belongs to a scoring."""
        # In a new file the numbers begin again.
        edition = (scoring.id, scoring.edition, scoring.fingerprint)
        found = self._found.get(scoring.run)
        if found is None or found[0] != edition:
            found = self._found[scoring.run] = (edition, make())
        return found[1]


def _result_of(view: CaseView, model: str, rep: int) -> CaseResult:
    for answer in view.answers:
        if (answer.model, answer.run) == (model, rep):
            return answer.result
    known = ", ".join(f"{one.model} {one.run}" for one in view.answers)
    raise QueryError(f"{model} {rep}: has no answer to {view.case.id!r}; expected one of {known}")


class IndexedCases:
    """The cases of a scoring; they can be iterated any number of times."""

    def __init__(self, results: StoredResults, scoring: Scoring, number: int) -> None:
        self._results, self._scoring, self._number = results, scoring, number

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[CaseView]:
        return self._results.views(self._scoring)


def _lacks_reply(answer: Answer) -> bool:
    return answer.text is None and answer.result.status not in ("error", "not_run")


def _with_reply(answer: Answer, reply: object) -> Answer:
    if not isinstance(reply, Reply):
        return answer
    from callscore.evaluate.case_steps import reply_text

    return msgspec.structs.replace(answer, text=reply_text(reply), tool_calls=reply.tool_calls)
