"""The queues of reviews: what waits in each, what comes next, and all of it as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.report.details.gold_audit import FieldVotes
from callscore.results.gold import GoldEvent, noted_fields, read_notes
from callscore.results.port import RunLine, VerdictFilter
from callscore.results.review_log import AUDIT
from callscore.results.review_queues import (
    DOUBTS,
    OPEN,
    audit_items,
    audit_key,
    next_item,
    next_open_item,
    stale_items,
)
from callscore.results.reviews import ItemKey
from callscore.web.scored import check_scored
from callscore.web.screen import PageTable, Visit

QUEUES = {
    "disputed": "Judges or people disagree.",
    "gates": "Verdicts that decide a gate.",
    "injection": "Replies that may give orders to the judge.",
    OPEN: "Items without a verdict: the metrics that need it have no value yet.",
    DOUBTS: "References that people doubt, and verdicts on a reference that has changed since.",
    AUDIT: "A random sample, decided blind. Agreement with the judge comes from it alone.",
}


class ReviewQuery(msgspec.Struct, frozen=True):
    """Which verdicts, after which row; `saved` is the event that was just written."""

    metric: str = ""
    model: str = ""
    after: int = 0
    saved: int = 0


def number_left(visit: Visit, run: RunLine, queue: str) -> int:
    """How many entries of a queue wait."""
    if queue == AUDIT:
        drawn = audit_items(visit.results, run.id)
        return sum(visit.session.author not in one.people for one in drawn)
    if queue == DOUBTS:
        return len(doubted(visit, run)) + len(stale_items(visit.results, run.id))
    wanted = VerdictFilter(queue=queue, unreviewed=True, limit=1)  # type: ignore[arg-type]
    return visit.results.verdict_items(run.id, wanted).total


def doubted(visit: Visit, run: RunLine) -> list[tuple[FieldVotes, Sequence[GoldEvent]]]:
    """The references that people doubt, with what they said."""
    source = visit.results.scored(run.id).source
    notes = read_notes(visit.site.store).values()
    doubts = [events for events in notes if events[-1].note.action == "doubt"]
    return [] if source is None else list(noted_fields(visit.results, run.id, source, doubts))


def next_of(visit: Visit, queue: str, query: ReviewQuery) -> tuple[ItemKey | None, int]:
    """The next item of a queue, and where to go on after it; 0 at the end."""

    def may_have(item: ItemKey) -> bool:
        return visit.site.leases.take(visit.session.author, visit.run, item)

    if queue == DOUBTS:
        stale = stale_items(visit.results, visit.run)
        for at in range(query.after, len(stale)):
            key = stale[at].key(visit.results, visit.run)
            if key is not None and may_have(key):
                return key, at + 1 if at + 1 < len(stale) else 0
        return None, 0
    if queue != AUDIT:
        wanted = VerdictFilter(
            queue=queue,  # type: ignore[arg-type]  # one of QUEUES
            metric=query.metric,
            model=query.model,
            after=query.after,
        )
        find = next_open_item if queue == OPEN else next_item
        return find(visit.results, visit.run, wanted, may_have)
    left = [
        (number, one)
        for number, one in enumerate(audit_items(visit.results, visit.run), start=1)
        if visit.session.author not in one.people and number > query.after
    ]
    for number, one in left:
        key = audit_key(visit.results, visit.run, one.drawn)
        if key is not None and query.metric in ("", key.metric):
            return key, number if number != left[-1][0] else 0
    return None, 0


COLUMNS = ("case_id", "model", "metric", "item", "word", "by", "disputed", "decides_a_gate")
OF_AUDIT = ("case_id", "metric", "item", "your_word")
OF_DOUBTS = ("case_id", "what", "item", "author", "said", "reason")
BATCH = 1_000


def queue_table(visit: Visit, queue: str) -> PageTable:
    """Every entry of a queue; of the audit without the words of others, as it is blind."""
    check_scored(visit)
    name = f"review-{queue}-{visit.run}"
    if queue == AUDIT:
        me = visit.session.author
        rows = [
            [one.drawn.case_id, one.drawn.metric, one.drawn.item, one.people.get(me)]
            for one in audit_items(visit.results, visit.run)
        ]
        return PageTable(name, OF_AUDIT, [rows])
    if queue == DOUBTS:
        return PageTable(name, OF_DOUBTS, [list(_doubt_rows(visit))])
    return PageTable(name, COLUMNS, _batches(visit, queue))


def _batches(visit: Visit, queue: str) -> Iterator[Sequence[Sequence[object]]]:
    query = visit.query_as(ReviewQuery)
    wanted = VerdictFilter(
        queue=queue,  # type: ignore[arg-type]  # one of QUEUES
        metric=query.metric,
        model=query.model,
        unreviewed=True,
        limit=BATCH,
    )
    while True:
        page = visit.results.verdict_items(visit.run, wanted)
        yield [
            [one.case_id, one.model, one.metric, one.item, one.word, one.by, one.disputed, one.gate]
            for one in page.items
        ]
        if not page.after:
            return
        wanted = msgspec.structs.replace(wanted, after=page.after)


def _doubt_rows(visit: Visit) -> Iterator[Sequence[object]]:
    for votes, events in doubted(visit, visit.run_line()):
        for event in events:
            note = event.note
            yield votes.case_id, votes.task, votes.words, event.author, note.action, note.reason
    for stale in stale_items(visit.results, visit.run):
        _, _, metric, item = stale.about
        for one in stale.standing:
            said = one.review
            yield stale.case_id, metric, item, one.event.author, said.word, said.note
