"""Writes a report to standard output, to a file that is complete or not there, or to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from callscore.app import OutputPaths
from callscore.core.errors import MissingExtra, StoreError, UsageError
from callscore.report.formats import report_format
from callscore.report.source import Files, ReportFormat, ReportOptions, ReportSource
from callscore.store.files import atomic_write
from callscore.store.remote_files import is_remote
from callscore.store.remote_files import write_files as write_remote_files

STANDARD_OUTPUT = Path("-")


def write_reports(source: ReportSource, targets: OutputPaths) -> list[Path]:
    """Write the requested page and tables with default options; return what was written."""
    wanted = {"html": targets.html, "parquet": targets.parquet}
    written = {name: target for name, target in wanted.items() if target is not None}
    for name, target in written.items():
        write_report(source, report_format(name), ReportOptions(), target)
    return list(written.values())


def write_report(
    source: ReportSource, form: ReportFormat, options: ReportOptions, target: Path
) -> None:
    """Write a report; UsageError if the source has no cases for it, or it is not for a terminal."""
    if form.needs_cases and not len(source.cases):
        why = "; ".join(source.absent) or "it has none"
        raise UsageError(f"{form.name} needs cases, and the source has none: {why}")
    if target != STANDARD_OUTPUT and form.files is not None:
        write_folder(form.files(source, options), target)
        return
    if target == STANDARD_OUTPUT:
        if not form.is_text and sys.stdout.isatty():
            raise UsageError(f"{form.name} is not for a terminal; expected -o FILE{form.suffix}")
        for chunk in form.write(source, options):
            sys.stdout.buffer.write(chunk)
        return
    with atomic_write(target) as file:
        for chunk in form.write(source, options):
            file.write(chunk)


def write_folder(files: Files, target: Path) -> None:
    """Write the files of a new folder, each atomically and in order."""
    if is_remote(target):
        write_remote_files(files, target)
        return
    try:
        target.mkdir()
        for name, content in files:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                file.write(content)
    except MissingExtra:  # before the first file
        target.rmdir()
        raise
    except FileExistsError:
        raise UsageError(f"{target}: exists; expected the name of a new folder") from None
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from None
