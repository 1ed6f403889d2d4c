"""Calls in tables: one row per turn, or one row per call with the transcript in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
)
from callscore.importers.labelled_text import has_speaker_labels, labelled_turns
from callscore.importers.source_file import Source
from callscore.importers.tables import Table, TableRow, format_cell, group_rows, read_tables
from callscore.importers.turn_fields import (
    CALL,
    LANGUAGE,
    TRANSCRIPT,
    TimeField,
    TurnFields,
    choose_fields,
    find_name,
    speaker_label,
)

SAMPLE = 100
"""The number of rows that decide on the columns of a table."""


def is_table_of_calls(source: Source) -> bool:
    """Whether a table has columns of turns, or a column of transcripts."""
    return any(
        _transcript_column(table) or _turn_columns(table, {}) for table in read_tables(source)
    )


def read_table_of_calls(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of every sheet; sheets without calls are reported as skipped."""
    name = "xlsx" if source.is_archive else "csv"
    for table in read_tables(source):
        given = {key: column for key, column in context.fields.items() if column in table.columns}
        if not given and (column := _transcript_column(table)) is not None:
            yield from _read_calls(name, table, column, source, context)
        elif (fields := _turn_columns(table, given)) is not None:
            yield from _read_turns(name, table, fields, source, context)
        else:
            yield SkippedPart(
                f"{source.name}: sheet {table.name!r}" if table.name else source.name,
                f"has no column of turns or transcripts (its columns: {table.headings})",
            )


def _turn_columns(table: Table, given: Mapping[str, str]) -> TurnFields | None:
    """The columns of a table with one row per turn: a text, and a speaker or a start."""
    fields = choose_fields([row.cells for row in table.rows[:SAMPLE]], given)
    if fields is None or not (fields.speaker or fields.start or "text" in given):
        return None
    return fields


def _transcript_column(table: Table) -> str | None:
    """The column of transcripts: one with text with speaker labels in its cells."""
    column = find_name(table.columns, TRANSCRIPT)
    if column is None:
        return None
    cells = [format_cell(row.cells.get(column)) for row in table.rows[:20]]
    return column if any("\n" in cell and has_speaker_labels(cell) for cell in cells) else None


def _read_turns(
    name: str, table: Table, fields: TurnFields, source: Source, context: ImportContext
) -> ImportIterator:
    call = fields.call
    groups = group_rows(table, call) if call else iter([("", list(table.rows))])
    notes = [] if fields.is_plain else [f"turns read with {fields.describe()}"]
    if fields.speaker is None:
        notes.append("the file names no speakers; its turns have no role")
    for call_id, rows in groups:
        if call and not call_id:
            for row in rows:
                yield SkippedPart(f"{source.name}: {row.where}", f"has no {call!r}")
            continue
        lang = _first_text(rows, fields.lang)
        turns = list(_turns(fields, _sort_by_number(rows, fields.turn), source))
        details = CallDetails(call_id, lang, notes=notes)
        yield from build_conversation(name, turns, details, context)


def _turns(fields: TurnFields, rows: Sequence[TableRow], source: Source) -> Iterator[RawTurn]:
    for row in rows:
        for column in (fields.start, fields.end):
            _check_time(column, row, source)
        start, end = fields.times(row.cells)
        yield RawTurn(
            speaker_label(_whole(row.cells.get(fields.speaker))) if fields.speaker else "",
            format_cell(row.cells.get(fields.text)),
            start,
            end,
            source=row.where,
        )


def _whole(cell: object) -> object:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _check_time(field: TimeField | None, row: TableRow, source: Source) -> None:
    cell = format_cell(row.cells.get(field.name)) if field is not None else ""
    if field is not None and cell and field.seconds(row.cells) is None:
        raise DataError(
            f"{cell!r} is not a time; expected seconds or hh:mm:ss",
            field=field.name,
            place=f"{source.name}: {row.where}",
        )


def _sort_by_number(rows: Sequence[TableRow], column: str | None) -> Sequence[TableRow]:
    if column is None:
        return rows
    numbers = []
    for row in rows:
        try:
            numbers.append(float(format_cell(row.cells.get(column))))
        except ValueError:
            return rows
    return [rows[at] for at in sorted(range(len(rows)), key=numbers.__getitem__)]


def _read_calls(
    name: str, table: Table, column: str, source: Source, context: ImportContext
) -> ImportIterator:
    call, language = find_name(table.columns, CALL), find_name(table.columns, LANGUAGE)
    for row in table.rows:
        where = f"{source.name}: {row.where}"
        text = format_cell(row.cells.get(column))
        if not text:
            yield SkippedPart(where, f"has no {column!r}")
            continue
        turns = []
        for turn in labelled_turns(text, context.roles):
            if isinstance(turn, SkippedPart):
                yield SkippedPart(f"{where}, {turn.where} of the cell", turn.why)
            else:
                turns.append(turn)
        call_id = format_cell(row.cells.get(call)) if call else ""
        fallback_id = f"{context.fallback_id}-{row.where.rpartition(' ')[2]}"
        others = {
            key: format_cell(cell)
            for key, cell in row.cells.items()
            if key not in (column, call, language) and format_cell(cell)
        }
        lang = format_cell(row.cells.get(language)) if language else None
        metadata = {"columns": others} if others else {}
        details = CallDetails(call_id or fallback_id, lang or None, metadata)
        yield from build_conversation(name, turns, details, context)


def _first_text(rows: Sequence[TableRow], column: str | None) -> str | None:
    if column is None:
        return None
    return next((text for row in rows if (text := format_cell(row.cells.get(column)))), None)
