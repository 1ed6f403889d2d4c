"""Home: the runs of the store, newest first; those that run, with their progress."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil

from callscore.report.html.parts import chip, model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain
from callscore.results.port import RunLine
from callscore.web.page import command, empty
from callscore.web.screen import Answer, Page, Route, Visit, element, link

POLL = "every 2s"
COLUMNS = ("State", "Answers", "Leader", "Final", "Cost", "Started")


ONE_START_S = 5.0
"""A process that held the run this early has begun it."""


def seconds_left(run: RunLine, now: datetime) -> float | None:
    """elapsed × left / done; None if that is no pace: done is 0, or counts another process, or in
    a race, which ends early
    """
    done = run.answered + run.failed
    if not run.is_running or run.is_race or run.held_since is None or not done:
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
    main = tag("section", tag("h1", "Runs"), listed)
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
        table(("Run", *COLUMNS), [_row(run) for run in runs], "Runs, newest first", "runs"),
        id="runs",
        hx_get="/" if is_live else None,
        hx_trigger=POLL if is_live else None,
        hx_target="#runs" if is_live else None,
        hx_swap="outerHTML" if is_live else None,
    )


def _row(run: RunLine) -> Html:
    name = join(
        link(plain(run.name, 80), f"/runs/{run.id}"),
        tag("small", f"run {run.id} · {plain(run.eval_file, 80)}"),
    )
    final = "—" if run.leader_final is None else show(run.leader_final)
    leader: Child = tag("span", "—", class_="quiet")
    if run.leader is not None:
        leader = model_name(run.leader)
    cost = join(
        show_money(run.cost_usd),
        tag("small", f"judge {show_money(run.judge_usd)}") if run.judge_usd else None,
    )
    started = run.started_at[:16].replace("T", " ")
    cells: Sequence[Child] = (
        _state(run), _answers(run), leader, tag("b", final), cost, started,
    )  # fmt: skip
    labelled = zip(COLUMNS, cells, strict=True)
    return row(name, [tag("td", cell, data_label=label) for label, cell in labelled])


def _state(run: RunLine) -> Html:
    race = join(" ", chip("race")) if run.is_race else None
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
        tag("small", left) if left is not None else None,
    )


ROUTES = (Route("GET", "/", show_runs, version=version_of_runs),)
