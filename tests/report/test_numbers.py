"""How values are shown: one table."""

from __future__ import annotations

import pytest

from callscore.core.spec import Band, Rating
from callscore.report.decision_statements import describe_unseen
from callscore.report.numbers import show, show_count, show_money, show_near_limits
from callscore.report.safe_text import plain


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.8025, "fraction", "0.803"),
        (0.80249, "fraction", "0.802"),
        (1.0, "fraction", "1.000"),
        (2.0833333, "percent", "2.08 %"),
        (0.125, "percent", "0.13 %"),
        (3, "count", "3"),
        (1.5, "count", "1.5"),
    ],
)
def test_values(value: float, unit: str, shown: str) -> None:
    assert show(value, unit) == shown


GOOD_AND_ACCEPTABLE = (Band(Rating.GOOD, ">=", 0.95), Band(Rating.ACCEPTABLE, ">=", 0.90))
AT_MOST = (Band(Rating.GOOD, "<=", 1.0), Band(Rating.ACCEPTABLE, "<=", 3.0))


@pytest.mark.parametrize(
    ("value", "unit", "bands", "shown"),
    [
        (0.8996, "fraction", GOOD_AND_ACCEPTABLE, "<0.900"),
        (0.9496, "fraction", GOOD_AND_ACCEPTABLE, "<0.950"),
        (0.90, "fraction", GOOD_AND_ACCEPTABLE, "0.900"),
        (0.9004, "fraction", GOOD_AND_ACCEPTABLE, "0.900"),
        (0.95 - 1e-12, "fraction", GOOD_AND_ACCEPTABLE, "0.950"),
        (1.0004, "percent", AT_MOST, ">1.00 %"),
        (3.0001, "percent", AT_MOST, ">3.00 %"),
        (2.9999, "percent", AT_MOST, "3.00 %"),
        (0.5, "fraction", GOOD_AND_ACCEPTABLE, "0.500"),
        (0.5, "fraction", (), "0.500"),
    ],
)
def test_a_missed_limit_never_looks_met(
    value: float, unit: str, bands: tuple[Band, ...], shown: str
) -> None:
    assert show_near_limits(value, unit, bands) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "$0"),
        (12.5, "$12.50"),
        (3.4852, "$3.485"),
        (0.086, "$0.086"),
        (0.0042, "$0.0042"),
        (0.00004, "$0.000040"),
        (1e20, "$100000000000000000000.00"),
    ],
)
def test_money(value: float, shown: str) -> None:
    assert show_money(value) == shown


def test_counts_have_their_plural() -> None:
    assert [show_count(n, "call") for n in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines", "two lines"),
        ("\x1b[2Jgone", "\ufffd[2Jgone"),
        ("right\u202eleft", "right\ufffdleft"),
        ("नमस्ते", "नमस्ते"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_text_from_outside_is_one_harmless_line(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (1, "1 call: up to 95 % of calls could fail unseen"),
        (13, "13 calls: up to 21 % of calls could fail unseen"),
        (149, "149 calls: up to 2.0 % of calls could fail unseen"),
        (100_000, "100000 calls: up to 0.0030 % of calls could fail unseen"),
    ],
)
def test_stats_2_what_may_fail_unseen_is_said_in_words(calls: int, text: str) -> None:
    assert describe_unseen(calls) == text
    assert describe_unseen(calls, "scenario") == text.replace("call", "scenario")
