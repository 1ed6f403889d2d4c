"""One scored source for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from callscore.report.source import ReportSource
from report_samples import sample_source


@pytest.fixture(scope="session")
def sample() -> Iterator[ReportSource]:
    """The bundled sample calls, scored."""
    with sample_source() as source:
        yield source
