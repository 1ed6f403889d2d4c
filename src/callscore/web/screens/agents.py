"""Agents: scenarios as lines of steps, where each model first diverged, and every step apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.core.scenarios import STEP_TASK
from callscore.core.task import SCENARIO
from callscore.report.details.agent_steps import (
    ScenarioLine,
    ScenarioStep,
    StepState,
    group_steps,
    split_step,
    step_state,
)
from callscore.report.details.decoded_case import DecodedAnswer, compare_fields, decode_case
from callscore.report.html.answers_sections import (
    confusion_section,
    document_decisions,
    model_plan,
)
from callscore.report.html.parts import chip, collapsible, model_name, row, table
from callscore.report.markup import Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.svg.plan_graph import draw_plan, extract_plan
from callscore.results.port import MatrixQuery, MatrixRow, QueryError, RunLine
from callscore.web.page import empty
from callscore.web.scored import check_scored
from callscore.web.screen import Answer, Page, PageTable, Route, Visit, link
from callscore.web.tables import export_links

TASKS = (STEP_TASK, SCENARIO)
SCENARIOS = 25
WORDS: dict[StepState, str] = {
    "right": "right",
    "diverged": "diverged",
    "malformed": "cannot be read",
    "error": "no reply",
    "not_run": "not run",
}
SIGNS: dict[StepState, str] = {
    "right": "✓", "diverged": "✗", "malformed": "!", "error": "–", "not_run": "·",
}  # fmt: skip
NOTE = "Rows are what the reference does, columns what the model did; failed replies count apart."


class AgentsQuery(msgspec.Struct, frozen=True):
    """Which scenario is open, by the place of its first step, and which model."""

    scenario: int = 0
    model: str = ""
    after: str = ""


def show_agents(visit: Visit) -> Answer:
    """Return the scenarios of a run, or one of them step by step."""
    run = visit.run_line()
    query = visit.query_as(AgentsQuery)
    if visit.results.scored(run.id).source is None:
        return Page("Agents", tag("p", "The run has no scores yet."), run, "agents")
    main = _scenario(visit, run, query) if query.scenario else _overview(visit, run, query)
    return Page("Agents", main, run=run, tab="agents")


def _overview(visit: Visit, run: RunLine, query: AgentsQuery) -> Html:
    lines, after = _lines(visit, run, query.after)
    if not lines:
        return empty(
            "This run has no scenarios. Name them under data in the eval file, and run it:",
            f"callscore run {plain(run.eval_file, 200)}",
        )
    models = list(dict.fromkeys(model for line in lines for model in line.states))
    rows = [
        row(
            link(plain(line.name, 80), visit.url(scenario=line.steps[0].place, after="")),
            [_line_cell(visit, line, model) for model in models],
        )
        for line in lines
    ]
    headings = ["Scenario", *(model_name(model) for model in models)]
    more = link("Next scenarios", visit.url(after=after)) if after else None
    return tag(
        "section",
        tag("h1", "Agents"),
        tag("p", "Each sign is a step: ", _legend(), class_="note"),
        tag("output", _count(visit, run, len(lines)), class_="count"),
        table(headings, rows, "Steps of every scenario by model", "steps"),
        tag("nav", more, class_="more") if more else None,
        export_links(visit),
        _confusion(visit, run, models),
    )


def _count(visit: Visit, run: RunLine, shown: int) -> str:
    source = visit.results.scored(run.id).source
    tasks = [] if source is None else [model.tasks.get(SCENARIO) for model in source.card.models]
    total = max((task.n for task in tasks if task is not None), default=shown)
    return (
        f"{shown} of {show_count(total, 'scenario')}"
        if total > shown
        else show_count(shown, "scenario")
    )


def _legend() -> Html:
    parts = [tag("span", SIGNS[state], " ", WORDS[state], " ") for state in SIGNS]
    return tag("span", parts, class_="legend")


def _line_cell(visit: Visit, line: ScenarioLine, model: str) -> Html:
    """The steps of a scenario as signs; the first divergence is marked, and said in words."""
    first = line.first_divergence(model)
    signs = [
        tag("span", SIGNS[state], class_=f"step {state}" + (" diverges" if at == first else ""))
        for at, state in enumerate(line.states.get(model, []))
    ]
    steps = len(line.steps)
    words = f"all of {show_count(steps, 'step')} right"
    if first is not None:
        words = f"first divergence at step {first + 1} of {steps}"
    to = visit.url(scenario=line.steps[0].place, model=model, after="")
    return join(link(join(signs), to, aria_label=words, class_="signs"), tag("small", words))


def _lines(visit: Visit, run: RunLine, after: str) -> tuple[list[ScenarioLine], str]:
    """Some scenarios with all their steps, and where the next ones begin."""
    rows: list[MatrixRow] = []
    names: dict[str, None] = {}
    for step in _steps(visit, run, after):
        name = split_step(step.case_id)[0]
        if name not in names and len(names) == SCENARIOS:
            return _grouped(rows), rows[-1].key
        names[name] = None
        rows.append(step)
    return _grouped(rows), ""


def _grouped(rows: Sequence[MatrixRow]) -> list[ScenarioLine]:
    return group_steps(
        (one.place, one.case_id, [(cell.model, cell.status, cell.score) for cell in one.cells])
        for one in rows
    )


def _steps(visit: Visit, run: RunLine, after: str = "", name: str = "") -> Iterator[MatrixRow]:
    """The cases of agents in the order of their places; those of one scenario if it is named."""
    tasks = visit.results.matrix(run.id, MatrixQuery()).tasks
    for task in (task for task in tasks if task in TASKS):
        query = MatrixQuery(task=task, q=name, search="id" if name else "any", after=after)
        while True:
            page = visit.results.matrix(run.id, query)
            yield from page.rows
            if not page.after:
                break
            query = msgspec.structs.replace(query, after=page.after)


def _confusion(visit: Visit, run: RunLine, models: Sequence[str]) -> Html | None:
    """Call or reject: expected decisions in rows, given ones in columns."""
    source = visit.results.scored(run.id).source
    documents = source.documents if source is not None else {}
    matrix = document_decisions(documents) if documents else visit.results.counts(run.id).decisions
    return confusion_section("decisions", "Call or reject", matrix, NOTE, models)


def _scenario(visit: Visit, run: RunLine, query: AgentsQuery) -> Html:
    name = split_step(visit.results.case(run.id, query.scenario).view.case.id)[0]
    found = [step for step in _steps(visit, run, name=name) if split_step(step.case_id)[0] == name]
    lines = _grouped(found)
    if not lines:
        raise QueryError(f"scenario={query.scenario}: expected the place of a step of a scenario")
    line = lines[0]
    models = list(line.states)
    model = query.model or _first_to_diverge(line)
    if model not in models:
        raise QueryError(f"model={plain(model, 60)!r}: expected one of {', '.join(models)}")
    first = line.first_divergence(model)
    tabs = [
        link(
            model_name(one), visit.url(model=one), class_="filter",
            aria_current="true" if one == model else None,
        )
        for one in models
    ]  # fmt: skip
    steps = [
        _step(visit, run, step, (at, state), model, is_first=at == first)
        for at, (step, state) in enumerate(zip(line.steps, line.states[model], strict=False))
    ]
    return tag(
        "section",
        tag("p", link("All scenarios", visit.url(scenario=0, model=""))),
        tag("h1", plain(name, 120)),
        tag("nav", tabs, class_="kinds", aria_label="Models"),
        tag("p", _summary(line, model, first), class_="note"),
        tag("ol", steps, class_="timeline"),
        export_links(visit),
    )


def _first_to_diverge(line: ScenarioLine) -> str:
    diverging = (model for model in line.states if line.first_divergence(model) is not None)
    return next(diverging, next(iter(line.states)))


def _summary(line: ScenarioLine, model: str, first: int | None) -> str:
    steps = show_count(len(line.steps), "step")
    if first is None:
        return f"All of {steps} right."
    after = sum(state == "right" for state in line.states[model][first + 1 :])
    rest = len(line.steps) - first - 1
    behind = f" {after} of the {show_count(rest, 'step')} after it are right." if rest else ""
    return f"First divergence at step {first + 1} of {steps}.{behind}"


def _step(
    visit: Visit,
    run: RunLine,
    step: ScenarioStep,
    found: tuple[int, StepState],
    model: str,
    *,
    is_first: bool,
) -> Html:
    at, state = found
    view = visit.results.case(run.id, step.place).view
    case = decode_case(view)
    answer = next((one for one in case.answers if one.answer.model == model), None)
    mark = chip("first divergence", "bad") if is_first else None
    summary = join(
        tag("span", SIGNS[state], class_=f"step {state}"),
        f" Step {at + 1}: {_kind(case.expected)}, {WORDS[state]} ",
        mark,
    )
    details = [
        _differences(answer),
        _plans(case.expected, answer, model),
        _arguments(case.expected, answer, model),
        tag("p", link(plain(step.case_id, 80), f"/runs/{run.id}/cases/{step.place}")),
    ]
    body = tag("details", tag("summary", summary), details, open=is_first)
    return tag("li", body, class_="diverges" if is_first else None)


def _kind(expected: object) -> str:
    """What a step asks for, in a word."""
    outcome = expected if isinstance(expected, dict) else {}
    if extract_plan(outcome) is not None:
        return "plan"
    calls = outcome.get("calls") or outcome.get("tool_calls")
    return "tool call" if calls else "no tool call"


def _differences(answer: DecodedAnswer | None) -> Html | None:
    if answer is None:
        return tag("p", "This model was not asked.", class_="note")
    if answer.answer.error:
        return tag("p", plain(answer.answer.error, 400), class_="why")
    if not answer.answer.differences:
        return None
    return tag("ul", [tag("li", plain(one, 400)) for one in answer.answer.differences])


def _plans(expected: object, answer: DecodedAnswer | None, model: str) -> Html | None:
    wanted = extract_plan(expected if isinstance(expected, dict) else None)
    if wanted is None:
        return None
    given = extract_plan(answer.given if answer is not None else None)
    return tag(
        "div",
        tag("figure", draw_plan("Expected plan", wanted, given, "missing"),
            tag("figcaption", "expected")),
        model_plan(model, given, wanted),
        class_="pictures plans",
    )  # fmt: skip


def _arguments(expected: object, answer: DecodedAnswer | None, model: str) -> Html | None:
    """Field by field, what was expected and what was given."""
    if answer is None or not isinstance(expected, dict) or extract_plan(expected) is not None:
        return None
    fields = compare_fields(expected, [answer.given])
    if not fields:
        return None
    rows = []
    for field in fields:
        value = field.given[0]
        text = "—" if value is None else plain(value.text, 600)
        is_wrong = value is None or value.same is False
        cell = tag("td", text, " ", chip("differs", "bad") if is_wrong else None, dir="auto")
        rows.append(row(plain(field.label, 80), [plain(field.expected, 600), cell]))
    shown = table(("Field", "Expected", model_name(model)), rows, "Arguments", "arguments")
    given = [field.given[0] for field in fields]
    is_right = all(value is not None and value.same is not False for value in given)
    return collapsible("Arguments", shown) if is_right else shown


def steps_table(visit: Visit) -> PageTable:
    """Return one row per step and model, of all scenarios or of the one that is open."""
    query, run = visit.query_as(AgentsQuery), visit.run_line()
    check_scored(visit)
    name = ""
    if query.scenario:
        name = split_step(visit.results.case(run.id, query.scenario).view.case.id)[0]
    rows = [
        [split_step(step.case_id)[0], split_step(step.case_id)[1], cell.model, cell.status,
         WORDS[step_state(cell.status, cell.score)], cell.score]
        for step in _steps(visit, run, name=name)
        if name in ("", split_step(step.case_id)[0])
        for cell in step.cells
        if query.model in ("", cell.model)
    ]  # fmt: skip
    columns = ("scenario", "step", "model", "status", "state", "score")
    return PageTable(f"agents-{run.id}", columns, [rows])


ROUTES = (Route("GET", "/runs/{run}/agents", show_agents, query=AgentsQuery, table=steps_table),)
