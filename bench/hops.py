"""How far one sample travels: functions, files and room changes of the package that it crosses.

One case is scored, and one case is run with a simulated model, through the public functions. The
first time warms imports and caches; the second is traced by `sys.setprofile` in every thread. A
room is a package directly below `callscore`, a room change a call from one into another. Intervals
are left out: they are computed once from the sums of all samples.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import callscore

PACKAGE = Path(callscore.__file__).parent


class Hops(NamedTuple):
    """What one sample crossed."""

    functions: int
    files: frozenset[str]
    room_changes: int


def traced(work: Callable[[], object]) -> Hops:
    """Count the calls of our functions while `work` runs."""
    functions: set[tuple[str, str]] = set()
    rooms: list[str] = []
    prefix = f"{PACKAGE}/"

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(prefix):
            return
        file_name = code.co_filename.removeprefix(prefix)
        functions.add((file_name, code.co_qualname))
        room = file_name.partition("/")[0]
        if not rooms or rooms[-1] != room:
            rooms.append(room)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = frozenset(file_name for file_name, _ in functions)
    return Hops(len(functions), files, max(0, len(rooms) - 1))


def of_score(folder: Path) -> Hops:
    """One QA case scored from files."""
    cases, outputs = _sample(folder)
    callscore.score(cases, outputs, intervals=False)
    return traced(lambda: callscore.score(cases, outputs, intervals=False))


def of_run(folder: Path) -> Hops:
    """One QA case asked of one simulated model, stored and scored."""
    _sample(folder)
    config = folder / "eval.yaml"
    config.write_text(
        "data: cases.jsonl\nintervals: false\n"
        "models: [{name: m, provider: simulated, model: near}]\n",
        "utf-8",
    )
    callscore.run(config, store=folder / "warm.db")
    return traced(lambda: callscore.run(config, store=folder / "traced.db"))


def _sample(folder: Path) -> tuple[Path, Path]:
    """The first QA case of the bundled data, and an answer to it."""
    source = resources.files("callscore.demo") / "calls"
    found = []
    for name, mark in (("cases.jsonl", '"task":"qa"'), ("outputs.jsonl", "")):
        lines = (source / name).read_text("utf-8").splitlines()
        line = next(line for line in lines if mark in line.replace('": "', '":"'))
        (folder / name).write_text(line + "\n", "utf-8")
        found.append(folder / name)
    return found[0], found[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for name, count in (("score", of_score), ("run", of_run)):
            hops = count(Path(place))
            print(
                f"{name}: {hops.functions} functions in {len(hops.files)} files, "
                f"{hops.room_changes} room changes"
            )
            for room in sorted({file.partition("/")[0] for file in hops.files}):
                inside = sorted(file for file in hops.files if file.partition("/")[0] == room)
                print(f"  {room}: {len(inside)}  {' '.join(inside)}")


if __name__ == "__main__":
    main()
