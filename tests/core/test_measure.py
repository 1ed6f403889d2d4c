from __future__ import annotations

import msgspec

from callscore.core.measure import Measure


def test_a_measure_is_written_without_what_it_has_by_default() -> None:
    assert msgspec.json.encode(Measure(0.5, 1, 2)) == b'{"value":0.5,"numerator":1,"denominator":2}'


def test_counts_that_were_left_out_are_read_as_the_floats_that_others_are() -> None:
    read = msgspec.json.decode(msgspec.json.encode(Measure(None)), type=Measure)
    counts = (read.numerator, read.denominator, read.left_out)
    assert read == Measure(None)
    assert {type(count) for count in counts} == {float}
