"""Of 100 intervals at 95 %, about 95 hold the truth: samples of calls from a known population."""

from __future__ import annotations

import pytest

from stats.simulated_calls import coverage

SAMPLES = 1_000
MARGIN = 0.012
"""Almost two standard errors of a share of so many samples."""


@pytest.mark.slow
@pytest.mark.parametrize("calls", [50, 100, 400])
def test_stats_2_intervals_of_fifty_calls_and_more_hold_the_truth(calls: int) -> None:
    """Clusters of four tasks, two runs of every case, items within calls, blocked calls."""
    for key, share in coverage(calls, SAMPLES).items():
        assert 0.93 - MARGIN <= share <= 0.97 + MARGIN, (key, share)


@pytest.mark.slow
def test_groups_of_calls_cover_as_calls_do() -> None:
    """600 calls in 100 groups; the program takes 2,000 groups, which vary less."""
    for key, share in coverage(600, SAMPLES, most_units=100).items():
        assert 0.93 - MARGIN <= share <= 0.97 + MARGIN, (key, share)
