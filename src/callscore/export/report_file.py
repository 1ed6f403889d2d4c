"""Writes a report to standard output, or to a file that is complete or not there at all."""

from __future__ import annotations

import sys
from pathlib import Path

from callscore.core.errors import UsageError
from callscore.report.formats import report_format
from callscore.report.source import ReportFormat, ReportOptions, ReportSource
from callscore.store.files import atomic_write

STANDARD_OUTPUT = Path("-")


def write_html(source: ReportSource, target: Path) -> None:
    """Write the HTML report with default options."""
    write_report(source, report_format("html"), ReportOptions(), target)


def write_report(
    source: ReportSource, form: ReportFormat, options: ReportOptions, target: Path
) -> None:
    """Write a report; UsageError if the source has no cases for it, or it is not for a terminal."""
    if form.needs_cases and not len(source.cases):
        why = "; ".join(source.absent) or "it has none"
        raise UsageError(f"{form.name} needs cases, and the source has none: {why}")
    if target == STANDARD_OUTPUT:
        if not form.is_text and sys.stdout.isatty():
            raise UsageError(f"{form.name} is not for a terminal; expected -o FILE{form.suffix}")
        for chunk in form.write(source, options):
            sys.stdout.buffer.write(chunk)
        return
    with atomic_write(target) as file:
        for chunk in form.write(source, options):
            file.write(chunk)
