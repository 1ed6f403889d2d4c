"""Queues of reviews: the next item for a person, random samples, and agreement with the judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.core.errors import UsageError
from callscore.core.events import (
    BY_PERSON,
    Action,
    Draw,
    DrawnItem,
    GivenReview,
    Review,
    standing_reviews,
)
from callscore.core.judging import Question
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.rubric import Rubric
from callscore.results.port import Results, VerdictFilter, VerdictItem
from callscore.results.review_log import AUDIT
from callscore.results.reviews import ItemKey, RunReviewer, key_of
from callscore.store.address import open_store
from callscore.store.worklists import OpenItem
from callscore.suites.registry import rules_for

if TYPE_CHECKING:
    from callscore.judges.calibration import Calibration

DOUBTS, OPEN = "doubts", "open"
MOST_LOOKED_AT = 100
"""Of rows without a verdict, at once: each may measure a case."""
EVERYTHING = 1_000_000_000
LEASE_S = 600.0

MayHave = Callable[[ItemKey], bool]
"""Whether a person may be given an item."""


def everything(_: ItemKey) -> bool:
    """Any item."""
    return True


class StaleItem(NamedTuple):
    """An item with reviews that rely on another reference."""

    case_id: str
    about: tuple[str, int, str, str]
    """Model, repeat, metric and item."""
    standing: Sequence[GivenReview]

    def key(self, results: Results, run: int) -> ItemKey | None:
        """Where it is; None if the run has the case no longer."""
        place = results.place_of(run, self.case_id)
        return None if place is None else ItemKey(place, *self.about)


class QueueLeases:
    """Who has which item in front of them: others are given another one for ten minutes.

    A person has one item at a time, and gives it back with the next one. Leases are in memory: if
    they are lost, two people may decide the same item, and the second one sees both answers.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._held: dict[str, tuple[int, ItemKey, float]] = {}
        """By person, the run, the item and when the lease ends."""

    def take(self, person: str, run: int, item: ItemKey) -> bool:
        """Lease an item in place of the one before; False if another person has it."""
        with self._lock:
            now = self._clock()
            self._held = {who: held for who, held in self._held.items() if held[2] > now}
            others = (held[:2] for who, held in self._held.items() if who != person)
            if (run, item) in others:
                return False
            self._held[person] = (run, item, now + LEASE_S)
            return True

    def others(self, person: str, run: int) -> list[str]:
        """The other people who have an item of a run."""
        with self._lock:
            now = self._clock()
            return sorted(
                who
                for who, held in self._held.items()
                if who != person and held[0] == run and held[2] > now
            )

    def give_back(self, person: str) -> None:
        """End the lease of a person."""
        with self._lock:
            self._held.pop(person, None)


def next_item(
    results: Results, run: int, wanted: VerdictFilter, may_have: MayHave = everything
) -> tuple[ItemKey | None, int]:
    """The next item of a queue that no person has decided, and `after` of the one behind it.

    An item that was just decided is left out also while the index does not know it.
    """
    wanted = msgspec.structs.replace(wanted, unreviewed=True, limit=1)
    while True:
        page = results.verdict_items(run, wanted)
        for row in page.items:
            if _has_words(row) and not _is_decided(results, run, row) and may_have(key_of(row)):
                return key_of(row), page.after
        if not page.after:
            return None, 0
        wanted = msgspec.structs.replace(wanted, after=page.after)


def next_open_item(
    results: Results, run: int, wanted: VerdictFilter, may_have: MayHave = everything
) -> tuple[ItemKey | None, int]:
    """The next item without a verdict, and `after` of the one behind it.

    A row without a verdict names a metric; its items are known when the case is measured. Without
    an item, `after` is where to look further.
    """
    wanted = msgspec.structs.replace(wanted, queue=OPEN, unreviewed=True, limit=1)
    measured: dict[int, Sequence[OpenItem]] = {}
    for _ in range(MOST_LOOKED_AT):
        page = results.verdict_items(run, wanted)
        for row in page.items:
            if row.place not in measured:
                measured = {row.place: results.open_items(run, row.place)}
            found = _item_of_row(row, measured[row.place], may_have)
            if found is not None:
                return found, page.after
        if not page.after:
            return None, 0
        wanted = msgspec.structs.replace(wanted, after=page.after)
    return None, wanted.after


def _item_of_row(
    row: VerdictItem, waiting: Sequence[OpenItem], may_have: MayHave
) -> ItemKey | None:
    """The first item of a reply that awaits a verdict, of the metric of a row if it has one."""
    of_reply = [one for one in waiting if (one.model, one.run) == (row.model, row.rep)]
    of_reply.sort(key=lambda one: one.metric != row.metric)
    for one in of_reply:
        key = ItemKey(row.place, row.model, row.rep, one.metric, one.item)
        if one.item and rules_for(one.metric).words_for(*key[3:]) and may_have(key):
            return key
    return None


def _is_decided(results: Results, run: int, row: VerdictItem) -> bool:
    reviews = results.reviews().by_item
    if not reviews:
        return False
    reply = results.reply_key(run, row.case_id, row.model, row.rep).hex()
    standing = standing_reviews(reviews.get((reply, row.metric, row.item), ()))
    reference = results.reference_of(run, row.case_id) if standing else ""
    return any(one.review.reference == reference for one in standing)


def stale_items(results: Results, run: int) -> list[StaleItem]:
    """The items whose reviews rely on another reference than that of the run."""
    return [
        StaleItem(one.case_id, (one.model, one.rep, metric, item), one.standing)
        for (_, metric, item), one in results.stale_reviews(run).items()
    ]


def _answer_of(results: Results, run: int, place: int, reply: str) -> tuple[str, int] | None:
    """The model and the repeat of the answer with this key; None if the run has it no longer."""
    view = results.case(run, place).view
    for answer in view.answers:
        if results.reply_key(run, view.case.id, answer.model, answer.run).hex() == reply:
            return answer.model, answer.run
    return None


def _has_words(row: VerdictItem) -> bool:
    return bool(row.item and rules_for(row.metric).words_for(row.metric, row.item))


def draws_of(results: Results, run: int) -> list[Draw]:
    """The random samples of a run."""
    draws = results.reviews().draws
    return [draw for draw in draws if draw.run == run and draw.queue == AUDIT]


def draw_audit(who: RunReviewer, number: int) -> Draw:
    """Draw verdicts of the judge at random, each with the same probability, and record them.

    An item that people have reviewed can be drawn as well, with the word that the judge gave.
    """
    results, run = who.results, who.run
    rows = results.verdict_items(run, VerdictFilter(limit=EVERYTHING)).items
    known = {(one.reply, one.metric, one.item) for d in draws_of(results, run) for one in d.items}
    items = _judged_items(results, run, [row for row in rows if _has_words(row)])
    chosen = Random(f"{results.version(run)} {len(known)}").sample(items, min(number, len(items)))
    new = [one for one in chosen if (one.reply, one.metric, one.item) not in known]
    if not new:
        raise UsageError("every verdict that was drawn is in the sample already")
    draw = Draw(AUDIT, run, len(chosen) / len(items), new)
    with open_store(who.store) as opened, opened.events() as events:
        events.append("draw", b"", draw, who.author)
    return draw


def _judged_items(results: Results, run: int, rows: Sequence[VerdictItem]) -> list[DrawnItem]:
    """The items of rows, with the words of the judge."""
    reviewed = results.reviews().by_item
    found = []
    for row in rows:
        reply = results.reply_key(run, row.case_id, row.model, row.rep).hex()
        word, by = row.word, row.by
        if given := reviewed.get((reply, row.metric, row.item)):
            word, by = given[0].review.judged, given[0].review.judged_by
        if word and not by.startswith(BY_PERSON):
            call = row.case_id
            found.append(DrawnItem(reply, row.case_id, row.metric, row.item, word, by, call))
    return found


class AuditItem(NamedTuple):
    """A drawn item, and what people say about it."""

    drawn: DrawnItem
    people: Mapping[str, str]
    """By person, their word in the audit."""


def audit_items(results: Results, run: int) -> list[AuditItem]:
    """Every drawn item of a run, in the order of the draws."""
    drawn = {
        (one.reply, one.metric, one.item): one
        for draw in draws_of(results, run)
        for one in draw.items
    }
    reviews = results.reviews().by_item
    people = {
        key: {
            given.event.author: given.review.word
            for given in standing_reviews(reviews.get(key, ()))
            if given.review.queue == AUDIT
        }
        for key in drawn
    }
    return [AuditItem(one, people[key]) for key, one in drawn.items()]


def audit_key(results: Results, run: int, drawn: DrawnItem) -> ItemKey | None:
    """Where a drawn item is; None if the run has it no longer."""
    place = results.place_of(run, drawn.case_id)
    if place is None:
        return None
    where = _answer_of(results, run, place, drawn.reply)
    return None if where is None else ItemKey(place, *where, drawn.metric, drawn.item)


class MetricAgreement(NamedTuple):
    """How far the judge agrees with people on one metric, in the random sample."""

    metric: str
    drawn: int
    calibration: Calibration


class JudgeAgreement(NamedTuple):
    """The agreement on every metric of the sample, and the reviews outside of it."""

    metrics: Sequence[MetricAgreement]
    others: Mapping[str, Mapping[Action, int]]
    """By metric, the reviews that correct their item only, by what they do."""
    disagreements: Sequence[AuditItem]


def judge_agreement(results: Results, run: int) -> JudgeAgreement:
    """Agreement from the audit queue alone: disputed items are no sample        STATS §5"""
    from callscore.judges.calibration import LabelledItem, calibrate  # the server starts without

    items = audit_items(results, run)
    groups: dict[tuple[str, str], list[AuditItem]] = {}
    rubrics: dict[str, Rubric] = {}
    for one in items:
        words = rules_for(one.drawn.metric).words_for(one.drawn.metric, one.drawn.item)
        question = Question(one.drawn.metric, one.drawn.item, "", "", words)
        rubric = rubric_library().rubric_for(question)
        if rubric is not None:
            rubrics[rubric.name] = rubric
            groups.setdefault((one.drawn.metric, rubric.name), []).append(one)
    metrics = []
    for (metric, name), drawn in groups.items():
        labelled = [
            LabelledItem(list(one.people.values()), one.drawn.word, one.drawn.call)
            for one in drawn
            if one.people
        ]
        metrics.append(MetricAgreement(metric, len(drawn), calibrate(rubrics[name], labelled)))
    others: dict[str, dict[Action, int]] = {}
    for given in results.reviews().all_standing():
        review = given.review
        if review.queue != AUDIT and _is_of_run(results, run, review):
            counts = others.setdefault(review.metric, {})
            counts[review.action] = counts.get(review.action, 0) + 1
    differing = [one for one in items if set(one.people.values()) - {one.drawn.word}]
    return JudgeAgreement(metrics, others, differing)


def _is_of_run(results: Results, run: int, review: Review) -> bool:
    return results.place_of(run, review.case_id) is not None
