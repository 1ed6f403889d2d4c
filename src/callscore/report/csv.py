"""CSV in long form: one line per case, model, run and metric (RFC 4180; no cell is a formula)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from callscore.report.safe_text import safe_cell_text
from callscore.report.source import Answer, CaseView, ReportFormat, ReportOptions, ReportSource

COLUMNS = (
    "case_id",
    "call_id",
    "task",
    "lang",
    "model",
    "run",
    "status",
    "score",
    "ungated_score",
    "reasons",
    "flags",
    "metric",
    "value",
    "numerator",
    "denominator",
    "why",
    "approximate",
    "input_tokens",
    "output_tokens",
    "cost_usd",
)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Spreadsheets need it to detect UTF-8."""
CHUNK_CHARACTERS = 1 << 16


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the table in chunks; an answer without metrics has one line."""
    yield BYTE_ORDER_MARK
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for view in source.cases:
        for answer in view.answers:
            writer.writerows(_rows(view, answer))
        if buffer.tell() > CHUNK_CHARACTERS:
            yield _drain(buffer)
    yield _drain(buffer)


def _drain(buffer: io.StringIO) -> bytes:
    """Return the text of the buffer as UTF-8, and empty the buffer."""
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode("utf-8", "replace")


def _rows(view: CaseView, answer: Answer) -> Iterator[list[object]]:
    case, result = view.case, answer.result
    head = [
        safe_cell_text(case.id),
        "" if case.call_id is None else safe_cell_text(str(case.call_id)),
        safe_cell_text(case.task),
        safe_cell_text(case.lang or ""),
        safe_cell_text(result.model),
        result.run,
        result.status,
        _number(result.score),
        _number(result.ungated_score),
        safe_cell_text("; ".join(result.reasons)),
        safe_cell_text("; ".join(result.flags)),
    ]
    tail = [answer.input_tokens, answer.output_tokens, _number(answer.cost_usd)]
    if not answer.measures:
        yield [*head, "", "", "", "", safe_cell_text(answer.error or ""), "", *tail]
    for slug, measure in answer.measures.items():
        yield [
            *head,
            safe_cell_text(slug),
            _number(measure.value),
            _number(measure.numerator),
            _number(measure.denominator),
            safe_cell_text(measure.reason() or ""),
            "yes" if measure.approximate else "",
            *tail,
        ]


def _number(value: float | None) -> str:
    """Return the shortest text that parses to the same float; empty without a value."""
    return "" if value is None else repr(value)


FORMAT = ReportFormat(
    "csv", ".csv", "one line per case, model, run and metric", write, needs_cases=True
)
