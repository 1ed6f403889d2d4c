"""Tables, files for other tools and the dossier of a fixed run, byte for byte.

`CALLSCORE_BLESS=1 make test` writes the files anew; the difference is then reviewed like code. Of
a zip the names and hashes of its files are compared: how it is packed is for zlib to say.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import msgspec
import pytest

from callscore.core.scenarios import ScenarioSinks
from callscore.demo.orchestration import sample_runs
from callscore.evaluate.scenarios import score_outputs
from callscore.export.sources import source_of_outputs
from callscore.export.step_cases import StepCases
from callscore.report.formats import BUILT_IN, report_format
from callscore.report.source import ReportOptions, ReportSource, RunFacts
from report_samples import sample_source

HERE = Path(__file__).parent / "exports"
ELSEWHERE = ("html", "md", "parquet", "document-001")
"""Compared by `test_reports.py`, document 001 by
`comparison/test_scenarios.py`, as it is about scenarios only;
the bytes of Parquet are those of a library."""


@pytest.fixture(scope="module")
def source() -> Iterator[ReportSource]:
    """Four cases and two models, with a run that ended at a fixed time."""
    with sample_source(limit=4) as found:
        models = [found.card.models[0], found.card.models[-1]]
        names = {model.model for model in models}
        ranking = [entry for entry in found.card.ranking if entry.model in names]
        card = msgspec.structs.replace(found.card, models=models, ranking=ranking)
        cases = [
            msgspec.structs.replace(view, answers=[a for a in view.answers if a.model in names])
            for view in found.cases
        ]
        run = RunFacts(7, "fixed", "complete", "2026-11-16T09:00:00+00:00", "2026-11-16T09:05:00Z")
        about = msgspec.structs.replace(found.provenance, run=run)
        yield msgspec.structs.replace(found, card=card, cases=cases, provenance=about)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in ELSEWHERE])
def test_a_format_is_what_it_was(name: str, source: ReportSource) -> None:
    form = report_format(name)
    raw = b"".join(form.write(source, ReportOptions()))
    assert raw == b"".join(form.write(source, ReportOptions()))
    found = listing(raw) if raw.startswith(b"PK") else raw
    path = HERE / f"{name}{'.txt' if found is not raw else form.suffix}"
    if os.environ.get("CALLSCORE_BLESS"):
        path.write_bytes(found)
    assert path.read_bytes() == found


@pytest.mark.parametrize("name", ["md", "csv", "junit"])
def test_a_format_shows_scenarios_as_it_did(name: str) -> None:
    with recorded_source() as found:
        raw = b"".join(report_format(name).write(found, ReportOptions()))
    path = HERE / f"scenarios{report_format(name).suffix}"
    if os.environ.get("CALLSCORE_BLESS"):
        path.write_bytes(raw)
    assert path.read_bytes() == raw


@contextmanager
def recorded_source() -> Iterator[ReportSource]:
    """The bundled recordings of one model on six scenarios."""
    with sample_runs() as (_, job), StepCases() as steps:
        scored = score_outputs([job], ScenarioSinks(on_step=steps.add))
        yield source_of_outputs(job, scored, steps)


def listing(raw: bytes) -> bytes:
    """Name and hash of every file in a zip."""
    with ZipFile(io.BytesIO(raw)) as archive:
        lines = [
            f"{hashlib.sha256(archive.read(name)).hexdigest()}  {name}"
            for name in archive.namelist()
        ]
    return "\n".join([*lines, ""]).encode()
