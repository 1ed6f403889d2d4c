"""Questions: how far each model agrees with people, question by question."""

from __future__ import annotations

from callscore.report.html.answers_sections import (
    confusion_section,
    forms_section,
    questions_section,
)
from callscore.report.markup import Html, join
from callscore.report.source import ReportSource
from callscore.web.page import empty
from callscore.web.screen import Answer, Route, Visit
from callscore.web.screens.decision import version_of_run, with_source


def show_questions(visit: Visit) -> Answer:
    """Return questions with their agreement, lowest first; totals of the form; sentiments."""
    return with_source(visit, "questions", "Questions", _questions)


def _questions(visit: Visit, source: ReportSource) -> Html:
    counts = visit.results.counts(visit.run)
    models = [model.model for model in source.card.models]
    sections = [
        questions_section(counts.questions.worst_first(), models),
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
    return join(sections)


ROUTES = (Route("GET", "/runs/{run}/questions", show_questions, version=version_of_run),)
