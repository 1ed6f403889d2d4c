"""QA forms in Markdown: Yes/No/N-A confusion, section totals, automatic fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.metrics.forms.arithmetic import MARKS, MarkConfusion
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
from callscore.report.markdown_text import code, table
from callscore.report.source import ReportFormat, ReportOptions, ReportSource

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
        [code(line.label), *(" ".join(_shown(cell)) for cell in line.cells)]
        for line in form_rows(totals, models)
    ]
    if not rows:
        return []
    heads = [code(model) for model in models]
    return ["## QA form", "", ABOUT, "", *table(["section", *heads], rows), "",
            *_question_lines(questions, source), ""]  # fmt: skip


def _shown(cell: FormCell) -> list[str]:
    return [cell.value, *([f"({cell.remark})"] if cell.remark else [])]


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
    return table(heads, rows)


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
    return table(["people \\ model", *(MARK_WORDS[mark] for mark in MARKS)], rows)


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
    return table(["section", "people, %", "model, %", "difference", "calls"], rows)


def _percent(share: float | None) -> str:
    return "not defined" if share is None else f"{100 * share:.1f} %"


FORMAT = ReportFormat(
    "forms", ".md", "QA forms: N/A confusion, section totals, fails", write, needs_cases=True
)
