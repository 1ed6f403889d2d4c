"""The rate of a model: over the last seconds, or the last few replies of a slow server."""

from __future__ import annotations

from callscore.engine.workload import RecentRate


def test_a_slow_server_has_a_rate_between_its_replies() -> None:
    rate = RecentRate()
    assert rate.update(0.0, 0) == 0.0
    assert rate.update(20.0, 0) == 0.0
    for reply in range(1, 30):
        measured = rate.update(30.0 * reply, reply)
    assert measured == 1 / 30
    assert rate.update(30.0 * 29 + 15.0, 29) > 0.9 / 30


def test_a_rate_forgets_what_was_long_ago() -> None:
    rate = RecentRate()
    for tick in range(500):
        rate.update(0.2 * tick, 100 * tick)
    for tick in range(500, 600):
        measured = rate.update(0.2 * tick, 50_000 + tick)
    assert abs(measured - 5.0) < 1e-9


def test_a_server_that_stops_replying_slows_down() -> None:
    rate = RecentRate()
    for second in range(20):
        before = rate.update(float(second), second)
    assert rate.update(100.0, 19) < before
