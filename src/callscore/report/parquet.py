"""Parquet: cases, replies, verdicts, results and metrics as five tables in a folder.

`cases/part-00000.parquet`, `replies/model=NAME/part-00000.parquet` …: one part per block of cases,
and `_SUCCESS` last. Callscore's `query` reads the folder, as do DuckDB, polars, pandas and Spark.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.blocks import BLOCK
from callscore.core.case import Case
from callscore.core.errors import MissingExtra, UsageError
from callscore.core.judging import Verdict
from callscore.report.dossier import (
    CASE_KEYS_KEPT,
    VERDICT_TEXT_KEYS,
    case_object,
    output_bytes,
    sha256,
)
from callscore.report.source import Answer, CaseView, ReportFormat, ReportOptions, ReportSource

SUCCESS = "_SUCCESS"
"""Written last: without it, the folder is not complete."""
PARTITION = "model"
"""The column that is the name of a folder."""
TEXT_KEYS = ("id", "task", "call_id", "lang", "question")
OTHER, HASH = "other", "sha256"
_ENCODE = msgspec.json.Encoder().encode
_SORTED = msgspec.json.Encoder(order="sorted").encode

Row = Sequence[Any]
_ANSWER = {"case_id": "string", "task": "string", "run": "int64"}


class TableColumns(NamedTuple):
    """The columns of a table with their Arrow types, and whether each model has its own folder."""

    columns: Mapping[str, str]
    by_model: bool = True

    def schema(self) -> Any:
        """Return the Arrow schema of a file."""
        arrow = load_pyarrow()
        types = {"strings": arrow.list_(arrow.string())}
        return arrow.schema([(name, types.get(kind, kind)) for name, kind in self.columns.items()])


TABLES: Mapping[str, TableColumns] = {
    "cases": TableColumns(
        {**dict.fromkeys(Case.__struct_fields__, "string"), OTHER: "string", HASH: "string"},
        by_model=False,
    ),
    "replies": TableColumns(
        {
            **_ANSWER,
            "text": "string",
            "tool_calls": "string",
            "error": "string",
            "finish_reason": "string",
            "answered_by": "string",
            "input_tokens": "int64",
            "output_tokens": "int64",
            "cost_usd": "float64",
            "latency_ms": "float64",
            HASH: "string",
        }
    ),
    "verdicts": TableColumns(
        {
            **_ANSWER,
            "is_label": "bool",
            **dict.fromkeys(Verdict.__struct_fields__, "string"),
            "value": "float64",
            "approximate": "bool",
            "review": "bool",
        }
    ),
    "results": TableColumns(
        {
            **_ANSWER,
            "status": "string",
            "score": "float64",
            "ungated_score": "float64",
            "reasons": "strings",
            "flags": "strings",
        }
    ),
    "metrics": TableColumns(
        {
            **_ANSWER,
            "metric": "string",
            "value": "float64",
            "numerator": "float64",
            "denominator": "float64",
            "absence": "string",
            "why": "string",
            "approximate": "bool",
        }
    ),
}


def load_pyarrow() -> Any:
    """Import pyarrow; raises MissingExtra."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Parquet needs a package: pip install 'callscore[parquet]'") from None
    return pyarrow


def write_files(source: ReportSource, options: ReportOptions) -> Iterator[tuple[str, bytes]]:
    """Yield every file with its path in the folder; one part is in memory at a time.

    The text of a run whose replies are not stored is left out (`--no-store-text`).
    """
    run = source.provenance.run
    without_text = options.without_text or (run is not None and run.unstored)
    models = [model.model for model in source.card.models]
    part = _Part(0, models)
    for number, view in enumerate(source.cases):
        if number and number % BLOCK.cases == 0:
            yield from part.files()
            part = _Part(number // BLOCK.cases, models)
        part.add(view, without_text=without_text)
        if (number + 1) % BLOCK.sub_block == 0:
            part.flush()
    yield from part.files()
    yield SUCCESS, b""


class _Part:
    """One file per table and model, for the cases of one block."""

    def __init__(self, number: int, models: Sequence[str]) -> None:
        self._arrow = load_pyarrow()
        self._number = number
        self._rows: dict[tuple[str, str], list[Row]] = {
            (name, model): []
            for name, table in TABLES.items()
            for model in (models if table.by_model else ("",))
        }
        self._open: dict[tuple[str, str], tuple[Any, Any]] = {}

    def add(self, view: CaseView, *, without_text: bool) -> None:
        self._rows["cases", ""].append(_case_row(view, without_text=without_text))
        for answer in view.answers:
            for name, rows in _answer_rows(answer, without_text=without_text).items():
                self._rows[name, answer.model].extend(rows)

    def flush(self) -> None:
        """Write the rows so far as a row group of every file."""
        arrow = self._arrow
        for key, rows in self._rows.items():
            schema = TABLES[key[0]].schema()
            if key not in self._open:
                buffer = arrow.BufferOutputStream()
                writer = arrow.parquet.ParquetWriter(buffer, schema, compression="zstd")
                self._open[key] = buffer, writer
            columns = zip(*rows, strict=True) if rows else [()] * len(schema)
            arrays = [
                arrow.array(column, kind)
                for column, kind in zip(columns, schema.types, strict=True)
            ]
            self._open[key][1].write_batch(arrow.record_batch(arrays, schema=schema))
            rows.clear()

    def files(self) -> Iterator[tuple[str, bytes]]:
        self.flush()
        for (name, model), (buffer, writer) in self._open.items():
            writer.close()
            folder = f"{name}/{PARTITION}={_folder_name(model)}" if model else name
            yield f"{folder}/part-{self._number:05}.parquet", buffer.getvalue().to_pybytes()


def _folder_name(text: str) -> str:
    """Return the text percent-encoded, as Hive readers decode it: no path, no reserved name."""
    return re.sub(rb"[^\w.-]", lambda found: b"%%%02X" % found[0][0], text.encode()).decode()


def _case_row(view: CaseView, *, without_text: bool) -> Row:
    record = case_object(view)
    digest = sha256(_SORTED(record))
    if without_text:
        record = {key: record[key] for key in CASE_KEYS_KEPT if key in record}
    known = [_cell(key, record.pop(key, None)) for key in Case.__struct_fields__]
    return [*known, _ENCODE(record).decode() if record else None, digest]


def _cell(key: str, value: Any) -> str | None:
    """Return text as it is, everything else as JSON."""
    if value is None or isinstance(value, str) and key in (*TEXT_KEYS, "transcript"):
        return value
    return _ENCODE(value).decode()


def _answer_rows(answer: Answer, *, without_text: bool) -> Mapping[str, Sequence[Row]]:
    result = answer.result
    head = (result.case_id, result.task, result.run)
    calls = _ENCODE(answer.tool_calls).decode() if answer.tool_calls else None
    digest = None if answer.text is None else sha256(output_bytes(answer))
    rows: dict[str, list[Row]] = defaultdict(list)
    if result.status != "not_run":
        rows["replies"].append(
            (
                *head,
                *((None, None) if without_text else (answer.text, calls)),
                answer.error,
                answer.finish_reason,
                answer.answered_by,
                answer.input_tokens,
                answer.output_tokens,
                answer.cost_usd,
                answer.latency_ms,
                digest,
            )
        )
    for is_label, verdicts in ((False, answer.verdicts), (True, answer.labels)):
        for verdict in verdicts:
            given = msgspec.structs.asdict(verdict)
            if without_text:
                given |= dict.fromkeys(VERDICT_TEXT_KEYS)
            rows["verdicts"].append((*head, is_label, *given.values()))
    rows["results"].append(
        (*head, result.status, result.score, result.ungated_score, result.reasons, result.flags)
    )
    for slug, measure in answer.measures.items():
        counts = (measure.value, measure.numerator, measure.denominator)
        why = (measure.absence or None, None if without_text else measure.why or None)
        rows["metrics"].append((*head, slug, *counts, *why, measure.approximate))
    return rows


def _refuse(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    raise UsageError("parquet is a folder; expected -o FOLDER.parquet")


FORMAT = ReportFormat(
    "parquet",
    ".parquet",
    "a folder of tables: cases, replies, verdicts, results, metrics",
    _refuse,
    is_text=False,
    needs_cases=True,
    files=write_files,
)
