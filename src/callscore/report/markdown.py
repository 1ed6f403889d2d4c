"""Markdown: the scorecard template of the framework, or a short form for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from callscore.core.scorecard import Blocker, ModelScore, RankingLine, Scorecard
from callscore.report.cells import (
    Cell,
    corrected_row,
    scorecard_rows,
    show_score_interval,
    tasks_run,
)
from callscore.report.decision_statements import (
    describe_estimate,
    sampled_unit,
    state_decision,
)
from callscore.report.forms import form_document
from callscore.report.markdown_text import code, prose, statement_items, table
from callscore.report.names import simulated_share
from callscore.report.numbers import show, show_cost, show_count
from callscore.report.source import ReportFormat, ReportOptions, ReportSource
from callscore.scorecard.template import TemplateRow

STRONG = ("section", "task", "benchmarks")
CASES_SHOWN = 10
BLOCKERS_SHOWN = 5
MODELS_SHOWN = 12


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the document; untrusted text in it is never markup, a link or a mention."""
    lines = _short_document(source) if options.short else _full_document(source)
    yield from (f"{line}\n".encode("utf-8", "replace") for line in lines)


FORMAT = ReportFormat("md", ".md", "the framework's scorecard template, or a short form", write)


def _full_document(source: ReportSource) -> Iterator[str]:
    card = source.card
    yield f"# {prose(source.title, 120)}{simulated_share(source.card.models)}"
    yield ""
    yield from _decision(card)
    yield "## Scorecard"
    yield ""
    yield "`[!]` = Blocker — breach disqualifies the model for that task."
    yield ""
    yield from _template(card, source.template)
    yield ""
    yield from _blockers(card)
    yield from _ranking(card)
    yield from form_document(source)
    yield f"Signature: {code(card.signature, 600, in_table=False)}"


def _decision(card: Scorecard) -> Iterator[str]:
    if estimate := describe_estimate(card):
        yield f"**{estimate}**"
        yield ""
    yield from statement_items(state_decision(card))


def _template(card: Scorecard, template: Sequence[TemplateRow]) -> list[str]:
    """003 Scorecard Template: every row as the framework defines it, empty if it was not run."""
    filled = {
        (row.template.kind, row.template.key): row.cells
        for row in scorecard_rows(card, template, rows="details")
    }
    rows = []
    for row in template:
        if row.is_detail:
            continue
        cells = filled.get((row.kind, row.key), ())
        values = [_cell(row, cell) for cell in cells] or [""] * len(card.models)
        rows.append([_label(row), *values, row.threshold.replace("|", "\\|")])
        if (corrected := corrected_row(row, card.models)) is not None:
            values = [_cell(row, cell) for cell in corrected.cells]
            rows.append([_label(corrected.template), *values, ""])
    models = [code(model.model, 60) for model in card.models]
    return table(["Metric", *models, "Threshold"], rows)


def _label(row: TemplateRow) -> str:
    label = prose(row.label, 120).replace("|", "\\|")
    if row.kind in STRONG:
        return f"**{label}**"
    return f"[!] {label}" if row.is_blocker else label


def _cell(row: TemplateRow, cell: Cell) -> str:
    remark = f" ({cell.remark})" if cell.remark else ""
    text = f"{cell.text} {cell.interval}".strip() + remark
    return "" if row.kind == "section" else text.replace("|", "\\|")


def _blockers(card: Scorecard) -> Iterator[str]:
    blockers = [(model, blocker) for model in card.models for blocker in model.blockers]
    if not blockers:
        return
    yield "## Blockers"
    yield ""
    for model, blocker in blockers:
        yield f"- {_blocker(model, blocker)}"
    yield ""


def _blocker(model: ModelScore, blocker: Blocker) -> str:
    cases = [code(case, 80, in_table=False) for case in blocker.cases[:CASES_SHOWN]]
    more = len(blocker.cases) - len(cases)
    calls = ", ".join(cases) + (f" and {more} more" if more else "") or "no single call"
    limit = "blocked at" if blocker.value == blocker.limit else "limit"
    name = code(model.model, 60, in_table=False)
    metric = code(blocker.metric, in_table=False)
    return f"{name}: {metric} {blocker.value:.4g} ({limit} {blocker.limit:g}): {calls}"


def _ranking(card: Scorecard) -> Iterator[str]:
    yield "## Ranking"
    yield ""
    rows = [
        [
            "—" if entry.rank is None else str(entry.rank),
            code(entry.model, 60),
            "n/a" if entry.final_score is None else show(entry.final_score),
            show_cost(entry.cost_per_1000_calls),
            "yes" if entry.pareto else "",
            "estimate" if entry.estimate else code(entry.reason, 300) if entry.reason else "",
        ]
        for entry in card.ranking
    ]
    cost = f"$ / 1000 {sampled_unit(card)}s"
    yield from table(["Rank", "Model", _final_heading(card), cost, "Pareto", "Remark"], rows)
    yield ""


def _final_heading(card: Scorecard) -> str:
    return prose(card.final_heading, 120).replace("|", "\\|")


def _short_document(source: ReportSource) -> Iterator[str]:
    card = source.card
    yield f"### {prose(source.title, 120)}{simulated_share(source.card.models)}"
    yield ""
    yield from _decision(card)
    tasks = tasks_run(card)
    ranking = {entry.model: entry for entry in card.ranking}
    ordered = sorted(card.models, key=lambda model: _order(ranking[model.model]))
    rows = [_model_line(model, ranking[model.model], tasks) for model in ordered[:MODELS_SHOWN]]
    final = _final_heading(card)
    headings = ["Model", final, *(f"`{task}`" for task in tasks), "Blockers", "$ / 1000"]
    yield from table([*headings, "Rank"], rows)
    if len(ordered) > MODELS_SHOWN:
        yield ""
        yield f"and {show_count(len(ordered) - MODELS_SHOWN, 'more model')}"
    yield ""
    yield from _short_blockers(card)
    yield f"<sub>{code(card.signature, 600, in_table=False)}</sub>"


def _short_blockers(card: Scorecard) -> Iterator[str]:
    blockers = [(model, blocker) for model in card.models for blocker in model.blockers]
    for model, blocker in blockers[:BLOCKERS_SHOWN]:
        yield f"- {_blocker(model, blocker)}"
    more = len(blockers) - BLOCKERS_SHOWN
    if more > 0:
        yield f"- and {show_count(more, 'more blocker')}"
    if blockers:
        yield ""


def _order(entry: RankingLine) -> tuple[bool, float, str]:
    return entry.final_score is None, -(entry.final_score or 0.0), entry.model


def _model_line(model: ModelScore, entry: RankingLine, tasks: Sequence[str]) -> list[str]:
    final = model.final
    scored: str = final.status
    if final.score is not None:
        scored = f"**{show(final.score)}** {show_score_interval(final)}".strip()
    return [
        code(model.model, 60),
        scored,
        *(_task(model, task) for task in tasks),
        show_count(len(model.blockers), "blocker") if model.blockers else "none",
        show_cost(entry.cost_per_1000_calls),
        "—" if entry.rank is None else str(entry.rank),
    ]


def _task(model: ModelScore, name: str) -> str:
    task = model.tasks.get(name)
    if task is None:
        return "not run"
    return task.status if task.score is None else show(task.score)
