from __future__ import annotations

import asyncio

import pytest

from callscore.engine.retry import Deadlines
from virtual_time import run_in_virtual_time


def test_what_ends_in_time_is_left_alone() -> None:
    async def main() -> str:
        deadlines = Deadlines(5)
        answer = await deadlines.within(asyncio.sleep(4, "answer"))
        await asyncio.sleep(20)
        return answer

    assert run_in_virtual_time(main()) == "answer"


def test_what_takes_longer_is_ended_at_its_own_deadline_and_no_other() -> None:
    async def main() -> list[tuple[float, str]]:
        loop, ended = asyncio.get_running_loop(), []
        deadlines, began = Deadlines(5), loop.time()

        async def attempt(starts: float, takes: float) -> None:
            await asyncio.sleep(starts)
            try:
                await deadlines.within(asyncio.sleep(takes))
                ended.append((round(loop.time() - began, 6), "done"))
            except TimeoutError:
                ended.append((round(loop.time() - began, 6), "late"))

        await asyncio.gather(attempt(0, 9), attempt(1, 2), attempt(2, 9), attempt(6, 4.9))
        return ended

    assert run_in_virtual_time(main()) == [(3, "done"), (5, "late"), (7, "late"), (10.9, "done")]


def test_a_task_goes_on_after_an_attempt_that_was_too_late() -> None:
    async def main() -> str:
        deadlines = Deadlines(5)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await deadlines.within(asyncio.sleep(9))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return await deadlines.within(asyncio.sleep(1, "answer"))

    assert run_in_virtual_time(main()) == "answer"


def test_who_is_cancelled_by_others_is_cancelled_late_or_not() -> None:
    async def main() -> list[bool]:
        loop, deadlines = asyncio.get_running_loop(), Deadlines(5)
        tasks = [asyncio.create_task(deadlines.within(asyncio.sleep(9))) for _ in range(2)]
        loop.call_later(1, tasks[0].cancel)
        loop.call_later(5, tasks[1].cancel)
        await asyncio.wait(tasks)
        return [task.cancelled() for task in tasks]

    assert run_in_virtual_time(main()) == [True, True]
