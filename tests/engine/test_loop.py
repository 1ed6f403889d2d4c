"""Whose event loop a run has: uvloop's where that is installed, else Python's own."""

import asyncio
import gc
import sys

from callscore.core.gc_policy import YOUNG_OBJECTS
from callscore.engine import loop
from callscore.engine.loop import Shutdown
from commands import run_python

ASKING = """
import asyncio, sys
sys.modules["uvloop"] = None  # as if it were not installed
from callscore.engine import loop
async def main(stop):
    return type(asyncio.get_running_loop()).__module__
print(loop.run(main))
"""


async def _module_of_loop(stop: Shutdown) -> str:
    return type(asyncio.get_running_loop()).__module__


def test_uvloop_is_used_where_it_is_installed() -> None:
    expected = "asyncio" if sys.platform == "win32" else "uvloop"
    assert loop.run(_module_of_loop).startswith(expected)


def test_python_looks_for_cycles_less_often_in_a_run_and_as_before_after_it() -> None:
    async def threshold(stop: Shutdown) -> int:
        return gc.get_threshold()[0]

    of_tests = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # the default of Python
    try:
        assert loop.run(threshold) == YOUNG_OBJECTS > 700
        assert gc.get_threshold() == (700, 10, 10)
    finally:
        gc.set_threshold(*of_tests)


def test_a_run_does_without_uvloop() -> None:
    done = run_python(ASKING)
    assert done.stdout.startswith("asyncio."), done.stderr
