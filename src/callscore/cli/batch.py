"""`callscore batch`: the jobs that runs have at batch APIs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)
STORE_OPTION = click.option(
    "--store", type=STORE, help="The store; by default .callscore/runs.db in the current folder."
)


@click.group()
def batch() -> None:
    """List and cancel the jobs that runs have at batch APIs (`mode: batch`)."""


@batch.command(name="list")
@STORE_OPTION
def list_(store: StoreAddress | None) -> None:
    """List the jobs that are not finished, with the most that each may cost.

    A job goes on at the vendor when `callscore run` ends. `callscore run EVAL.yaml --resume`
    collects its results.
    """
    from callscore.cli.run_text import job_lines
    from callscore.config.score import DEFAULT_STORE
    from callscore.runner.batch_jobs import list_jobs

    jobs = list_jobs(store or DEFAULT_STORE)
    if not jobs:
        say("no batch jobs")
        return
    for line in job_lines(jobs):
        say(line)


@batch.command()
@click.argument("run", type=int, metavar="RUN")
@STORE_OPTION
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
def cancel(run: int, store: StoreAddress | None, eval_file: Path | None) -> None:
    """Cancel the jobs of a run, and collect what they have finished.

    RUN is the id of a run that no process is working on. Finished requests are billed by the
    vendor, and their replies are stored. Nothing new is sent; a resumed run asks for the rest.
    """
    from callscore.cli.run_progress import LiveView
    from callscore.cli.run_text import job_lines
    from callscore.config.score import DEFAULT_STORE
    from callscore.report.numbers import show_count, show_money
    from callscore.runner.batch_jobs import cancel_jobs

    view = LiveView()
    try:
        done = cancel_jobs(run, store or DEFAULT_STORE, eval_file, view)
    finally:
        view.close()
    uncertain = f", up to {show_money(done.uncertain_usd)} more" if done.uncertain_usd else ""
    replies = show_count(done.replies, "reply")
    say(f"run {run}: {replies} collected, cost {show_money(done.cost_usd)}{uncertain}")
    if done.left:
        say("Not ended yet; repeat the command later:")
        for line in job_lines(done.left):
            say(line)
        raise KeyboardInterrupt
