"""References that may be wrong: models agree with each other, and against the expected outcome.

A field is suspicious if at least two models give the same value and the reference has another one.
Every model counts with the logarithm of its odds to be right on the same kind of field elsewhere:
a model that is right on 9 of 10 other calls counts 2.2, one that is right on half of them nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.report.details.decoded_case import (
    QUESTION_FIELDS,
    DecodedCase,
    as_mapping,
    as_objects,
    compare_fields,
    has_reply,
    identifying_key,
)
from callscore.report.details.form_marks import MarkReader

LEAST_MODELS = 2
_IDENTIFIED = re.compile(r"^(\S+) .*? · (.+)$")


class FieldVotes(msgspec.Struct, frozen=True):
    """What every model says about one field of one case, and what the reference says."""

    place: int
    case_id: str
    task: str
    field: str
    """The path of the field in the expected outcome; of a QA form, the id of the question."""
    kind: str
    """Fields of this kind are alike from call to call, such as the same question."""
    words: str
    """The question, or the path."""
    expected: str
    given: Mapping[str, str]
    """The value of each model that has one which can be compared."""
    right: Sequence[str]
    """The models that agree with the reference."""


class Suspicion(NamedTuple):
    """A field on which models agree against the reference."""

    votes: FieldVotes
    value: str
    """What they say."""
    against: Sequence[str]
    """The models that say so."""
    weight: float
    """Σ log odds of those models − Σ log odds of the models that agree with the reference."""


class ModelReliability:
    """How often a model is right on a kind of field, counted over cases."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, votes: FieldVotes) -> None:
        """Count one field."""
        for model in votes.given:
            right, asked = self._counts.get((model, votes.kind), (0, 0))
            self._counts[model, votes.kind] = right + (model in votes.right), asked + 1

    def log_odds_elsewhere(self, model: str, votes: FieldVotes) -> float:
        """log((right + 1) / (wrong + 1)) on the other fields of this kind; at least 0."""
        right, asked = self._counts.get((model, votes.kind), (0, 0))
        here = model in votes.given
        right, asked = right - (here and model in votes.right), asked - here
        return max(0.0, math.log((right + 1) / (asked - right + 1)))


def votes_of(place: int, case: DecodedCase, marks: MarkReader) -> Iterator[FieldVotes]:
    """The fields of a case that can be compared, with the values of the first run of each model."""
    first = [one for one in case.answers if one.answer.run == 1 and has_reply(one)]
    if not first:
        return
    only_first = msgspec.structs.replace(case, answers=first)
    names = [decoded.answer.model for decoded in first]
    record = case.view.case
    questions = marks.marks(only_first).questions
    rows = (
        [(one.id, one.id, one.shown.text, one.expected, one.given) for one in questions]
        if questions
        else [
            (row.label, _kind(row.label), row.label, row.expected, row.given)
            for row in compare_fields(case.expected, [decoded.given for decoded in first])
        ]
    )
    for field, kind, words, expected, given in rows:
        said = {
            name: value
            for name, value in zip(names, given, strict=True)
            if value is not None and value.same is not None
        }
        if said:
            yield FieldVotes(
                place,
                record.id,
                record.task,
                field,
                f"{record.task} {kind}",
                words,
                expected,
                {name: value.text for name, value in said.items()},
                [name for name, value in said.items() if value.same],
            )


def _kind(label: str) -> str:
    """A path without the id of the object in a list: `sentences 4 · label` is `sentences label`."""
    found = _IDENTIFIED.match(label)
    return f"{found[1]} {found[2]}" if found else label


def find_suspicions(votes: Iterable[FieldVotes]) -> list[Suspicion]:
    """The suspicious fields, the most suspicious first."""
    reliability = ModelReliability()
    doubted = []  # of many cases, few are: the others are only counted
    for field in votes:
        reliability.add(field)
        if len(field.given) - len(field.right) >= LEAST_MODELS:
            doubted.append(field)
    found = [one for each in doubted if (one := _suspicion(each, reliability)) is not None]
    return sorted(found, key=lambda one: (-one.weight, -len(one.against), one.votes.place))


def _suspicion(votes: FieldVotes, reliability: ModelReliability) -> Suspicion | None:
    wrong = [model for model in votes.given if model not in votes.right]
    by_value: dict[str, list[str]] = {}
    for model in wrong:
        by_value.setdefault(" ".join(votes.given[model].casefold().split()), []).append(model)
    if not by_value:
        return None

    def odds(models: Sequence[str]) -> float:
        return math.fsum(reliability.log_odds_elsewhere(model, votes) for model in models)

    models = max(by_value.values(), key=lambda found: (len(found), odds(found)))
    if len(models) < LEAST_MODELS:
        return None
    return Suspicion(votes, votes.given[models[0]], models, odds(models) - odds(votes.right))


def with_field_of(
    expected: Mapping[str, Any], given: Mapping[str, Any], field: str
) -> Mapping[str, Any] | None:
    """The expected outcome with a field as in `given`; None if one of them does not have it.

    A field is named as in `compare_fields`, or by the id of a question of a form.
    """
    for name in (field, f"questions {field} · score", f"questions {field}"):
        found = _replace("", expected, given, name)
        if found is not None:
            return found
    return None


def _replace(
    path: str, expected: Mapping[str, Any], given: Mapping[str, Any], wanted: str
) -> dict[str, Any] | None:
    for key, value in expected.items():
        label, other = f"{path}{key}", given.get(key)
        if label == wanted:
            return {**expected, key: other} if key in given else None
        inner: Any = None
        if isinstance(value, dict):
            inner = _replace(f"{label}.", value, as_mapping(other), wanted)
        elif (id_key := identifying_key(value)) is not None:
            inner = _replace_in_list(label, value, other, id_key, wanted)
        if inner is not None:
            return {**expected, key: inner}
    return None


def _replace_in_list(
    label: str, value: Any, other: Any, id_key: str, wanted: str
) -> list[Any] | None:
    by_id = {str(one.get(id_key)): one for one in as_objects(other)}
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            continue
        name = f"{label} {entry.get(id_key)}"
        theirs = as_mapping(by_id.get(str(entry.get(id_key))))
        fields = [key for key in entry if key != id_key and key not in QUESTION_FIELDS]
        if wanted == name and len(fields) == 1:
            wanted = f"{name} · {fields[0]}"
        found = _replace(f"{name} · ", entry, theirs, wanted)
        if found is not None:
            return [*value[:number], found, *value[number + 1 :]]
    return None
