"""XLSX: scorecard, ranking, cases, marks, questions, blockers and settings, one sheet each.

All text is written as text: no cell is a formula or a link, whatever it starts with (S-04).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.errors import MissingExtra
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.report.cells import Cell, Tone, figure_of, scorecard_rows
from callscore.report.details.decoded_case import DecodedCase, decode_case
from callscore.report.details.form_agreement import FormTotals, QuestionCounter, form_rows
from callscore.report.details.form_marks import ComparedMarks, MarkReader
from callscore.report.safe_text import is_formula, plain, sanitize_lines
from callscore.report.source import CaseView, ReportFormat, ReportOptions, ReportSource
from callscore.scorecard.template import TemplateRow

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet


Setting = tuple[str, float | int | str | bool | None]


def row_value(model: ModelScore, row: TemplateRow) -> tuple[float, str] | None:
    """Return the official value of a row and its unit; None if there is none."""
    if row.kind == "metric":
        metric = model.metric(row.key)
        return None if metric is None or metric.value is None else (metric.value, metric.unit)
    if row.kind == "figure":
        found = figure_of(model, row)
        return None if found is None or found.value is None else (found.value, row.unit)
    if row.kind == "subscore":
        name, _, part = row.key.partition("/")
        subscore = model.tasks[name].subscores.get(part) if name in model.tasks else None
        return _fraction(subscore.score if subscore is not None else None)
    if row.kind == "task":
        return _fraction(model.tasks[row.key].score if row.key in model.tasks else None)
    if row.kind == "cost":
        cost = model.cost.per_1000_calls
        return None if cost is None else (cost, "usd")
    if row.kind in ("final_a", "final_b"):
        return _fraction(model.final.a if row.kind == "final_a" else model.final.b)
    return None


def _fraction(value: float | None) -> tuple[float, str] | None:
    return None if value is None else (value, "fraction")


def blocked_calls(card: Scorecard) -> Iterator[tuple[str, str, str, float, float, bool, str]]:
    """Yield model, task, metric, value, limit, whether it gates, and case of every blocked call."""
    for model in card.models:
        for blocker in model.blockers:
            for case_id in blocker.cases or ("",):
                yield (
                    model.model,
                    blocker.task,
                    blocker.metric,
                    blocker.value,
                    blocker.limit,
                    blocker.gating,
                    case_id,
                )


def setting_rows(source: ReportSource) -> Iterator[Setting]:
    """Yield what is needed to repeat the scores: signature, run, files, models, settings."""
    card, provenance = source.card, source.provenance
    yield "title", source.title
    yield "framework", card.framework
    yield "signature", card.signature
    yield "contains estimates", card.estimate
    for note in (*card.notes, *source.absent):
        yield "note", note
    yield from _flatten("run", msgspec.to_builtins(provenance.run))
    for file in provenance.files:
        yield f"{file.role} {file.name}", f"sha256:{file.sha256} ({file.bytes} bytes)"
    for spec in provenance.models:
        yield from _flatten(f"model {spec.name}", msgspec.to_builtins(spec))
    for spec in provenance.judge:
        yield from _flatten(f"judge {spec.name}", msgspec.to_builtins(spec))
    yield from _flatten("judging", msgspec.to_builtins(card.judging))
    for name in ("weights", "workload", "cost_per_1000", "settings", "versions"):
        yield from _flatten(name, msgspec.to_builtins(getattr(provenance, name)))


def _flatten(name: str, value: object) -> Iterator[Setting]:
    """Yield `name.key` and value of nested mappings; empty values are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(f"{name}.{key}", inner)
    elif isinstance(value, list | tuple):
        if value:
            yield name, msgspec.json.encode(value).decode()
    elif isinstance(value, str | int | float):
        yield name, value


LAST_ROW = 1_048_575
"""The most rows that Excel allows below the header."""
MAX_CELL_LENGTH = 32_767
CHUNK_BYTES = 1 << 18
CREATED = datetime(2000, 1, 1, tzinfo=UTC)
"""The creation time in the file, fixed so that equal results give equal bytes."""
COLOURS: Mapping[Tone, Mapping[str, str]] = {
    "good": {"bg_color": "#DFF2E1", "font_color": "#14532D"},
    "middling": {"bg_color": "#FDF3D0", "font_color": "#713F12"},
    "bad": {"bg_color": "#FBE3E4", "font_color": "#7F1D1D"},
    "blocked": {"bg_color": "#F5B5B8", "font_color": "#7F1D1D", "bold": "1"},
    "quiet": {"font_color": "#6B7280"},
    "plain": {},
}
STATUS_TONES: Mapping[str, Tone] = {
    "valid": "good",
    "invalid": "bad",
    "error": "middling",
    "incomplete": "middling",
    "not_run": "middling",
}
TABLE_WIDTH = 16
NUMBER, MONEY, WHOLE = "0.000", "$0.00####", "0"
WRONG = "✗"
"""Before a mark that is not that of the person."""


class _WorkbookWriter:
    """Writes cells and sheets of a workbook."""

    def __init__(self, book: Workbook) -> None:
        self._book = book
        self._formats: dict[tuple[tuple[str, object], ...], Format] = {}

    def style(self, **properties: object) -> Format:
        """Return a cell format; equal formats are created once."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self._book.add_format(dict(properties))
        return self._formats[key]

    def sheet(self, name: str, columns: Sequence[tuple[str, int]], frozen: int = 1) -> Worksheet:
        """Add a sheet with a frozen header; `columns` are headings with widths."""
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, frozen)
        heading = self.style(bold=True, bottom=1, text_wrap=True, valign="top")
        for place, (text, width) in enumerate(columns):
            sheet.set_column(place, place, width)
            self.text(sheet, 0, place, text, heading)
        return sheet

    def text(
        self, sheet: Worksheet, row: int, column: int, text: str, style: Format | None = None
    ) -> None:
        """Write a text; one that would be a formula if typed in is marked as text."""
        safe = sanitize_lines(text)[:MAX_CELL_LENGTH]
        if not safe:
            return
        if style is None and is_formula(safe):
            style = self.style(quote_prefix=True)
        sheet.write_string(row, column, safe, style)

    def value(self, sheet: Worksheet, row: int, column: int, value: object, form: str = "") -> None:
        """Write a number in its format, a boolean or a text; nothing for None."""
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value)
        elif isinstance(value, int | float):
            sheet.write_number(row, column, value, self.style(num_format=form) if form else None)
        elif value is not None:
            self.text(sheet, row, column, str(value))

    def rows(
        self, sheet: Worksheet, lines: Iterable[Sequence[object]], forms: Mapping[int, str]
    ) -> tuple[int, int]:
        """Write rows below the header; return how many were written and how many did not fit."""
        written = left_out = 0
        for values in lines:
            if written == LAST_ROW:
                left_out += 1
                continue
            written += 1
            for column, value in enumerate(values):
                self.value(sheet, written, column, value, forms.get(column, ""))
        return written, left_out


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the workbook; rows go to temporary files, so memory does not grow with the cases."""

    def fill(book: _WorkbookWriter) -> None:
        _write_scorecard(book, source)
        _write_ranking(book, source)
        left_out = _write_cases(book, source)
        questions, totals = QuestionCounter(source.provenance.settings), FormTotals()
        _write_marks(book, source, questions, totals)
        _write_form(book, source, totals)
        _write_questions(book, questions)
        _write_blockers(book, source)
        _write_settings(book, source, left_out)

    yield from _workbook_chunks(source.title, fill)


def table_chunks(
    title: str, columns: Sequence[str], batches: Iterable[Iterable[Sequence[object]]]
) -> Iterator[bytes]:
    """Yield a workbook with one sheet."""

    def fill(book: _WorkbookWriter) -> None:
        sheet = book.sheet(title, [(column, TABLE_WIDTH) for column in columns])
        book.rows(sheet, (row for batch in batches for row in batch), {})

    yield from _workbook_chunks(title, fill)


def _workbook_chunks(title: str, fill: Callable[[_WorkbookWriter], None]) -> Iterator[bytes]:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("xlsx needs a package: pip install 'callscore[excel]'") from None
    with tempfile.TemporaryFile(prefix="callscore-") as file:
        with xlsxwriter.Workbook(
            file,
            {
                "constant_memory": True,
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
            },
        ) as workbook:
            workbook.set_properties({"title": plain(title), "created": CREATED})
            fill(_WorkbookWriter(workbook))
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _write_scorecard(book: _WorkbookWriter, source: ReportSource) -> None:
    models = source.card.models
    columns = [("Row", 44), ("Threshold", 26), *((model.model, 22) for model in models)]
    sheet = book.sheet("Scorecard", columns, frozen=2)
    at = 0
    notes: list[str] = []
    for row in scorecard_rows(source.card, source.template, rows="details"):
        at += 1
        title = row.template
        mark = "[!] " if title.is_blocker else ""
        heading = book.style(bold=True) if title.kind in ("section", "task") else None
        book.text(sheet, at, 0, f"{mark}{title.label}", heading)
        book.text(sheet, at, 1, title.threshold)
        for column, (model, cell) in enumerate(zip(models, row.cells, strict=True), start=2):
            _write_cell(book, sheet, (at, column), cell, _number(model, title))
            note = cell.why or cell.remark
            if note and note not in notes:
                notes.append(note)
    for note in ("", *notes):
        at += 1
        book.text(sheet, at, 0, note, book.style(font_color="#6B7280"))


def _number(model: ModelScore, row: TemplateRow) -> tuple[float, str] | None:
    """Return the number behind a cell and its format; None if the cell is text."""
    official = row_value(model, row)
    if official is None:
        return None
    value, unit = official
    forms = {"fraction": NUMBER, "percent": '0.00" %"', "count": WHOLE, "usd": MONEY}
    return value, forms.get(unit, NUMBER)


def _write_cell(
    book: _WorkbookWriter,
    sheet: Worksheet,
    place: tuple[int, int],
    cell: Cell,
    number: tuple[float, str] | None,
) -> None:
    colours: dict[str, Any] = dict(COLOURS[cell.tone])
    if number is None:
        book.text(sheet, *place, cell.text, book.style(align="right", **colours))
    else:
        sheet.write_number(*place, number[0], book.style(num_format=number[1], **colours))


def _write_ranking(book: _WorkbookWriter, source: ReportSource) -> None:
    columns = (
        ("Rank", 8),
        ("Model", 30),
        (source.card.final_heading, 12),
        ("Quality rank", 12),
        ("USD per 1000 calls", 18),
        ("Efficiency", 12),
        ("Pareto front", 12),
        ("Estimate", 10),
        ("Reason", 60),
    )
    sheet = book.sheet("Ranking", columns, frozen=2)
    lines = (
        (
            entry.rank,
            entry.model,
            entry.final_score,
            entry.quality_rank,
            entry.cost_per_1000_calls,
            entry.efficiency,
            entry.pareto,
            entry.estimate,
            entry.reason,
        )
        for entry in source.card.ranking
    )
    written, _ = book.rows(sheet, lines, {2: NUMBER, 4: MONEY, 5: NUMBER})
    if written:
        _colour_scale(sheet, 2, written)


def _colour_scale(sheet: Worksheet, column: int, last: int) -> None:
    scale = {"min_color": "#F5B5B8", "mid_color": "#FDF3D0", "max_color": "#9FD8A8"}
    limits = {"min_type": "num", "min_value": 0, "mid_type": "num", "mid_value": 0.85}
    limits |= {"max_type": "num", "max_value": 1}
    sheet.conditional_format(1, column, last, column, {"type": "3_color_scale", **scale, **limits})


def _write_cases(book: _WorkbookWriter, source: ReportSource) -> int:
    """Write one row per case, model and run; return how many did not fit."""
    columns = (
        ("Case", 28),
        ("Call", 16),
        ("Task", 12),
        ("Language", 10),
        ("Model", 24),
        ("Run", 6),
        ("Status", 12),
        ("Score", 9),
        ("Ungated score", 9),
        ("Reasons", 40),
        ("Flags", 30),
        ("Input tokens", 10),
        ("Output tokens", 10),
        ("USD", 12),
    )
    sheet = book.sheet("Cases", columns)
    written, left_out = book.rows(sheet, _case_rows(source), {7: NUMBER, 8: NUMBER, 13: MONEY})
    sheet.autofilter(0, 0, written, len(columns) - 1)
    if written:
        _colour_scale(sheet, 7, written)
        for status, tone in STATUS_TONES.items():
            style = book.style(**COLOURS[tone])
            rule = {"type": "cell", "criteria": "==", "value": f'"{status}"', "format": style}
            sheet.conditional_format(1, 6, written, 6, rule)
    return left_out


def _case_rows(source: ReportSource) -> Iterator[Sequence[object]]:
    for view in source.cases:
        case = view.case
        for answer in view.answers:
            result = answer.result
            yield (
                case.id,
                case.call_id if case.call_id is None else str(case.call_id),
                case.task,
                case.lang,
                result.model,
                result.run,
                result.status,
                result.score,
                result.ungated_score,
                "; ".join(result.reasons) or answer.error,
                "; ".join(result.flags),
                answer.input_tokens,
                answer.output_tokens,
                answer.cost_usd,
            )


def _write_questions(book: _WorkbookWriter, questions: QuestionCounter) -> None:
    """Write the agreement by question and model, lowest agreement first."""
    columns = (
        ("Question", 12),
        ("Text", 60),
        ("Model", 24),
        ("Asked", 8),
        ("Agreement", 11),
        ("False passes", 12),
        ("False fails", 12),
        ("N/A differs", 12),
        ("Unanswered", 12),
    )
    found = questions.worst_first()
    has_form = any(question.shown.section or question.shown.critical for question in found)
    of_form = (("Section", 18), ("Critical", 26)) if has_form else ()
    sheet = book.sheet("Questions", (*columns, *of_form))
    lines = (
        (
            question.id,
            question.shown.text,
            model,
            count.asked,
            count.agreement,
            count.false_pass,
            count.false_fail,
            count.not_applicable,
            count.unanswered,
            question.shown.section or None,
            question.shown.critical or None,
        )
        for question in found
        for model, count in question.models.items()
    )
    written, _ = book.rows(sheet, lines, {4: NUMBER})
    if written:
        _colour_scale(sheet, 4, written)


def _write_form(book: _WorkbookWriter, source: ReportSource, totals: FormTotals) -> None:
    """Write the sections of the QA form by model, and its automatic fails, if there is a form."""
    models = [model.model for model in source.card.models]
    lines = form_rows(totals, models)
    if not lines:
        return
    columns = [("Section", 34)]
    for model in models:
        columns += [(model, 14), ("compared with", 34)]
    sheet = book.sheet("QA form", columns)
    book.rows(
        sheet,
        ([line.label, *(part for cell in line.cells for part in cell)] for line in lines),
        {},
    )


def _write_marks(
    book: _WorkbookWriter, source: ReportSource, questions: QuestionCounter, totals: FormTotals
) -> None:
    """Write one row per call and question: the marks of people and models in words."""
    reader = MarkReader(source.provenance.settings)
    models = [model.model for model in source.card.models]
    columns = [("Call", 16), ("Section", 18), ("Question", 14), ("Text", 50), ("Critical", 26)]
    columns += [("People", 18), *((model, 22) for model in models)]
    sheet: Worksheet | None = None
    written = 0
    for view in source.cases:
        if "questions" not in view.case.expected_outcome:
            continue
        case = decode_case(view)
        totals.add(case)
        questions.add(case)
        marked = reader.marks(case)
        if marked.whole is None:  # without a form there are no words to show
            continue
        sheet = sheet or book.sheet("Marks", columns, frozen=3)
        for one in marked.questions:
            if written == LAST_ROW:
                break
            written += 1
            shown = one.shown
            values = [_call_name(view), shown.section, one.id, shown.text, shown.critical]
            marks = [_marks_of_model(model, case, one) for model in models]
            for column, value in enumerate([*values, one.expected, *marks]):
                book.value(sheet, written, column, value)
    if sheet is not None:
        sheet.autofilter(0, 0, written, len(columns) - 1)
        wrong = {"type": "text", "criteria": "containing", "value": WRONG}
        if written:
            style = book.style(**COLOURS["bad"])
            sheet.conditional_format(1, 6, written, 5 + len(models), wrong | {"format": style})


def _call_name(view: CaseView) -> str:
    return view.case.id if view.case.call_id is None else str(view.case.call_id)


def _marks_of_model(model: str, case: DecodedCase, marks: ComparedMarks) -> str:
    """The marks of a model in every run; a wrong one has a cross."""
    found = [
        f"{WRONG} {given.text}" if given.same is False else given.text
        for decoded, given in zip(case.answers, marks.given, strict=True)
        if decoded.answer.model == model and given is not None
    ]
    return "; ".join(found)


def _write_blockers(book: _WorkbookWriter, source: ReportSource) -> None:
    columns = (
        ("Model", 24),
        ("Task", 12),
        ("Metric", 36),
        ("Value", 10),
        ("Limit", 10),
        ("Makes it invalid", 16),
        ("Case", 30),
    )
    sheet = book.sheet("Blockers", columns)
    book.rows(sheet, blocked_calls(source.card), {3: NUMBER, 4: NUMBER})


def _write_settings(book: _WorkbookWriter, source: ReportSource, left_out: int) -> None:
    sheet = book.sheet("Settings", (("What", 36), ("Value", 100)))
    more = [("rows of cases left out", left_out)] if left_out else []
    book.rows(sheet, [*setting_rows(source), *more], {})


FORMAT = ReportFormat("xlsx", ".xlsx", "a workbook for spreadsheets", write, is_text=False)
