"""How far one sample travels: functions, files and room changes of the package that it crosses.

One QA case is scored, and run with a simulated model, through the public functions; then a text
case, with the offline judge. The first time warms imports and caches; the second is traced by
`sys.setprofile` in every thread. A room is a package directly below `callscore`, a room change a
call from one into another. Intervals are left out: they are computed once from the sums of all
samples.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections import Counter
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


def of_score(folder: Path, judge: str = "none") -> Hops:
    """One case scored from files; a judge is asked about a text."""
    cases, outputs = _sample(folder, "qa" if judge == "none" else "text")

    def work() -> None:
        callscore.score(cases, outputs, judge=judge, embedder="none", intervals=False)

    work()
    return traced(work)


def of_run(folder: Path, judge: str = "none") -> Hops:
    """One case asked of one simulated model, stored and scored."""
    _sample(folder, "qa" if judge == "none" else "text")
    config = folder / "eval.yaml"
    config.write_text(
        f"data: cases.jsonl\nintervals: false\njudge: {judge}\nembedder: none\n"
        "models: [{name: m, provider: simulated, model: near}]\n",
        "utf-8",
    )
    callscore.run(config, store=folder / f"warm-{judge}.db")
    return traced(lambda: callscore.run(config, store=folder / f"traced-{judge}.db"))


def _sample(folder: Path, task: str) -> tuple[Path, Path]:
    """The first case of a task in the bundled data, and an answer to it."""
    source = resources.files("callscore.demo") / "calls"
    name = ""
    for file, key in (("cases.jsonl", "id"), ("outputs.jsonl", "case_id")):
        lines = (source / file).read_text("utf-8").splitlines()
        line = next(line for line in lines if json.loads(line)[key].endswith(name or f"/{task}"))
        name = json.loads(line)[key]
        (folder / file).write_text(line + "\n", "utf-8")
    return folder / "cases.jsonl", folder / "outputs.jsonl"


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for name, judge, count in (
            ("score", "none", of_score),
            ("score --judge offline", "offline", of_score),
            ("run", "none", of_run),
            ("run with a judge", "offline", of_run),
        ):
            hops = count(Path(place), judge)
            print(
                f"{name}: {hops.functions} functions in {len(hops.files)} files, "
                f"{hops.room_changes} room changes"
            )
            rooms = Counter(file.partition("/")[0] for file in hops.files)
            print("  files: " + ", ".join(f"{room} {rooms[room]}" for room in sorted(rooms)))


if __name__ == "__main__":
    main()
