"""Questions: how far each model agrees with people, question by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from callscore.report.details.form_agreement import QuestionAgreement
from callscore.report.details.form_marks import QuestionCall, question_calls
from callscore.report.html.answers_sections import (
    confusion_section,
    forms_section,
    questions_section,
)
from callscore.report.html.parts import model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.source import ReportSource
from callscore.results.port import QueryError
from callscore.web.page import empty
from callscore.web.query import encode_query
from callscore.web.scored import check_scored, version_of_run, with_source
from callscore.web.screen import Answer, PageTable, Route, Visit, link
from callscore.web.screens.matrix import CaseParameters
from callscore.web.tables import export_links

MAX_CALLS = 500
NOTE = "People in rows, the model in columns; a number is a link to its calls."


class QuestionQuery(msgspec.Struct, frozen=True):
    """A question and a model, and which calls of them are listed."""

    question: str = ""
    wording: str = ""
    """Which one it is, where questions of several forms have this id."""
    model: str = ""
    expected: str = ""
    given: str = ""


def show_questions(visit: Visit) -> Answer:
    """Return questions with their agreement, lowest first; or the calls of one question."""
    query = visit.query_as(QuestionQuery)
    draw = _calls if query.question else _questions
    return with_source(visit, "questions", "Questions", draw)


def _calls(visit: Visit, source: ReportSource) -> Html:
    """Return what people and a model said to a question, and the calls of a pair of words."""
    query = visit.query_as(QuestionQuery)
    calls = _calls_of(query, source)
    chosen = [one for one in calls if _is_chosen(one, query)]
    words = list(dict.fromkeys([*(one.expected for one in calls), *(one.given for one in calls)]))
    rows = [
        row(plain(expected, 40), [_pair(visit, calls, expected, given) for given in words])
        for expected in words
        if any(one.expected == expected for one in calls)
    ]
    listed = [
        row(
            link(plain(one.case_id, 80), f"/runs/{visit.run}/cases/{one.place}"
                 + encode_query(CaseParameters(model=(query.model,), item=query.question))),
            [plain(one.expected, 80), tag("b", plain(one.given, 80))],
        )
        for one in chosen[:MAX_CALLS]
    ]  # fmt: skip
    asked = "in which they differ" if not query.expected else "with these words"
    return tag(
        "section",
        tag("p", link("All questions", visit.path)),
        tag("h1", f"{plain(query.question, 60)} · {model_name(query.model)}"),
        [
            tag("p", plain(text, 500), dir="auto")
            for text in dict.fromkeys(one.text for one in calls)
        ],
        tag("p", NOTE, class_="note"),
        table(["people ↓ model →", *(plain(one, 40) for one in words)], rows, "Words", "matrix"),
        tag("output", f"{show_count(len(chosen), 'call')} {asked}", class_="count"),
        table(("Call", "People", "Model"), listed, "Calls") if listed else None,
        export_links(visit),
    )


def _calls_of(query: QuestionQuery, source: ReportSource) -> Sequence[QuestionCall]:
    models = [model.model for model in source.card.models]
    if query.model not in models:
        raise QueryError(f"model={plain(query.model, 60)!r}: expected one of {', '.join(models)}")
    calls = [
        call
        for call in question_calls(
            source.cases, source.provenance.settings, query.question, query.model
        )
        if query.wording in ("", _wording(call.text))
    ]
    if not calls:
        raise QueryError(f"question={plain(query.question, 60)!r}: the run has no answer to it")
    return calls


def _wording(text: str) -> str:
    """A few letters for the words of a question, which may be too long for an address."""
    return sha256(text.encode()).hexdigest()[:8]


def _is_chosen(call: QuestionCall, query: QuestionQuery) -> bool:
    if query.expected or query.given:
        return (call.expected, call.given) == (query.expected, query.given)
    return not call.same


def _pair(visit: Visit, calls: Sequence[QuestionCall], expected: str, given: str) -> Child:
    number = sum((one.expected, one.given) == (expected, given) for one in calls)
    if not number:
        return tag("td", 0, class_="quiet")
    is_right = "right" if expected == given else "wrong"
    return tag("td", link(str(number), visit.url(expected=expected, given=given)), class_=is_right)


def _questions(visit: Visit, source: ReportSource) -> Html:
    counts = visit.results.counts(visit.run)
    models = [model.model for model in source.card.models]

    questions = counts.questions.worst_first()
    uses = Counter(question.id for question in questions)

    def calls(question: QuestionAgreement, model: str, count: str) -> Child:
        wording = _wording(question.shown.text) if uses[question.id] > 1 else ""
        return link(count, visit.url(question=question.id, wording=wording, model=model))

    sections = [
        questions_section(questions, models, calls),
        forms_section(counts.forms, models),
        confusion_section(
            "sentiment",
            "Sentiment",
            counts.sentiments,
            "Sentences by expected label (rows) and given label (columns).",
            models,
        ),
    ]
    if not any(sections):
        return empty("This run has no QA form and no sentiment.", "callscore validate cases.jsonl")
    return join(sections[0], export_links(visit) if sections[0] else None, sections[1:])


COUNTS = ("asked", "agreed", "false_pass", "false_fail", "not_applicable", "unanswered")


def questions_table(visit: Visit) -> PageTable:
    """Return one row per question and model; of one question, one row per call."""
    query, source = visit.query_as(QuestionQuery), check_scored(visit)
    name = f"questions-{visit.run}"
    if query.question:
        calls = [one for one in _calls_of(query, source) if _is_chosen(one, query)]
        rows: list[Sequence[object]] = [[one.case_id, one.expected, one.given] for one in calls]
        return PageTable(name, ("case_id", "people", "model"), [rows])
    rows = [
        [
            question.id, question.shown.section, question.shown.text, model,
            *(getattr(counts, count) for count in COUNTS),
        ]
        for question in visit.results.counts(visit.run).questions.worst_first()
        for model, counts in question.models.items()
    ]  # fmt: skip
    return PageTable(name, ("question", "section", "text", "model", *COUNTS), [rows])


ROUTES = (
    Route(
        "GET",
        "/runs/{run}/questions",
        show_questions,
        query=QuestionQuery,
        version=version_of_run,
        table=questions_table,
    ),
)
