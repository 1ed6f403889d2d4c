"""The calls of judges: how far they are is told now and then, and once more at the end."""

from __future__ import annotations

import asyncio

from callscore.core.calling import Answered
from callscore.core.run_words import Event, Limits, ModelSpec, Outcome, Progress
from callscore.providers.scripted import ScriptedProvider
from callscore.scoring.judge_calls import JudgeCalls, Payer
from run_cases import work_for

CALLS = 40


def test_progress_is_told_now_and_then_and_at_the_end() -> None:
    told: list[Event] = []

    async def all_calls() -> None:
        calls = JudgeCalls(None, Payer(on_event=told.append))
        spec = ModelSpec("j", "scripted", "j", limits=Limits(CALLS))
        provider = ScriptedProvider()
        seat = calls.seat(spec, provider)
        works = [work_for(number).call for number in range(CALLS)]
        found = await asyncio.gather(*(seat.carry_out(provider, call) for call in works))
        assert all(isinstance(settled, Answered) for settled in found)
        calls.tell_progress()

    asyncio.run(all_calls())
    progress = [event for event in told if isinstance(event, Progress)]
    assert sum(isinstance(event, Outcome) for event in told) == CALLS
    assert len(progress) < CALLS / 2
    assert (progress[-1].done, progress[-1].total) == (CALLS, CALLS)
