"""Verdicts of people and judges: one line each, or as five-key records of the framework."""

# No postponed annotations here: msgspec would evaluate each of them at every start.
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.framework import DOCUMENT, WHOLE
from callscore.store.files import Line
from callscore.store.input_records import convert_record, locate_error, strict_value


class VerdictRecord(msgspec.Struct, frozen=True):
    """One line of a verdicts file."""

    case_id: str
    metric: str
    item: str | int
    model: str | None = None
    run: int = 1
    verdict: str | None = None
    value: float | None = None
    text: str = ""
    quote: str = ""
    source: str = ""
    by: str = ""
    approximate: bool = False
    """The verdict of a built-in rule, stored as an estimate (C-125)."""
    expected_outcome_field: str = ""
    """The reference field that the verdict relies on, if it names one."""
    model_output_field: str = ""
    """The output field that the verdict relies on, if it names one."""
    note: str = ""
    """The reason."""
    judge: str | None = None
    """Labels only: the verdict of a judge on the same item."""


class FiveKeyRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A score of a whole metric in the five keys of the framework, with its case and author
    (C-100).
    """

    case_id: str
    metric: str
    score: float
    expected_outcome_reference: Any
    model_output_observed: Any
    reason: str
    model: str | None = None
    run: int = 1
    by: str = DOCUMENT
    slug: str = ""
    """The metric, where several have the same name; written by `--records`."""


def read_verdict(line: Line) -> VerdictRecord:
    """The verdict on a line: a word or a value, exactly one of them; or a five-key record."""
    value = strict_value(line)
    if is_five_key(value):
        return _from_five_keys(convert_record(value, FiveKeyRecord, line))
    record = convert_record(value, VerdictRecord, line)
    if (record.verdict is None) == (record.value is None):
        raise locate_error(
            line, DataError("expected either a word here or a `value`", field="verdict")
        )
    return record


def is_five_key(value: Any) -> bool:
    """Whether a line scores a whole metric, in the five keys of the framework."""
    return isinstance(value, dict) and "score" in value and "item" not in value


def _from_five_keys(record: FiveKeyRecord) -> VerdictRecord:
    return VerdictRecord(
        case_id=record.case_id,
        metric=record.slug or record.metric,
        item=WHOLE,
        model=record.model,
        run=record.run,
        value=record.score,
        text=_as_text(record.expected_outcome_reference),
        quote=_as_text(record.model_output_observed),
        by=record.by,
        note=record.reason,
    )


def to_file_record(record: VerdictRecord) -> VerdictRecord | FiveKeyRecord:
    """A verdict in the format of its line in a file."""
    if record.item != WHOLE or record.value is None:
        return record
    return FiveKeyRecord(
        case_id=record.case_id,
        metric=record.metric,
        score=record.value,
        expected_outcome_reference=record.text,
        model_output_observed=record.quote,
        reason=record.note,
        model=record.model,
        run=record.run,
        by=record.by,
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
