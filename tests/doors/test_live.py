"""What is shown while a run goes on."""

from __future__ import annotations

import msgspec
import pytest

from callscore.cli.run_progress import LiveView
from callscore.core.run import Progress

PROGRESS = Progress("m", 3, 24, 0, 0, 0.0, 0, 0.05, 4)


@pytest.mark.parametrize(
    ("timeouts", "told"), [(0, ""), (1, "1 attempt timed out, 4 at once now"), (7, "7 attempts")]
)
def test_attempts_that_time_out_are_shown(
    capsys: pytest.CaptureFixture[str], timeouts: int, told: str
) -> None:
    view = LiveView(plain_seconds=0.0)
    view(msgspec.structs.replace(PROGRESS, timeouts=timeouts))
    view.close()
    line = capsys.readouterr().err
    assert line.startswith("m: 3 of 24, 0 failed")
    assert told in line
    assert ("timed out" in line) is bool(timeouts)
