"""What people say about the replies of a run, as verdicts in a file that scoring reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.core.case import Case
from callscore.core.events import GivenReview, read_reviews, standing_reviews
from callscore.core.judging import Verdict
from callscore.store.files import lines_of
from callscore.store.protocol import Store
from callscore.store.verdict_records import to_file_record

if TYPE_CHECKING:
    from callscore.config.config import EvalConfig


class PeopleVerdicts(NamedTuple):
    """What people say about the replies of a run."""

    lines: bytes = b""
    """Lines of a verdicts file."""
    events: int = 0
    """The number of the last event that was read."""


PEOPLE = "people.jsonl"
"""The name under which reports list the verdicts of people."""


def references_of(config: EvalConfig, case_ids: Collection[str]) -> Mapping[str, str]:
    """By case, the hash of its expected outcome; steps of scenarios have none."""
    found: dict[str, str] = {}
    if not case_ids or not config.scoring.cases:
        return found
    from callscore.store.input_records import read_case, read_case_head

    for line in lines_of(config.scoring.case_sources):
        case_id = read_case_head(line).id
        if case_id in case_ids:
            found[case_id] = reference_hash(read_case(line)[0])
    return found


def verdicts_of_people(store: Store, run_id: int, config: EvalConfig) -> PeopleVerdicts:
    """The reviews that hold for replies of a run, as lines of a verdicts file."""
    with store.events() as events:
        last = events.head().seq
        reviews = standing_reviews(read_reviews(events.since(kind="verdict")))
    if not reviews:
        return PeopleVerdicts(b"", last)
    references = references_of(config, {given.review.case_id for given in reviews})
    lines = [
        line
        for given in reviews
        for line in placed_lines(
            given,
            references.get(given.review.case_id, ""),
            store.reply_keys(run_id, given.review.case_id),
        )
    ]
    return PeopleVerdicts(join_lines(lines), last)


PlacedLine = tuple[tuple[object, ...], bytes]
"""A line of a verdicts file after what it is sorted by."""


def placed_lines(
    given: GivenReview, reference: str, keys: Mapping[tuple[str, int], bytes]
) -> list[PlacedLine]:
    """A review as lines, one for each reply that it is about; none if the reference changed."""
    review = given.review
    if reference != review.reference:
        return []
    return [
        (
            (review.case_id, model, rep, review.metric, review.item, given.event.seq),
            _line(given, model, rep),
        )
        for (model, rep), key in keys.items()
        if key.hex() == review.reply
    ]


def join_lines(lines: Iterable[PlacedLine]) -> bytes:
    """A verdicts file."""
    return b"".join(line for _, line in sorted(lines))


def reference_hash(case: Case) -> str:
    """The hash of the expected outcome of a case."""
    return sha256(msgspec.json.encode(case.expected_outcome, order="sorted")).hexdigest()


def _line(given: GivenReview, model: str, rep: int) -> bytes:
    from callscore.evaluate.given_verdicts import verdict_record

    review = given.review
    verdict = Verdict(
        review.metric, review.item, review.word, text=review.text, quote=review.quote,
        source=review.source, by=given.by, note=review.note, review=True,
    )  # fmt: skip
    record = verdict_record(review.case_id, model, rep, verdict)
    return msgspec.json.encode(to_file_record(record)) + b"\n"


@contextmanager
def verdict_files(lines: bytes) -> Iterator[Sequence[Path]]:
    """What people say as a file of verdicts; none if it is nothing."""
    if not lines:
        yield ()
        return
    with TemporaryDirectory(prefix="callscore-") as folder:
        path = Path(folder) / PEOPLE
        path.write_bytes(lines)
        yield (path,)
