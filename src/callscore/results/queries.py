"""Queries of screens: checked, as filters of the index, and rows as screens show them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.spec import rate
from callscore.results.port import (
    SEARCHES,
    SHOWS,
    SORTS,
    MatrixCell,
    MatrixQuery,
    MatrixRow,
    QueryError,
)
from callscore.results.rows import SCORE
from callscore.results.scoring_parts import Head
from callscore.store.index_rows import CellRow, FoundCase
from callscore.store.results_filter import MARKS, CaseFilter
from callscore.suites.registry import Catalog

MAX_NAMED = 20
"""Allowed values that a message names."""


class Ratings:
    """Rates values of one metric; a score has no rating."""

    def __init__(self, metric: str) -> None:
        task = metric.partition(".")[0]
        spec = None if metric == SCORE else Catalog().spec_with([task]).metrics.get(metric)
        self._spec = spec

    def of(self, value: float | None) -> str | None:
        """The rating of a value; None if there is none."""
        if self._spec is None or value is None:
            return None
        found = rate(value, self._spec.bands, self._spec.otherwise)
        return None if found is None else str(found)


def matrix_cell(cell: CellRow, metric: str, ratings: Ratings) -> MatrixCell:
    """The answers of one model, as a matrix shows them."""
    value = cell.score
    if metric != SCORE:
        value = msgspec.json.decode(cell.measured).get(metric)
    return MatrixCell(
        cell.model,
        cell.status,
        cell.score,
        cell.reps,
        cell.same,
        msgspec.json.decode(cell.reasons),
        msgspec.json.decode(cell.flags),
        ratings.of(value),
        value,
        cell.cost_usd,
    )


def matrix_row(found: FoundCase, cells: Sequence[MatrixCell]) -> MatrixRow:
    """A case with a cell per model."""
    head = found.head
    return MatrixRow(
        found.place,
        head.case_id,
        head.call_id,
        head.task,
        head.lang,
        msgspec.json.decode(head.tags),
        head.turns,
        head.gold,
        [mark for mark, bit in MARKS.items() if head.marks & bit],
        cells,
        f"{found.value!r}~{found.place}",
    )


def parse_key(after: str) -> tuple[float, int]:
    """The value and the place after which a page begins."""
    value, _, place = after.rpartition("~")
    try:
        return float(value), int(place)
    except ValueError:
        raise QueryError(f"after={after!r}: expected VALUE~PLACE, as a page names it") from None


def filter_of(query: MatrixQuery, head: Head) -> CaseFilter:
    """The query as a filter of the index; raises QueryError."""
    check_allowed("show", query.show, SHOWS)
    check_allowed("sort", query.sort, SORTS)
    check_allowed("in", query.search, SEARCHES)
    for model in query.model:
        check_allowed("model", model, head.models)
    for name, value, allowed in (
        ("task", query.task, head.tasks),
        ("lang", query.lang, head.langs),
        ("tag", query.tag, head.tags),
        ("metric", query.metric, head.metrics),
    ):
        if value:
            check_allowed(name, value, allowed)
    return CaseFilter(
        query.show,
        query.task,
        query.lang,
        query.tag,
        query.q,
        query.search,
        tuple(query.model),
        query.metric or SCORE,
        query.min,
        query.max,
        query.delta,
        query.reason,
        query.sort,
    )


def check_allowed(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise QueryError, with the allowed values, for one that is not."""
    if value not in allowed:
        more = ", …" if len(allowed) > MAX_NAMED else ""
        raise QueryError(
            f"{name}={value!r}: expected one of {', '.join(allowed[:MAX_NAMED])}{more}"
        )
