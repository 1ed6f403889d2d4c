"""Reads all cases for the HTML report: counts for its sections, and the worst cases as HTML."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import turns
from callscore.report.details.decoded_case import DecodedCase, decode_case, has_reply
from callscore.report.details.form_agreement import (
    CallDecisionConfusion,
    FormTotals,
    QuestionCounter,
    SentimentConfusion,
)
from callscore.report.details.form_marks import MarkReader
from callscore.report.details.slices import Slices, score_or_zero
from callscore.report.html.answers_sections import PlanExample
from callscore.report.html.case import MAX_VERDICTS, render_case
from callscore.report.source import ReportOptions, ReportSource
from callscore.report.svg.plan_graph import extract_plan

MAX_PLANS = 4
FAR_APART = 0.1
"""Scores of two models on a case that this far apart make a case worth a look."""
MAX_ID_LENGTH, MAX_TAG_LENGTH, MAX_TAGS = 200, 60, 20
MAX_TRANSCRIPT_LENGTH, MAX_REPLY_LENGTH, VERDICT_BYTES = 200_000, 4_000, 100
"""For a low estimate of size: the most text shown of a call and of a reply, and the least a verdict
takes.
"""
ELEMENT_BYTES = 80
"""The size of the element around a case."""
PLACEHOLDER = re.compile(r"\[([A-Z_]+)_\d+\]")
"""What redaction writes in place of personal data: `[PHONE_1]`."""
NO_SCORE = 2.0
"""Sorts cases without any score last."""


class CaseEntry(msgspec.Struct, frozen=True):
    """The properties of a case that the page filters and sorts by."""

    place: int
    """The number of the case in the data, from 1."""
    id: str
    task: str
    lang: str
    tags: Sequence[str]
    turns: int
    mean_score: float
    spread: float
    marks: Sequence[str]
    """Any of `invalid`, `error`, `unjudged`, `different`."""
    scores: Sequence[float | None]
    """The mean score of each model, in the order of the scorecard."""


class RenderedCase(msgspec.Struct, frozen=True):
    """A case in the report: its entry and its HTML."""

    entry: CaseEntry
    markup: bytes


class _WorstCases:
    """Keeps the worst cases that fit into `room` bytes, in any order of adding."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._best_first: list[tuple[float, int, int, RenderedCase]] = []
        self._bytes = 0

    def would_keep(self, score: float, place: int) -> bool:
        """Whether a case with this score would be kept if it were added."""
        if self._bytes <= self._room or not self._best_first:
            return True
        best = self._best_first[0]
        return (-score, -place) > best[:2]

    def add(self, rendered: RenderedCase) -> None:
        """Add a case, then drop the best cases as long as the rest fills the room."""
        entry, size = rendered.entry, _size(rendered)
        heapq.heappush(self._best_first, (-entry.mean_score, -entry.place, size, rendered))
        self._bytes += size
        while self._bytes - self._best_first[0][2] > self._room:
            self._bytes -= heapq.heappop(self._best_first)[2]

    def worst_first(self) -> list[RenderedCase]:
        """Return the kept cases; the last one may exceed the room."""
        cases = [rendered for *_, rendered in self._best_first]
        return sorted(cases, key=lambda case: (case.entry.mean_score, case.entry.place))


class CaseCollection:
    """Reads the cases twice in bounded memory: to count all of them, and to render the worst."""

    def __init__(self, source: ReportSource, options: ReportOptions) -> None:
        self.models = [model.model for model in source.card.models]
        self.questions = QuestionCounter(source.provenance.settings)
        self.forms = FormTotals()
        self._marks = MarkReader(source.provenance.settings)
        self.sentiments = SentimentConfusion()
        self.decisions = CallDecisionConfusion()
        self.slices = Slices()
        self.plans: list[PlanExample] = []
        self.plan_count = 0
        self.statuses: dict[str, dict[str, int]] = {model: {} for model in self.models}
        self.verdicts: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self.placeholders: dict[str, int] = {}
        """Placeholders of redaction in transcripts, by kind."""
        self.total = 0
        self._with_text = not options.without_text
        scores = self._find_worst(source, options.max_bytes)
        self._rendered = self._render(source, scores, options.max_bytes)
        self._bytes = sum(map(_size, self._rendered))

    def cases(self) -> Sequence[RenderedCase]:
        """Return the rendered cases, worst first."""
        return self._rendered

    def keep_within(self, room: int) -> bool:
        """Drop the best cases until the rest fits; return whether any was dropped."""
        before = len(self._rendered)
        while self._bytes > room and len(self._rendered) > 1:
            self._bytes -= _size(self._rendered.pop())
        return len(self._rendered) < before

    def _find_worst(self, source: ReportSource, room: int) -> dict[int, float]:
        """Count every case; return the numbers and scores of the worst that fit by estimate."""
        heap: list[tuple[float, int, int]] = []
        used = 0
        for view in source.cases:
            case = decode_case(view)
            self.total += 1
            self._count(case)
            size = _estimate(case) if self._with_text else 0
            heapq.heappush(heap, (-_mean_score(case), -self.total, size))
            used += size
            while used > room and len(heap) > 1:
                used -= heapq.heappop(heap)[2]
        return {-place: -score for score, place, _ in heap}

    def _render(
        self, source: ReportSource, scores: Mapping[int, float], room: int
    ) -> list[RenderedCase]:
        worst_cases = _WorstCases(room)
        for place, view in enumerate(source.cases, start=1):
            if place in scores and worst_cases.would_keep(scores[place], place):
                case = decode_case(view)
                marks = self._marks.marks(case)
                markup = render_case(case, place, marks, with_text=self._with_text)
                entry = _entry(case, place, self.models)
                worst_cases.add(RenderedCase(entry, markup.encode("utf-8", "replace")))
        return worst_cases.worst_first()

    @property
    def left_out(self) -> int:
        """The number of cases that did not fit."""
        return self.total - len(self._rendered)

    def _count(self, case: DecodedCase) -> None:
        self.questions.add(case)
        self.forms.add(case)
        self.sentiments.add_case(case)
        self.decisions.add_case(case)
        self.slices.add(case)
        expected = extract_plan(case.expected)
        if expected is not None:
            self.plan_count += 1
            if len(self.plans) < MAX_PLANS:
                given = [
                    (decoded.answer.model, extract_plan(decoded.given))
                    for decoded in case.answers
                    if decoded.answer.run == 1 and has_reply(decoded)
                ]
                self.plans.append(PlanExample(case.view.case.id, expected, given))
        for decoded in case.answers:
            counts = self.statuses.setdefault(decoded.answer.model, {})
            status = decoded.answer.result.status
            counts[status] = counts.get(status, 0) + 1
            for verdict in decoded.answer.verdicts:
                self.verdicts[verdict.by] = self.verdicts.get(verdict.by, 0) + 1
            for label in decoded.answer.labels:
                self.labels[label.by] = self.labels.get(label.by, 0) + 1
        for turn in turns(case.view.case.transcript):
            for kind in PLACEHOLDER.findall(turn.text) if "_" in turn.text else ():
                self.placeholders[kind] = self.placeholders.get(kind, 0) + 1


def _size(rendered: RenderedCase) -> int:
    """Return the approximate size of a case in the file, including its entry in the index."""
    return len(rendered.markup) + len(msgspec.json.encode(rendered.entry)) + ELEMENT_BYTES


def _estimate(case: DecodedCase) -> int:
    """Return a lower bound on the size of a case without rendering it."""
    transcript = sum(len(turn.text) for turn in turns(case.view.case.transcript))
    given = sum(min(len(decoded.answer.text or ""), MAX_REPLY_LENGTH) for decoded in case.answers)
    judged = min(sum(len(decoded.answer.verdicts) for decoded in case.answers), MAX_VERDICTS)
    return min(transcript, MAX_TRANSCRIPT_LENGTH) + given * 4 // 5 + judged * VERDICT_BYTES


def _mean_score(case: DecodedCase) -> float:
    """Return the mean score of all models on a case; `NO_SCORE` if there is none."""
    scores = _scores(case).values()
    return math.fsum(scores) / len(scores) if scores else NO_SCORE


def _scores(case: DecodedCase) -> dict[str, float]:
    """Return the mean score of each model over its runs."""
    by_model: dict[str, list[float]] = {}
    for decoded in case.answers:
        value = score_or_zero(decoded.answer.result.status, decoded.answer.result.score)
        if value is not None:
            by_model.setdefault(decoded.answer.model, []).append(value)
    return {model: math.fsum(values) / len(values) for model, values in by_model.items()}


def _entry(case: DecodedCase, place: int, models: Sequence[str]) -> CaseEntry:
    marks: dict[str, None] = {}
    for decoded in case.answers:
        result = decoded.answer.result
        if result.status == "invalid":
            marks["invalid"] = None
        elif result.status in ("error", "not_run"):
            marks["error"] = None
        elif result.status == "incomplete":
            marks["unjudged"] = None
    scores = _scores(case)
    spread = max(scores.values()) - min(scores.values()) if scores else 0.0
    if _differ(case, spread):
        marks["different"] = None
    record = case.view.case
    return CaseEntry(
        place,
        record.id[:MAX_ID_LENGTH],
        record.task,
        (record.lang or "")[:MAX_TAG_LENGTH],
        [one[:MAX_TAG_LENGTH] for one in case.tags[:MAX_TAGS]],
        len(turns(record.transcript)),
        _mean_score(case),
        spread,
        tuple(marks),
        [_round_score(scores.get(model)) for model in models],
    )


def _round_score(score: float | None) -> float | None:
    """Round to four digits: enough to sort by, and less to store."""
    return None if score is None else round(score, 4)


def _differ(case: DecodedCase, spread: float) -> bool:
    """Whether one model has another status on the case, or a score that is far from another's.

    With five models, nearly every case has some difference of scores: 99.8 % of 20,000.
    """
    statuses: dict[str, set[str]] = {}
    for decoded in case.answers:
        statuses.setdefault(decoded.answer.model, set()).add(decoded.answer.result.status)
    return spread >= FAR_APART or len({frozenset(found) for found in statuses.values()}) > 1


def build_index(rendered: Sequence[RenderedCase]) -> Mapping[str, Any]:
    """Return the entries as columns, in the order of the cases."""
    entries = [one.entry for one in rendered]
    return {
        "place": [entry.place for entry in entries],
        "id": [entry.id for entry in entries],
        "task": [entry.task for entry in entries],
        "lang": [entry.lang for entry in entries],
        "tags": [list(entry.tags) for entry in entries],
        "turns": [entry.turns for entry in entries],
        "worst": [_round_score(entry.mean_score) for entry in entries],
        "spread": [_round_score(entry.spread) for entry in entries],
        "marks": [list(entry.marks) for entry in entries],
        "scores": [list(entry.scores) for entry in entries],
    }
