"""Tables of pages as files: CSV and Excel, with every row of the filter; no cell is executed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import get_args

from callscore.report.markup import Html, join, tag
from callscore.report.query_rows import csv_chunks
from callscore.report.xlsx import table_chunks
from callscore.web.screen import Download, Format, PageTable, Visit, element, link

FORMATS: tuple[Format, ...] = get_args(Format)
WORDS = {"csv": "CSV", "xlsx": "Excel"}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_TITLE = 31
"""Of a sheet in Excel."""


def as_file(table: PageTable, format: Format) -> Download:
    """Return a table as a file; what cannot be written at all is an error before it begins."""
    chunks: Iterator[bytes]
    if format == "csv":
        media, chunks = "text/csv; charset=utf-8", csv_chunks(table.columns, table.batches)
    else:
        media, chunks = XLSX, table_chunks(table.name[:MAX_TITLE], table.columns, table.batches)
    first = next(chunks, b"")
    return Download(f"{table.name}.{format}", media, chain((first,), chunks))


def export_links(visit: Visit) -> Html:
    """Return the links to the table of this page as a file."""
    address = visit.url()
    sign = "&" if "?" in address else "?"
    links = [link(WORDS[one], f"{address}{sign}format={one}") for one in FORMATS]
    return tag("p", "All of it as ", join(links[0], " or ", links[1]), class_="note export")


def export_form(label: str, action: str) -> Html:
    """Return the button for a file of calls or of work of people: an event says who took it."""
    return element("form", tag("button", label), method="post", action=action, class_="export")
