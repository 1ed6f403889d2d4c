"""Calls in tables: one row per turn, or one row per call with the transcript in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.core.errors import DataError
from callscore.importers.conversation import ImportIterator, RawTurn, SkippedPart
from callscore.importers.conversation_builder import CallDetails, ImportContext, build_conversation
from callscore.importers.labelled_text import has_speaker_labels, labelled_turns
from callscore.importers.source import Source
from callscore.importers.tables import Table, TableRow, format_cell, group_rows, read_tables
from callscore.importers.times import parse_cell_time

CALL = ("call_id", "conversation_id", "contact_id", "interaction_id", "session_id", "recording_id",
        "dialogue_id", "dialog_id", "call", "conversation", "id")  # fmt: skip
TEXT = ("text", "utterance", "message", "content", "said", "sentence", "phrase", "body", "line",
        "transcript")  # fmt: skip
SPEAKER = ("speaker", "role", "participant", "participant_role", "who", "author", "from", "channel",
           "party", "sender", "speaker_label")  # fmt: skip
TURN = ("turn", "turn_id", "turn_number", "sequence", "seq", "index", "order", "line_number")
START = ("start", "start_time", "begin", "offset", "timestamp", "time", "start_seconds", "start_s",
         "begin_offset")  # fmt: skip
START_MS = ("start_ms", "begin_offset_millis", "start_time_ms", "offset_ms", "start_millis")
END = ("end", "end_time", "end_seconds", "end_s", "until")
END_MS = ("end_ms", "end_offset_millis", "end_time_ms", "end_millis")
TRANSCRIPT = ("transcript", "transcription", "conversation", "dialogue", "dialog",
              "full_transcript", "call_transcript", "text", "content")  # fmt: skip
LANGUAGE = ("lang", "language", "language_code", "locale")


def is_table_of_calls(source: Source) -> bool:
    """Whether a table has columns of turns, or a column of transcripts."""
    return any(_has_turns(table) or _transcript_column(table) for table in read_tables(source))


def read_table_of_calls(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of every sheet; sheets without calls are reported as skipped."""
    name = "xlsx" if source.is_archive else "csv"
    for table in read_tables(source):
        if _has_turns(table):
            yield from _read_turns(name, table, source, context)
        elif (column := _transcript_column(table)) is not None:
            yield from _read_calls(name, table, column, source, context)
        else:
            columns = ", ".join(column for column in table.columns if column)
            yield SkippedPart(
                f"{source.name}: sheet {table.name!r}",
                f"has no column of turns or transcripts (its columns: {columns})",
            )


def _has_turns(table: Table) -> bool:
    return table.column(SPEAKER) is not None and table.column(TEXT) is not None


def _transcript_column(table: Table) -> str | None:
    """The column of transcripts: one with text with speaker labels in its cells."""
    column = table.column(TRANSCRIPT)
    if column is None:
        return None
    cells = [format_cell(row.cells.get(column)) for row in table.rows[:20]]
    return column if any(map(has_speaker_labels, cells)) else None


def _read_turns(name: str, table: Table, source: Source, context: ImportContext) -> ImportIterator:
    call = table.column(CALL)
    groups = group_rows(table, call) if call else iter([("", list(table.rows))])
    for call_id, rows in groups:
        if call and not call_id:
            for row in rows:
                yield SkippedPart(f"{source.name}: {row.where}", f"has no {call!r}")
            continue
        lang = _first_text(rows, table.column(LANGUAGE))
        turns = list(_turns(table, _sort_by_number(rows, table.column(TURN)), source))
        yield from build_conversation(name, turns, CallDetails(call_id, lang), context)


def _turns(table: Table, rows: Sequence[TableRow], source: Source) -> Iterator[RawTurn]:
    speaker, text = table.column(SPEAKER) or "", table.column(TEXT) or ""
    for row in rows:
        yield RawTurn(
            format_cell(row.cells.get(speaker)),
            format_cell(row.cells.get(text)),
            _time(table, row, START, START_MS, source),
            _time(table, row, END, END_MS, source),
            source=row.where,
        )


def _time(
    table: Table, row: TableRow, seconds: Sequence[str], millis: Sequence[str], source: Source
) -> float | None:
    for names, unit in ((millis, 1000), (seconds, 1)):
        column = table.column(names)
        if column is None or not format_cell(row.cells.get(column)):
            continue
        value = parse_cell_time(row.cells[column])
        if value is None:
            raise DataError(
                f"{format_cell(row.cells[column])!r} is not a time; expected seconds or hh:mm:ss",
                field=column,
                place=f"{source.name}: {row.where}",
            )
        return value / unit
    return None


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
    call, language = table.column(CALL), table.column(LANGUAGE)
    for row in table.rows:
        where = f"{source.name}: {row.where}"
        text = format_cell(row.cells.get(column))
        if not text:
            yield SkippedPart(where, f"has no {column!r}")
            continue
        turns = []
        for turn in labelled_turns(text):
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
