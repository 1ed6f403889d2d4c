"""Which cases of the index a page shows, and in which order, as SQL with values bound to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

FAR_APART = 0.1
"""Scores of two models on a case that differ this much make the case worth a look."""
MARKS = {"different": 1, "invalid": 2, "error": 4, "unjudged": 8}
"""The bits of what a case is marked with."""
STATUSES = {"invalid": ("invalid",), "error": ("error", "not_run"), "unjudged": ("incomplete",)}
"""The statuses of an answer behind a mark."""

LAST = 1e9
"""Sorts cases without a value last."""
IN_ID = "instr(folded_id, ?)"
IN_TEXT = "text IN (SELECT id FROM call_texts WHERE scoring = ? AND instr(folded, ?))"
"""With its own value for the scoring: that of `cases` would read every text for each case."""

Condition = tuple[str, Sequence[Any]]
"""SQL, and the values of its marks."""


class CaseFilter(msgspec.Struct, frozen=True):
    """Which cases of a scoring, and in which order."""

    show: str = "all"
    task: str = ""
    lang: str = ""
    tag: str = ""
    text: str = ""
    search: str = "any"
    models: Sequence[str] = ()
    metric: str = "score"
    low: float | None = None
    high: float | None = None
    delta: float | None = None
    reason: str = ""
    sort: str = "place"

    @property
    def is_everything(self) -> bool:
        """Whether it selects all cases."""
        return msgspec.structs.replace(self, sort="place", models=(), metric="score") == ALL


ALL = CaseFilter()


def condition_of(scoring: int, chosen: CaseFilter) -> tuple[str, list[Any]]:
    """The condition of a filter."""
    parts: list[Condition] = [("scoring = ?", [scoring])]
    parts += _of_case(scoring, chosen)
    parts += _of_marks(chosen)
    parts += _of_answers(chosen)
    return " AND ".join(part for part, _ in parts), [one for _, some in parts for one in some]


def _of_case(scoring: int, chosen: CaseFilter) -> Iterator[Condition]:
    if chosen.task:
        yield "task = ?", [chosen.task]
    if chosen.lang:
        yield "lang = ?", [chosen.lang]
    if chosen.tag:
        yield "EXISTS (SELECT 1 FROM json_each(cases.tags) WHERE value = ?)", [chosen.tag]
    if chosen.text:
        yield _search(scoring, chosen.search, chosen.text.casefold())


def _search(scoring: int, where: str, folded: str) -> Condition:
    in_id, in_text = (IN_ID, [folded]), (IN_TEXT, [scoring, folded])
    if where == "any":
        return f"({IN_ID} OR {IN_TEXT})", [folded, scoring, folded]
    return in_id if where == "id" else in_text


def _of_marks(chosen: CaseFilter) -> Iterator[Condition]:
    """What is marked is known for all models together; for some it is looked up."""
    of_models, models = _of_models(chosen.models)
    if chosen.show == "delta":
        least = FAR_APART if chosen.delta is None else chosen.delta
        apart = f"(SELECT max(score) - min(score) FROM cells WHERE {of_models}) >= ?"
        yield apart, [*models, least]
    elif chosen.show == "different" and models:
        differ = "count(DISTINCT status) > 1 OR max(score) - min(score) >= ?"
        yield f"(SELECT {differ} FROM cells WHERE {of_models})", [FAR_APART, *models]
    elif chosen.show in STATUSES and models:
        statuses = STATUSES[chosen.show]
        has = f"{of_models} AND status IN ({_marks(statuses)})"
        yield f"EXISTS (SELECT 1 FROM cells WHERE {has})", [*models, *statuses]
    elif chosen.show in MARKS:
        yield "marks & ?", [MARKS[chosen.show]]


def _of_answers(chosen: CaseFilter) -> Iterator[Condition]:
    if chosen.reason:
        of_models, models = _of_models(chosen.models)
        has = f"{of_models} AND one.value = ?"
        named = f"EXISTS (SELECT 1 FROM cells, json_each(cells.reasons) AS one WHERE {has})"
        yield named, [*models, chosen.reason]
    if chosen.low is not None or chosen.high is not None:
        of_first, first = _of_models(chosen.models[:1])
        low = -LAST if chosen.low is None else chosen.low
        high = LAST if chosen.high is None else chosen.high
        within = f"{of_first} AND json_extract(measured, ?) BETWEEN ? AND ?"
        values = [*first, _path(chosen.metric), low, high]
        yield f"EXISTS (SELECT 1 FROM cells WHERE {within})", values


def order_of(chosen: CaseFilter) -> tuple[str, list[Any]]:
    """What cases are sorted by, ascending; of the selected models, if some are."""
    of_models, models = _of_models(chosen.models)
    if chosen.sort in ("metric", "-metric"):
        of_first, first = _of_models(chosen.models[:1])
        sign = "-" if chosen.sort == "-metric" else ""
        value = f"coalesce({sign}avg(json_extract(measured, ?)), {LAST})"
        return f"(SELECT {value} FROM cells WHERE {of_first})", [_path(chosen.metric), *first]
    if not models or chosen.sort == "place":
        columns = {"worst": "worst", "best": "best", "spread": "apart"}
        return columns.get(chosen.sort, "place"), []
    of_some = {"worst": "avg(score)", "best": "-avg(score)", "spread": "min(score) - max(score)"}
    value = f"coalesce({of_some[chosen.sort]}, {LAST})"
    return f"(SELECT {value} FROM cells WHERE {of_models})", list(models)


def _of_models(models: Sequence[str]) -> tuple[str, list[str]]:
    """The condition for the cells of a case, of some models or of all."""
    own = "cells.scoring = cases.scoring AND cells.place = cases.place"
    if not models:
        return own, []
    return f"{own} AND model IN ({_marks(models)})", list(models)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _path(metric: str) -> str:
    return f'$."{metric}"'
