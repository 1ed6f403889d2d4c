"""Where a race begins: its libraries are imported only if one is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.runner.prepare import Prepared
from callscore.runner.scoring import RunScoring

if TYPE_CHECKING:
    from callscore.runner.race import RaceRun

StartRace = Callable[[RunScoring, JudgeCalls], "AbstractContextManager[RaceRun | None]"]


@contextmanager
def no_race(scoring: RunScoring, calls: JudgeCalls) -> Iterator[None]:
    """Everything is asked."""
    yield None


def prepare_race(prepared: Prepared) -> StartRace:
    """Draw the order of the calls, and refuse what cannot be raced, before anything is opened."""
    from callscore.runner.race import RaceDraw, RaceRun

    draw = RaceDraw(prepared)

    @contextmanager
    def start(scoring: RunScoring, calls: JudgeCalls) -> Iterator[RaceRun]:
        # A judge on an account of its own: what it says is counted once, where the card is made.
        if not prepared.config.scoring.is_judged:
            yield RaceRun(draw, scoring, None, calls)
            return
        with open_judge_runner(prepared.config.scoring, calls) as judge_runner:
            judge_runner.embedder = scoring.embedder
            yield RaceRun(draw, scoring, judge_runner, calls)

    return start
