"""docs/measured.md: a table of all benches and what each printed, by `python -m bench --write`."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.summary import summarise

PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
PACKAGES = ("aiohttp", "duckdb", "msgspec", "numpy", "pyarrow", "rapidfuzz")
BEGIN = (
    "| bench | measured | figure | next to | aim | | when, load |\n|---|---|---|---|---|---|---|\n"
)
_SECTION = re.compile(r"^## (\w+)\n\n(.+)\n\n```text\n((?:.*\n)*?)```$", re.M)


class Measured(NamedTuple):
    """What a bench printed, and on which day, at which load, with which versions."""

    about: str
    lines: Sequence[str]


def about(load: float) -> str:
    """This day, the load of the machine before and now, and the versions."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{datetime.now(UTC).date().isoformat()}, load {load:.1f} to {os.getloadavg()[0]:.1f} on"
        f" {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    )


def sections_of(page: str) -> dict[str, Measured]:
    """By bench, what the page has."""
    return {n: Measured(a, text.splitlines()) for n, a, text in _SECTION.findall(page)}


def write_bench(page: Path, name: str, lines: Sequence[str], about: str) -> None:
    """Put what a bench printed into the page, in place of the older lines; others stay."""
    text = page.read_text(encoding="utf-8")
    before, found = text.partition(BEGIN)[0], sections_of(text)
    found[name] = Measured(about, [line.rstrip("\n") for line in lines])
    rows = "".join(_row(name, found[name]) for name in sorted(found))
    sections = "".join(_section(name, found[name]) for name in sorted(found))
    page.write_text(before + BEGIN + rows + sections, encoding="utf-8")


def _row(name: str, measured: Measured) -> str:
    row = summarise(name, measured.lines)
    when = re.sub(r" on \d+ cores.*", "", measured.about)
    cells = (f"[`{name}`](#{name})", row.what, row.figure, row.peer, row.aim, row.verdict, when)
    return f"| {' | '.join(cells)} |\n"


def _section(name: str, measured: Measured) -> str:
    text = "\n".join(measured.lines).strip("\n")
    return f"\n## {name}\n\n{measured.about}\n\n```text\n{text}\n```\n"
