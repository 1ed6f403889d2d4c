"""Writes a report: to a file that appears whole or not at all, or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path

from callscore.core.errors import UsageError
from callscore.report.formats import report_format
from callscore.report.source import ReportFormat, ReportOptions, ReportSource
from callscore.store.files import atomic_write

STANDARD_OUTPUT = Path("-")


def write_html(source: ReportSource, target: Path) -> None:
    """Write the HTML report with the usual options."""
    write_report(source, report_format("html"), ReportOptions(), target)


def write_report(
    source: ReportSource, form: ReportFormat, options: ReportOptions, target: Path
) -> None:
    """Write a report; UsageError if the source or the terminal cannot serve the format."""
    if form.needs_cases and not len(source.cases):
        why = "; ".join(source.absent) or "it has none"
        raise UsageError(f"{form.name} shows cases, and there are none: {why}")
    if target == STANDARD_OUTPUT:
        if not form.is_text and sys.stdout.isatty():
            raise UsageError(f"{form.name} is not for a terminal; expected -o FILE{form.suffix}")
        for chunk in form.write(source, options):
            sys.stdout.buffer.write(chunk)
        return
    with atomic_write(target) as file:
        for chunk in form.write(source, options):
            file.write(chunk)
