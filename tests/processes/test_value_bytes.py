"""Values as bytes for another machine: the same after reading, and no code."""

from __future__ import annotations

import math
import pickle
from array import array
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from callscore.core.errors import DataError
from callscore.core.measure import Measure
from callscore.evaluate.case_blocks import CaseBlock
from callscore.processes.value_bytes import from_bytes, to_bytes
from callscore.scorecard.tally import TaskTally
from callscore.stats.contributions import MetricColumn
from callscore.store.files import BEGIN, Line

VALUES = [
    None,
    True,
    0,
    -(2**63),
    2**64,
    -(10**40),
    0.1 + 0.2,
    "zwölf",
    "half of a character \udce9",
    b"\x00\xff",
    [1, (2, [3, {4}]), frozenset({"5"})],
    {("model", "kind"): ["a", "b"], 7: {"x": None}},
    Counter({"a": 2, "b": 0}),
    array("Q", [2**64 - 1]),
    Path("/data/caf\udce9.jsonl"),
    CaseBlock(BEGIN, 0, 9, {"qa": 3}, "cases:1"),
    Line(Path("a"), 3, 99, b'{"id": 1}\n'),
    Measure(0.5, 1, 2),
    TaskTally(cases=3, blocked={"b", "a"}, call_keys=array("Q", [1])),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_is_the_same_after_reading(value: object) -> None:
    found = from_bytes(to_bytes(value))
    assert (type(found), found) == (type(value), value)


def test_whole_numbers_stay_whole_where_floats_are_allowed() -> None:
    found = from_bytes(to_bytes(Measure(1.0, 1, 2)))
    assert [type(part) for part in (found.value, found.numerator)] == [float, int]
    assert math.isnan(from_bytes(to_bytes(math.nan)))


def test_an_error_keeps_its_message_and_its_parts() -> None:
    found = from_bytes(to_bytes(DataError("is bad", field="id", place="cases:3")))
    assert (str(found), found.field) == ("cases:3: field id: is bad", "id")


def test_an_object_with_slots_and_codes_goes_on_where_it_was() -> None:
    column = MetricColumn(pooled=True)
    column.add([Measure(0.5, 1, 2), Measure(None), Measure(0.5, 1, 2)])
    found = from_bytes(to_bytes(column))
    for each in (column, found):
        each.add([Measure(0.25, 1, 4), Measure(0.5, 1, 2)])
    assert found.entries() == column.entries()


@pytest.mark.parametrize("value", [print, lambda: 0, open, 1j, object()])
def test_what_is_not_data_of_ours_cannot_be_sent(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be sent to another machine"):
        to_bytes(value)


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:eval", "callscore.core.errors:nearest", "callscore.app:Path"]
)
def test_bytes_that_name_something_else_than_a_class_of_ours_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="is not a class of callscore"):
        from_bytes(msgspec.msgpack.encode([[name], ["object", 0, None, ["dict"]]]))


def test_a_pickle_is_not_read() -> None:
    with pytest.raises((msgspec.DecodeError, ValueError, TypeError)):
        from_bytes(pickle.dumps(CaseBlock(BEGIN, 0, 9, {}, "")))
