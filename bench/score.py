"""Scoring stored outputs without a judge: cases per CPU second, and memory from 1k to 100k cases.

The workload is the bundled sample, repeated under new ids: all four tasks, three languages, the
recorded outputs of one sample model, results written. The floor beside it reads the same files,
computes a token F1 and writes one line a case, with nothing checked.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import resources
from pathlib import Path

from bench.measuring import best_of, usage_of

MODEL = "sample-large"
FLOOR = """
import json, sys
cases, outputs, results = sys.argv[1:]
with open(cases) as c, open(outputs) as o, open(results, "w") as r:
    for case_line, output_line in zip(c, o):
        case, output = json.loads(case_line), json.loads(output_line)
        expected = set(json.dumps(case["expected_outcome"]).split())
        given = set(output["output"].split())
        same = len(expected & given)
        score = 2 * same / (len(expected) + len(given))
        r.write(json.dumps({"id": case["id"], "score": score}) + "\\n")
"""


def write_workload(folder: Path, cases: int) -> tuple[Path, Path]:
    """Sample cases and outputs repeated up to a number, each under its own id."""
    sample = resources.files("callscore.demo").joinpath("calls")
    lines = sample.joinpath("cases.jsonl").read_text(encoding="utf-8").splitlines()
    originals = [json.loads(line) for line in lines]
    answers = {
        record["case_id"]: record
        for record in map(
            json.loads, sample.joinpath("outputs.jsonl").read_text(encoding="utf-8").splitlines()
        )
        if record["model"] == MODEL
    }
    paths = folder / f"cases-{cases}.jsonl", folder / f"outputs-{cases}.jsonl"
    with paths[0].open("w", encoding="utf-8") as c, paths[1].open("w", encoding="utf-8") as o:
        for number in range(cases):
            case = originals[number % len(originals)]
            new_id = f"{case['id']}#{number}"
            answer = {**answers[case["id"]], "case_id": new_id}
            c.write(json.dumps({**case, "id": new_id}, ensure_ascii=False) + "\n")
            o.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return paths


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases, outputs = write_workload(folder, 10_000)
        results = str(folder / "results.jsonl")
        ours = [sys.executable, "-m", "callscore", "score", "--results", results]
        start = best_of(3, [sys.executable, "-m", "callscore", "--help"]).cpu_seconds
        scored = best_of(3, [*ours, str(cases), "--outputs", str(outputs)])
        floor = best_of(3, [sys.executable, "-c", FLOOR, str(cases), str(outputs), results])
        print(f"10,000 cases, results written: {10_000 / scored.cpu_seconds:8,.0f} cases/CPU s")
        print(f"floor (token F1)             : {10_000 / floor.cpu_seconds:8,.0f} cases/CPU s")
        print(f"ours / floor CPU             : {scored.cpu_seconds / floor.cpu_seconds:8.2f}")
        print(f"start-up share               : {start / scored.cpu_seconds:8.2%}")
        peaks = {}
        for number in (1_000, 100_000):
            cases, outputs = write_workload(folder, number)
            peaks[number] = usage_of([*ours, str(cases), "--outputs", str(outputs)]).peak_mb
            print(f"peak memory, {number:>7,} cases  : {peaks[number]:8.1f} MB")
        print(f"growth 1k to 100k            : {peaks[100_000] - peaks[1_000]:8.1f} MB")
