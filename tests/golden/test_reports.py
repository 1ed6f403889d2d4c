"""The HTML report, the Markdown and the pictures of a fixed run, byte for byte.

`CALLSCORE_BLESS=1 make test` writes the files anew; the difference is then reviewed like code.
"""

from __future__ import annotations

import importlib.util
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from callscore.report import markdown
from callscore.report.html import FORMAT
from callscore.report.source import ReportOptions, ReportSource
from report_samples import sample_source

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"


@pytest.fixture(scope="module")
def source() -> Iterator[ReportSource]:
    """Two calls, four tasks each: every section of the report, and not too long to review."""
    with sample_source(limit=8) as found:
        yield found


def compare(name: str, found: bytes) -> None:
    path = HERE / name
    if os.environ.get("CALLSCORE_BLESS"):
        path.write_bytes(found)
    assert path.read_bytes() == found


def test_the_pictures_of_the_docs_are_fresh() -> None:
    found = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    for name, drawn in module.pictures().items():
        ET.fromstring(drawn)
        compare(f"../../docs/pictures/{name}", drawn.encode())


def test_the_page_is_what_it_was(source: ReportSource) -> None:
    page = b"".join(FORMAT.write(source, ReportOptions()))
    lines = page.replace(b"<section", b"\n<section").replace(b"<details", b"\n<details")
    compare("report.html", lines)


@pytest.mark.parametrize("short", [False, True])
def test_the_markdown_is_what_it_was(source: ReportSource, short: bool) -> None:
    written = b"".join(markdown.write(source, ReportOptions(short=short)))
    compare("report-short.md" if short else "report.md", written)


@pytest.mark.parametrize(
    ("name", "kind", "metric"),
    [("cost-quality", "cost_quality", None), ("metric", "metric", "qa.question_score_accuracy")],
)
def test_pictures_are_what_they_were(
    source: ReportSource, name: str, kind: str, metric: str | None
) -> None:
    compare(f"{name}.svg", source.card.plot(kind, metric).encode())
