"""`callscore verdicts`: what people decided in the app, as a file of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import FILE, STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress


@click.command()
@click.argument("run_id", metavar="RUN", type=int)
@click.option(
    "--store",
    type=STORE,
    help="The store; by default .callscore/runs.db in the current folder.",
)
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
@click.option("-o", "--out", type=FILE, required=True, help="The file of verdicts to write.")
def verdicts(run_id: int, store: StoreAddress | None, eval_file: Path | None, out: Path) -> None:
    """Write what people decided about the replies of a run as a file of verdicts.

    The file has the last word of each person on each item, and the reason. `callscore score
    --verdicts` and `verdicts` of an eval file read it.

    \b
    callscore verdicts 3 -o people.jsonl
    """
    from callscore.config.score import DEFAULT_STORE
    from callscore.core.errors import UsageError
    from callscore.report.numbers import show_count
    from callscore.runner.people import verdicts_of_people
    from callscore.runner.stored_runs import config_of_run
    from callscore.store.address import open_store

    path = store or DEFAULT_STORE
    with open_store(path, only_reading=True) as opened:
        config = config_of_run(opened.run(run_id), path, eval_file)
        lines = verdicts_of_people(opened, run_id, config).lines
    if out.resolve() in [file.resolve() for file in config.files if isinstance(file, Path)]:
        raise UsageError(f"{out}: is an input of the run; expected another file")
    out.write_bytes(lines)
    say(f"{out}: {show_count(len(lines.splitlines()), 'verdict')} of people")
