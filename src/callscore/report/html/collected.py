"""One reading of all cases: what the sections count, and the worst cases, rendered."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.transcript import turns
from callscore.report.details.answers import ReadCase, read_case
from callscore.report.details.confusion import Decisions, Sentiments
from callscore.report.details.plans import plan_of
from callscore.report.details.questions import Questions
from callscore.report.details.slices import Slices, case_value
from callscore.report.html.answers_sections import PlanExample
from callscore.report.html.case import case_html
from callscore.report.source import CaseView, ReportOptions, ReportSource

MOST_PLANS = 4
SCORE_MARGIN = "qa.score_margin_fraction"
"""The setting that says how near two marks of a SCORE question must be (C-30)."""
LONGEST_ID, LONGEST_TAG, MOST_TAGS = 200, 60, 20
ELEMENT_BYTES = 80
"""The element around the text of a case."""
NO_SCORE = 2.0
"""Cases that no model has a score for come behind all others."""


class Entry(msgspec.Struct, frozen=True):
    """What the page knows of a case for filter and sort."""

    place: int
    """The number of the case in the data, from 1."""
    id: str
    task: str
    lang: str
    tags: Sequence[str]
    turns: int
    worst: float
    spread: float
    marks: Sequence[str]
    """Of `invalid`, `error`, `unjudged`, `different`."""
    scores: Sequence[float | None]
    """The mean score of each model, in the order of the card."""


class Kept(msgspec.Struct, frozen=True):
    """A case in the report: its entry and its markup."""

    entry: Entry
    markup: bytes


class Collected:
    """Reads the cases once, in bounded memory; keeps the worst that fit."""

    def __init__(self, source: ReportSource, options: ReportOptions) -> None:
        self.models = [model.model for model in source.card.models]
        margin = source.provenance.settings.get(SCORE_MARGIN, 0.0)
        self.questions = Questions(float(margin))
        self.sentiments = Sentiments()
        self.decisions = Decisions()
        self.slices = Slices()
        self.plans: list[PlanExample] = []
        self.plan_count = 0
        self.statuses: dict[str, dict[str, int]] = {model: {} for model in self.models}
        self.verdicts: dict[str, int] = {}
        self.total = 0
        self._with_text = not options.without_text
        self._room = options.max_bytes
        self._heap: list[tuple[float, int, Kept]] = []
        self._bytes = 0
        for view in source.cases:
            self._add(view)

    def cases(self) -> Sequence[Kept]:
        """The kept cases, worst first."""
        return [kept for _, _, kept in sorted(self._heap, key=lambda one: (-one[0], -one[1]))]

    @property
    def left_out(self) -> int:
        """How many cases did not fit."""
        return self.total - len(self._heap)

    def _add(self, view: CaseView) -> None:
        case = read_case(view)
        self.total += 1
        self._count(case)
        entry = _entry(case, self.total, self.models)
        badness = -entry.worst
        # Something was dropped before, and this case would be the next to go.
        if self.left_out > 1 and badness <= self._heap[0][0]:
            return
        markup = case_html(case, self.total, with_text=self._with_text).encode("utf-8", "replace")
        heapq.heappush(self._heap, (badness, -self.total, Kept(entry, markup)))
        self._bytes += _size(markup, entry)
        self.keep_within(self._room)

    def keep_within(self, room: int) -> bool:
        """Drop the best cases until the others fit; whether any was dropped."""
        before = len(self._heap)
        while self._bytes > room and len(self._heap) > 1:
            _, _, dropped = heapq.heappop(self._heap)
            self._bytes -= _size(dropped.markup, dropped.entry)
        return len(self._heap) < before

    def _count(self, case: ReadCase) -> None:
        self.questions.add(case)
        self.sentiments.add_case(case)
        self.decisions.add_case(case)
        self.slices.add(case)
        expected = plan_of(case.expected)
        if expected is not None:
            self.plan_count += 1
            if len(self.plans) < MOST_PLANS:
                given = [(read.answer.model, plan_of(read.given)) for read in case.answers]
                self.plans.append(PlanExample(case.view.case.id, expected, given))
        for read in case.answers:
            counts = self.statuses.setdefault(read.answer.model, {})
            status = read.answer.result.status
            counts[status] = counts.get(status, 0) + 1
            for verdict in read.answer.verdicts:
                self.verdicts[verdict.by] = self.verdicts.get(verdict.by, 0) + 1


def _size(markup: bytes, entry: Entry) -> int:
    """About how many bytes a case takes in the file, with its line of the index."""
    return len(markup) + len(msgspec.json.encode(entry)) + ELEMENT_BYTES


def _entry(case: ReadCase, place: int, models: Sequence[str]) -> Entry:
    by_model: dict[str, list[float]] = {}
    marks: dict[str, None] = {}
    for read in case.answers:
        result = read.answer.result
        value = case_value(result.status, result.score)
        if value is not None:
            by_model.setdefault(read.answer.model, []).append(value)
        if result.status == "invalid":
            marks["invalid"] = None
        elif result.status in ("error", "not_run"):
            marks["error"] = None
        elif result.status == "incomplete":
            marks["unjudged"] = None
    scores = {model: math.fsum(values) / len(values) for model, values in by_model.items()}
    spread = max(scores.values()) - min(scores.values()) if scores else 0.0
    if _differ(case):
        marks["different"] = None
    found = case.view.case
    return Entry(
        place,
        found.id[:LONGEST_ID],
        found.task,
        (found.lang or "")[:LONGEST_TAG],
        [one[:LONGEST_TAG] for one in case.tags[:MOST_TAGS]],
        len(turns(found.transcript)),
        math.fsum(scores.values()) / len(scores) if scores else NO_SCORE,
        spread,
        tuple(marks),
        [_rounded(scores.get(model)) for model in models],
    )


def _rounded(score: float | None) -> float | None:
    """Four places are enough to sort by, and keep the file small."""
    return None if score is None else round(score, 4)


def _differ(case: ReadCase) -> bool:
    """Whether models were scored differently on the case."""
    seen = {
        case_value(read.answer.result.status, read.answer.result.score) for read in case.answers
    }
    return len(seen - {None}) > 1


def index_of(kept: Sequence[Kept]) -> Mapping[str, Any]:
    """Columns for filter and sort, in the order of the cases."""
    entries = [one.entry for one in kept]
    return {
        "place": [entry.place for entry in entries],
        "id": [entry.id for entry in entries],
        "task": [entry.task for entry in entries],
        "lang": [entry.lang for entry in entries],
        "tags": [list(entry.tags) for entry in entries],
        "turns": [entry.turns for entry in entries],
        "worst": [_rounded(entry.worst) for entry in entries],
        "spread": [_rounded(entry.spread) for entry in entries],
        "marks": [list(entry.marks) for entry in entries],
        "scores": [list(entry.scores) for entry in entries],
    }
