"""Worklists: open items in a file for people; filled in, it is a verdicts file.

A file is CSV or JSON Lines, by its extension. A cell that a spreadsheet would take for a formula is
written after an apostrophe, which is removed when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from callscore.core import strict_json
from callscore.core.errors import DataError, UsageError
from callscore.core.labelling import escape_formula, unescape_formula
from callscore.core.verdict_rules import BY_CODE
from callscore.store.files import (
    MAX_LINE_BYTES,
    Line,
    LinesByKey,
    atomic_write,
    lines_of,
    open_for_reading,
)
from callscore.store.verdict_records import is_five_key

CSV, JSONL = ".csv", ".jsonl"
WORD_SEPARATOR = " | "
NEEDED = ("case_id", "metric", "item")
SEPARATORS = (",", ";", "\t")


class OpenItem(msgspec.Struct, frozen=True):
    """An item that awaits a verdict, with empty fields for the answer."""

    case_id: str
    model: str | None
    """None if it is about the case itself, not about a reply."""
    run: int
    metric: str
    item: str
    text: str
    compare_with: str
    question: str
    words: Sequence[str]
    """The words to choose from."""
    quote_from: str
    """Which words need a quote, and where from."""
    verdict: str | None = None
    quote: str = ""
    source: str = ""
    by: str = ""


OnOpen = Callable[[OpenItem], None]
COLUMNS = OpenItem.__struct_fields__


@contextmanager
def worklist_writer(path: Path) -> Iterator[OnOpen]:
    """Writes open items; the file appears only when it is complete."""
    check_worklist(path)
    with atomic_write(path) as file:
        if path.suffix.lower() == CSV:
            yield from _csv_writer(file)
            return
        encode = msgspec.json.Encoder().encode

        def write(item: OpenItem) -> None:
            file.write(encode(item) + b"\n")

        yield write


def check_worklist(path: Path) -> None:
    """Refuse a file whose extension is not a supported format."""
    if path.suffix.lower() not in (CSV, JSONL):
        raise UsageError(f"{path}: unknown format; expected a file that ends in {JSONL} or {CSV}")


def _csv_writer(file: BinaryIO) -> Iterator[OnOpen]:
    """CSV with a byte order mark, which spreadsheets need to detect UTF-8."""
    import csv  # imported here: most commands need no CSV
    import io

    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", errors="replace")
    rows = csv.writer(text)
    rows.writerow(COLUMNS)

    def write(item: OpenItem) -> None:
        cells = {**msgspec.structs.asdict(item), "words": WORD_SEPARATOR.join(item.words)}
        rows.writerow([escape_formula(cells[name]) for name in COLUMNS])

    yield write
    text.flush()
    text.detach()


def read_open_items(path: Path) -> Iterator[OpenItem]:
    """The items of a worklist, with or without an answer; of a verdicts file, without theirs."""
    objects = ((line.place, _object(line)) for line in lines_of([path]))
    for place, record in _rows(path) if _is_csv(path) else objects:
        missing = [name for name in NEEDED if record.get(name) in (None, "")]
        if missing:
            raise DataError(
                "missing; expected a worklist of `--open-items`, or a verdicts file",
                field=missing[0],
                place=place,
            )
        if record.get("by") != BY_CODE:
            yield _blank_item(record)


def _object(line: Line) -> Mapping[str, Any]:
    try:
        record = strict_json.decode(line.raw, max_bytes=len(line.raw)).value
    except strict_json.JsonFault as error:
        raise DataError(f"{error}; expected a JSON object", place=line.place) from None
    if not isinstance(record, dict):
        raise DataError("is not an object; expected a JSON object", place=line.place)
    return record


def _blank_item(record: Mapping[str, Any]) -> OpenItem:
    words = record.get("words") or ()
    if isinstance(words, str):
        words = words.split(WORD_SEPARATOR)
    model, run = record.get("model"), str(record.get("run") or 1)
    return OpenItem(
        case_id=str(record["case_id"]),
        model=str(model) if model not in (None, "") else None,
        run=int(run) if run.isdecimal() else 1,
        metric=str(record["metric"]),
        item=str(record["item"]),
        **{name: str(record.get(name) or "") for name in ("text", "compare_with", "question")},
        words=tuple(map(str, words)),
        quote_from=str(record.get("quote_from") or ""),
    )


class VerdictLines:
    """The verdicts in files (JSON Lines and CSV) by case.

    Items of a worklist without an answer are skipped: they stay open.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._lines = LinesByKey([path for path in paths if not _is_csv(path)])
        self._rows: dict[int, list[Line]] = {}

    def __iter__(self) -> Iterator[Line]:
        return verdict_lines(self._paths)

    def add(self, key: int, line: Line) -> None:
        """Record that this line belongs to this case."""
        if _is_csv(line.path):
            self._rows.setdefault(key, []).append(line)
        else:
            self._lines.add(key, line)

    def lines(self, key: int) -> list[Line]:
        """The lines of a case."""
        return [*self._lines.lines(key), *self._rows.get(key, ())]

    def between(self, first: int, end: int) -> VerdictLines:
        """The lines of the cases from `first` to before `end`."""
        part = VerdictLines(self._paths)
        part._lines = self._lines.between(first, end)
        part._rows = {key: rows for key, rows in self._rows.items() if first <= key < end}
        return part

    def held(self) -> VerdictLines:
        """The same lines in memory, for a machine without the files."""
        copy = VerdictLines(self._paths)
        copy._lines, copy._rows = self._lines.held(), self._rows
        return copy

    def close(self) -> None:
        """Close the files."""
        self._lines.close()


def verdict_lines(paths: Sequence[Path]) -> Iterator[Line]:
    """Every verdict of the files; a CSV row becomes the JSON object with its values."""
    for path in paths:
        if _is_csv(path):
            yield from _csv_lines(path)
        else:
            yield from (line for line in lines_of([path]) if not _is_unfilled(line))


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == CSV


def _is_unfilled(line: Line) -> bool:
    """Whether a line is an open item of a worklist without an answer, or an empty score."""
    if b'"question"' not in line.raw and b'"score"' not in line.raw:
        return False
    try:
        record = strict_json.decode(line.raw, max_bytes=len(line.raw)).value
    except strict_json.JsonFault:
        return False  # the error is raised when the verdict is read
    if is_five_key(record):
        return record["score"] is None
    return (
        isinstance(record, dict)
        and "question" in record
        and not record.get("verdict")
        and record.get("value") is None
    )


def _csv_lines(path: Path) -> Iterator[Line]:
    for number, names, cells in _csv_cells(path):
        if record := _record(names, cells):
            yield Line(path, number, 0, msgspec.json.encode(record))


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every row of a CSV file by column, with its place."""
    for number, names, cells in _csv_cells(path):
        values = zip(names, map(unescape_formula, cells), strict=False)
        yield f"{path}:{number}", dict(values)


def _csv_cells(path: Path) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
    """Every row of a CSV file: its number, the names of the columns, and its cells."""
    import csv
    import io

    csv.field_size_limit(MAX_LINE_BYTES)
    with open_for_reading(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        try:
            head = text.readline()
            separator = max(SEPARATORS, key=head.count)
            names = [name.strip() for name in next(csv.reader([head], delimiter=separator), [])]
            _check_header(path, names)
            rows = csv.reader(text, delimiter=separator, strict=True)
            for cells in rows:
                yield rows.line_num + 1, names, cells
        except UnicodeDecodeError:
            raise DataError("is not UTF-8; expected a CSV file in UTF-8", place=str(path)) from None
        except csv.Error as error:
            place = f"{path}:{rows.line_num + 1}"
            raise DataError(
                f"is not valid CSV: {error}; expected a CSV file", place=place
            ) from None


def _check_header(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in NEEDED if name not in names]
    if missing or not {"verdict", "value"} & set(names):
        raise DataError(
            f"has no column {', '.join(missing) or 'verdict'}; expected a first row with "
            "case_id, model, run, metric, item and verdict",
            place=f"{path}:1",
        )


def _record(names: Sequence[str], cells: Sequence[str]) -> Mapping[str, Any]:
    """The verdict of a row; empty if the row has no answer."""
    values = {
        name: unescape_formula(cell)
        for name, cell in zip(names, cells, strict=False)
        if cell.strip()
    }
    if "verdict" not in values and "value" not in values:
        return {}
    record: dict[str, Any] = {
        name: text.strip() if name in _SHORT else text
        for name, text in values.items()
        if name in _READ
    }
    for name, kind in (("run", int), ("value", float)):
        if name in record:
            record[name] = _number(record[name], kind)
    return record


_SHORT = frozenset({"case_id", "metric", "item", "verdict", "run", "value"})
_READ = frozenset({*_SHORT, "model", "text", "quote", "source", "by", "judge"})


def _number(text: str, kind: type[int] | type[float]) -> int | float | str:
    """The number in a cell; other text is returned unchanged and refused later."""
    try:
        return kind(text)
    except ValueError:
        return text
