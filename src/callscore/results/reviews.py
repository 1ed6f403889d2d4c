"""Reviews of verdicts: one item with all that a person needs, and the word that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from callscore.core.errors import CallscoreError, UsageError
from callscore.core.events import (
    Action,
    GivenReview,
    LoggedEvent,
    Review,
    standing_reviews,
)
from callscore.core.judging import Question, Verdict
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.rubric import Rubric
from callscore.report.source import CaseView
from callscore.results.port import (
    QueryError,
    Remeasured,
    Results,
    VerdictItem,
)
from callscore.results.review_log import AUDIT
from callscore.store.address import StoreAddress, open_store
from callscore.suites.registry import rules_for


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

    In the audit queue only the author's own reviews count as newer ones. Nothing is written if the
    run cannot be scored with it, because its data have changed.
    """
    try:
        who.results.check_data(who.run)
    except CallscoreError as error:
        raise UsageError(
            f"Nothing was saved: {error}. Put the data back as they were, or review a new run."
        ) from None
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
