"""Reviews: what people say about verdicts, read from the events of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from callscore.core.events import LoggedEvent, subject_of

Action = Literal["confirm", "overrule", "resolve", "withdraw"]
"""The same word as before, or another one; a word that ends a disagreement of people; none."""
BY_PERSON = "human:"
"""The beginning of `by` in verdicts of people."""


class Review(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an event of the kind `verdict`."""

    reply: str
    """The key of the reply, as hex digits: another run with the same reply keeps the review."""
    case_id: str
    metric: str
    item: str
    action: Action
    word: str = ""
    note: str = ""
    """The reason."""
    text: str = ""
    quote: str = ""
    source: str = ""
    reference: str = ""
    """The hash of the expected outcome; the review does not hold for another one."""
    judged: str = ""
    """The word before any person decided."""
    judged_by: str = ""
    queue: str = ""

    @property
    def subject(self) -> bytes:
        """What the review is about."""
        parts = (self.reply, self.metric, self.item, self.text, self.reference)
        return subject_of("verdict", *parts)


class DrawnItem(msgspec.Struct, frozen=True):
    """An item of a random sample, with the word of the judge when it was drawn."""

    reply: str
    case_id: str
    metric: str
    item: str
    word: str
    by: str
    call: str


class Draw(msgspec.Struct, frozen=True):
    """The body of an event of the kind `draw`: a random sample of the verdicts of a run."""

    queue: str
    run: int
    probability: float
    items: Sequence[DrawnItem]


class GivenReview(NamedTuple):
    """A review with its event."""

    event: LoggedEvent
    review: Review

    @property
    def by(self) -> str:
        """The author, as verdict files name people."""
        return f"{BY_PERSON}{self.event.author}"


def read_reviews(events: Iterable[LoggedEvent]) -> list[GivenReview]:
    """Every review; those with deleted texts are left out."""
    return [
        GivenReview(event, event.read(Review))
        for event in events
        if event.kind == "verdict" and event.body is not None
    ]


def standing_reviews(reviews: Iterable[GivenReview]) -> list[GivenReview]:
    """The last review of each person on each subject, unless it was withdrawn.

    A decision on a disagreement of people replaces all reviews before it.
    """
    found: dict[bytes, dict[str, GivenReview]] = {}
    for given in reviews:
        people = found.setdefault(given.event.subject, {})
        if given.review.action == "resolve":
            people.clear()
        people.pop(given.event.author, None)
        if given.review.action != "withdraw":
            people[given.event.author] = given
    return [given for people in found.values() for given in people.values()]
