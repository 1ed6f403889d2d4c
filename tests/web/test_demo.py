"""The sample in the app: `callscore demo --serve`, and what `callscore demo` says to type."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import commands
from web_server import Served, read_address

MARK = "SAMPLE DATA: made-up calls, simulated models"


def test_the_demo_opens_in_the_app(served: Served) -> None:
    assert "demo" in served.process.args  # type: ignore[operator]
    home = served.ask("/").text
    assert "208 of 208" in home
    assert MARK in home
    assert '<ul class="verdict">' in served.ask("/runs/1").text


def test_the_last_line_of_the_demo_opens_the_sample_as_it_is(tmp_path: Path) -> None:
    """As `make demo` starts it: by the path of a command that a shell does not find."""
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    demo = [".venv/bin/callscore", "demo"]
    env = {**commands.environment(), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        demo, cwd=tmp_path, env=env, capture_output=True, text=True, check=True, timeout=None
    )
    last = done.stdout.splitlines()[-1]
    assert last == ".venv/bin/callscore serve"
    process = subprocess.Popen(
        [*shlex.split(last), "--port", "0"], cwd=tmp_path, env=env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with read_address(process) as server:
        server.enter()
        assert MARK in server.ask("/").text
        assert '<ul class="verdict">' in server.ask("/runs/1").text


def test_the_sample_is_not_shown_in_place_of_a_store_that_was_named(tmp_path: Path) -> None:
    done = commands.run("serve", tmp_path / "none.db", "--no-open", cwd=tmp_path)
    assert done.returncode == 2
    people = commands.run("serve", "--reviewers", "people.yaml", "--no-open", cwd=tmp_path)
    assert people.returncode == 2
    assert "no such store" in people.stderr
    assert not list(tmp_path.iterdir())
