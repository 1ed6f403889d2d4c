"""A run with a judge beside the bare client: wall and CPU as ratios, and memory.

2,000 cases, one model and one judge, 50 ms latency, 100 calls at once, journal on. The floor sends
the same number of requests of the same sizes with nothing but aiohttp, in the same minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import instructions
from bench.judging_server import FLOOR_JUDGE, JUDGE
from bench.measuring import Usage, sized, usage_of
from bench.run import TURNS, floor_of, ours, verdict

CASES, AT_ONCE, LATENCY_MS = sized(2_000, 8), 100, 50.0
WALL_LIMIT, CPU_LIMIT = 2.5, 2.5
COUNTED = sized(100, 4), sized(400, 8)
MODEL = "model"
GREETING = "Good morning, this is Marcus of Streamella. How may I help you today?"
VERIFYING = "I am sorry to hear that. May I have the number of your account?"
PROMISE = "Thank you. I have raised a refund. It will be on your card in three days."
FORM = (
    ("Does the agent greet the customer?", "At the start the agent says good morning."),
    ("Does the agent verify the customer?", "The agent asks for the account number."),
    ("Does the agent say when the money comes?", "The agent names three days."),
)
REASONS = (GREETING, VERIFYING, PROMISE)


def marked(reasons: Iterator[str]) -> dict[str, Any]:
    """The form with a full mark everywhere, and these reasons."""
    full = {"score": 1, "max_score": 1, "type": "PASS_FAIL"}
    return {
        "questions": [
            {"question_id": f"Q{number}", **full, "reason": reason}
            for number, reason in enumerate(reasons, start=1)
        ]
    }


def case(number: int) -> dict[str, Any]:
    """A short call with a form of three questions, whose reasons the model gives otherwise."""
    said = (
        ("agent", f"{GREETING} You are caller {number}."),
        ("customer", f"I was charged twice on the third, my order is number {number}."),
        ("agent", f"{VERIFYING} And order {number}, is it in your name?"),
        ("customer", f"It is {number} and then four zeros, under my own name."),
        ("agent", f"{PROMISE} Your case is {number}."),
        ("customer", f"All right, case {number}, that is good to hear. Thank you."),
    )
    turns = [{"id": i, "speaker": who, "text": text} for i, (who, text) in enumerate(said, 1)]
    asked = [{"question_id": f"Q{i}", "question": text} for i, (text, _) in enumerate(FORM, 1)]
    return {
        "id": f"case-{number}",
        "task": "qa",
        "transcript": turns,
        "config": {"questions": asked},
        "expected_outcome": marked(reason for _, reason in FORM),
    }


def write_eval(folder: Path, url: str, cases: int = CASES) -> Path:
    """The cases, and an eval file with one model and one judge that share the calls at once."""
    lines = "".join(json.dumps(case(number)) + "\n" for number in range(cases))
    (folder / "cases.jsonl").write_text(lines, encoding="utf-8")
    reached = {"provider": "openai", "base_url": url, "price": {"input": 1, "output": 2}}
    limits = {"concurrency": AT_ONCE // 2}
    model = {"name": MODEL, "model": MODEL, **reached, "limits": limits}
    judge = {"name": JUDGE, "model": JUDGE, **reached, "limits": limits}
    path = folder / "eval.yaml"
    settings = {"data": "cases.jsonl", "models": [model], "judge": judge, "embedder": "none"}
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


@contextmanager
def server() -> Iterator[str]:
    """The stub of both APIs in a process of its own; gives its base URL."""
    answer = json.dumps(marked(iter(REASONS)))
    told = ["--latency-ms", str(LATENCY_MS), "--answer", answer]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.judging_server", *told], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    port = int(process.stdout.readline())
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def stats(url: str) -> Mapping[str, Any]:
    """The counters of the server since the last look."""
    with urllib.request.urlopen(url) as answer:
        found: Mapping[str, Any] = json.load(answer)
    return found


def check(store: str, found: Mapping[str, Any]) -> None:
    """Every case was asked, and every item of it got its verdict."""
    asked = found["requests"]
    assert asked[MODEL] == CASES and asked["preflight"] == 2, found
    card = json.loads(Path(f"{store}.json").read_text(encoding="utf-8"))
    judging, qa = card["judging"], card["models"][0]["tasks"]["qa"]
    assert judging["requests"] == asked[JUDGE] >= CASES and not judging["failed"], (judging, found)
    assert judging["items"] == CASES * len(FORM), judging
    evidence = qa["metrics"]["qa.evidence_backed_reasoning"]
    assert (qa["status"], evidence["n"], evidence["value"]) == ("valid", CASES, 1.0), qa


def measured(folder: Path, url: str) -> tuple[list[Usage], list[Usage], int]:
    """Floors and runs by turns, and how many calls each of them made."""
    path = write_eval(folder, url)
    usage_of(ours(path, str(folder / "warm.db")))
    told = stats(url)
    check(str(folder / "warm.db"), told)
    judge_calls, sizes = told["requests"][JUDGE], _sizes(told)
    print(
        f"{CASES:,} requests of {sizes[MODEL]:,} bytes, {judge_calls:,} of {sizes[JUDGE]:,} bytes"
    )
    kinds = _kinds(told)
    calls = CASES + judge_calls
    floors, runs = [], []
    for turn in range(TURNS):
        floors.append(usage_of(floor_of(url, AT_ONCE, *kinds)))
        stats(url)
        store = str(folder / f"{turn}.db")
        runs.append(usage_of(ours(path, store)))
        found = stats(url)
        check(store, found)
        print(
            f"floor {floors[-1].wall_seconds:5.2f} s wall, "
            f"{1e3 * floors[-1].cpu_seconds / calls:5.3f} ms CPU a call; "
            f"ours {runs[-1].wall_seconds:5.2f} s, {1e3 * runs[-1].cpu_seconds / calls:5.3f} ms; "
            f"{runs[-1].peak_mb:.0f} MB; at most {found['most_at_once']} at once"
        )
    return floors, runs, calls


def _sizes(told: Mapping[str, Any]) -> Mapping[str, int]:
    return {name: told["bytes"][name] // told["requests"][name] for name in (MODEL, JUDGE)}


def _kinds(told: Mapping[str, Any]) -> Sequence[str]:
    """As many requests of the same sizes, for the bare client."""
    sizes, asked = _sizes(told), told["requests"]
    return (
        f"{MODEL}:{asked[MODEL]}:{sizes[MODEL]}",
        f"{FLOOR_JUDGE}:{asked[JUDGE]}:{sizes[JUDGE]}",
    )


def count(folder: Path, url: str, calls: int) -> None:
    """Instructions of smaller runs, beside those of the bare client."""
    floors, runs = [], []
    for cases in COUNTED:
        inner = folder / f"counted-{cases}"
        inner.mkdir()
        path = write_eval(inner, url, cases)
        stats(url)
        usage_of(ours(path, str(inner / "warm.db")))
        told = stats(url)
        asked = told["requests"][MODEL] + told["requests"][JUDGE]
        runs.append((asked, ours(path, str(inner / "run.db"))))
        floors.append((asked, floor_of(url, AT_ONCE, *_kinds(told))))
    ours_costs, floor_costs = instructions.cost_of(runs), instructions.cost_of(floors)
    instructions.compare(ours_costs, floor_costs, calls, CPU_LIMIT)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, server() as url:
        floors, runs, calls = measured(Path(name), url)
        if instructions.is_counted():
            count(Path(name), url, calls)
    wall = min(run.wall_seconds for run in runs) / min(floor.wall_seconds for floor in floors)
    cpu = min(run.cpu_seconds for run in runs) / min(floor.cpu_seconds for floor in floors)
    print(f"wall / floor   {wall:5.2f}  (limit {WALL_LIMIT}): {verdict(wall, WALL_LIMIT)}")
    print(f"CPU / floor    {cpu:5.2f}  (limit {CPU_LIMIT}): {verdict(cpu, CPU_LIMIT)}")
