"""Queries of addresses: parsed, refused with what is allowed, written in one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import pytest

from callscore.results.port import QueryError
from callscore.web.query import encode_query, parse_query


class Choice(msgspec.Struct, frozen=True, rename={"search": "in"}):
    show: Literal["all", "open"] = "all"
    search: str = ""
    min: float | None = None
    at: int = 0
    model: Sequence[str] = ()
    share: Mapping[str, float] = {}


def test_a_query_is_parsed_and_written_in_the_order_of_its_fields() -> None:
    pairs = [("model", "a b"), ("in", " x "), ("min", "0.5"), ("model", "c"), ("at", "")]
    found = parse_query(Choice, pairs)
    assert found == Choice(search="x", min=0.5, model=("a b", "c"))
    assert encode_query(found) == "?in=x&min=0.5&model=a+b&model=c"
    assert encode_query(Choice()) == ""


def test_numbers_by_name_are_written_in_the_order_of_their_names() -> None:
    found = parse_query(Choice, [("share.b", "0.25"), ("share.a", "1"), ("share.c", " ")])
    assert found.share == {"a": 1.0, "b": 0.25}
    assert encode_query(found) == "?share.a=1&share.b=0.25"


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (("search", "x"), "'search': unknown; expected one of show, in, min, at, model, share.N"),
        (("share", "1"), "'share': unknown"),
        (("show.a", "all"), "'show.a': unknown"),
        (("share.a", "much"), "share.a='much': expected a number"),
        (("show", "closed"), "show='closed': expected one of all, open"),
        (("min", "low"), "min='low': expected a number"),
        (("min", "nan"), "min='nan': expected a number"),
        (("at", "1.5"), "at='1.5': expected a whole number"),
    ],
)
def test_an_unknown_name_or_value_names_the_allowed_ones(
    pair: tuple[str, str], sentence: str
) -> None:
    with pytest.raises(QueryError, match=sentence.replace(".", r"\.")):
        parse_query(Choice, [pair])


def test_a_value_given_twice_is_refused() -> None:
    with pytest.raises(QueryError, match="show: given 2 times; expected once"):
        parse_query(Choice, [("show", "all"), ("show", "open")])
