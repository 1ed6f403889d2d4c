"""A case with its replies decoded once, and each compared with the expected outcome by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case
from callscore.report.source import Answer, CaseView

MAX_DECODED_LENGTH = 2_000_000
"""A longer reply is shown as text only."""


class DecodedAnswer(msgspec.Struct, frozen=True):
    """An answer and the JSON object in its reply; None if there is none."""

    answer: Answer
    given: Mapping[str, Any] | None


class DecodedCase(msgspec.Struct, frozen=True):
    """A case with its decoded answers."""

    view: CaseView
    answers: Sequence[DecodedAnswer]

    @property
    def expected(self) -> Mapping[str, Any]:
        """The expected outcome."""
        return self.view.case.expected_outcome

    @property
    def has_repeats(self) -> bool:
        """Whether a model was asked more than once."""
        return any(decoded.answer.run > 1 for decoded in self.answers)

    @property
    def tags(self) -> Sequence[str]:
        """The tags of the case as texts; none if they have an unknown form."""
        return tags_of(self.view.case)


def tags_of(case: Case) -> Sequence[str]:
    """The tags of a case as texts; none if they have an unknown form."""
    tags = case.tags
    if isinstance(tags, str):
        return (tags,)
    return tuple(map(str, tags)) if isinstance(tags, (list, tuple)) else ()


def has_reply(decoded: DecodedAnswer) -> bool:
    """Whether there was a reply, valid or not."""
    return decoded.answer.result.status not in ("error", "not_run")


def decode_case(view: CaseView) -> DecodedCase:
    """Decode the replies of all models to a case."""
    return DecodedCase(
        view, [DecodedAnswer(answer, decode_reply(answer)) for answer in view.answers]
    )


def decode_reply(answer: Answer) -> Mapping[str, Any] | None:
    """Return the JSON object in a reply: the whole text, or from its first brace to its last."""
    if answer.given is not None:
        return answer.given
    raw = answer.text
    if raw is None or len(raw) > MAX_DECODED_LENGTH:
        return None
    decoded = _decode_object(raw)
    if decoded is None and "{" in raw:
        decoded = _decode_object(raw[raw.index("{") : raw.rfind("}") + 1])
    return decoded


def _decode_object(raw: str) -> Mapping[str, Any] | None:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a list; nothing if the value is not a list."""
    if isinstance(value, (list, tuple)):
        yield from (entry for entry in value if isinstance(entry, dict))


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_number(value: Any) -> float | None:
    """Return the value if it is a number, else None; true and false are not numbers."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None


QUESTION_FIELDS = frozenset({"max_score", "type", "text", "source_text", "question"})
"""Fields of an object in a list that repeat the question."""
REDUNDANT_FIELDS = frozenset({"full_translation", "valid_entity_set"})
"""Fields that repeat other fields of the outcome or the settings."""
SHORT, MAX_WORDS = 40, 2
"""A longer value is shown without a mark, as only a reader can compare it."""
READ_FIELDS = frozenset({"reason"})
"""Fields of an object in a list that only a reader can compare, however short they are."""
MAX_ROWS = 400


class FieldValue(NamedTuple):
    """A value in a reply; `same` is None if only a reader can compare it with the expected one."""

    text: str
    same: bool | None = None


class FieldComparison(NamedTuple):
    """A field: its path, the expected value, and the value in each reply, None if it has none."""

    label: str
    expected: str
    given: Sequence[FieldValue | None]


def compare_fields(
    expected: Mapping[str, Any], given: Sequence[Mapping[str, Any] | None]
) -> list[FieldComparison]:
    """Return all fields of an outcome; fields that only occur in a reply come last."""
    answers = [as_mapping(one) for one in given]
    rows = list(_object_rows("", expected, answers))
    known = {row.label for row in rows}
    for answer in answers:
        empty: list[Mapping[str, Any]] = [{} for _ in answers]
        for row in _object_rows("", answer, empty):
            if row.label not in known:
                known.add(row.label)
                rows.append(_extra_row(row.label, answers))
    return rows[:MAX_ROWS]


def _extra_row(label: str, answers: Sequence[Mapping[str, Any]]) -> FieldComparison:
    values: list[FieldValue | None] = []
    for answer in answers:
        at = {row.label: row.expected for row in _object_rows("", answer, ())}
        values.append(FieldValue(at[label]) if label in at else None)
    return FieldComparison(label, "", values)


def _object_rows(
    path: str, expected: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]
) -> Iterator[FieldComparison]:
    for key, value in expected.items():
        if key in REDUNDANT_FIELDS:
            continue
        label = f"{path}{key}"
        given = [answer.get(key) for answer in answers]
        if isinstance(value, dict):
            yield from _object_rows(f"{label}.", value, [as_mapping(one) for one in given])
        elif identifying_key(value) is not None:
            yield from _list_rows(label, value, given)
        elif isinstance(value, (list, tuple)):
            yield _set_row(label, value, given)
        else:
            yield FieldComparison(
                label, value_text(value), [_field_value(value, one) for one in given]
            )


def identifying_key(value: Any) -> str | None:
    """Return the key that identifies the objects of a list, if there is one."""
    first = next(as_objects(value), None)
    if first is not None and set(first) == {"name", "arguments"}:
        names = [str(call.get("name")) for call in as_objects(value)]
        return "name" if len({*names}) == len(names) else None  # two calls of one tool
    return next((key for key in first or () if key == "id" or key.endswith("_id")), None)


def _list_rows(label: str, value: Any, given: Sequence[Any]) -> Iterator[FieldComparison]:
    key = identifying_key(value)
    assert key is not None
    by_id = [{str(one.get(key)): one for one in as_objects(other)} for other in given]
    for entry in as_objects(value):
        own = str(entry.get(key))
        answer_fields = {
            name: part
            for name, part in entry.items()
            if name != key and name not in QUESTION_FIELDS
        }
        answers = [as_mapping(known.get(own)) for known in by_id]
        for row in _object_rows("", answer_fields, answers):
            if row.label in READ_FIELDS:
                row = row._replace(given=[_without_mismatch(field) for field in row.given])
            is_only = len(answer_fields) == 1 and row.label in answer_fields
            name = f"{label} {own}" if is_only else f"{label} {own} · {row.label}"
            yield row._replace(label=name)
        if key == "name":
            yield _called_row(f"{label} {own}", [own in known for known in by_id])


def _called_row(label: str, called: Sequence[bool]) -> FieldComparison:
    """Return whether a tool was called at all; its arguments are separate rows."""
    given = [FieldValue("called", same=True) if one else None for one in called]
    return FieldComparison(label, "called", given)


def _without_mismatch(field: FieldValue | None) -> FieldValue | None:
    return field if field is None or field.same is not False else field._replace(same=None)


def _set_row(label: str, value: Sequence[Any], replies: Sequence[Any]) -> FieldComparison:
    """Compare a list of texts, numbers or objects: missing and extra entries."""
    keys = list(next(as_objects(value), ()))
    expected = [_entry_text(entry, keys) for entry in value]
    given: list[FieldValue | None] = []
    for other in replies:
        if not isinstance(other, (list, tuple)):
            given.append(None if other is None else FieldValue(value_text(other), same=False))
            continue
        has = [_entry_text(entry, keys) for entry in other]
        if any(len(entry) > SHORT for entry in (*expected, *has)):
            given.append(FieldValue("\n".join(has)))
            continue
        missing = [f"− {entry}" for entry in expected if entry not in has]
        extra = [f"+ {entry}" for entry in has if entry not in expected]
        parts = [", ".join(entry for entry in has if entry in expected), *missing, *extra]
        text = "\n".join(part for part in parts if part)
        given.append(FieldValue(text or "(empty)", same=not (missing or extra)))
    long = any(len(entry) > SHORT for entry in expected)
    return FieldComparison(label, ("\n" if long else ", ").join(expected) or "(empty)", given)


def _entry_text(entry: Any, keys: Sequence[str]) -> str:
    """Return an entry as text; an object with these keys first, as their order means nothing."""
    if isinstance(entry, dict):
        entry = {key: entry[key] for key in keys if key in entry} | entry
    return value_text(entry)


def _field_value(expected: Any, given: Any) -> FieldValue | None:
    if given is None:
        return FieldValue("n/a", same=True) if expected is None else None
    text, expected_text = value_text(given), value_text(expected)
    if len(expected_text) > SHORT or len(expected_text.split()) > MAX_WORDS:
        return FieldValue(text)
    return FieldValue(text, same=text.casefold() == expected_text.casefold())


def value_text(value: Any) -> str:
    """Return a value as text: a whole number without its point, an object as JSON."""
    if value is None:
        return "n/a"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "(cannot be shown)"
