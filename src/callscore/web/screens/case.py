"""Case: the transcript with evidence highlighted, expected and given, and what is behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.core.judging import Verdict
from callscore.report.details.decoded_case import DecodedAnswer, DecodedCase, decode_case
from callscore.report.details.form_marks import CaseMarks, MarkReader
from callscore.report.html.case import (
    Focus,
    answer_label,
    comparison_table,
    measures_table,
    plan_pictures,
    score_of,
    transcript_section,
    verdicts_table,
)
from callscore.report.html.parts import chip, collapsible, model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_money
from callscore.report.safe_text import plain
from callscore.report.source import CaseView, ReportSource
from callscore.results.gold import field_votes
from callscore.results.port import MatrixQuery, Neighbours, QueryError
from callscore.web.page import notice
from callscore.web.scored import version_of_run
from callscore.web.screen import Answer, NotFound, Page, Redirect, Route, Visit, link
from callscore.web.screens.gold import doubt_form
from callscore.web.screens.matrix import (
    CaseParameters,
    MatrixParameters,
    case_url,
    matrix_url,
    waiting_page,
)

MODELS_AT_ONCE = 3
"""Answers next to the expected outcome; more are cramped."""
MAX_PROMPT, MAX_REPLY = 60_000, 20_000


def show_case(visit: Visit) -> Answer:
    """Return one case."""
    run = visit.run_line()
    place = visit.numbers["place"]
    given = visit.query_as(CaseParameters)
    source = visit.results.scored(run.id).source
    if source is None:
        return waiting_page(visit, run)
    try:
        found = visit.results.case(run.id, place)
    except QueryError as error:
        raise NotFound(str(error)) from None
    settings = source.provenance.settings
    case = decode_case(found.view)
    models = list(dict.fromkeys(answer.model for answer in found.view.answers))
    chosen = _chosen(models, given.model)
    answers = sorted(
        (one for one in case.answers if one.answer.model in chosen),
        key=lambda one: chosen.index(one.answer.model),
    )
    shown = msgspec.structs.replace(case, answers=answers)
    marks = MarkReader(settings).marks(shown)
    focus = _focus(shown, marks, given)
    main = join(
        _heading(visit, case, given, visit.results.neighbours(run.id, given, place)),
        notice("The text of this case has changed since the run.") if found.changed else None,
        _model_chips(visit, case, models, chosen),
        _EVIDENCE,
        tag(
            "div",
            _tabs(),
            transcript_section(shown, place, focus),
            tag(
                "div",
                tag("h2", "Expected and given"),
                comparison_table(shown, marks, focus),
                plan_pictures(shown),
                verdicts_table(shown, place),
                measures_table(shown),
                doubt_form(visit, place, field_votes(source, place, found.view)),
                _replies(shown),
                _prompt(source, found.view),
                class_="answers",
            ),
            class_="body",
        ),
    )
    return Page(f"{case.view.case.id} · {run.name}", main, run=run, tab="matrix")


_EVIDENCE = tag(
    "label",
    tag("input", type="checkbox", id="evidence", checked=True, data_key="e"),
    " Evidence ",
    tag("kbd", "e"),
    class_="note",
)
"""Shows and hides the marks in the transcript, by the style sheet."""


def _tabs() -> Html:
    """Return what chooses transcript or answers where the screen has no room for both."""
    choices = [
        tag(
            "label",
            tag("input", type="radio", name="part", id=f"show-{part}", checked=first),
            label,
        )
        for part, label, first in (("said", "Transcript", True), ("given", "Answers", False))
    ]
    return tag("fieldset", tag("legend", "Part", class_="unseen"), choices, class_="parts")


def _chosen(models: Sequence[str], wanted: Sequence[str]) -> Sequence[str]:
    """Return the models next to the expected outcome: those asked for, then the first ones."""
    for name in wanted:
        if name not in models:
            raise QueryError(f"model={plain(name, 60)!r}: expected one of {', '.join(models)}")
    return list(dict.fromkeys([*wanted, *models]))[: max(MODELS_AT_ONCE, len(wanted))]


def _focus(case: DecodedCase, marks: CaseMarks, given: CaseParameters) -> Focus:
    """Return what the reader came for: the turn and item given, or what a metric rests on.

    That is the first quoted verdict on the metric; where code decides it, the first question that
    the first model marked differently from people.
    """
    if given.at or given.item:
        quoted = next((one for one in _verdicts(case) if one.item == given.item), None)
        return Focus(given.at or (quoted.source if quoted else ""), given.item)
    for verdict in _verdicts(case):
        if verdict.metric == given.seek and verdict.quote:
            return Focus(verdict.source, verdict.item)
    if given.seek:
        for question in marks.questions:
            first = next(iter(question.given), None)
            if first is not None and first.same is False:
                return Focus(item=question.id)
    return Focus()


def _verdicts(case: DecodedCase) -> Iterator[Verdict]:
    for decoded in case.answers:
        yield from decoded.answer.verdicts


def _heading(visit: Visit, case: DecodedCase, given: CaseParameters, around: Neighbours) -> Html:
    record = case.view.case
    matrix = {
        name: value
        for name, value in msgspec.structs.asdict(given).items()
        if name not in ("at", "item", "seek")
    }
    steps = [
        link("‹ previous", case_url(visit.run, around.previous, given), data_key="k", rel="prev")
        if around.previous is not None
        else tag("span", "‹ previous", class_="quiet"),
        link("next ›", case_url(visit.run, around.next, given), data_key="j", rel="next")
        if around.next is not None
        else tag("span", "next ›", class_="quiet"),
    ]
    where = "" if around.number is None else f"{around.number} of {around.total}"
    return tag(
        "div",
        tag("h1", plain(record.id, 80)),
        chip(plain(record.task, 30)),
        chip(plain(record.lang, 20)) if record.lang else None,
        [chip(plain(one, 30)) for one in case.tags[:6]],
        tag(
            "nav",
            tag("span", where, class_="note"),
            steps,
            link("Matrix", matrix_url(visit.run, **matrix)),
            aria_label="Cases",
        ),
        class_="case-head",
    )


def _model_chips(
    visit: Visit, case: DecodedCase, models: Sequence[str], chosen: Sequence[str]
) -> Html:
    """Return every model with its score; a click puts it first."""
    chips = []
    first = models.index(chosen[0]) if chosen else 0
    keys = {first + 1: "]", first - 1: "["}
    for number, model in enumerate(models):
        answers = [one for one in case.answers if one.answer.model == model]
        scores: list[Child] = [join(" ", score_of(one)) for one in answers]
        order = (model, *(one for one in chosen if one != model))[:MODELS_AT_ONCE]
        current = "true" if model in chosen else None
        label = join(model_name(model), scores)
        chips.append(link(label, visit.url(model=order), aria_current=current, class_="chip",
                          data_key=keys.get(number)))  # fmt: skip
    return tag("nav", chips, class_="models-of-case", aria_label="Models")


def _replies(case: DecodedCase) -> Html | None:
    """Return the raw replies with tokens, latency and cost."""
    if not case.answers:
        return None
    rows = [row(model_name(answer_label(one, case)), _usage(one)) for one in case.answers]
    headings = (
        "Model",
        "Input tokens",
        "Output tokens",
        "Latency",
        "Cost",
        "Ended by",
        "Answered by",
    )
    raw = [
        join(
            tag("h3", model_name(answer_label(one, case))),
            tag(
                "pre",
                (one.answer.text or one.answer.error or "no reply")[:MAX_REPLY],
                dir="auto",
                tabindex=0,
            ),
        )
        for one in case.answers
    ]
    summary = tag("summary", "Raw replies, tokens and cost", data_key=".")
    return tag("details", summary, table(headings, rows, "Usage"), raw)


def _usage(decoded: DecodedAnswer) -> Sequence[Child]:
    answer = decoded.answer
    latency = "—" if answer.latency_ms is None else f"{answer.latency_ms:.0f} ms"
    cost = "unknown" if answer.cost_usd is None else show_money(answer.cost_usd)
    counts = [
        "—" if one is None else str(one) for one in (answer.input_tokens, answer.output_tokens)
    ]
    return (
        *counts,
        latency,
        cost,
        plain(answer.finish_reason or "—", 30),
        plain(answer.answered_by or "—", 60),
    )


def _prompt(source: ReportSource, view: CaseView) -> Html | None:
    """Return what models were sent for the case."""
    if source.prompts is None or view.case.config.get("scenario"):
        return None
    sent = next(iter(source.prompts.read_in_order()(view)), None)
    if sent is None:
        return None
    text = msgspec.json.format(msgspec.json.encode(sent.prompt), indent=2).decode()
    return collapsible("Prompt", tag("pre", text[:MAX_PROMPT], dir="auto", tabindex=0))


class FindQuery(msgspec.Struct, frozen=True):
    """What is sought."""

    q: str = ""


def find_case(visit: Visit) -> Answer:
    """Open the case with this id, the first one of the call with this id, or all that match."""
    sought = visit.query_as(FindQuery).q
    run = visit.run_line()
    if sought and visit.results.scored(run.id).source is not None:
        place = visit.results.place_of(run.id, sought)
        if place is not None:
            return Redirect(case_url(run.id, place, MatrixParameters()))
        query = MatrixQuery(q=sought, search="id")
        first = next(iter(visit.results.matrix(run.id, query).rows), None)
        if first is not None and first.call_id == sought:
            given = MatrixParameters(q=sought, search="id")
            return Redirect(case_url(run.id, first.place, given))
    return Redirect(matrix_url(run.id, q=sought))


ROUTES = (
    Route("GET", "/runs/{run}/find", find_case, query=FindQuery),
    Route(
        "GET",
        "/runs/{run}/cases/{place}",
        show_case,
        query=CaseParameters,
        version=version_of_run,
    ),
)
