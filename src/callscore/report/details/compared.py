"""An expected outcome and what each model gave, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.report.details.answers import mapping, objects

ECHOED = frozenset({"max_score", "type", "text", "source_text", "question"})
"""Fields of a listed object that repeat the question, not the answer."""
REPEATED = frozenset({"full_translation", "valid_entity_set"})
"""Fields that say again what other fields of the outcome or the settings say."""
SHORT, MOST_WORDS = 40, 2
"""A value up to this many characters and words is right or wrong; a longer one is for reading."""
GRADED = "SCORE"
"""A question of this type allows a margin: another mark is not wrong for that alone (C-30)."""
MOST_ROWS = 400


class Field(NamedTuple):
    """One value; `same` is None if only a reader can compare it with the expected one."""

    shown: str
    same: bool | None = None


class Compared(NamedTuple):
    """One row: its path, the expected value, the value of each reply; None if it has nothing."""

    label: str
    expected: str
    given: Sequence[Field | None]


def compared(
    expected: Mapping[str, Any], given: Sequence[Mapping[str, Any] | None]
) -> list[Compared]:
    """All rows of an outcome; rows that only an answer has come last."""
    answers = [mapping(one) for one in given]
    rows = list(_object_rows("", expected, answers))
    known = {row.label for row in rows}
    for answer in answers:
        empty: list[Mapping[str, Any]] = [{} for _ in answers]
        for row in _object_rows("", answer, empty):
            if row.label not in known:
                known.add(row.label)
                rows.append(_only_given(row.label, answers))
    return rows[:MOST_ROWS]


def _only_given(label: str, answers: Sequence[Mapping[str, Any]]) -> Compared:
    found: list[Field | None] = []
    for answer in answers:
        at = {row.label: row.expected for row in _object_rows("", answer, ())}
        found.append(Field(at[label]) if label in at else None)
    return Compared(label, "", found)


def _object_rows(
    path: str, expected: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]
) -> Iterator[Compared]:
    for key, value in expected.items():
        if key in REPEATED:
            continue
        label = f"{path}{key}"
        found = [answer.get(key) for answer in answers]
        if isinstance(value, dict):
            yield from _object_rows(f"{label}.", value, [mapping(one) for one in found])
        elif _identity(value) is not None:
            yield from _listed_rows(label, value, found)
        elif isinstance(value, (list, tuple)):
            yield _set_row(label, value, found)
        else:
            yield Compared(label, shown(value), [_field(value, one) for one in found])


def _identity(value: Any) -> str | None:
    """The key that identifies the objects of a list."""
    first = next(objects(value), None)
    if first is not None and set(first) == {"name", "arguments"}:
        names = [str(call.get("name")) for call in objects(value)]
        return "name" if len({*names}) == len(names) else None  # two calls of a tool: see both
    return next((key for key in first or () if key == "id" or key.endswith("_id")), None)


def _listed_rows(label: str, value: Any, found: Sequence[Any]) -> Iterator[Compared]:
    key = _identity(value)
    assert key is not None
    by_id = [{str(one.get(key)): one for one in objects(other)} for other in found]
    for entry in objects(value):
        own = str(entry.get(key))
        wanted = {name: part for name, part in entry.items() if name != key and name not in ECHOED}
        answers = [mapping(known.get(own)) for known in by_id]
        for row in _object_rows("", wanted, answers):
            if entry.get("type") == GRADED:
                row = row._replace(given=[_ungraded(field) for field in row.given])
            is_only = len(wanted) == 1 and row.label in wanted
            name = f"{label} {own}" if is_only else f"{label} {own} · {row.label}"
            yield row._replace(label=name)
        if key == "name":
            yield _called_row(f"{label} {own}", [own in known for known in by_id])


def _called_row(label: str, called: Sequence[bool]) -> Compared:
    """Whether a tool was called at all; its arguments have rows of their own."""
    given = [Field("called", same=True) if one else None for one in called]
    return Compared(label, "called", given)


def _ungraded(field: Field | None) -> Field | None:
    return field if field is None or field.same is not False else field._replace(same=None)


def _set_row(label: str, value: Sequence[Any], found: Sequence[Any]) -> Compared:
    """Lists of texts and numbers: what is missing and what is extra."""
    wanted = [shown(entry) for entry in value]
    given: list[Field | None] = []
    for other in found:
        if not isinstance(other, (list, tuple)):
            given.append(None if other is None else Field(shown(other), same=False))
            continue
        has = [shown(entry) for entry in other]
        if any(len(entry) > SHORT for entry in (*wanted, *has)):
            given.append(Field("\n".join(has)))
            continue
        missing = [f"− {entry}" for entry in wanted if entry not in has]
        extra = [f"+ {entry}" for entry in has if entry not in wanted]
        parts = [", ".join(entry for entry in has if entry in wanted), *missing, *extra]
        sentence = "\n".join(part for part in parts if part)
        given.append(Field(sentence or "(empty)", same=not (missing or extra)))
    long = any(len(entry) > SHORT for entry in wanted)
    return Compared(label, ("\n" if long else ", ").join(wanted) or "(empty)", given)


def _field(expected: Any, found: Any) -> Field | None:
    if found is None:
        return Field("n/a", same=True) if expected is None else None
    sentence, wanted = shown(found), shown(expected)
    if len(wanted) > SHORT or len(wanted.split()) > MOST_WORDS:
        return Field(sentence)
    return Field(sentence, same=sentence.casefold() == wanted.casefold())


def shown(value: Any) -> str:
    """A value as text: a whole number without its point, an object as JSON."""
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
