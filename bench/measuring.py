"""Wall time, CPU time and peak memory of a command, its children included."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import NamedTuple

TINY = "CALLSCORE_BENCH_TINY"
"""Set where benches are to show only that they work: `python -m bench --tiny`."""
COMPILED = tempfile.TemporaryDirectory(prefix="callscore-bench-")
"""Compiled modules are kept here and used, as after any installation."""


class Usage(NamedTuple):
    """What one run of a command used."""

    cpu_seconds: float
    wall_seconds: float
    peak_mb: float


def sized(number: int, tiny: int) -> int:
    """How many of something a bench measures: `tiny` where it only has to work."""
    return tiny if os.environ.get(TINY) else number


def usage_of(command: Sequence[str]) -> Usage:
    """Run a command to its end; CPU of user and system, wall, peak resident memory."""
    env = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if not os.environ.get(TINY):  # every bench would compile all modules again
        env["PYTHONPYCACHEPREFIX"] = COMPILED.name
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}: {said.decode()}")
    wall = time.monotonic() - began
    return Usage(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def best_of(times: int, command: Sequence[str]) -> Usage:
    """The run with the least CPU: noise only ever adds."""
    return min(usage_of(command) for _ in range(times))
