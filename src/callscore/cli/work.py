"""`callscore work`: send requests of a run that another machine has started."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import FILE, STORE, trust_option
from callscore.store.address import StoreAddress

if TYPE_CHECKING:
    from callscore.core.run import Event, RunSummary


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--store", type=STORE, help="The PostgreSQL store, if no eval file names it.")
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
@click.option("--log", type=FILE, help="Append one JSON line per event: replies, failed attempts.")
@trust_option
def work(run: str, store: StoreAddress | None, eval_file: Path | None, log: Path | None) -> None:
    """Work on a run in a PostgreSQL store, until it has no open requests.

    RUN is its id, or its eval file (the newest run in progress). The eval file, its data and the
    version of Callscore must be those of the run; keys come from this machine. Budget and limits
    are those of the run, for all workers together. `callscore run` scores the replies. Ctrl-C
    leaves the run to the other workers.

    \b
      callscore run eval.yaml          on one machine
      callscore work eval.yaml         on any number of others
    """
    from callscore.cli.run_text import summary_lines

    run_id, store, eval_file = _find_run(run, store, eval_file)
    summary = _work(run_id, store, eval_file, log)
    for line in summary_lines(run_id, summary, ()):
        say(line, err=True)
    if summary.status == "interrupted":
        raise KeyboardInterrupt


def _find_run(
    run: str, store: StoreAddress | None, eval_file: Path | None
) -> tuple[int, StoreAddress, Path | None]:
    """The id of the run, its store, and its eval file if that is known."""
    from callscore.config.config import load_eval
    from callscore.core.errors import UsageError
    from callscore.runner.work import open_shared_store

    if not run.isdecimal():
        config = load_eval(Path(run), store)
        with open_shared_store(config.store) as opened:
            return opened.newest_running(config.name), config.store, Path(run)
    if store is None and eval_file is not None:
        store = load_eval(eval_file).store
    if store is None:
        raise UsageError("expected --store or --eval with the id of a run, or its eval file")
    return int(run), store, eval_file


def _work(run_id: int, store: StoreAddress, eval_file: Path | None, log: Path | None) -> RunSummary:
    from callscore.cli.run_progress import LiveView
    from callscore.runner import work
    from callscore.runner.log import EventLog

    view = LiveView()
    with ExitStack() as stack:
        stack.callback(view.close)
        written = None if log is None else stack.enter_context(EventLog(log))

        def on_event(event: Event) -> None:
            view(event)
            if written is not None:
                written(event)

        return work.work(run_id, store, eval_file, on_event)
