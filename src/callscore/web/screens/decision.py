"""Decision: the first screen of the report, with links to the calls behind it; also as it would be
with other weights, workload, volume or rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from callscore.config.score import read_decide
from callscore.core.errors import ConfigError
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.core.task import SCENARIO
from callscore.report.decision_statements import Statement, sampled_unit
from callscore.report.html.card_sections import blockers_section
from callscore.report.html.first_screen import first_screen
from callscore.report.markup import Child, Html, join, tag, text
from callscore.report.safe_text import plain
from callscore.report.source import ReportSource
from callscore.results.port import QueryError, Reading
from callscore.store.address import as_option
from callscore.web.computations import PATIENCE_S, Computations
from callscore.web.page import choice, field, notice
from callscore.web.scored import version_of_run, with_source
from callscore.web.screen import Answer, Page, Route, Visit, element, link
from callscore.web.screens.matrix import matrix_url

By = Literal["recommended", "quality", "efficiency"]
BY_WORDS = {
    "recommended": "cheapest that is not worse",
    "quality": "quality",
    "efficiency": "cost efficiency",
}
YES_NO = {"false": "no", "true": "yes"}
MOST_CALLS = 1e12
NOTE = (
    "Weights: those of all tasks that count, which add up to 1; others are 0. With none, those of "
    "the run apply. The share of calls that need a task weighs its cost. Nothing is stored."
)


class DecisionParameters(msgspec.Struct, frozen=True):
    """Another reading of the scorecard; the defaults are those of the run."""

    by: By | None = None
    margin: float | None = None
    allow_fail: bool | None = None
    volume: float | None = None
    """Calls whose cost is shown."""
    weights: Mapping[str, float] = {}
    workload: Mapping[str, float] = {}


_READ = Computations[ReportSource]()


def show_decision(visit: Visit) -> Answer:
    """Return the decision in words, cost against quality, one line per model."""
    try:
        return with_source(visit, "", "Decision", _decision)
    except (ConfigError, QueryError) as error:  # the form stays, with what was typed
        source = visit.results.scored(visit.run).source
        if source is None:
            raise
        main = tag(
            "section",
            tag("h1", "These parameters are not allowed"),
            tag("p", plain(str(error), 1_000), class_="why", role="alert"),
            _form(visit, source, is_open=True),
        )
        return Page("Decision", main, run=visit.run_line(), status=400)


def _version(visit: Visit) -> str:
    """Return a text that changes with the run, and when a reading of it has been computed."""
    return f"{version_of_run(visit)} {_READ.is_known(_key(visit))}"


def _key(visit: Visit) -> object:
    store = as_option(visit.site.store)
    return store, visit.run, visit.results.version(visit.run), visit.url()


def _decision(visit: Visit, source: ReportSource) -> Html | None:
    given = visit.query_as(DecisionParameters)
    reading = _reading(given, source)
    if given.volume is not None and not 0 < given.volume <= MOST_CALLS:
        raise QueryError(f"volume={given.volume:g}: expected a number of calls above 0")
    read = source
    if reading.changes_scores:
        future = _READ.get(_key(visit), lambda: visit.results.read_with(visit.run, reading))
        try:
            read = future.result(PATIENCE_S)
        except TimeoutError:
            return None
    elif reading.decide != source.provenance.decide:
        read = visit.results.read_with(visit.run, reading)

    def blockers(model: ModelScore, number: Html) -> Html:
        return link(number, matrix_url(visit.run, model=(model.model,), show="invalid"))

    def statement(said: Statement, words: Html) -> Html:
        if said.keyword != "OUT" or len(said.models) != 1:
            return words
        return link(words, matrix_url(visit.run, model=said.models, show="invalid"))

    words = "; ".join(_changes(given, reading, source))
    return join(
        notice(f"Not official: read with {words}. ", link("Reset", visit.path)) if words else None,
        first_screen(
            read.card, read.template, blockers=blockers, statement=statement, volume=given.volume
        ),
        _form(visit, source, is_open=bool(words)),
        _blockers(visit, source) if any(model.blockers for model in source.card.models) else None,
    )


def _reading(given: DecisionParameters, source: ReportSource) -> Reading:
    """Return the parameters, without those that are as in the run."""
    card, own = source.card, source.provenance.decide
    rule = {"by": given.by, "margin": given.margin, "allow_fail": given.allow_fail}
    asked = {name: value for name, value in rule.items() if value is not None}
    decide = read_decide({**msgspec.structs.asdict(own), **asked})
    weights = {} if given.weights == _own_weights(card) else given.weights
    own_shares = _own_workload(card)
    workload = {
        task: share for task, share in given.workload.items() if own_shares.get(task) != share
    }
    return Reading(weights, workload, decide)


def _own_weights(card: Scorecard) -> Mapping[str, float]:
    return next((model.final.weights for model in card.models if model.final.weights), {})


def _own_workload(card: Scorecard) -> Mapping[str, float]:
    """Return the share of calls that need a task, by task that a model answered."""
    return {task: share for model in card.models for task, share in model.cost.workload.items()}


def _changes(given: DecisionParameters, reading: Reading, source: ReportSource) -> Iterator[str]:
    """Return in words what is not as in the run."""
    own, used = source.provenance.decide, reading.decide
    labels = _labels(source)
    if used.by != own.by:
        yield f"the choice by {BY_WORDS.get(used.by, used.by)}"
    if used.margin != own.margin:
        yield f"the margin {used.margin:g}"
    if used.allow_fail != own.allow_fail:
        yield f"rows rated Fail {'allowed' if used.allow_fail else 'not allowed'}"
    for what, numbers in (("weights", reading.weights), ("workload", reading.workload)):
        if numbers:
            listed = (f"{labels.get(task, task)} {value:g}" for task, value in numbers.items())
            yield f"{what} {', '.join(listed)}"
    if given.volume is not None:
        yield f"the cost of {given.volume:,.15g} {sampled_unit(source.card)}s"


def _labels(source: ReportSource) -> Mapping[str, str]:
    """Return the names of tasks for people."""
    return {
        row.key: row.label.removesuffix(" Score") for row in source.template if row.kind == "task"
    } | {"benchmarks": "Benchmarks"}


def _form(visit: Visit, source: ReportSource, *, is_open: bool) -> Html:
    """Return the form that reads the scorecard in another way        C-82, C-83, C-138"""
    given, own = visit.query_as(DecisionParameters), source.provenance.decide
    by = {own.by: BY_WORDS.get(own.by, own.by)} | BY_WORDS
    fail = {_word(own.allow_fail): YES_NO[_word(own.allow_fail)]} | YES_NO
    allowed = own.allow_fail if given.allow_fail is None else given.allow_fail
    form = element(
        "form",
        tag(
            "fieldset",
            tag("legend", "Rule"),
            choice("Choose by", "by", by, given.by or own.by),
            _number("Margin", "margin", given.margin, f"{own.margin:g}"),
            choice("Rows rated Fail allowed", "allow_fail", fail, _word(allowed)),
            _number(f"Cost of how many {sampled_unit(source.card)}s", "volume", given.volume, ""),
        ),
        _shares(source, given),
        tag("button", "Apply"),
        link("Reset", visit.path) if is_open else None,
        method="get",
        action=visit.path,
        class_="fields",
    )
    summary = tag("summary", "Read it with other parameters")
    return tag("details", summary, form, class_="parameters", open=is_open)


def _shares(source: ReportSource, given: DecisionParameters) -> Sequence[Html]:
    """Return the fields of weights and workload; a race and scenarios have none."""
    card, labels = source.card, _labels(source)
    weights, workload = _own_weights(card), _own_workload(card)
    if card.race is not msgspec.UNSET or not set(workload) - {SCENARIO}:
        return ()
    benchmarks = any(model.benchmarks.status != "not_run" for model in card.models)
    tasks = [*workload, *(["benchmarks"] if benchmarks or "benchmarks" in weights else [])]
    of_weights = [
        _number(labels.get(task, task), f"weights.{task}", given.weights.get(task),
                f"{weights.get(task, 0.0):.4g}")
        for task in tasks
    ]  # fmt: skip
    of_workload = [
        _number(labels.get(task, task), f"workload.{task}", given.workload.get(task), f"{share:g}")
        for task, share in workload.items()
    ]
    return (
        tag("fieldset", tag("legend", "Weights in the Final Score"), of_weights),
        tag("fieldset", tag("legend", "Share of calls that need the task"), of_workload),
        tag("p", NOTE, class_="note"),
    )


def _number(label: str, name: str, value: float | None, placeholder: str) -> Html:
    shown = None if value is None else f"{value:.15g}"
    return field(
        label,
        tag("input", name=name, inputmode="decimal", size=8, value=shown, placeholder=placeholder),
    )


def _word(value: bool) -> str:
    return "true" if value else "false"


def _blockers(visit: Visit, source: ReportSource) -> Html:
    def case_link(case: str) -> Html:
        place = visit.results.place_of(visit.run, case)
        label = plain(case, 80)
        return text(label) if place is None else link(label, f"/runs/{visit.run}/cases/{place}")

    def gate(model: str, metric: str, label: str) -> Child:
        return link(label, matrix_url(visit.run, model=(model,), reason=metric))

    return blockers_section(source.card, source.template, case_link, gate)


ROUTES = (Route("GET", "/runs/{run}", show_decision, query=DecisionParameters, version=_version),)
