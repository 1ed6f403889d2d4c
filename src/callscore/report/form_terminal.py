"""The QA form for the terminal: sections, automatic fails, and agreement by question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.report.details.form_agreement import (
    NOT_ASKED,
    FormCell,
    FormTotals,
    QuestionAgreement,
    form_rows,
)
from callscore.report.layout import Column, Line, StyledText, table
from callscore.report.safe_text import plain

QUESTIONS_SHOWN = 20


def form_lines(
    totals: FormTotals, questions: Sequence[QuestionAgreement], models: Sequence[str], width: int
) -> Iterator[Line]:
    """Yield the sections and questions of the form by model; nothing if there is no form."""
    lines = form_rows(totals, models)
    if not lines:
        return
    heads = [Column(plain(model, 40)) for model in models]
    yield []
    yield [StyledText("QA form, by its own rules (no score depends on it)", "bold")]
    rows = [
        [StyledText(plain(line.label, 60)), *(StyledText(_shown(cell)) for cell in line.cells)]
        for line in lines
    ]
    yield from table([Column("Section"), *heads], rows, width)
    yield []
    yield [StyledText("Marks that agree with those of people, worst question first", "bold")]
    asked = [_question_row(question, models) for question in questions[:QUESTIONS_SHOWN]]
    yield from table([Column("Question", min_width=30), *heads], asked, width)
    if len(questions) > QUESTIONS_SHOWN:
        yield [StyledText(f"{len(questions) - QUESTIONS_SHOWN} more questions not shown", "dim")]


def _shown(cell: FormCell) -> str:
    return f"{cell.value} ({cell.remark})" if cell.remark else cell.value


def _question_row(question: QuestionAgreement, models: Sequence[str]) -> Line:
    shown = question.shown
    words = [shown.section, plain(shown.text, 120) or plain(question.id, 60), shown.critical]
    label = " · ".join(filter(None, words))
    cells = []
    for model in models:
        count = question.models.get(model, NOT_ASKED)
        style = "red" if count.false_pass and shown.critical else ""
        cells.append(StyledText(count.in_words, style if count.asked else "dim"))
    return [StyledText(plain(label, 200), "bold" if shown.critical else ""), *cells]
