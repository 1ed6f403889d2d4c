"""`callscore demo --serve`: the sample in the app."""

from __future__ import annotations

from pathlib import Path

import commands
from web_server import read_address


def test_the_demo_opens_in_the_app(tmp_path: Path) -> None:
    process = commands.start("demo", "--serve", "--port", 0, "--store", tmp_path / "demo.db")
    with read_address(process) as server:
        server.enter()
        assert "208 of 208" in server.ask("/").text
        assert '<ul class="verdict">' in server.ask("/runs/1").text
