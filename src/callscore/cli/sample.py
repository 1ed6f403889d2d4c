"""`callscore sample`: select calls to label."""

from __future__ import annotations

from pathlib import Path

import click

from callscore.cli.safe_echo import say


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-n", "--number", type=click.IntRange(min=1), required=True, help="The number of calls."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="The file to write."
)
@click.option(
    "--by",
    default="",
    help="Select in proportion from every kind of call: lang, tags, task, length or another key.",
)
@click.option(
    "--results",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Select calls where models disagree most, by these results of `score` or `run`.",
)
@click.option("--seed", default=0, show_default=True, help="The same seed selects the same calls.")
def sample(
    files: tuple[Path, ...],
    number: int,
    out: Path,
    by: str,
    results: tuple[Path, ...],
    seed: int,
) -> None:
    """Select calls from case or transcript files: at random, by kind, or where models disagree.

    A call is selected with all its cases; their lines are written unchanged.
    """
    from callscore.label_job import SampleJob, draw_sample

    keys = tuple(key.strip() for key in by.split(",") if key.strip())
    drawn, whole = draw_sample(SampleJob(files, number, out, keys, results, seed))
    say(f"{out}: {drawn} of {whole} calls")
