"""The reviews of a store in memory: what is added to the log is read, the rest is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from callscore.core.events import Draw, GivenReview, LoggedEvent, read_reviews, standing_reviews
from callscore.store.protocol import Store

AUDIT = "audit"
"""The queue that is a random sample, decided blind."""
ItemOfReply = tuple[str, str, str]
"""The key of a reply as hex digits, a metric and an item."""


class StaleReviews(NamedTuple):
    """What people said about an answer when the reference was another one; it does not count."""

    case_id: str
    model: str
    rep: int
    standing: Sequence[GivenReview]


class ReviewLog:
    """Every review and every draw of a store, up to the last event that was read."""

    def __init__(self) -> None:
        self._runs: frozenset[int] = frozenset()
        self.times_read = 0
        """How often it was read from the first event."""
        self._forget()

    def _forget(self) -> None:
        self.times_read += 1
        self.last: LoggedEvent | None = None
        self.draws: list[Draw] = []
        self._by_number: dict[int, GivenReview] = {}
        self._by_item: dict[ItemOfReply, list[GivenReview]] = {}
        self._by_subject: dict[bytes, list[GivenReview]] = {}

    def read(self, store: Store) -> None:
        """Read what was added to the log.

        It is read again from the first event if a run was deleted, which deletes texts of events,
        or if the log is another one.
        """
        runs = frozenset(store.progress())
        if not runs >= self._runs:
            self._forget()
        self._runs = runs
        with store.events() as events:
            if self.last is not None:
                found = events.since(self.last.seq - 1, limit=1)
                if not found or found[0].chain != self.last.chain:
                    self._forget()
            for event in events.since(0 if self.last is None else self.last.seq):
                self._add(event)

    def _add(self, event: LoggedEvent) -> None:
        self.last = event
        if event.kind == "draw" and event.body is not None:
            self.draws.append(event.read(Draw))
        for given in read_reviews([event]):
            review = given.review
            self._by_number[event.seq] = given
            key = (review.reply, review.metric, review.item)
            self._by_item.setdefault(key, []).append(given)
            self._by_subject.setdefault(event.subject, []).append(given)

    @property
    def end(self) -> int:
        """The number of the last event, 0 if there is none."""
        return 0 if self.last is None else self.last.seq

    def given(self, number: int) -> GivenReview | None:
        """The review with this number; None if there is none."""
        return self._by_number.get(number)

    def since(self, number: int) -> list[GivenReview]:
        """The reviews after a number, in their order."""
        found: list[GivenReview] = []
        for seq in reversed(self._by_number):
            if seq <= number:
                break
            found.append(self._by_number[seq])
        return found[::-1]

    @property
    def by_item(self) -> Mapping[ItemOfReply, Sequence[GivenReview]]:
        """The reviews of every item, in their order."""
        return self._by_item

    def standing(self, subject: bytes) -> list[GivenReview]:
        """What people say now about a subject."""
        return standing_reviews(self._by_subject.get(subject, ()))

    def all_standing(self) -> list[GivenReview]:
        """What people say now, subject by subject in the order of their first reviews."""
        return [given for some in self._by_subject.values() for given in standing_reviews(some)]
