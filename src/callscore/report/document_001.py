"""The result files of scenarios (document 001): one per model and language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from callscore.core.errors import UsageError
from callscore.report.safe_text import escape_json
from callscore.report.source import Files, ReportFormat, ReportOptions, ReportSource


def document_json(document: Any) -> bytes:
    """A document as JSON; a lone surrogate in a reply becomes an escape sequence."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return escape_json((text + "\n").encode("utf-8", "backslashreplace"))


def result_files(joint: Path, documents: Iterable[Mapping[str, Any]]) -> dict[Path, Any]:
    """One file of document 001 per model and language, next to the joint file   C-121

    The public consumer of results reads no other form, and shows zeros for what it cannot read.
    """
    files = _named(_by_language(documents), f"{joint.stem}.")
    return {joint.with_name(name): document for name, document in files.items()}


def _named(documents: Iterable[Mapping[str, Any]], prefix: str = "") -> dict[str, Any]:
    """Each document by `MODEL.LANGUAGE.json`; unsafe characters become `_`, equal names get a
    number.
    """
    files: dict[str, Any] = {}
    for document in documents:
        about, number = document["x_extension"], 2
        safe = re.sub(r"[^\w.-]", "_", f"{prefix}{about['model']}.{about['language']}")
        name = f"{safe}.json"
        while name in files:
            name, number = f"{safe}-{number}.json", number + 1
        files[name] = document
    return files


def _by_language(documents: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        yield from document["languages"].values() if "languages" in document else (document,)


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the document of the only model and language."""
    found = [*_documents(source, options)]
    if len(found) > 1:
        raise UsageError(f"{len(found)} models and languages; expected -o with a new folder")
    yield document_json(found[0])


def write_files(source: ReportSource, options: ReportOptions) -> Files:
    """Return a file for every model and language: `MODEL.LANGUAGE.json`."""
    files = _named(_documents(source, options))
    return ((name, document_json(document)) for name, document in files.items())


def _documents(source: ReportSource, options: ReportOptions) -> list[Mapping[str, Any]]:
    if options.without_text:
        raise UsageError("document 001 quotes replies; expected no --without-text")
    if not source.documents:
        raise UsageError("no scenarios were scored, and document 001 is about nothing else")
    return [*_by_language(source.documents.values())]


FORMAT = ReportFormat(
    "document-001",
    ".001",
    "the result files of scenarios, one per model and language",
    write,
    files=write_files,
)
