"""Typed comparison of argument values: what is equal, what differs, what is left to a judge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.suites.orchestration.call.compare import AcceptedValues, Match, compare

EQUAL, OPEN, DIFFERENT = Match.EQUAL, Match.OPEN, Match.DIFFERENT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("predicted", "expected", "match"),
    [
        (1, 1.0, EQUAL),
        ("1", 1, EQUAL),
        ("1,250.50", 1250.5, EQUAL),
        ("1.0", "1", EQUAL),
        ("12,50", 12.5, DIFFERENT),
        (True, "true", EQUAL),
        (True, 1, DIFFERENT),
        (False, "no", DIFFERENT),
        (2, 3, DIFFERENT),
        (float("nan"), float("nan"), DIFFERENT),
        ("Seoul", "  seoul ", EQUAL),
        ("New  York", "new york", EQUAL),
        ("", "Seoul", DIFFERENT),
        (None, None, EQUAL),
        (None, "", DIFFERENT),
        ("NYC", "New York City", OPEN),
        ("ID7901", "ID7902", DIFFERENT),
        ("2025-07-01", "2025-07-02", DIFFERENT),
        ("17:50", "17:50:00", EQUAL),
        ("2025-07-01T10:00:00Z", "2025-07-01T10:00:00+00:00", EQUAL),
        ("2025-07-01", "2025-07-01T00:00:00", DIFFERENT),
        ("tomorrow", "2025-07-01", OPEN),
        (["a", "b"], ["B", "a"], EQUAL),
        (["a"], ["a", "b"], DIFFERENT),
        (["NYC", "b"], ["b", "New York"], OPEN),
        ([1, 2], [1, 3], DIFFERENT),
        ([1, 1, 2], [1, 2, 2], DIFFERENT),
        ({"a": 1, "b": "x"}, {"b": "X", "a": 1.0}, EQUAL),
        ({"a": 1}, {"a": 1, "b": 2}, DIFFERENT),
        ({"a": "NYC"}, {"a": "New York"}, OPEN),
        ({"a": "NYC", "b": 1}, {"a": "New York", "b": 2}, DIFFERENT),
        ("a", ["a"], DIFFERENT),
        ({"a": 1}, "a: 1", DIFFERENT),
    ],
)
def test_without_a_schema(predicted: Any, expected: Any, match: Match) -> None:
    assert compare(predicted, expected) is match


@pytest.mark.parametrize(
    ("predicted", "expected", "schema", "match"),
    [
        ("fast", "fastest", {"type": "string", "enum": ["fast", "fastest"]}, DIFFERENT),
        ("FAST", "fast", {"type": "string", "enum": ["fast"]}, EQUAL),
        ("tomorrow", "2025-07-01", {"type": "string", "format": "date"}, DIFFERENT),
        (["wi-fi"], ["wifi"], {"items": {"enum": ["wifi"]}}, DIFFERENT),
        ({"a": "x"}, {"a": "y"}, {"properties": {"a": {"enum": ["x", "y"]}}}, DIFFERENT),
        ("a", "b", {"properties": "nonsense", "items": 3}, OPEN),
    ],
)
def test_a_schema_decides_more(
    predicted: Any, expected: Any, schema: dict[str, Any], match: Match
) -> None:
    assert compare(predicted, expected, schema) is match


@pytest.mark.parametrize(
    ("predicted", "accepted", "match"),
    [
        ("LA", AcceptedValues(("Los Angeles", "la")), EQUAL),
        ("SF", AcceptedValues(("Los Angeles", "LA")), OPEN),
        (3, AcceptedValues((1, 2)), DIFFERENT),
        (
            {"a": 1},
            AcceptedValues(
                ({"a": AcceptedValues((1,)), "b": AcceptedValues((2,), optional=True)},)
            ),
            EQUAL,
        ),
        (
            {"b": 2},
            AcceptedValues(
                ({"a": AcceptedValues((1,)), "b": AcceptedValues((2,), optional=True)},)
            ),
            DIFFERENT,
        ),
    ],
)
def test_any_accepted_value_will_do(predicted: Any, accepted: AcceptedValues, match: Match) -> None:
    assert compare(predicted, accepted) is match


@given(JSON)
def test_every_value_equals_itself(value: Any) -> None:
    assert compare(value, value) is EQUAL


@given(JSON, JSON)
def test_comparison_is_symmetric(first: Any, second: Any) -> None:
    assert compare(first, second) is compare(second, first)
