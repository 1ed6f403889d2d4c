"""Reports of many cases: memory does not grow with them, and writing takes less than scoring."""

from __future__ import annotations

import pytest
from bench import export


@pytest.mark.slow
def test_every_format_of_20_000_cases_is_written_in_bounded_memory() -> None:
    measured = export.measure(20_000)
    growth = {form: used.growth_mb for form, (_, used) in measured.items()}
    assert {form: grown for form, grown in growth.items() if grown > 200} == {}
    # The page renders thousands of cases whatever their number: its CPU is bounded by its size.
    slow = {
        form: used.cpu_seconds / scoring
        for form, (scoring, used) in measured.items()
        if form != "html" and used.cpu_seconds > scoring
    }
    assert slow == {}
