"""Writing 100,000 cases in every format: CPU beside that of scoring them, and memory.

The cases are scored once; then each format is written by a child that inherits the spool, so that
its CPU and the growth of its memory are its own.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.measuring import sized
from bench.score import MODEL, short_records, write_workload
from callscore.config.score import ScoreConfig
from callscore.export.sources import scored_source
from callscore.report.formats import BUILT_IN, report_format
from callscore.report.source import ReportOptions, ReportSource

CASES = sized(100_000, 40)
FORMS = [name for name in BUILT_IN if name != "document-001"]
"""All but the one that is about scenarios only."""
MOST_GROWTH_MB = 200


class Written(NamedTuple):
    """What writing a format took."""

    cpu_seconds: float
    growth_mb: float
    megabytes: float


def written(name: str, source: ReportSource) -> Written:
    """Write a format in a child of this process and throw it away."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        began, before = time.process_time(), _peak_mb()
        form = report_format(name)
        if form.files is not None:
            size = sum(len(raw) for _, raw in form.files(source, ReportOptions()))
        else:
            size = sum(map(len, form.write(source, ReportOptions())))
        used = (time.process_time() - began, _peak_mb() - before, size / 1e6)
        os.write(writing, " ".join(map(repr, used)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        found = told.read().split()
    os.waitpid(child, 0)
    if not found:
        sys.exit(f"{name}: could not be written")
    return Written(*map(float, found))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(cases: int) -> dict[str, tuple[float, Written]]:
    """For every format the CPU of scoring the cases, and what writing took."""
    with tempfile.TemporaryDirectory() as name:
        files = write_workload(Path(name), "short", cases, short_records, (MODEL,))
        config = ScoreConfig(cases=[files[0]], outputs=[files[1]])
        began = time.process_time()
        with scored_source(config) as source:
            scoring = time.process_time() - began
            return {form: (scoring, written(form, source)) for form in FORMS}


def main() -> None:
    """Print CPU and memory of every format."""
    for form, (scoring, used) in measure(CASES).items():
        is_met = used.cpu_seconds < scoring and used.growth_mb < MOST_GROWTH_MB
        print(
            f"{form:16} {used.cpu_seconds:6.1f} s CPU, {used.cpu_seconds / scoring:5.2f} × scoring,"
            f" +{used.growth_mb:4.0f} MB, {used.megabytes:6.1f} MB written"
            f"; {'met' if is_met else 'missed'}"
        )


if __name__ == "__main__":
    main()
