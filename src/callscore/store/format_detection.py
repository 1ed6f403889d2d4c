"""Detects files that are not JSON Lines, by their first bytes, else by their suffix."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from callscore.core.errors import DataError

EXPECTED = "expected one JSON object per line, in UTF-8"
_ROWS = "write every row as such a line, or pass a DataFrame to callscore.score in Python"
_TRANSCRIPT = (
    "put this text into the `transcript` of a case, next to id, task, config and "
    "expected_outcome (docs/formats.md)"
)


class OtherFormat(NamedTuple):
    """A format that is not JSON Lines, and how to convert it."""

    name: str
    remedy: str = ""


_SPREADSHEET = OtherFormat("a spreadsheet (Excel)", f"save it as CSV; {_ROWS}")
_ARCHIVE = OtherFormat("an archive or a spreadsheet (zip)")
_RECORDING = OtherFormat("a recording", "put its transcript into the `transcript` of a case")
_CSV = OtherFormat("a table (CSV)", _ROWS)
_VTT = OtherFormat("a transcript (WebVTT)", _TRANSCRIPT)
_SRT = OtherFormat("a transcript (SubRip)", _TRANSCRIPT)
_PLAIN = OtherFormat("plain text", _TRANSCRIPT)

BEGINNINGS = {
    b"\x1f\x8b": OtherFormat("compressed (gzip)"),
    b"PK\x03\x04": _ARCHIVE,
    b"\xd0\xcf\x11\xe0": _SPREADSHEET,
    b"\xff\xfe": OtherFormat("text in UTF-16"),
    b"\xfe\xff": OtherFormat("text in UTF-16"),
    b"%PDF": OtherFormat("a PDF"),
    b"RIFF": _RECORDING,
    b"ID3": _RECORDING,
    b"OggS": _RECORDING,
    b"fLaC": _RECORDING,
    b"WEBVTT": _VTT,
}
ENDINGS = {
    ".xlsx": _SPREADSHEET,
    ".xlsm": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".csv": _CSV,
    ".tsv": _CSV,
    ".vtt": _VTT,
    ".srt": _SRT,
    ".txt": _PLAIN,
}
_CUE = re.compile(rb"\s*\d+\s*\n\d\d:\d\d:\d\d[,.]\d{3} --> ")


def refuse_other_formats(path: Path, beginning: bytes) -> None:
    """Raise DataError if the file is not JSON Lines: one error instead of one per line."""
    found = _detect(path, beginning)
    if found is not None:
        remedy = f"; {found.remedy}" if found.remedy else ""
        raise DataError(f"is {found.name}; {EXPECTED}{remedy}", place=str(path))


def _detect(path: Path, beginning: bytes) -> OtherFormat | None:
    text = beginning.lstrip()
    by_name = ENDINGS.get(path.suffix.lower())
    for start, other in BEGINNINGS.items():
        if beginning.startswith(start):
            return by_name if other is _ARCHIVE and by_name is _SPREADSHEET else other
    if not text:
        return None
    if text.startswith((b"{", b"[")):
        return _json(text)
    return _SRT if _CUE.match(beginning) else by_name


def _json(text: bytes) -> OtherFormat | None:
    """A JSON array, or an object over several lines; None if the first line is a complete object"""
    first, _, rest = text.partition(b"\n")
    if first.strip() in (b"{", b"["):
        return OtherFormat("one JSON document over several lines", "name it .json if it is a case")
    if text.startswith(b"[") and not rest.strip():
        return OtherFormat("one JSON list", "write every element as its own line")
    return None
