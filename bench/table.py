"""The table of all benches in docs/measured.md, written by `python -m bench --write`."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
PACKAGES = ("aiohttp", "duckdb", "msgspec", "numpy", "pyarrow", "rapidfuzz")
BEGIN = "| bench | when, load, versions | printed |\n|---|---|---|\n"


def write_rows(page: Path, name: str, lines: Sequence[str], load: float) -> None:
    """Put the lines of a bench into the table; rows of other benches stay."""
    before, _, table = page.read_text(encoding="utf-8").partition(BEGIN)
    kept = [row for row in table.splitlines() if not row.startswith(f"| `{name}` |")]
    when = datetime.now(UTC).date().isoformat()
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    about = (
        f"{when}, load {load:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores,"
        f" Python {platform.python_version()}, {versions}"
    )
    shown = "<br>".join(" ".join(line.replace("|", "/").split()) for line in lines if line.strip())
    kept.append(f"| `{name}` | {about} | {shown} |")
    page.write_text(before + BEGIN + "\n".join(sorted(kept)) + "\n", encoding="utf-8")
