"""What people say about the replies of a run, as verdicts in a file that scoring reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from callscore.config.config import EvalConfig
from callscore.core.judging import Verdict
from callscore.core.reviews import GivenReview, read_reviews, standing_reviews
from callscore.evaluate.given_verdicts import verdict_record
from callscore.store.address import StoreAddress, open_store
from callscore.store.files import lines_of
from callscore.store.input_records import read_case, read_case_head
from callscore.store.protocol import Store
from callscore.store.verdict_records import to_file_record

PEOPLE = "people.jsonl"
"""The name under which reports list the verdicts of people."""


def references_of(config: EvalConfig, case_ids: Collection[str]) -> Mapping[str, str]:
    """By case, the hash of its expected outcome; steps of scenarios have none."""
    found: dict[str, str] = {}
    if not case_ids or not config.scoring.cases:
        return found
    for line in lines_of(config.scoring.case_sources):
        case_id = read_case_head(line).id
        if case_id in case_ids:
            outcome = msgspec.json.encode(read_case(line)[0].expected_outcome, order="sorted")
            found[case_id] = sha256(outcome).hexdigest()
    return found


def verdict_lines_of_people(store: Store, run_id: int, config: EvalConfig) -> bytes:
    """The reviews that hold for replies of a run, as lines of a verdicts file."""
    with store.events() as events:
        reviews = standing_reviews(read_reviews(events.since(kind="verdict")))
    if not reviews:
        return b""
    references = references_of(config, {given.review.case_id for given in reviews})
    keys: dict[str, Mapping[tuple[str, int], bytes]] = {}
    found: list[tuple[tuple[object, ...], bytes]] = []
    for given in reviews:
        review = given.review
        if references.get(review.case_id, "") != review.reference:
            continue  # stale: it was about another reference
        if review.case_id not in keys:
            keys[review.case_id] = store.reply_keys(run_id, review.case_id)
        for (model, rep), key in keys[review.case_id].items():
            if key.hex() == review.reply:
                place = (review.case_id, model, rep, review.metric, review.item, given.event.seq)
                found.append((place, _line(given, model, rep)))
    return b"".join(line for _, line in sorted(found))


def _line(given: GivenReview, model: str, rep: int) -> bytes:
    review = given.review
    verdict = Verdict(
        review.metric, review.item, review.word, text=review.text, quote=review.quote,
        source=review.source, by=given.by, note=review.note,
    )  # fmt: skip
    record = verdict_record(review.case_id, model, rep, verdict)
    return msgspec.json.encode(to_file_record(record)) + b"\n"


@contextmanager
def people_files(
    address: StoreAddress, run_id: int, config: EvalConfig
) -> Iterator[Sequence[Path]]:
    """What people say about the replies of a run as a file of verdicts; none if it is nothing."""
    with open_store(address, only_reading=True) as store:
        lines = verdict_lines_of_people(store, run_id, config)
    if not lines:
        yield ()
        return
    with TemporaryDirectory(prefix="callscore-") as folder:
        path = Path(folder) / PEOPLE
        path.write_bytes(lines)
        yield (path,)
