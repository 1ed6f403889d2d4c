"""`callscore plan`: how many calls a decision needs, and their cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
POSITIVE = click.FloatRange(0, min_open=True)


@click.command()
@click.argument("pilot", metavar="[RUN]", required=False)
@click.option(
    "--difference",
    type=POSITIVE,
    default=0.02,
    show_default=True,
    help="The difference between two models that you want to see.",
)
@click.option(
    "--width",
    type=POSITIVE,
    default=0.04,
    show_default=True,
    help="The width that the 95 % interval of a score may have.",
)
@click.option(
    "--power",
    type=SHARE,
    default=0.8,
    show_default=True,
    help="The probability that this many calls show it if it is so.",
)
@click.option(
    "--deviation",
    type=POSITIVE,
    help="Without a pilot: the standard deviation of the difference per call.",
)
@click.option("--limit", type=SHARE, help="Without a pilot: the limit of a rate.")
@click.option(
    "--rate", type=click.FloatRange(0, 1), default=0.0, help="Without a pilot: the expected rate."
)
@click.option(
    "--items",
    type=POSITIVE,
    default=1.0,
    help="Without a pilot: the number of counted items per call.",
)
@click.option(
    "--cost-per-1000",
    type=click.FloatRange(0),
    help="Without a pilot: dollars per 1000 calls, all models together.",
)
@click.option(
    "--models",
    type=click.IntRange(2),
    help="How many models will be compared (those of the pilot; 2 without one).",
)
@click.option("--store", type=STORE, help="The store of the run (.callscore/runs.db).")
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
@click.option("--json", "json_file", type=FILE, help="Write the plan as JSON (- for stdout).")
def plan(
    pilot: str | None,
    difference: float,
    width: float,
    power: float,
    deviation: float | None,
    limit: float | None,
    rate: float,
    items: float,
    cost_per_1000: float | None,
    models: int | None,
    store: StoreAddress | None,
    eval_file: Path | None,
    json_file: Path | None,
) -> None:
    """Calculate how many calls a decision needs, and what they cost.

    RUN is a pilot: the id of a stored run, or an eval file (its newest run). Without a
    pilot, pass assumptions.

    \b
    callscore run eval.yaml --limit 200
    callscore plan eval.yaml --difference 0.01
    callscore plan --deviation 0.15 --difference 0.02 --cost-per-1000 12
    callscore plan --limit 0.03 --rate 0.01 --items 6
    """
    import msgspec

    from callscore.cli import output
    from callscore.comparison.inputs import SearchPaths, load_input
    from callscore.comparison.sample_size import PlanGoals, plan_from_assumptions, plan_from_pilot
    from callscore.config.score import DEFAULT_STORE
    from callscore.report.comparison_text import plan_lines
    from callscore.report.safe_text import escape_json
    from callscore.store.files import check_targets

    read = [path for path in (pilot and Path(pilot), eval_file, store or DEFAULT_STORE) if path]
    check_targets([output.path_unless_stdout(json_file)], read)
    goals = PlanGoals(
        difference, width, power, deviation, limit, rate, items, cost_per_1000, models
    )
    if pilot is None:
        found = plan_from_assumptions(goals)
    else:
        with load_input(pilot, SearchPaths(store, eval_file)) as scored:
            found = plan_from_pilot(scored, goals)
    raw = escape_json(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    if json_file is not None:
        output.write_bytes(json_file, raw)
    if json_file == output.STANDARD_OUTPUT:
        return
    output.print_lines(lambda columns: plan_lines(found, columns))
