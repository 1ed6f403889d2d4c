"""`callscore demo --serve`: the sample in the app."""

from __future__ import annotations

from web_server import Served


def test_the_demo_opens_in_the_app(served: Served) -> None:
    assert "demo" in served.process.args  # type: ignore[operator]
    assert "208 of 208" in served.ask("/").text
    assert '<ul class="verdict">' in served.ask("/runs/1").text
