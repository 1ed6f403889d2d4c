"""The report formats by name: built-in ones, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module

import msgspec

from callscore.core.errors import UsageError, nearest
from callscore.core.plugins import Group, PluginError, load_plugin, plugin_errors, plugin_names
from callscore.report.source import ReportFormat, ReportOptions, ReportSource

GROUP: Group = "callscore.reports"
"""The entry point group in which a package registers a `ReportFormat`."""

BUILT_IN: Mapping[str, str] = {
    "html": "callscore.report.html",
    "md": "callscore.report.markdown",
    "csv": "callscore.report.csv",
    "xlsx": "callscore.report.xlsx",
    "json": "callscore.report.json",
    "junit": "callscore.report.check_formats",
    "dossier": "callscore.report.dossier",
    "forms": "callscore.report.forms",
    "inspect": "callscore.report.inspect_log",
    "promptfoo": "callscore.report.promptfoo",
    "every-eval-ever": "callscore.report.every_eval_ever",
    "otel": "callscore.report.otel",
    "parquet": "callscore.report.parquet",
    "document-001": "callscore.report.document_001",
}
"""Format name → module with the format as `FORMAT`, imported on first use."""


def format_names() -> list[str]:
    """Return the names of all formats, built-in ones first."""
    return [*BUILT_IN, *(name for name in plugin_names(GROUP) if name not in BUILT_IN)]


def report_format(name: str) -> ReportFormat:
    """Return the format of this name; UsageError with the known names if there is none.

    A package cannot replace a built-in format.
    """
    if name in BUILT_IN:
        built_in: ReportFormat = import_module(BUILT_IN[name]).FORMAT
        return built_in
    if name in plugin_names(GROUP):
        return _check_plugin(name, load_plugin(GROUP, name))
    near = nearest(name, format_names(), likeness=0.5)
    meant = f"did you mean {near}? " if near else ""
    raise UsageError(
        f"{name!r} is not a report format; {meant}expected one of {', '.join(format_names())}"
    )


def format_for(file_name: str) -> str | None:
    """Return the built-in format with the longest suffix that matches a file name, if any."""
    suffixes = {name: report_format(name).suffix for name in BUILT_IN}
    names = [name for name, suffix in suffixes.items() if file_name.lower().endswith(suffix)]
    return max(names, key=lambda name: len(suffixes[name]), default=None)


def _check_plugin(name: str, loaded: object) -> ReportFormat:
    if not isinstance(loaded, ReportFormat):
        raise PluginError(
            f"report format {name!r} is a {type(loaded).__name__}; expected a "
            "callscore.extension.ReportFormat"
        )
    if loaded.files is not None:
        raise PluginError(f"report format {name!r} has `files`; expected one that yields a file")
    return msgspec.structs.replace(loaded, write=partial(_chunks, loaded))


def _chunks(
    form: ReportFormat, source: ReportSource, options: ReportOptions
) -> Iterator[bytes | memoryview]:
    """What a format of another package writes; raises PluginError."""
    what = f"report format {form.name!r}: write()"
    with plugin_errors(what):
        for chunk in form.write(source, options):
            if not isinstance(chunk, bytes | memoryview):
                raise PluginError(f"{what} yielded {type(chunk).__name__}; expected bytes")
            yield chunk
