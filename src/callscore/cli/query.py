"""`callscore query`: SQL on the cases, replies, verdicts, results and metrics of a run."""

from __future__ import annotations

import os
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.fast_exit import exit_at_once
from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.export.query import QueryResult
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)
TABLE_ROWS = 200
"""More are not measured for a table."""


@click.command()
@click.argument("target", metavar="RUN|FOLDER")
@click.argument("sql")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="json is one object per line.",
)
@click.option("-o", "--output", type=FILE, help="The file to write CSV or JSON to.")
@click.option("--store", type=STORE, help="The store of the run (.callscore/runs.db).")
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
@click.option("--run", "run_id", type=int, help="A run of the eval file; by default its newest.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Seconds after which the query is stopped.",
)
@click.option(
    "--max-mb",
    type=click.IntRange(min=50),
    default=1000,
    show_default=True,
    help="The memory that the query may use.",
)
def query(
    target: str,
    sql: str,
    form: str,
    output: Path | None,
    store: StoreAddress | None,
    eval_file: Path | None,
    run_id: int | None,
    timeout: float,
    max_mb: int,
) -> None:
    """Query a run with SQL: one SELECT on cases, replies, verdicts, results and metrics.

    RUN|FOLDER is the id of a run in the store, an eval file (its newest run), or a folder that
    `callscore report --format parquet` wrote. DuckDB runs the query in memory; it can neither read
    nor write files, nor reach the network. DESCRIBE metrics lists the columns of a table.

    \b
    callscore query 3 "SELECT model, avg(score) FROM results GROUP BY model"
    callscore query run.parquet "SELECT * FROM metrics WHERE value < 0.5" --format csv -o low.csv
    """
    from callscore.core.errors import UsageError
    from callscore.export.query import QueryLimits, run_query, tables_of
    from callscore.export.sources import SourceRequest
    from callscore.results import indexed_source
    from callscore.store.files import check_targets

    if output is not None and form == "table":
        raise click.UsageError("-o is for --format csv or json")
    request = SourceRequest(target, store, eval_file, run_id)
    check_targets([output], request.files)

    def give_up(why: BaseException) -> None:
        tables.discard()
        if not isinstance(why, UsageError):
            exit_at_once()
        say(f"error: {why}", err=True)
        os._exit(UsageError.exit_code)

    limits = QueryLimits(timeout, max_mb)
    with (
        tables_of(request, indexed_source) as tables,
        run_query(tables.folder, sql, limits, give_up) as result,
    ):
        if form == "table":
            _print_table(result)
        else:
            _write(result, form, output)


def _print_table(result: QueryResult) -> None:
    from callscore.cli.output import print_lines
    from callscore.report.query_rows import table_lines

    rows = list(islice(chain.from_iterable(result.batches), TABLE_ROWS + 1))
    print_lines(lambda width: table_lines(result.columns, rows[:TABLE_ROWS], width))
    if len(rows) > TABLE_ROWS:
        say(f"The first {TABLE_ROWS} rows; --format csv or json has all.", err=True)


def _write(result: QueryResult, form: str, output: Path | None) -> None:
    import sys

    from callscore.report.query_rows import csv_chunks, json_chunks
    from callscore.store.files import atomic_write

    chunks = (csv_chunks if form == "csv" else json_chunks)(*result)
    if output is None:
        sys.stdout.buffer.writelines(chunks)
        return
    with atomic_write(output) as file:
        file.writelines(chunks)
