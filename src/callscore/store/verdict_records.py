"""Verdicts of people and judges: one line each, or as five-key records of the framework."""

# No postponed annotations here: msgspec would evaluate each of them at every start.
from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.judging import Verdict
from callscore.core.verdict_rules import DOCUMENT, WHOLE, FiveKeyRecord
from callscore.store.files import Line
from callscore.store.input_records import convert_record, locate_error, strict_value


class VerdictRecord(Verdict, frozen=True, kw_only=True):
    """One line of a verdicts file: a verdict, with its case, its model and its run."""

    case_id: str
    model: str | None = None
    """None if the verdict is about the case itself."""
    run: int = 1
    judge: str | None = None
    """Labels only: the verdict of a judge on the same item."""


_FIRST = ("case_id", "metric", "item", "model", "run")


def read_verdict(line: Line) -> VerdictRecord:
    """The verdict on a line: a word or a value, exactly one of them; or a five-key record."""
    value = strict_value(line)
    if is_five_key(value):
        return _from_five_keys(convert_record(value, FiveKeyRecord, line))
    if isinstance(value, dict) and type(value.get("item")) is int:  # not a bool
        value["item"] = str(value["item"])  # question 3, as some people write it
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
        by=DOCUMENT if record.by is msgspec.UNSET else record.by,
        note=record.reason,
    )


def to_file_record(record: VerdictRecord) -> Mapping[str, Any] | FiveKeyRecord:
    """A verdict in the format of its line in a file: first of all, what it is about."""
    if record.item != WHOLE or record.value is None:
        fields: dict[str, Any] = msgspec.to_builtins(record)
        if not record.review:
            del fields["review"]
        return {name: fields[name] for name in (*_FIRST, *fields)}
    return FiveKeyRecord(
        case_id=record.case_id,
        metric=record.metric,
        score=record.value,
        expected_outcome_reference=record.text,
        model_output_observed=record.quote,
        reason=record.note,
        model=record.model,
        run=record.run,
        slug=record.metric,
        by=record.by,
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
