"""`callscore sample`: select calls to label."""

from __future__ import annotations

from pathlib import Path

import click

from callscore.cli.console import say


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-n",
    "--number",
    type=click.IntRange(min=1),
    required=True,
    help="The number of calls, or of items.",
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
    """Select calls to label from case or transcript files, or judged items from a worklist.

    Calls are selected at random, by kind, or where models disagree, each with all its cases; their
    lines are written unchanged.

    Items come from a file of `--open-items` or `--save-verdicts` (CSV or JSON Lines), without the
    verdicts in it. They are drawn at random, evenly over models and metrics, and written as a
    worklist; filled in by people, it is the file for --labels.

    \b
    callscore sample cases.jsonl -n 50 -o to-label.jsonl
    callscore sample judged.jsonl -n 120 -o labels.csv
    """
    from callscore.label_job import SampleJob, draw_items, draw_sample, has_items

    keys = tuple(key.strip() for key in by.split(",") if key.strip())
    job = SampleJob(files, number, out, keys, results, seed)
    if has_items(files):
        found = draw_items(job)
        say(f"{out}: {found.items} of {found.whole} items, in {found.answers} answers")
        return
    drawn, whole = draw_sample(job)
    say(f"{out}: {drawn} of {whole} calls")
