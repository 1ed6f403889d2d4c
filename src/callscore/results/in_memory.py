"""Results that are scored when they are asked for, and kept in memory; for small stores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import NamedTuple

import msgspec

from callscore.core.case import turns
from callscore.core.errors import UsageError
from callscore.core.judging import Verdict
from callscore.core.scorecard import CaseResult
from callscore.export.sources import run_source
from callscore.report.details.decoded_case import decode_case
from callscore.report.details.form_agreement import (
    CallDecisionConfusion,
    FormTotals,
    QuestionCounter,
    SentimentConfusion,
)
from callscore.report.details.slices import Slices, score_or_zero
from callscore.report.source import CaseView, ReportSource
from callscore.results.port import (
    PAGE_ROWS,
    SHOWS,
    SORTS,
    IndexedCaseView,
    MatrixCell,
    MatrixPage,
    MatrixQuery,
    MatrixRow,
    Neighbours,
    QueryError,
    Remeasured,
    ReportCounts,
    RunLine,
    ScoredRun,
    VerdictFilter,
    VerdictPage,
)
from callscore.store.address import StoreAddress, open_store
from callscore.store.run_records import RunRecord

FAR_APART = 0.1
WORST_FIRST = ("error", "not_run", "invalid", "incomplete", "valid")


class _Scored(NamedTuple):
    version: str
    source: ReportSource
    views: Sequence[CaseView]
    rows: Sequence[MatrixRow]


class InMemoryResults:
    """Scores a run once per version of it."""

    def __init__(self, store: StoreAddress) -> None:
        self._store = store
        self._lock = RLock()
        self._scored: dict[int, _Scored] = {}

    def runs(self) -> Sequence[RunLine]:
        """Every run, newest first."""
        with open_store(self._store, only_reading=True) as store:
            return [self._line(record) for record in store.runs()]

    def run(self, run: int) -> RunLine:
        """One run; raises UsageError if it does not exist."""
        with open_store(self._store, only_reading=True) as store:
            return self._line(store.run(run))

    def _line(self, record: RunRecord) -> RunLine:
        scored = self._scored.get(record.id)
        leader = None
        if scored is not None and scored.source.card.decision:
            leader = next(iter(scored.source.card.decision[0].models), None)
        models = {} if scored is None else {one.model: one for one in scored.source.card.models}
        return RunLine(
            id=record.id,
            name=record.header.name,
            eval_file=str(record.header.eval_file),
            status=record.status,
            started_at=record.started_at,
            finished_at=record.finished_at,
            total=record.header.total,
            answered=record.answered,
            failed=record.failed,
            cost_usd=record.cost_usd,
            judge_usd=record.judge_usd,
            uncertain_usd=record.uncertain_usd,
            state="fresh" if scored is not None else "missing",
            leader=leader,
            leader_final=models[leader].final.score if leader in models else None,
            is_race=record.race is not None,
            unstored=record.header.unstored,
        )

    def version(self, run: int) -> str:
        """Changes whenever anything that screens show of the run changes."""
        line = self.run(run)
        return f"{line.id}:{line.status}:{line.answered}:{line.failed}:{line.cost_usd}"

    def _score(self, run: int) -> _Scored:
        version = self.version(run)
        with self._lock:
            found = self._scored.get(run)
            if found is None or found.version != version:
                with run_source(run, self._store) as source:
                    views = list(source.cases)
                models = [model.model for model in source.card.models]
                rows = [_row(view, place, models) for place, view in enumerate(views, start=1)]
                kept = msgspec.structs.replace(source, cases=views)
                found = self._scored[run] = _Scored(version, kept, views, rows)
            return found

    def scored(self, run: int) -> ScoredRun:
        """The scorecard."""
        if not self.run(run).answered:
            return ScoredRun("missing", None, self.version(run))
        found = self._score(run)
        return ScoredRun("fresh", found.source, found.version)

    def build(self, run: int) -> None:
        """Score the run now."""
        self._score(run)

    def matrix(self, run: int, query: MatrixQuery) -> MatrixPage:
        """A page of cases."""
        scored = self._score(run)
        selected = self._selected(scored, query)
        start = 0
        if query.after:
            keys = [row.key for row in selected]
            start = keys.index(query.after) + 1 if query.after in keys else 0
        page = selected[start : start + PAGE_ROWS]
        rows = scored.rows
        return MatrixPage(
            page,
            len(selected),
            [one.model for one in scored.source.card.models],
            page[-1].key if start + PAGE_ROWS < len(selected) else "",
            sorted({row.task for row in rows}),
            sorted({row.lang for row in rows if row.lang}),
            sorted({tag for row in rows for tag in row.tags}),
            ["score", *sorted({slug for view in scored.views for slug in _slugs(view)})],
        )

    def _selected(self, scored: _Scored, query: MatrixQuery) -> list[MatrixRow]:
        models = [one.model for one in scored.source.card.models]
        for name in query.model:
            if name not in models:
                raise QueryError(f"model={name!r}: expected one of {', '.join(models)}")
        rows = [row for row in scored.rows if _matches(row, scored.views[row.place - 1], query)]
        order: dict[str, Callable[[MatrixRow], float]] = {
            "place": lambda row: row.place,
            "worst": _mean,
            "best": lambda row: -_mean(row),
            "spread": lambda row: -_spread(row),
        }
        return sorted(rows, key=order.get(query.sort, order["worst"]))

    def neighbours(self, run: int, query: MatrixQuery, place: int) -> Neighbours:
        """The cases before and after one."""
        places = [row.place for row in self._selected(self._score(run), query)]
        if place not in places:
            return Neighbours(None, None, None, len(places))
        at = places.index(place)
        before = places[at - 1] if at else None
        after = places[at + 1] if at + 1 < len(places) else None
        return Neighbours(before, after, at + 1, len(places))

    def case(self, run: int, place: int) -> IndexedCaseView:
        """One case with its answers."""
        views = self._score(run).views
        if place > len(views):
            raise QueryError(f"case {place}: expected 1 to {len(views)}")
        return IndexedCaseView(place, views[place - 1])

    def place_of(self, run: int, case_id: str) -> int | None:
        """The place of a case by its id."""
        rows = self._score(run).rows
        return next((row.place for row in rows if row.case_id == case_id), None)

    def counts(self, run: int) -> ReportCounts:
        """What sections of a report count over all cases."""
        scored = self._score(run)
        counts = ReportCounts(
            QuestionCounter(scored.source.provenance.settings),
            FormTotals(),
            SentimentConfusion(),
            CallDecisionConfusion(),
            Slices(),
            {},
            {},
            {},
            len(scored.views),
        )
        for view in scored.views:
            case = decode_case(view)
            counts.questions.add(case)
            counts.forms.add(case)
            counts.sentiments.add_case(case)
            counts.decisions.add_case(case)
            counts.slices.add(case)
        return counts

    def verdict_items(self, run: int, filter: VerdictFilter) -> VerdictPage:
        """Not kept in memory."""
        return VerdictPage([], 0, 0)

    def remeasure(
        self, run: int, place: int, model: str, rep: int, verdicts: Sequence[Verdict]
    ) -> Remeasured:
        """Not possible in memory."""
        raise UsageError("the results of this store cannot be changed")

    def close(self) -> None:
        """Nothing is open."""


def _slugs(view: CaseView) -> Iterator[str]:
    for answer in view.answers:
        yield from answer.result.metrics


def _matches(row: MatrixRow, view: CaseView, query: MatrixQuery) -> bool:
    assert query.show in SHOWS
    assert query.sort in SORTS
    return (
        (query.show in ("all", "delta") or query.show in row.marks)
        and (not query.task or row.task == query.task)
        and (not query.lang or row.lang == query.lang)
        and (not query.tag or query.tag in row.tags)
        and (not query.reason or any(query.reason in cell.reasons for cell in _cells(row, query)))
        and (not query.q or query.q.lower() in _text(row, view, query.search).lower())
        and _in_range(view, query)
    )


def _cells(row: MatrixRow, query: MatrixQuery) -> Sequence[MatrixCell]:
    return [cell for cell in row.cells if not query.model or cell.model == query.model[0]]


def _in_range(view: CaseView, query: MatrixQuery) -> bool:
    if not query.metric or (query.min is None and query.max is None):
        return True
    for answer in view.answers:
        if query.model and answer.model != query.model[0]:
            continue
        value = (
            answer.result.score
            if query.metric == "score"
            else answer.result.metrics.get(query.metric)
        )
        low = query.min if query.min is not None else -math.inf
        high = query.max if query.max is not None else math.inf
        if value is not None and low <= value <= high:
            return True
    return False


def _text(row: MatrixRow, view: CaseView, where: str) -> str:
    spoken = "\n".join(turn.text for turn in turns(view.case.transcript))
    return {"id": row.case_id, "transcript": spoken}.get(where, f"{row.case_id}\n{spoken}")


def _mean(row: MatrixRow) -> float:
    scores = [cell.score for cell in row.cells if cell.score is not None]
    return math.fsum(scores) / len(scores) if scores else 2.0


def _spread(row: MatrixRow) -> float:
    scores = [cell.score for cell in row.cells if cell.score is not None]
    return max(scores) - min(scores) if scores else 0.0


def _row(view: CaseView, place: int, models: Sequence[str]) -> MatrixRow:
    case = view.case
    results: dict[str, list[CaseResult]] = {model: [] for model in models}
    for answer in view.answers:
        results[answer.model].append(answer.result)
    cells = [_cell(model, found) for model, found in results.items() if found]
    tags = decode_case(view).tags
    row = MatrixRow(
        place,
        case.id,
        str(case.call_id or case.id),
        case.task,
        case.lang or "",
        tags,
        len(turns(case.transcript)),
        "",
        (),
        cells,
        f"{place}~{place}",
    )
    marks = [
        mark
        for mark, statuses in (
            ("invalid", ("invalid",)),
            ("error", ("error", "not_run")),
            ("unjudged", ("incomplete",)),
        )
        if any(cell.status in statuses for cell in cells)
    ]
    if _spread(row) >= FAR_APART or len({cell.status for cell in cells}) > 1:
        marks.append("different")
    return msgspec.structs.replace(row, marks=marks)


def _cell(model: str, results: Sequence[CaseResult]) -> MatrixCell:
    status = min((one.status for one in results), key=WORST_FIRST.index)
    scores = [
        value for one in results if (value := score_or_zero(one.status, one.score)) is not None
    ]
    return MatrixCell(
        model,
        status,
        math.fsum(scores) / len(scores) if scores else None,
        len(results),
        sum(one.status == status for one in results),
        list(dict.fromkeys(reason for one in results for reason in one.reasons)),
        list(dict.fromkeys(flag for one in results for flag in one.flags)),
    )
