"""QA forms as text: sections, automatic fails and agreement, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.metrics.forms.arithmetic import MARKS, MarkConfusion
from callscore.report import markdown_text
from callscore.report.details.decoded_case import decode_case
from callscore.report.details.form_agreement import (
    NOT_ASKED,
    FormCell,
    FormTotals,
    ModelForms,
    QuestionAgreement,
    QuestionCounter,
    failed_forms,
    form_rows,
    section_means,
)
from callscore.report.layout import Column, Line, StyledText, table
from callscore.report.markdown_text import code
from callscore.report.safe_text import plain
from callscore.report.source import ReportFormat, ReportOptions, ReportSource

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


MARK_WORDS = {"yes": "Yes", "no": "No", "na": "N/A"}
ABOUT = (
    "Marks of models and of people. Totals follow the form's own rules; no score of "
    "the framework depends on them."
)


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the page, model by model."""
    del options
    totals, questions = count_forms(source)
    lines = ["# QA forms", "", ABOUT, ""]
    if not totals.models:
        lines += ["No case has a QA form.", ""]
    for model in (one.model for one in source.card.models):
        if model in totals.models:
            lines += _model_lines(model, totals.models[model])
    if any(forms.totals for forms in totals.models.values()):
        lines += ["## By question", "", *_question_lines(questions, source), ""]
    yield "\n".join(lines).encode()


def count_forms(source: ReportSource) -> tuple[FormTotals, Sequence[QuestionAgreement]]:
    """Count the QA cases of a source: totals of forms, and agreement by question."""
    totals, questions = FormTotals(), QuestionCounter(source.provenance.settings)
    for view in source.cases:
        if "questions" in view.case.expected_outcome:
            case = decode_case(view)
            totals.add(case)
            questions.add(case)
    return totals, questions.worst_first()


def form_document(source: ReportSource) -> list[str]:
    """The QA form as a part of another document: sections, fails, questions; empty if none."""
    totals, questions = count_forms(source)
    models = [one.model for one in source.card.models]
    rows = [
        [code(line.label), *(_shown(cell) for cell in line.cells)]
        for line in form_rows(totals, models)
    ]
    if not rows:
        return []
    heads = [code(model) for model in models]
    return ["## QA form", "", ABOUT, "", *markdown_text.table(["section", *heads], rows), "",
            *_question_lines(questions, source), ""]  # fmt: skip


def _question_lines(questions: Sequence[QuestionAgreement], source: ReportSource) -> list[str]:
    """Agreement by question, the lowest first, with section and what a bad mark does."""
    models = [one.model for one in source.card.models]
    rows = [
        [
            code(question.shown.section) if question.shown.section else "",
            code(question.shown.text or question.id, 200),
            code(question.shown.critical, 160) if question.shown.critical else "",
            *(question.models.get(model, NOT_ASKED).in_words for model in models),
        ]
        for question in questions
    ]
    heads = ["section", "question, worst first", "critical", *map(code, models)]
    return markdown_text.table(heads, rows)


def _model_lines(model: str, forms: ModelForms) -> list[str]:
    counted = forms.confusion
    lines = [f"## {code(model, in_table=False)}", "", *_confusion_lines(counted), ""]
    lines += [f"- Equal marks: {_percent(counted.agreement)}"]
    said_na = sum(counted.counts["na"].values())
    lines += [f"- N/A answered with No: {_percent(counted.na_to_no_rate)} of {said_na}"]
    if forms.unreadable:
        lines.append(f"- Malformed answers: {forms.unreadable}")
    if forms.totals:
        lines.append(f"- Questions answered although they do not apply: {forms.hidden_answered}")
        people, given, both = failed_forms(forms.totals)
        lines.append(f"- Automatic fails: people {people}, model {given}, both {both}")
        lines += ["", *_total_lines(forms)]
    return [*lines, ""]


def _confusion_lines(counted: MarkConfusion) -> list[str]:
    rows = [
        [MARK_WORDS[expected], *(str(counted.counts[expected][given]) for given in MARKS)]
        for expected in MARKS
    ]
    return markdown_text.table(["people \\ model", *(MARK_WORDS[mark] for mark in MARKS)], rows)


def _total_lines(forms: ModelForms) -> list[str]:
    rows = [
        [
            code(mean.title),
            f"{mean.expected:.1f}",
            f"{mean.given:.1f}",
            f"{mean.difference:+.1f}",
            str(mean.calls),
        ]
        for mean in section_means(forms.totals)
    ]
    return markdown_text.table(["section", "people, %", "model, %", "difference", "calls"], rows)


def _percent(share: float | None) -> str:
    return "not defined" if share is None else f"{100 * share:.1f} %"


FORMAT = ReportFormat(
    "forms", ".md", "QA forms: N/A confusion, section totals, fails", write, needs_cases=True
)
