"""Of 100 intervals at 95 %, about 95 hold the truth: samples of calls from a known population."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bench import coverage as hard

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


@pytest.mark.slow
@pytest.mark.parametrize("calls", hard.CALLS)
@pytest.mark.parametrize("population", hard.POPULATIONS, ids=lambda of: of.name)
def test_stats_2_claim_limits_hold_in_populations_with_rare_failures(
    population: hard.Population, calls: int
) -> None:
    """At least 94 %, one-sided, where displayed intervals hold as rarely as in half of samples."""
    samples = 500
    noise = 2 * (0.94 * 0.06 / samples) ** 0.5
    assert hard.coverage(population, calls, samples, 200).bound >= 0.94 - noise


def test_the_truth_of_a_population_is_the_mean_of_its_calls() -> None:
    for population in hard.POPULATIONS:
        drawn = population.draw(np.random.default_rng(1), 400_000)
        assert drawn[0].sum() / drawn[1].sum() == pytest.approx(population.truth, abs=0.001)


def test_the_table_of_coverage_replaces_the_one_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{hard.HEADER}\n|---|\n| old |\n\nafter\n", encoding="utf-8")
    found = hard.table({hard.POPULATIONS[0]: [hard.Coverage(0.79, 0.9712)] * 3})
    hard.replace_table(page, hard.HEADER, found)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n\n" + hard.HEADER) and text.endswith("|\n\nafter\n")
    assert "old" not in text and "| claim limit, one-sided 95 % | 97.1 % |" in text
