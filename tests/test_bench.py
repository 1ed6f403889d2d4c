"""Every bench works: run on a handful of cases, so that one that is broken cannot hide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import BENCHES
from bench.summary import SUMMARIES, summarise
from bench.table import BEGIN, PAGE, sections_of, write_bench

ROOT = Path(__file__).parents[1]


LONG = {"embeddings", "million", "ray_nodes"}
"""Even on tiny sizes: a model to load, a store to fill and to read, a cluster to start."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in BENCHES],
)
def test_a_bench_runs_to_its_end_on_tiny_sizes(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--tiny", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    heading, *lines = done.stdout.split("\n== ")[1].splitlines()
    assert heading == name
    if lines[0].startswith("skipped: "):
        pytest.skip(lines[0])
    assert any(map(str.isdigit, summarise(name, lines).figure)), done.stdout


def test_every_bench_has_a_row_and_is_measured() -> None:
    assert set(SUMMARIES) == set(BENCHES)
    assert set(sections_of(PAGE.read_text(encoding="utf-8"))) == set(BENCHES)


def test_the_table_says_what_the_benches_printed(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    page = tmp_path / "measured.md"
    page.write_text(text.partition(BEGIN)[0] + BEGIN, encoding="utf-8")
    for name, measured in sections_of(text).items():
        write_bench(page, name, measured.lines, measured.about)
    assert page.read_text(encoding="utf-8") == text


def test_a_bench_that_is_measured_again_replaces_its_row_only(tmp_path: Path) -> None:
    page = tmp_path / "measured.md"
    page.write_text(f"# Measured\n\n{BEGIN}", encoding="utf-8")
    write_bench(
        page, "start", ["ratio  9.50 (limit 8)\n"], "2026-01-01, load 1.0 to 2.0 on 2 cores"
    )
    write_bench(
        page,
        "postgres",
        ["SQLite 9 us, 30,000 replies/s", "PostgreSQL 9 us, 2,500 replies/s"],
        "now",
    )
    write_bench(
        page, "start", ["ratio  4.00 (limit 8)\n"], "2026-01-02, load 1.0 to 2.0 on 2 cores"
    )
    table = page.read_text(encoding="utf-8").partition(BEGIN)[2].partition("\n\n")[0]
    assert table.splitlines() == [
        "| [`postgres`](#postgres) | replies per second into PostgreSQL | 2,500 | into a file:"
        " 30,000 | at least 2,000 | met | now |",
        "| [`start`](#start) | CPU of `--help` ÷ a bare interpreter | 4.00 |  | at most 8 | met"
        " | 2026-01-02, load 1.0 to 2.0 |",
    ]
    with pytest.raises(ValueError, match="start: no line matches"):
        write_bench(page, "start", ["nothing"], "now")
