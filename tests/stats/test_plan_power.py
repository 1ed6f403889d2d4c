"""A sample of the planned size shows what was planned for in four of five cases, or more."""

from __future__ import annotations

import math

import pytest
from bench import plan

SAMPLES = 100
NOISE = 2.5 * math.sqrt(0.8 * 0.2 / SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("pilot", plan.PILOTS)
@pytest.mark.parametrize("models", [2, 5])
@pytest.mark.parametrize("population", plan.DIFFERENCES)
def test_stats3_planned_calls_distinguish_two_models(
    population: str, models: int, pilot: int
) -> None:
    draw, difference = plan.DIFFERENCES[population]
    found = plan.differences(draw, difference, pilot, models, SAMPLES)
    assert found.share >= 0.8 - NOISE and not found.without


@pytest.mark.slow
@pytest.mark.parametrize("pilot", plan.PILOTS)
@pytest.mark.parametrize("population", plan.WIDTHS)
def test_stats3_planned_calls_give_an_interval_of_that_width(population: str, pilot: int) -> None:
    draw, _ = plan.DIFFERENCES[population]
    assert plan.widths(draw, plan.WIDTHS[population], pilot, SAMPLES).share >= 0.8 - NOISE


@pytest.mark.slow
@pytest.mark.parametrize("pilot", plan.GATE_PILOTS)
@pytest.mark.parametrize("population", plan.GATES)
def test_stats3_planned_calls_demonstrate_a_gate(population: str, pilot: int) -> None:
    found = plan.gates(plan.GATES[population], pilot, 40)
    assert math.isnan(found.share) or found.share >= 0.8 - 2 * NOISE


def test_stats3_a_pilot_that_leaves_the_gate_open_gets_no_number() -> None:
    """Errors at the limit: hardly any pilot promises a demonstration."""
    at_limit = plan.errors_of(plan.LIMIT, 1)
    assert plan.gates(at_limit, 400, 60).without > 0.8


def test_the_table_of_plans_says_how_often_there_was_no_number() -> None:
    none = plan.Reached(math.nan, math.nan, 1.0)
    lines = plan.table({("gate", 40): none, ("width", 40): plan.Reached(0.83, 1204.0, 0.25)})
    assert lines.splitlines()[2:] == [
        "| gate | 40 | — | — | 100 % |",
        "| width | 40 | 1,204 | 83 % | 25 % |",
    ]
