"""Reviews of verdicts: one item at a time, the word that counts, samples, and agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from callscore.core.errors import UsageError
from callscore.core.events import (
    BY_PERSON,
    Action,
    Draw,
    DrawnItem,
    GivenReview,
    LoggedEvent,
    Review,
    standing_reviews,
)
from callscore.core.judging import Question, Verdict
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.calibration import Calibration, LabelledItem, calibrate
from callscore.judges.rubric import Rubric
from callscore.report.source import CaseView
from callscore.results.port import (
    QueryError,
    Remeasured,
    Results,
    VerdictFilter,
    VerdictItem,
)
from callscore.store.address import StoreAddress, open_store
from callscore.store.worklists import OpenItem
from callscore.suites.registry import rules_for

AUDIT, DOUBTS, OPEN = "audit", "doubts", "open"
MOST_LOOKED_AT = 100
"""Of rows without a verdict, at once: each may measure a case."""
EVERYTHING = 1_000_000_000


class ItemKey(NamedTuple):
    """Which item of which answer."""

    place: int
    model: str
    rep: int
    metric: str
    item: str


class ReviewedItem(msgspec.Struct, frozen=True):
    """An item with everything that a person needs to decide it."""

    key: ItemKey
    view: CaseView
    base: Review
    """What every review of it has in common; its action says nothing yet."""
    words: Sequence[str]
    rubric: Rubric | None
    history: Sequence[GivenReview]
    """Every review of it, in their order."""

    def prior(self, author: str | None = None) -> int:
        """The number of the last review, 0 if there is none; with an author, of theirs."""
        seen = [one.event for one in self.history if author in (None, one.event.author)]
        return seen[-1].seq if seen else 0

    @property
    def standing(self) -> Sequence[GivenReview]:
        """What people say now."""
        return standing_reviews(self.history)


def item_of(results: Results, run: int, key: ItemKey) -> ReviewedItem:
    """An item with its reviews; raises QueryError if there is no such answer or no words."""
    words = rules_for(key.metric).words_for(key.metric, key.item)
    if not words or not key.item:
        raise QueryError(f"{key.metric}: has no words to choose from; expected another metric")
    view = results.case(run, key.place).view
    case_id = view.case.id
    reply = results.reply_key(run, case_id, key.model, key.rep).hex()
    reviews = results.reviews().by_item.get((reply, key.metric, key.item), ())
    judged = _judged(results, run, key, view, reviews)
    base = Review(
        reply,
        case_id,
        key.metric,
        key.item,
        "confirm",
        text=judged.text,
        quote=judged.quote,
        source=judged.source,
        reference=results.reference_of(run, case_id),
        judged=judged.verdict or "",
        judged_by=judged.by,
    )
    history = [one for one in reviews if one.event.subject == base.subject]
    rubric = rubric_library().rubric_for(Question(key.metric, key.item, "", "", words))
    return ReviewedItem(key, view, base, words, rubric, history)


def _judged(
    results: Results, run: int, key: ItemKey, view: CaseView, reviews: Sequence[GivenReview]
) -> Verdict:
    """The verdict before any person decided."""
    if reviews:
        first = reviews[0].review
        return Verdict(
            key.metric, key.item, first.judged, text=first.text, quote=first.quote,
            source=first.source, by=first.judged_by,
        )  # fmt: skip
    for answer in view.answers:
        if (answer.model, answer.run) == (key.model, key.rep):
            for verdict in answer.verdicts:
                if (verdict.metric, verdict.item) == (key.metric, key.item):
                    return verdict
    for item in results.verdicts_of_case(run, key.place):  # a step of a scenario
        if key_of(item) == key:
            return Verdict(key.metric, key.item, item.word, by=item.by)
    for one in results.open_items(run, key.place):
        if (one.model, one.run, one.metric, one.item) == key[1:]:
            return Verdict(key.metric, key.item, text=one.text)
    return Verdict(key.metric, key.item)


def key_of(item: VerdictItem) -> ItemKey:
    """Which item a row of a queue is."""
    return ItemKey(item.place, item.model, item.rep, item.metric, item.item)


class SavedReview(NamedTuple):
    """A review that was written, and what followed from it."""

    event: LoggedEvent
    remeasured: Remeasured


class RunReviewer(NamedTuple):
    """Who reviews which run of which store."""

    results: Results
    store: StoreAddress
    run: int
    author: str


def write_review(who: RunReviewer, item: ReviewedItem, review: Review, prior: int) -> SavedReview:
    """Write a review, and score with it; raises EventConflict if another person was faster.

    In the audit queue only the author's own reviews count as newer ones.
    """
    blind = review.queue == AUDIT
    with open_store(who.store) as opened, opened.events() as events:
        event = events.append("verdict", review.subject, review, who.author, prior, blind=blind)
    key = item.key
    return SavedReview(event, who.results.remeasure(who.run, key.place, key.model, key.rep))


def review_of(
    item: ReviewedItem, word: str, note: str, queue: str = "", *, resolves: bool = False
) -> Review:
    """A review with this word; raises UsageError if it is not offered, or lacks a reason."""
    if word not in item.words:
        raise UsageError(f"{word!r}: expected one of {', '.join(item.words)}")
    action: Action = "confirm" if word == item.base.judged else "overrule"
    if resolves:
        action = "resolve"
    if action != "confirm" and queue != AUDIT and item.base.judged and not note:
        raise UsageError("another word than that of the judge needs a reason")
    return msgspec.structs.replace(item.base, action=action, word=word, note=note, queue=queue)


def withdrawal_of(item: ReviewedItem, queue: str = "") -> Review:
    """The review that takes back an earlier one of the same person."""
    return msgspec.structs.replace(item.base, action="withdraw", queue=queue)


# Queues


def next_item(results: Results, run: int, wanted: VerdictFilter) -> tuple[ItemKey | None, int]:
    """The next item of a queue that no person has decided, and `after` of the one behind it."""
    wanted = msgspec.structs.replace(wanted, unreviewed=True, limit=1)
    while True:
        page = results.verdict_items(run, wanted)
        if page.items and _has_words(page.items[0]):
            return key_of(page.items[0]), page.after
        if not page.after:
            return None, 0
        wanted = msgspec.structs.replace(wanted, after=page.after)


def next_open_item(results: Results, run: int, wanted: VerdictFilter) -> tuple[ItemKey | None, int]:
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
            if found := _item_of_row(row, measured[row.place]):
                return found, page.after
        if not page.after:
            return None, 0
        wanted = msgspec.structs.replace(wanted, after=page.after)
    return None, wanted.after


def _item_of_row(row: VerdictItem, waiting: Sequence[OpenItem]) -> ItemKey | None:
    """The first item of a reply that awaits a verdict, of the metric of a row if it has one."""
    of_reply = [one for one in waiting if (one.model, one.run) == (row.model, row.rep)]
    of_reply.sort(key=lambda one: one.metric != row.metric)
    for one in of_reply:
        if one.item and rules_for(one.metric).words_for(one.metric, one.item):
            return ItemKey(row.place, row.model, row.rep, one.metric, one.item)
    return None


def stale_items(results: Results, run: int) -> list[tuple[ItemKey, Sequence[GivenReview]]]:
    """The items whose reviews rely on another reference than that of the run, with these reviews.

    Reviews of the audit queue are left out: it is blind.
    """
    found: list[tuple[ItemKey, Sequence[GivenReview]]] = []
    for (reply, metric, item), reviews in results.reviews().by_item.items():
        standing = [one for one in standing_reviews(reviews) if one.review.queue != AUDIT]
        if not standing:
            continue
        case_id = standing[0].review.case_id
        place = results.place_of(run, case_id)
        if place is None:
            continue
        now = results.reference_of(run, case_id)
        if any(one.review.reference == now for one in standing):
            continue
        where = _answer_of(results, run, place, reply)
        if where is not None:
            found.append((ItemKey(place, *where, metric, item), standing))
    return found


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


# Agreement


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
