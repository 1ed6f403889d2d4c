"""Instructions of a command, counted by valgrind: the same on a busy machine as on an idle one.

Counted at two sizes, they give the cost of one call and the fixed cost. What the kernel does, such
as writing to the disk, is not in them. Counting takes about fifty times as long as running.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measuring import usage_of

WANTED = "CALLSCORE_BENCH_INSTRUCTIONS"
"""Set where instructions are to be counted, too: `python -m bench --instructions`."""
_TOTAL = re.compile(r"^totals: (\d+)", re.M)


class Cost(NamedTuple):
    """Instructions of a command that makes so many calls."""

    per_call: float
    fixed: float

    def __str__(self) -> str:
        return (
            f"{self.per_call / 1e6:5.2f} M instructions per call, {self.fixed / 1e9:4.2f} G fixed"
        )

    def of(self, calls: int) -> float:
        """The instructions of this many calls."""
        return self.fixed + calls * self.per_call


def is_counted() -> bool:
    """Whether instructions are wanted, and valgrind is there to count them."""
    return bool(os.environ.get(WANTED)) and shutil.which("valgrind") is not None


def instructions_of(command: Sequence[str]) -> int:
    """The instructions of a command and of its processes."""
    with tempfile.TemporaryDirectory() as name:
        # A forked process would count what its parent did before once more: that is put aside.
        usage_of(
            (
                *("valgrind", "--tool=callgrind", "--quiet", "--trace-children=yes"),
                *("--dump-before=os_fork", f"--callgrind-out-file={name}/%p"),
                *command,
            )
        )
        counted = (_TOTAL.search(path.read_text("utf-8")) for path in Path(name).iterdir())
        return sum(int(found[1]) for found in counted if found is not None)


def cost_of(sizes: Sequence[tuple[int, Sequence[str]]]) -> Cost:
    """The cost of a call and the fixed cost, from two commands and how many calls they make."""
    (few, small), (many, large) = [(calls, instructions_of(command)) for calls, command in sizes]
    per_call = (large - small) / (many - few)
    return Cost(per_call, small - few * per_call)


def compare(ours: Cost, floor: Cost, calls: int, limit: float) -> None:
    """Print both, and their ratio at a number of calls."""
    ratio = ours.of(calls) / floor.of(calls)
    print(f"floor          {floor}")
    print(f"ours           {ours}")
    print(f"instructions / floor at {calls:,} calls {ratio:5.2f} (limit {limit})")
