"""What is shown while a run goes on."""

from __future__ import annotations

import msgspec
import pytest

from callscore.cli.run_progress import LiveView
from callscore.core.run import Progress, RaceRound, Waiting

PROGRESS = Progress("m", 3, 24, 0, 0, 0.0, 0, 0.05, 4)


@pytest.mark.parametrize(
    ("timeouts", "told"),
    [(0, ""), (1, "1 attempt timed out, concurrency is now 4"), (7, "7 attempts")],
)
def test_attempts_that_time_out_are_shown(
    capsys: pytest.CaptureFixture[str], timeouts: int, told: str
) -> None:
    view = LiveView(plain_seconds=0.0, first_seconds=0.0)
    view(msgspec.structs.replace(PROGRESS, timeouts=timeouts))
    view.close()
    line = capsys.readouterr().err
    assert line.startswith("m: 3 of 24, 0 in flight, 0 failed")
    assert told in line
    assert ("timed out" in line) is bool(timeouts)


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.0, ", …, "), (0.05, ", 3.0/min, "), (0.4, ", 24.0/min, "), (12.34, ", 12.3/s, ")],
)
def test_a_line_has_requests_in_flight_the_rate_and_the_time(
    capsys: pytest.CaptureFixture[str], rate: float, shown: str
) -> None:
    view = LiveView(plain_seconds=0.0, first_seconds=0.0)
    view(msgspec.structs.replace(PROGRESS, rate=rate, in_flight=2, elapsed_s=75.5))
    line = capsys.readouterr().err
    assert "2 in flight" in line and "75 s elapsed" in line
    assert shown in line


def test_the_preflight_says_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    view = LiveView(plain_seconds=0.0, first_seconds=0.0)
    view(Waiting({"local": "loads its model", "other": "no reply yet"}, 3.2))
    view(Waiting({}, 4.0))
    assert capsys.readouterr().err.splitlines() == [
        "testing local: loads its model (3 s)",
        "testing other: no reply yet (3 s)",
    ]


def test_on_a_terminal_the_preflight_shows_nothing_for_the_first_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    view = LiveView()
    view(Waiting({"local": "no reply yet"}, 0.9))
    assert capsys.readouterr().err == ""
    view(Waiting({"local": "no reply yet"}, 1.1))
    assert "testing local: no reply yet (1 s)" in capsys.readouterr().err
    view.close()


RACE = RaceRound(30, 250, ["a", "b"], ["c is out after 30 blocks: worse than a"], 240, 2000, 440)


def test_a_race_shows_who_is_in_and_what_is_saved_line_by_line_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = LiveView()
    view(RACE)
    view.close()
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "c is out after 30 blocks: worse than a"
    assert " ".join(rest) == (
        "race: 30 of 250 blocks evaluated, still in the race: a, b; 240 of 2,000 requests sent, "
        "440 saved so far"
    )


def test_on_a_terminal_the_race_is_below_the_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    view = LiveView()
    view(PROGRESS)
    view(RACE)
    view.close()
    shown = capsys.readouterr().err
    assert "c is out after 30 blocks: worse than a" in shown
    assert "still in the race: a, b" in shown
