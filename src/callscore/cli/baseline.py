"""`callscore baseline`: save the values of a run, for gates of later runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)


@click.group()
def baseline() -> None:
    """Save the values of a run as a baseline for gates of later runs."""


@baseline.command(name="set")
@click.argument("run", metavar="RUN")
@click.option("--model", "models", multiple=True, help="Only this model; may be repeated.")
@click.option(
    "-o",
    "--output",
    "target",
    type=FILE,
    help="The file to write; callscore-baseline.json next to the eval file, or in the current "
    "folder.",
)
@click.option("--store", type=STORE, help="The store of the run (.callscore/runs.db).")
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
def set_baseline(
    run: str,
    models: tuple[str, ...],
    target: Path | None,
    store: StoreAddress | None,
    eval_file: Path | None,
) -> None:
    """Write the values of a run to a small file that you can commit.

    RUN is the id of a stored run, an eval file (its newest run), or a scorecard that --json wrote.
    A gate `no_regression` in an eval file compares later runs with this file. The file has values
    and, by hashes of call ids, the contribution of each call. It has no text and no call ids.

    \b
    callscore baseline set eval.yaml --model old
    git add callscore-baseline.json
    """
    from callscore.comparison.inputs import SearchPaths, load_input
    from callscore.comparison.pseudovalues import make_baseline
    from callscore.config.baseline import baseline_json
    from callscore.config.score import DEFAULT_STORE
    from callscore.report.numbers import show_count
    from callscore.store.files import atomic_write, check_targets

    path = target or _default_path(run)
    read = [file for file in (Path(run), eval_file, store or DEFAULT_STORE) if file]
    check_targets([path], read)
    with load_input(run, SearchPaths(store, eval_file)) as found:
        baseline = make_baseline(found, models)
    with atomic_write(path) as file:
        file.write(baseline_json(baseline))
    say(f"{path}: {show_count(len(baseline.models), 'model')}: {', '.join(baseline.models)}")


def _default_path(run: str) -> Path:
    from callscore.config.baseline import DEFAULT_FILE

    is_eval = Path(run).suffix.lower() in (".yaml", ".yml")
    return (Path(run).parent if is_eval else Path()) / DEFAULT_FILE
