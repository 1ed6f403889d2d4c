"""A run against a mock API beside the bare client: wall and CPU as ratios, memory, concurrency.

2,000 cases × 2 models, 50 ms latency, 100 calls at once, journal on. The floor sends the same
number of requests of the same size with nothing but aiohttp, in the same minute.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import instructions
from bench.measuring import sized, usage_of

MOCK = Path(__file__).parents[2] / "shared" / "tools" / "mock_server.py"
WALL_LIMIT, CPU_LIMIT = 1.2, 2.5
TURNS = sized(5, 1)
CASES, MODELS = sized(2_000, 4), 2
COUNTED = sized(600, 2), sized(1_200, 4)
BODY_BYTES = 2_600
"""Of one of our requests."""
FEW, MANY, CROWD = sized(1_000, 4), sized(20_000, 8), sized(6_000, 8)
BARE_CLIENT = Path(__file__).with_name("bare_client.py")


@contextmanager
def mock_server(latency_ms: float) -> Iterator[str]:
    """The mock API on a free port; gives its base URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(MOCK), "--port", str(port), "--latency-ms", str(latency_ms)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def stats(url: str) -> Mapping[str, Any]:
    """The counters of the mock server since the last look."""
    origin = url.removesuffix("/v1")
    with urllib.request.urlopen(f"{origin}/__stats") as answer:
        found: Mapping[str, Any] = json.load(answer)
    urllib.request.urlopen(urllib.request.Request(f"{origin}/__reset", method="POST")).read()
    return found


def write_eval(folder: Path, url: str, cases: int, models: int, concurrency: int) -> Path:
    """Cases of entity spotting, and an eval file over them."""
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(cases):
            text = f"CASE-{number} I want a refund for my card, please. " + "And so on. " * 60
            outcome = {
                "detected_keywords": ["refund", "card"],
                "detected_topics": [],
                "valid_entity_set": ["refund", "card", "cancel"],
            }
            case = {
                "id": f"case-{number}",
                "task": "entity",
                "transcript": [{"id": 1, "speaker": "customer", "text": text}],
                "config": {"keywords": ["refund", "card", "cancel"], "topics": []},
                "expected_outcome": outcome,
            }
            file.write(json.dumps(case) + "\n")
    entries = [
        {
            "name": f"m{number}",
            "provider": "openai",
            "model": f"mock-{number}",
            "base_url": url,
            "price": {"input": 1, "output": 2},
            "limits": {"concurrency": concurrency},
        }
        for number in range(models)
    ]
    path = folder / "eval.yaml"
    path.write_text(json.dumps({"data": "cases.jsonl", "models": entries}), encoding="utf-8")
    return path


def ours(path: Path, store: str) -> list[str]:
    return [
        *(sys.executable, "-m", "callscore", "run", str(path), "--store", store),
        *("--json", f"{store}.json", "--results", f"{store}.jsonl"),
    ]


def floor_of(url: str, at_once: int, *kinds: str) -> list[str]:
    """The bare client, with so many requests of a size a model: `model:requests:bytes`."""
    return [sys.executable, str(BARE_CLIENT), url, str(at_once), *kinds]


def compare(folder: Path, url: str) -> None:
    path = write_eval(folder, url, CASES, MODELS, 50)
    calls = CASES * MODELS
    floors, runs = [], []
    for command in (
        [*ours(path, str(folder / "warm.db")), "--limit", "1"],
        floor_of(url, 1, f"m:1:{BODY_BYTES}"),
    )[: sized(2, 0)]:
        usage_of(command)
    for turn in range(TURNS):
        floor = usage_of(floor_of(url, 100, f"m:{calls}:{BODY_BYTES}"))
        stats(url)
        spent = usage_of(ours(path, str(folder / f"{turn}.db")))
        found = stats(url)
        assert found["paid"] == calls + MODELS, found  # and one small request a model
        floors.append(floor)
        runs.append(spent)
        print(
            f"floor {floor.wall_seconds:5.2f} s wall, "
            f"{1e3 * floor.cpu_seconds / calls:5.3f} ms CPU a call; "
            f"ours {spent.wall_seconds:5.2f} s, {1e3 * spent.cpu_seconds / calls:5.3f} ms "
            f"(start, scoring, files and all); {spent.peak_mb:.0f} MB"
        )
    # Noise only ever adds to a time, but to a ratio it may do either: so the least of ours over
    # the least of the floor, never the luckiest pair.
    wall = min(run.wall_seconds for run in runs) / min(floor.wall_seconds for floor in floors)
    cpu = min(run.cpu_seconds for run in runs) / min(floor.cpu_seconds for floor in floors)
    print(f"wall / floor   {wall:5.2f}  (limit {WALL_LIMIT}): {verdict(wall, WALL_LIMIT)}")
    print(f"CPU / floor    {cpu:5.2f}  (limit {CPU_LIMIT}): {verdict(cpu, CPU_LIMIT)}")
    again = usage_of(ours(path, str(folder / "0.db")))
    print(f"the same again {again.wall_seconds:5.2f} s, {stats(url)['requests']} requests")


def count(folder: Path, url: str) -> None:
    """Instructions of runs in which another process scores, beside those of the bare client."""
    floors, runs = [], []
    for cases in COUNTED:
        calls = cases * MODELS
        inner = folder / f"counted-{cases}"
        inner.mkdir()
        path = write_eval(inner, url, cases, MODELS, 50)
        runs.append((calls, ours(path, str(inner / "run.db"))))
        floors.append((calls, floor_of(url, 100, f"m:{calls}:{BODY_BYTES}")))
    ours_costs, floor_costs = instructions.cost_of(runs), instructions.cost_of(floors)
    instructions.compare(ours_costs, floor_costs, CASES * MODELS, CPU_LIMIT)


def verdict(ratio: float, limit: float) -> str:
    return "met" if ratio <= limit else "MISSED"


def memory(folder: Path, url: str) -> None:
    peaks = {}
    for cases in (FEW, MANY):
        path = write_eval(folder, url, cases, 1, 200)
        peaks[cases] = usage_of(ours(path, str(folder / f"m{cases}.db"))).peak_mb
        print(f"peak memory, {cases:>6,} cases {peaks[cases]:6.1f} MB")
    print(f"growth                    {peaks[MANY] - peaks[FEW]:6.1f} MB")


def crowd(folder: Path, url: str) -> None:
    path = write_eval(folder, url, CROWD, 1, 1_000)
    stats(url)
    spent = usage_of(ours(path, str(folder / "crowd.db")))
    found = stats(url)
    print(
        f"concurrency 1,000: {CROWD:,} calls in {spent.wall_seconds:.2f} s, at once at most "
        f"{found['max_in_flight']}, outcomes {found['by_outcome']}"
    )


def main() -> None:
    if not MOCK.exists():
        print(
            f"skipped: needs the mock server at {MOCK.name}, which is not part of this repository"
        )
        return
    with tempfile.TemporaryDirectory() as name:
        with mock_server(50) as url:
            compare(Path(name), url)
            if instructions.is_counted():
                count(Path(name), url)
        with mock_server(5) as url:
            memory(Path(name), url)
        with mock_server(200) as url:
            crowd(Path(name), url)
