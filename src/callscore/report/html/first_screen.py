"""The first screen: the decision in sentences, cost against quality, one row per model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from callscore.core.measure import FEW_CALLS
from callscore.core.scorecard import Corrected, Cost, ModelScore, RankingLine, Scorecard
from callscore.core.task import SCENARIO
from callscore.report.cells import (
    TONES,
    ScorecardRow,
    scorecard_rows,
    show_score_interval,
    tasks_run,
)
from callscore.report.decision_statements import (
    TONES_OF_WORDS,
    Statement,
    describe_estimate,
    sampled_unit,
    show_band,
    state_decision,
)
from callscore.report.html.parts import chip, figure, join_with, model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.names import count_undecided_gates
from callscore.report.numbers import show, show_count, show_interval, show_money
from callscore.report.safe_text import plain
from callscore.report.svg.cost_quality import (
    Point,
    cost_quality_points,
    draw_cost_quality,
    models_not_drawn,
)
from callscore.scorecard.decision import rated_rows
from callscore.scorecard.ranking import cost_at_volume
from callscore.scorecard.template import TemplateRow

MAX_NOT_DRAWN = 6
"""Models without a point that a caption names."""
NO_INTERVAL = "no interval"
RATINGS = ("Good", "Acceptable", "Warning", "Fail", "Blocker")


LinkOfStatement = Callable[[Statement, Html], Html]
"""Makes the text of a statement a link to what it rests on, if there is such a page."""
LinkOfModel = Callable[[ModelScore, Html], Html]
"""Makes the number of blockers of a model a link to them."""


def _link_to_section(_: ModelScore, number: Html) -> Html:
    return tag("a", number, href="#blockers")


def _no_link(_: ModelScore | Statement, shown: Html) -> Html:
    return shown


def first_screen(
    card: Scorecard,
    template: Sequence[TemplateRow],
    *,
    standalone: bool = False,
    blockers: LinkOfModel = _link_to_section,
    statement: LinkOfStatement = _no_link,
    volume: float | None = None,
) -> Html:
    """Return the first screen of report and app; without links if it is `standalone`.

    `volume`: calls whose cost is shown, too.
    """
    link = _no_link if standalone else blockers
    return tag(
        "section",
        _decision(card, statement),
        tag(
            "div",
            models_table(card, template, link, volume),
            _reading_note(card),
            class_="rows",
        ),
        _picture(card),
        id=None if standalone else "decision",
        class_="first",
        aria_label="Decision",
    )


def _decision(card: Scorecard, link: LinkOfStatement) -> Html:
    estimate = describe_estimate(card)
    return tag(
        "div",
        tag("p", estimate, class_="estimate") if estimate else None,
        tag("h2", "Decision"),
        statement_list(state_decision(card), link),
        class_="words",
    )


def statement_list(statements: Sequence[Statement], link: LinkOfStatement = _no_link) -> Html:
    """Return the statements of a decision, each after its word."""
    items = [
        tag(
            "li",
            tag("span", statement.keyword.capitalize(), class_=f"head {statement.tone}"),
            link(statement, tag("span", statement.text)),
        )
        for statement in statements
    ]
    return tag("ul", items, class_="verdict")


def _picture(card: Scorecard) -> Html:
    points, unit = cost_quality_points(card), sampled_unit(card)
    missing = [f"{model_name(model)} ({why})" for model, why in models_not_drawn(card)]
    more = f" and {len(missing) - MAX_NOT_DRAWN} more" if len(missing) > MAX_NOT_DRAWN else ""
    not_drawn = f"Not drawn: {', '.join(missing[:MAX_NOT_DRAWN])}{more}." if missing else ""
    if not points:
        return tag("figure", tag("figcaption", not_drawn)) if missing else join()
    legend = "Filled: on the Pareto front, no model is both better and cheaper. Hollow: not on it. "
    if any(point.blocked for point in points):
        legend += "Cross: blocked, drawn with blocked calls counted as 0 (not official). "
    has_intervals = any(point.quality_ci or point.cost_ci for point in points)
    legend += "Bars: 95 % intervals." if has_intervals else "No intervals are known."
    caption = f"{legend} {not_drawn}".rstrip()
    return figure(
        draw_cost_quality(points, plain(card.final_heading, 80), unit),
        caption,
        _points_table(points, plain(card.final_heading, 80), unit),
    )


def _points_table(points: Sequence[Point], heading: str, unit: str) -> Html:
    rows = [
        row(
            model_name(point.model),
            (
                show(point.quality) + (" (blocked calls as 0)" if point.blocked else ""),
                _interval(point.quality_ci),
                show_money(point.cost),
                _interval(point.cost_ci, "money"),
                "yes" if point.pareto else "no",
            ),
        )
        for point in points
    ]
    headings = ("Model", heading, "95 %", f"Cost per 1000 {unit}s", "95 %", "Pareto front")
    return table(headings, rows, "Cost and quality of each model")


def _interval(interval: tuple[float, float] | None, unit: str = "fraction") -> str:
    return NO_INTERVAL if interval is None else show_interval(interval, unit)


def models_table(
    card: Scorecard,
    template: Sequence[TemplateRow],
    blockers: LinkOfModel = _no_link,
    volume: float | None = None,
) -> Html:
    """Return one row per model: scores with intervals, ratings, blockers, cost and rank."""
    tasks = tasks_run(card)
    of_agents: list[ScorecardRow] = []
    if tasks == [SCENARIO]:  # the Final is its score, and none of its rows has a rating
        tasks, of_agents = [], _rows_of_agents(card, template)
    labels = {row.key: row.label.removesuffix(" Score") for row in template if row.kind == "task"}
    ranking = {entry.model: entry for entry in card.ranking}
    headings = [
        "Model",
        plain(card.final_heading, 120),
        "Rank",
        f"$ / 1000 {sampled_unit(card)}s",
        *([] if volume is None else [f"$ / {volume:,.15g} {sampled_unit(card)}s"]),
        "Blockers",
        *(labels.get(task, task) for task in tasks),
        *(["Ratings"] if tasks else []),
        *(_heading_of(found.template) for found in of_agents),
    ]
    places = sorted(
        range(len(card.models)),
        key=lambda place: _order(card.models[place], ranking[card.models[place].model]),
    )
    rows = []
    for place in places:
        model = card.models[place]
        cells = [*_model_cells(model, ranking[model.model], tasks, blockers)]
        if volume is not None:
            cells.insert(_COST + 1, _cost_at_volume(model.cost, volume))
        shown = [found.cells[place] for found in of_agents]
        cells += [_value(cell.text, cell.interval) for cell in shown]
        rows.append(row(marked_model(card, model.model), cells))
    return table(headings, rows, "Scorecard, one row per model", "models")


def _rows_of_agents(card: Scorecard, template: Sequence[TemplateRow]) -> list[ScorecardRow]:
    """Return what a caller notices of an agent: success, and how long it takes        C-141"""
    return [
        found
        for found in scorecard_rows(card, template)
        if found.template.key in (*_OF_AGENTS, SCENARIO) and found.template.kind in _KINDS_OF_AGENTS
    ]


def _heading_of(row: TemplateRow) -> str:
    return f"{row.label}, {row.threshold}" if row.kind == "latency" else row.label


_OF_AGENTS = (f"{SCENARIO}.success", f"{SCENARIO}.pass_k", f"{SCENARIO}.free_success")
_KINDS_OF_AGENTS = ("metric", "latency")


def marked_model(card: Scorecard, model: str) -> Html:
    """Return a model with the word of the decision, if that names it as one to take."""
    first = next(iter(card.decision), None)
    tone = TONES_OF_WORDS.get(first.word, "plain") if first is not None else "plain"
    if first is None or model not in first.models or tone not in ("good", "middling"):
        return join(model_name(model))
    return join(model_name(model), " ", chip(plain(first.word, 20).lower(), tone))


def _order(model: ModelScore, entry: RankingLine) -> tuple[bool, float, str]:
    score = entry.final_score if entry.final_score is not None else model.final.zeroed_final
    return entry.final_score is None, -(score or 0.0), model.model


_COST = 2
"""The place of the cost among the cells of a model."""


def _cost_at_volume(cost: Cost, volume: float) -> Child:
    found = cost_at_volume(cost, volume)
    if found is None:
        return "unknown"
    interval = "" if found.ci95 is None else show_interval(found.ci95, "money", few=cost.few_calls)
    return _value(show_money(found.value), interval)


def _model_cells(
    model: ModelScore, entry: RankingLine, tasks: Sequence[str], blockers: LinkOfModel
) -> Iterator[Child]:
    yield _final(model)
    yield _rank(entry)
    cost = model.cost.per_1000_calls
    interval = show_score_interval(model.cost, "money")
    yield "unknown" if cost is None else _value(show_money(cost), interval)
    yield _blockers(model, blockers)
    for task in tasks:
        yield _task(model, task)
    if tasks:
        yield tag("td", _ratings(model), class_="wrap")


def _value(text: str, interval: str) -> Html:
    return join(tag("b", text), " ", tag("small", interval) if interval else None)


def _corrected(corrected: Corrected) -> Html:
    """Return the value as people would give it        STATS §5"""
    limits = "" if corrected.ci95 is None else f" {show_interval(corrected.ci95)}"
    labels = show_count(corrected.labels, "label")
    return tag("small", f"corrected {show(corrected.value)}{limits} by {labels}")


def _final(model: ModelScore) -> Child:
    final = model.final
    if final.score is not None:
        mark = None if final.official else tag("small", "estimate")
        judged = join(_value(show(final.score), show_score_interval(final)), mark)
        return judged if final.corrected is None else join(judged, _corrected(final.corrected))
    if final.status == "invalid":
        zeroed = final.zeroed_final
        remark = f"{show(zeroed)}, blocked as 0" if zeroed is not None else ""
        return join(chip("invalid", "blocked"), " ", tag("small", remark))
    return tag("span", final.status, class_="quiet")


def _task(model: ModelScore, name_of_task: str) -> Child:
    task = model.tasks.get(name_of_task)
    if task is None:
        return tag("span", "not run", class_="quiet")
    if task.score is not None:
        return _value(show(task.score), show_score_interval(task))
    ungated = "" if task.ungated_score is None else f"{show(task.ungated_score)} ungated"
    tone = "blocked" if task.status == "invalid" else "quiet"
    return join(
        chip(task.status, "blocked" if tone == "blocked" else "quiet"), " ", tag("small", ungated)
    )


def _ratings(model: ModelScore) -> Html:
    """Count the ratings that the decision counts."""
    found = Counter(rating for _, _, rating in rated_rows(model))
    counts = {word: found[word] for word in RATINGS}
    return join_with(
        [
            tag("span", f"{number} {word}", class_=TONES[word])
            for word, number in counts.items()
            if number
        ],
        " · ",
    )


def _blockers(model: ModelScore, link: LinkOfModel) -> Child:
    undecided = count_undecided_gates(model)
    if model.blockers:
        calls = f"{model.blocked_calls} of {show_count(model.calls, 'call')}"
        number = chip(show_count(len(model.blockers), "blocker"), "blocked")
        return join(
            link(model, number),
            " ",
            tag("small", calls) if model.blocked_calls else None,
        )
    if undecided:
        return chip(f"{show_count(undecided, 'row')} undecided", "middling")
    return tag("span", "none", class_="good")


def _rank(entry: RankingLine) -> Child:
    if entry.rank is None:
        return tag("span", "—", title=plain(entry.reason or "", 300), class_="quiet")
    quality = "" if entry.quality_band is None else f"quality {show_band(entry.quality_band)}"
    return _value(str(entry.rank), quality)


def _reading_note(card: Scorecard) -> Html:
    calls = [task.n for model in card.models for task in model.tasks.values() if task.n]
    unit = sampled_unit(card)
    counts_scenarios = any(SCENARIO in model.tasks for model in card.models)
    sentence = (
        f"In brackets: 95 % intervals for future {unit}s; ≈ few {unit}s, = all {unit}s agree. "
        "Rank: by cost-adjusted efficiency. A breached blocker makes its task invalid."
    )
    if counts_scenarios and unit == "call":
        sentence += " A scenario counts as a call."
    if calls and min(calls) < FEW_CALLS:
        fewest = show_count(min(calls), "scenario" if counts_scenarios else "call")
        sentence += f" The smallest task has {fewest}: differences may be chance."
    return tag("p", sentence, class_="note")
