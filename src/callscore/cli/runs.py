"""`callscore runs`: list runs with progress and cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("eval_file", metavar="[EVAL.yaml]", required=False, type=FILE)
@click.option("--store", type=STORE, help="The store, if no eval file names it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one run per line.")
@click.option(
    "--salvage", type=FILE, help="Write the readable part of a damaged store to this file."
)
def runs(
    eval_file: Path | None, store: StoreAddress | None, as_json: bool, salvage: Path | None
) -> None:
    """List runs with status, coverage and cost, newest first.

    Without a file or --store, it lists .callscore/runs.db in the current folder.
    """
    from contextlib import closing

    import msgspec

    from callscore.cli.run_text import run_lines
    from callscore.config.config import load_eval
    from callscore.config.score import DEFAULT_STORE
    from callscore.core.errors import UsageError
    from callscore.report.safe_text import escape_json
    from callscore.results import open_results
    from callscore.store.address import require_store

    path = store or (load_eval(eval_file).store if eval_file is not None else DEFAULT_STORE)
    require_store(path)
    if salvage is not None:
        if not isinstance(path, Path):
            raise UsageError(f"{path}: --salvage needs a file; a database has its own tools")
        _salvage(path, salvage)
        path = salvage
    with closing(open_results(path)) as results:
        found = results.records()
    if as_json:
        for record in found:
            say(escape_json(msgspec.json.encode(record)).decode())
        return
    for line in run_lines(found):
        say(line)


def _salvage(damaged: Path, target: Path) -> None:
    from callscore.cli.run_text import salvaged_lines
    from callscore.store.recovery.salvage import salvage

    for line in salvaged_lines(damaged, target, salvage(damaged, target)):
        say(line, err=True)
