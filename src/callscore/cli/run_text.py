"""What `run` and `runs` print besides scores: estimates, totals, lists of runs, commands."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from callscore.core.batch import BatchJob
from callscore.core.run import RunSummary
from callscore.report.layout import align_columns
from callscore.report.numbers import show_count, show_known_cost, show_money
from callscore.report.safe_text import plain
from callscore.runner.estimate import Estimate
from callscore.runner.preflight import Preflight
from callscore.runner.prepare import PreparedRun
from callscore.store.address import StoreAddress, as_option
from callscore.store.recovery.salvage import SalvageResult
from callscore.store.run_records import Failure, RunRecord

UNKNOWN = "unknown"
ALL_FAILED = "every request failed"
STATUS = {"unanswered": ALL_FAILED}
"""The text for a status, if it is not its name."""


def estimate_lines(cases: int, estimates: Sequence[Estimate]) -> list[str]:
    """Requests, tokens and dollars of every model: expected, and at most."""
    headings = ("model", "requests", "paid", "input tokens", "output tokens", "cost")
    rows = [
        (
            found.model,
            str(found.calls),
            str(found.already_paid),
            f"{found.input_tokens:,}",
            f"{found.output_tokens:,} to {found.most_output_tokens:,}",
            _range(found.cost_usd, found.most_cost_usd),
        )
        for found in estimates
    ]
    costs = [found.cost_usd for found in estimates]
    mosts = [found.most_cost_usd for found in estimates]
    total = _range(_sum(costs), _sum(mosts))
    return [
        f"{show_count(cases, 'case')}, nothing was sent. Tokens are estimated: replies as "
        "long as the reference are expected; the maximum is what the model may write.",
        *align_columns(headings, rows),
        f"In total: {total}",
    ]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return UNKNOWN
    return f"{show_money(low)} to {show_money(high)}"


def summary_lines(run_id: int, summary: RunSummary, preflights: Sequence[Preflight]) -> list[str]:
    """The result of the run by model, with the causes of failures."""
    headings = ("model", "answered", "cached", "failed", "not run", "attempts", "spend")
    all_models = {**summary.models, **summary.judges}
    rows = [
        (
            name,
            f"{model.answered}/{model.total}",
            str(model.cached),
            str(model.failed),
            str(model.not_run),
            str(model.attempts),
            show_known_cost(model.spend_usd, model.unpriced),
        )
        for name, model in all_models.items()
    ]
    status = STATUS.get(summary.status, summary.status)
    lines = [f"run {run_id}: {status}", *(align_columns(headings, rows) if rows else ())]
    lines += [
        f"{plain(name)} was stopped: {plain(model.stopped)}"
        for name, model in all_models.items()
        if model.stopped
    ]
    lines += [
        f"{plain(name)}: up to {show_money(model.uncertain_usd)} more may be billed for attempts "
        "without a complete reply"
        for name, model in all_models.items()
        if model.uncertain_usd
    ]
    if preflights:
        tokens = sum(found.input_tokens + found.output_tokens for found in preflights)
        asked = show_count(len(preflights), "small request")
        cost = _sum([found.cost_usd for found in preflights])
        paid = UNKNOWN if cost is None else show_money(cost)
        lines.append(f"before that, {asked} to test the models: {tokens} tokens, cost {paid}")
    if summary.status == "budget":
        lines.append("stopped: the next request could have exceeded the budget")
    return lines


def run_lines(records: Sequence[RunRecord]) -> list[str]:
    """One line per run, newest first."""
    headings = (
        *("run", "name", "status", "answered", "failed", "coverage"),
        *("cost", "started (UTC)", "judging", "may be billed", "paid again"),
    )
    rows = [
        (
            str(record.id),
            record.header.name,
            _status(record),
            f"{record.answered}/{record.header.total}",
            str(record.failed),
            f"{record.coverage:.1%}" if record.coverage is not None else "",
            show_known_cost(record.cost_usd, record.unpriced),
            record.started_at[:16].replace("T", " "),
            show_money(record.judge_usd) if record.judge_usd else "",
            f"up to {show_money(record.uncertain_usd)} more" if record.uncertain_usd else "",
            show_money(record.paid_again_usd) if record.paid_again_usd else "",
        )
        for record in records
    ]
    # the last columns are rarely needed
    shown = len(headings)
    while shown and rows and not any(row[shown - 1] for row in rows):
        shown -= 1
    return align_columns(headings[:shown], [row[:shown] for row in rows])


def salvaged_lines(damaged: Path, target: Path, found: SalvageResult) -> list[str]:
    """What was salvaged from a damaged store, and what to do with the two files."""
    of_judges = f" ({found.judge_answers} of judges)" if found.judge_answers else ""
    saved = [
        show_count(found.answers, "reply") + of_judges,
        show_count(found.runs, "run"),
        show_count(found.items, "result"),
    ]
    if found.events:
        saved.append(show_count(found.events, "event"))
    lost = show_count(found.lost_answers, "reply")
    return [
        f"{target}: {', '.join(saved)} saved; {lost} before the last of them could not be read",
        f"{damaged} was not changed. Saved replies are not paid for again: set `store` or "
        f"--store to {target}, or replace the damaged file with it",
    ]


def _status(record: RunRecord) -> str:
    holder = record.holder
    if record.status == "running" and holder is not None:
        return f"running (process {holder.pid} on {holder.host})"
    return STATUS.get(record.status, record.status)


def rescored_line(record: RunRecord) -> str:
    """Which run was scored again, and how complete it is."""
    failed = f", {record.failed} failed" if record.failed else ""
    answered = f"{record.answered}/{record.header.total} answered{failed}"
    return f"run {record.id} ({_status(record)}, {answered}) scored again; nothing was sent"


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """Why requests failed."""
    return [
        f"{plain(found.model)}: {show_count(found.number, 'request')} failed: {plain(found.why)}"
        for found in failures
    ]


def running_job_lines(jobs: Sequence[BatchJob]) -> list[str]:
    """The jobs that a run leaves at batch APIs."""
    if not jobs:
        return []
    reserved = show_money(math.fsum(job.reserved_usd for job in jobs))
    number = show_count(len(jobs), "batch job")
    end = f"callscore batch cancel {jobs[0].run_id}"
    return [
        f"{number} left at the vendor, up to {reserved} in all; a resumed run collects the "
        f"results, `{end}` ends them:",
        *job_lines(jobs),
    ]


def job_lines(jobs: Sequence[BatchJob]) -> list[str]:
    """The jobs at batch APIs, one line each."""
    headings = ("run", "model", "job", "state", "requests", "up to", "planned (UTC)")
    rows = [
        (
            str(job.run_id),
            job.model,
            job.remote_id or f"(token {job.token})",
            job.state,
            str(job.requests),
            show_money(job.reserved_usd),
            f"{datetime.fromtimestamp(job.planned_at, UTC):%Y-%m-%d %H:%M}",
        )
        for job in jobs
    ]
    return align_columns(headings, rows)


def resume_command(
    prepared: PreparedRun,
    store: StoreAddress | None,
    redact: bool,
    names: Path | None,
    rescore: int | None,
) -> str:
    """The command that continues an interrupted run with the same data and the same limits."""
    options = prepared.options
    words = ["callscore", "run", str(prepared.config.path)]
    words += ["--resume"] if rescore is None else ["--rescore", str(rescore)]
    words += ["--race"] if options.race else []
    words += ["--finish-invalid"] if options.finish_invalid else []
    words += ["--limit", str(options.limit)] if options.limit is not None else []
    weights = ",".join(f"{task}={weight:.17g}" for task, weight in options.weights.items())
    words += ["--weights", weights] if weights else []
    words += [word for path in options.labels for word in ("--labels", str(path))]
    words += ["--engine", "ray", "--ray-address", cluster] if (cluster := options.cluster) else []
    words += ["--store", as_option(store)] if store is not None else []
    words += ["--budget", f"{options.budget_usd:g}"] if options.budget_usd is not None else []
    words += ["--mode", options.mode] if options.mode is not None else []
    words += ["--redact"] if redact else []
    words += ["--names", str(names)] if names is not None else []
    return shlex.join(words)
