"""Events: what people decide about stored answers, appended in a chain of hashes; reviews in them.

`digest` is the hash of an event's body, and `chain` that of the chain before it, of everything else
in the event and of the digest. So a missing or altered event is found, while the text of a body
may be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol, Self, TypeVar

import msgspec

from callscore.core.errors import DataError, UsageError

Kind = Literal["verdict", "label", "gold", "comment", "draw", "export", "login"]
"""A word on an item; a label of a call; a doubt about a reference; a comment; items that a queue
has drawn; a file that was written; a session that began."""

T = TypeVar("T")
START = bytes(32)
"""The chain before the first event."""


class LoggedEvent(msgspec.Struct, frozen=True):
    """One event. Its place in the log is its number, from 1 without gaps."""

    seq: int
    at: str
    author: str
    kind: Kind
    subject: bytes
    """The hash of what it is about (`subject_of`); empty if it is about nothing stored."""
    prior: int | None
    """The last event on the subject that its author had seen, 0 if there was none; None if that
    does not matter."""
    body: bytes | None
    """JSON; None if the text was deleted."""
    digest: bytes
    chain: bytes

    def read(self, type: type[T]) -> T:
        """The body as an object; raises DataError if it is deleted or is none of this type."""
        if self.body is None:
            raise DataError(f"event {self.seq}: its text was deleted; expected {type.__name__}")
        try:
            return msgspec.json.decode(self.body, type=type)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"event {self.seq}: {error}; expected {type.__name__}") from None


class EventConflict(UsageError):
    """Another person wrote about the same subject meanwhile; nothing was written."""

    def __init__(self, newest: LoggedEvent, body: bytes) -> None:
        super().__init__(
            f"event {newest.seq} of {newest.author} on the same item is newer than what was shown; "
            "expected a look at it first"
        )
        self.newest = newest
        """Of the others."""
        self.body = body
        """What was to be written."""


class EventHead(NamedTuple):
    """The end of the log: the number of events, and the chain over all of them."""

    seq: int = 0
    chain: bytes = START


class Events(Protocol):
    """The events of a store; may be used by several threads and processes."""

    def __enter__(self) -> Self:
        """Return itself."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close it."""
        ...

    def append(
        self,
        kind: Kind,
        subject: bytes,
        body: object,
        author: str,
        prior: int | None = None,
        *,
        blind: bool = False,
    ) -> LoggedEvent:
        """Write an event; it is durable when this returns.

        `prior` is the last event of its kind on the subject that the author has seen, 0 for none;
        raises EventConflict if there is a newer one. With `blind`, only the author's own events
        count. With None, nothing is checked. Raises StoreError if the store is read-only.
        """
        ...

    def head(self) -> EventHead:
        """The end of the log."""
        ...

    def since(
        self, seq: int = 0, kind: Kind | None = None, limit: int = -1
    ) -> Sequence[LoggedEvent]:
        """The events after a number, in their order; of one kind if it is given."""
        ...

    def blank(self, numbers: Sequence[int]) -> None:
        """Delete the texts of events; the chain holds without them."""
        ...

    def faults(self) -> Sequence[Fault]:
        """What is missing or altered; none if the log is as it was written."""
        ...

    def close(self) -> None:
        """Close the log."""
        ...


class Fault(NamedTuple):
    """A place where the log is not as it was written."""

    seq: int
    what: Literal["missing", "text altered", "altered"]


def subject_of(*parts: str | bytes) -> bytes:
    """The hash of what an event is about; a length before each part keeps parts apart."""
    found = sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        found.update(len(raw).to_bytes(8, "big"))
        found.update(raw)
    return found.digest()


class Entry(NamedTuple):
    """What is to be written: an event without its place in the log."""

    at: str
    author: str
    kind: Kind
    subject: bytes
    prior: int | None
    body: object


def next_event(head: EventHead, entry: Entry) -> LoggedEvent:
    """The event that follows the end of the log; the body is encoded as JSON."""
    raw = entry.body if isinstance(entry.body, bytes) else msgspec.json.encode(entry.body)
    event = LoggedEvent(head.seq + 1, *entry[:-1], raw, sha256(raw).digest(), b"")
    return msgspec.structs.replace(event, chain=chain_after(head.chain, event))


def chain_after(chain: bytes, event: LoggedEvent) -> bytes:
    """chain′ = hash(chain, everything in the event but its body, digest of the body)"""
    fixed = (event.seq, event.at, event.author, event.kind, event.prior)
    return subject_of(chain, msgspec.json.encode(fixed), event.subject, event.digest)


def check_prior(newest: LoggedEvent | None, prior: int | None, body: object) -> None:
    """Raise EventConflict if an event is newer than what the author has seen."""
    if prior is not None and newest is not None and newest.seq > prior:
        raise EventConflict(newest, body if isinstance(body, bytes) else msgspec.json.encode(body))


def find_faults(events: Iterable[LoggedEvent], last: int) -> Iterator[Fault]:
    """What is missing or altered, where `last` is the highest number that was ever given.

    Behind a gap the chain cannot be computed: the next event is trusted as a new beginning.
    """
    chain: bytes | None = START
    seq = 0
    for event in events:
        if event.seq != seq + 1:
            yield from (Fault(number, "missing") for number in range(seq + 1, event.seq))
            chain = None
        if event.body is not None and sha256(event.body).digest() != event.digest:
            yield Fault(event.seq, "text altered")
        if chain is not None and chain_after(chain, event) != event.chain:
            yield Fault(event.seq, "altered")
        seq, chain = event.seq, event.chain
    yield from (Fault(number, "missing") for number in range(seq + 1, last + 1))


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
