"""A sample-size plan for the terminal: what the pilot decides, and the calls for more."""

from __future__ import annotations

from collections.abc import Iterator

from callscore.core.plan import Plan, PlanLine
from callscore.report.decision import state_line
from callscore.report.decision_lines import statement_lines
from callscore.report.layout import Column, Line, StyledText, paragraph, table
from callscore.report.numbers import show_count, show_money
from callscore.report.safe_text import plain


def plan_lines(plan: Plan, width: int) -> Iterator[Line]:
    """Yield the plan as a table, with its assumptions."""
    have = f", {show_count(plan.calls, 'call')}" if plan.calls else ""
    models = f", {plan.models} models" if plan.models > 2 else ""
    title = f"Calls needed, from {plain(plan.basis, 100)}{have} (power {plan.power:.0%}{models})"
    decision = [state_line(line, plan.origins) for line in plan.decision]
    yield from statement_lines(decision, width)
    if decision:
        yield []
    yield from paragraph([StyledText(title, "bold")], width)
    columns = [Column("to"), Column("calls", is_number=True), Column("cost", is_number=True)]
    yield from table([*columns, Column("")], [_cells(line) for line in plan.lines], width)
    yield []
    for note in plan.notes:
        yield from paragraph([StyledText(plain(note, 400), "dim")], width)


def _cells(line: PlanLine) -> Line:
    calls = "—" if line.calls is None else f"{line.calls:,}"
    sentence = line.why
    if line.calls is not None and line.calls <= line.have:
        sentence = "the pilot has as many"
    if line.shown:
        sentence = "the pilot shows it"
    return [
        StyledText(plain(line.question, 160)),
        StyledText(calls),
        StyledText("" if line.cost_usd is None else show_money(line.cost_usd)),
        StyledText(sentence, "green" if line.shown else "dim"),
    ]
