"""Home: the runs of the store, newest first; those that run, with their progress."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil

from callscore.report.html.parts import chip, model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show, show_count, show_known_cost, show_money
from callscore.report.race_text import describe_decision
from callscore.report.safe_text import plain
from callscore.report.svg.sparkline import draw_sparkline
from callscore.results.port import RunLine
from callscore.web.page import command, empty
from callscore.web.screen import Answer, Page, PageTable, Route, Visit, element, link
from callscore.web.tables import export_links

POLL = "every 2s"
RUNS_DRAWN = 12
"""The runs that a sparkline shows."""
COLUMNS = ("State", "Answers", "Leader", "Final", "Cost", "Started (UTC)")


ONE_START_S = 5.0
"""A process that held the run this early has begun it."""


def seconds_left(run: RunLine, now: datetime) -> float | None:
    """elapsed × left / done; None if that is no pace: done is 0, or counts another process, or in
    a race, which ends early
    """
    done = run.answered + run.failed
    if not run.is_running or run.race is not None or run.held_since is None or not done:
        return None
    began, held = (datetime.fromisoformat(at) for at in (run.started_at, run.held_since))
    if (held - began).total_seconds() > ONE_START_S:
        return None
    return (now - began).total_seconds() * max(run.total - done, 0) / done


def show_left(seconds: float) -> str:
    """A duration, rounded up."""
    minutes = ceil(seconds / 60)
    if minutes < 2:
        return "about a minute left"
    if minutes < 120:
        return f"about {minutes} min left"
    return f"about {ceil(minutes / 60)} hours left"


def show_runs(visit: Visit) -> Answer:
    """Return the list of runs."""
    runs = visit.results.runs()
    listed = _list(runs)
    main = tag("section", tag("h1", "Runs"), listed, export_links(visit) if runs else None)
    return Page("Runs", main, fragments={"runs": listed})


def version_of_runs(visit: Visit) -> str:
    """Return a text that changes with any run."""
    now = datetime.now(UTC)
    return repr([(run, _left(run, now)) for run in visit.results.runs()])


def _list(runs: Sequence[RunLine]) -> Html:
    """Return the runs; while one runs, the list asks for itself again."""
    is_live = any(run.is_running for run in runs)
    if not runs:
        return empty("This store has no runs yet. Start one:", "callscore run eval.yaml")
    return element(
        "div",
        tag("p", show_count(len(runs), "run"), class_="note"),
        table(("Run", *COLUMNS), _rows(runs), "Runs, newest first", "runs"),
        id="runs",
        hx_get="/" if is_live else None,
        hx_trigger=POLL if is_live else None,
        hx_target="#runs" if is_live else None,
        hx_swap="outerHTML" if is_live else None,
    )


def _rows(runs: Sequence[RunLine]) -> list[Html]:
    """Return a row per run; `runs` has the newest first."""
    earlier: dict[tuple[str, str], list[RunLine]] = {}
    rows = []
    for run in reversed(runs):
        series = earlier.setdefault((run.name, run.eval_file), [])
        if run.leader_final is not None:
            series.append(run)
        rows.append(_row(run, series[-RUNS_DRAWN:]))
    return rows[::-1]


def _row(run: RunLine, series: Sequence[RunLine]) -> Html:
    name = join(
        link(plain(run.name, 80), f"/runs/{run.id}"),
        tag("small", f"run {run.id} · {plain(run.eval_file, 80)}"),
    )
    leader: Child = tag("span", "—", class_="quiet")
    if run.leader is not None:
        leader = model_name(run.leader)
    cost = join(
        show_known_cost(run.cost_usd, run.unpriced),
        tag("small", f"judge {show_money(run.judge_usd)}") if run.judge_usd else None,
    )
    started = run.started_at[:16].replace("T", " ")
    cells: Sequence[Child] = (
        _state(run), _answers(run), leader, _final(run, series), cost, started,
    )  # fmt: skip
    labelled = zip(COLUMNS, cells, strict=True)
    return row(name, [tag("td", cell, data_label=label) for label, cell in labelled])


def _final(run: RunLine, series: Sequence[RunLine]) -> Html:
    """Return the Final of the leader, and how it went in the runs of the same eval file."""
    if run.leader_final is None:
        return tag("b", "—")
    finals = [one.leader_final for one in series if one.leader_final is not None]
    picture = None
    if len(finals) > 1:
        told = ", ".join(
            f"run {one.id} {show(final)} ({model_name(one.leader or '')})"
            for one, final in zip(series, finals, strict=True)
        )
        title = f"Final of the leader in {len(finals)} runs of {plain(run.name, 60)}"
        picture = draw_sparkline(finals, title, told)
    return join(tag("b", show(run.leader_final)), " ", picture)


def _state(run: RunLine) -> Html:
    race = None
    if run.race is not None:
        told = plain(describe_decision(run.race), 300)
        race = join(" ", chip("race"), tag("small", told))
    if run.status == "complete":
        return join(chip("complete", "good"), race)
    if run.is_running:
        return join(chip("running", "middling"), race)
    resume = f"callscore run {plain(run.eval_file, 200)} --resume"
    return join(chip(run.status, "middling"), race, " ", command(resume))


def _left(run: RunLine, now: datetime) -> str | None:
    seconds = seconds_left(run, now)
    return None if seconds is None else show_left(seconds)


def _answers(run: RunLine) -> Html:
    left = _left(run, datetime.now(UTC))
    return join(
        f"{run.answered} of {run.total}",
        tag("progress", value=run.answered, max=max(run.total, 1), aria_label="answered"),
        tag("small", f"{run.failed} failed", class_="bad") if run.failed else None,
        [
            tag("small", f"{model_name(one.model)}: {one.number} × {plain(one.why, 160)}")
            for one in run.failures
        ],
        tag("small", left) if left is not None else None,
    )


EXPORTED = (
    "id", "name", "eval_file", "status", "started_at", "finished_at", "total", "answered", "failed",
    "leader", "leader_final", "cost_usd", "unpriced", "judge_usd",
)  # fmt: skip


def runs_table(visit: Visit) -> PageTable:
    """Return every run of the store."""
    rows = [[getattr(run, name) for name in EXPORTED] for run in visit.results.runs()]
    return PageTable("runs", EXPORTED, [rows])


ROUTES = (Route("GET", "/", show_runs, version=version_of_runs, table=runs_table),)
