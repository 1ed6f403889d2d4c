"""What people say about references: doubts, corrections and dismissals, as events of the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.core.events import LoggedEvent, subject_of
from callscore.report.details.decoded_case import DecodedCase, decode_case, decode_reply
from callscore.report.details.form_marks import MarkReader
from callscore.report.details.gold_audit import FieldVotes, votes_of, with_field_of
from callscore.report.source import CaseView, ReportSource
from callscore.results.port import Results
from callscore.store.address import StoreAddress, open_store

Action = Literal["doubt", "correct", "dismiss"]
ACTIONS: Sequence[Action] = ("doubt", "correct", "dismiss")
MAX_REASON = 2_000


class GoldNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person says about one field of a reference."""

    action: Action
    run: int
    place: int
    case: str
    task: str
    field: str
    expected: str
    """The reference relied on: a note on another one is stale."""
    model: str = ""
    """Whose answer takes its place, if it is corrected."""
    value: str = ""
    reason: str = ""

    @property
    def subject(self) -> bytes:
        """What it is about: a field of a case, as long as the reference says the same."""
        return subject_of("gold", self.task, self.case, self.field, self.expected)


class GoldEvent(msgspec.Struct, frozen=True):
    """A note with its author, its time and its number in the log."""

    note: GoldNote
    author: str
    at: str
    seq: int


def read_notes(store: StoreAddress) -> Mapping[bytes, Sequence[GoldEvent]]:
    """The notes by what they are about, in their order; notes whose text was deleted are none."""
    found: dict[bytes, list[GoldEvent]] = {}
    with open_store(store, only_reading=True) as opened, opened.events() as events:
        for event in events.since(kind="gold"):
            if event.body is not None:
                note = GoldEvent(event.read(GoldNote), event.author, event.at, event.seq)
                found.setdefault(event.subject, []).append(note)
    return found


def write_note(store: StoreAddress, note: GoldNote, author: str, prior: int) -> LoggedEvent:
    """Append a note; raises EventConflict if another one is newer than `prior`."""
    if note.action == "dismiss" and not note.reason:
        raise UsageError("there is no reason; expected one, as a dismissal hides a doubt")
    if len(note.reason) > MAX_REASON:
        raise UsageError(f"the reason is too long; expected at most {MAX_REASON} characters")
    with open_store(store) as opened, opened.events() as events:
        return events.append("gold", note.subject, note, author, prior)


def field_votes(source: ReportSource, place: int, view: CaseView) -> Mapping[str, FieldVotes]:
    """By name, the fields of a reference that can be compared."""
    marks = MarkReader(source.provenance.settings)
    return {one.field: one for one in votes_of(place, decode_case(view), marks)}


def noted_fields(
    results: Results, run: int, source: ReportSource, notes: Iterable[Sequence[GoldEvent]]
) -> Iterator[tuple[FieldVotes, Sequence[GoldEvent]]]:
    """The fields that notes are about; a note on a reference that has changed is stale."""
    for events in notes:
        note = events[-1].note
        place = results.place_of(run, note.case)
        if place is None:
            continue
        field = field_votes(source, place, results.case(run, place).view).get(note.field)
        if field is not None and field.expected == note.expected:
            yield field, events


def corrected_outcome(case: DecodedCase, note: GoldNote) -> Mapping[str, Any]:
    """The expected outcome with the field as the model of the note gave it; raises DataError."""
    answers = (one.answer for one in case.answers if one.answer.model == note.model)
    given = next((decode_reply(one) for one in answers if one.run == 1), None)
    outcome = None if given is None else with_field_of(case.expected, given, note.field)
    if outcome is None:
        raise DataError(
            f"{note.case}: {note.field}: {note.model} has no value for it; expected another model"
        )
    return outcome


def corrected_cases(
    source: ReportSource, notes: Mapping[bytes, Sequence[GoldEvent]]
) -> Iterator[bytes]:
    """The case file of a run with every correction that holds: one line per case."""
    by_case: dict[tuple[str, str], list[GoldNote]] = {}
    for events in notes.values():
        note = events[-1].note
        if note.action == "correct":
            by_case.setdefault((note.task, note.case), []).append(note)
    for place, view in enumerate(source.cases, start=1):
        record = view.case
        wanted = by_case.get((record.task, record.id), ())
        if wanted:
            votes = field_votes(source, place, view)
            case = decode_case(view)
            for note in wanted:
                if note.field in votes and votes[note.field].expected == note.expected:
                    outcome = corrected_outcome(case, note)
                    record = msgspec.structs.replace(record, expected_outcome=outcome)
                    view = msgspec.structs.replace(view, case=record)
                    case = msgspec.structs.replace(case, view=view)
        yield msgspec.json.encode(record) + b"\n"
