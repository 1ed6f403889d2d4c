"""The labels of a data set: what every person answered, kept apart, and compared when all are done.

The sheets and cases are those of `callscore annotate`. People see the answers of others
only after both have finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from callscore.core.case import turns
from callscore.core.errors import DataError, UsageError
from callscore.core.labelling import CallTranscript, Label, LabelItem
from callscore.labelling.sheet import (
    Disagreement,
    Labels,
    check_answer,
    compare_labels,
    write_csv,
)
from callscore.stats.agreement import cohen_kappa, observed_agreement
from callscore.store.files import atomic_write, make_private_folder
from callscore.uploads.data_folder import CASES, CONFIG, TRANSCRIPTS, DataSet

if TYPE_CHECKING:  # imported where a data set is labelled: the server starts without the readers
    from callscore.label_job import LabelJob, LabelResult

FOLDER = "labels"
RESOLVED = ""
"""The author of decisions on which people disagreed."""
_LOCK = Lock()


class QuotedSpan(msgspec.Struct, frozen=True):
    """A part of a turn, by its place in the transcript and by code points."""

    turn: int
    start: int
    end: int


class GivenLabel(msgspec.Struct, frozen=True):
    """What a person said about an item; without an answer, that they cannot tell."""

    call_id: str
    part: str
    item: str
    answer: str
    comment: str = ""
    quotes: Sequence[QuotedSpan] = ()


class PersonLabels(msgspec.Struct, frozen=True):
    """Everything that one person said."""

    author: str
    given: Sequence[GivenLabel] = ()

    @property
    def labels(self) -> Labels:
        """The answers, as in a filled-in sheet."""
        return {
            (one.call_id, one.part, one.item): Label(one.answer, one.comment)
            for one in self.given
            if one.answer
        }

    def of(self, item: LabelItem) -> GivenLabel | None:
        """What they said about an item; None if nothing yet."""
        return next(
            (one for one in self.given if (one.call_id, one.part, one.item) == item.key), None
        )

    def is_finished(self, items: Sequence[LabelItem]) -> bool:
        """Whether every required item has an answer, or they cannot tell."""
        said = {(one.call_id, one.part, one.item) for one in self.given}
        return all(item.key in said for item in items if item.required)


class Agreement(msgspec.Struct, frozen=True):
    """How far the people who have finished agree."""

    people: Sequence[str]
    pairs: int
    share: float | None
    kappa: float | None
    disagreements: Sequence[Disagreement]


class LabelBook:
    """The calls of a data set, their items, and the answers of every person."""

    def __init__(self, data: DataSet) -> None:
        self._data = data
        self._folder = data.folder / FOLDER
        self.job = _job(data)

    @property
    def calls(self) -> Sequence[CallTranscript]:
        """The calls, in the order of the file."""
        return self.job.calls

    def items_of(self, call: CallTranscript) -> list[LabelItem]:
        """The items of a call."""
        return [item for item in self.job.items if item.call_id == call.name]

    def person(self, author: str) -> PersonLabels:
        """What a person said so far."""
        try:
            raw = self._path(author).read_bytes()
        except FileNotFoundError:
            return PersonLabels(author)
        return msgspec.json.decode(raw, type=PersonLabels)

    def give(self, author: str, item: LabelItem, label: GivenLabel) -> None:
        """Keep an answer; it replaces the person's earlier one. Raises DataError."""
        if label.answer:
            label = msgspec.structs.replace(label, answer=check_answer(item, label.answer))
        self._check_quotes(item, label.quotes)
        with _LOCK:
            before = self.person(author)
            others = [one for one in before.given if (one.call_id, one.part, one.item) != item.key]
            self._save(PersonLabels(author, [*others, label]))

    def _check_quotes(self, item: LabelItem, quotes: Sequence[QuotedSpan]) -> None:
        call = next(call for call in self.calls if call.name == item.call_id)
        said = list(turns(call.transcript))
        for quote in quotes:
            length = len(said[quote.turn].text) if 0 <= quote.turn < len(said) else 0
            if not 0 <= quote.start < quote.end <= length:
                raise DataError(
                    f"a quote is not in turn {quote.turn + 1}; expected one of the call"
                )

    def _save(self, person: PersonLabels) -> None:
        if not self._folder.is_dir():
            make_private_folder(self._folder)
        with atomic_write(self._path(person.author)) as file:
            file.write(msgspec.json.format(msgspec.json.encode(person)) + b"\n")

    def _path(self, author: str) -> Path:
        name = sha256(author.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        return self._folder / f"{name}.json"

    def finished(self) -> list[PersonLabels]:
        """The people who have finished, by name."""
        people = [
            msgspec.json.decode(path.read_bytes(), type=PersonLabels)
            for path in sorted(self._folder.glob("*.json"))
        ]
        done = [one for one in people if one.author and one.is_finished(self.job.items)]
        return sorted(done, key=lambda one: one.author)

    def agreement(self, author: str) -> Agreement | None:
        """How far people agree; None until this person and another one have finished."""
        done = self.finished()
        if len(done) < 2 or author not in [one.author for one in done]:
            return None
        _, disagreements, pairs = compare_labels(self.job.items, [one.labels for one in done])
        return Agreement(
            [one.author for one in done],
            len(pairs),
            observed_agreement(pairs),
            cohen_kappa(pairs),
            disagreements,
        )

    def sheet(self, author: str) -> bytes:
        """The answers of a person as the label sheet of `callscore annotate`."""
        return write_csv(self.job.items, self.person(author).labels)

    def write_cases(self) -> LabelResult:
        """Write a case per call that is fully labelled, by the people who have finished."""
        from callscore.label_job import make_cases

        done = self.finished()
        if not done:
            raise UsageError("no person has finished yet; expected an answer to every question")
        resolved = self.person(RESOLVED).labels
        return make_cases(
            self.job, [one.labels for one in done], resolved, self._data.folder / CASES
        )


def _job(data: DataSet) -> LabelJob:
    from callscore.import_job import FORM_TASK
    from callscore.label_job import prepare_labelling

    config = data.folder / CONFIG
    transcripts = data.folder / TRANSCRIPTS
    if not config.exists() or not transcripts.exists():
        raise UsageError(
            f"data set {data.number} cannot be labelled: expected a form and written transcripts"
        )
    return prepare_labelling([transcripts], FORM_TASK, config, None)


def quoted(text: str, quotes: Sequence[QuotedSpan]) -> list[tuple[str, bool]]:
    """The text of a turn in parts, each with whether it is quoted; offsets are code points."""
    marked = [False] * len(text)
    for quote in quotes:
        marked[quote.start : quote.end] = [True] * len(marked[quote.start : quote.end])
    parts: list[tuple[str, bool]] = []
    for char, is_quoted in zip(text, marked, strict=True):
        if parts and parts[-1][1] is is_quoted:
            parts[-1] = parts[-1][0] + char, is_quoted
        else:
            parts.append((char, is_quoted))
    return parts


def read_quotes(raw: str) -> Sequence[QuotedSpan]:
    """The quotes of a form field; raises DataError."""
    try:
        return msgspec.json.decode(raw or "[]", type=list[QuotedSpan])
    except msgspec.DecodeError as error:
        raise DataError(f"quotes: {error}; expected a list of turn, start and end") from None


def progress(book: LabelBook, author: str) -> Mapping[str, tuple[int, int]]:
    """By call, how many items the person has answered or cannot tell, of how many."""
    said = {(one.call_id, one.part, one.item) for one in book.person(author).given}
    counts: dict[str, tuple[int, int]] = {}
    for item in book.job.items:
        done, all_ = counts.get(item.call_id, (0, 0))
        counts[item.call_id] = done + (item.key in said), all_ + 1
    return counts
