"""`callscore report`: write a report of a stored run or a scorecard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE, decide_option, parse_pairs, workers_option

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("target", metavar="RUN|CARD")
@click.option(
    "--format",
    "form",
    metavar="NAME",
    help="html, md, csv, xlsx, json, junit, dossier …; by default from the suffix of FILE.",
)
@click.option("-o", "--output", type=FILE, help="The file to write (- for stdout).")
@click.option("--store", type=STORE, help="The store of the run (.callscore/runs.db).")
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the run, if it was moved.")
@click.option("--run", "run_id", type=int, help="A run of the eval file; by default its newest.")
@decide_option
@click.option("--without-text", is_flag=True, help="Leave out transcripts, answers and quotes.")
@click.option("--short", is_flag=True, help="The short form, if the format has one.")
@click.option("--max-mb", type=click.FloatRange(min=0.1), help="Keep a page below this size.")
@click.option("--sign", type=FILE, help="Sign a dossier with this private key (PEM).")
@workers_option
@click.option("--set", "other", multiple=True, help="An option of the format, as name=value.")
def report(
    target: str,
    form: str | None,
    output: Path | None,
    store: StoreAddress | None,
    eval_file: Path | None,
    run_id: int | None,
    decide: tuple[str, ...],
    without_text: bool,
    short: bool,
    max_mb: float | None,
    sign: Path | None,
    workers: int | None,
    other: tuple[str, ...],
) -> None:
    """Write a report of a stored run or a scorecard.

    RUN|CARD is the id of a run in the store, an eval file (its newest run), or a scorecard that
    --json wrote. A run is scored again from its stored replies if it, its data or its settings
    have changed since it was scored; nothing is sent.

    \b
    callscore report 3 -o report.html
    callscore report eval.yaml --format xlsx -o run.xlsx
    callscore report card.json --format md
    """
    import msgspec

    from callscore.evaluate.block_scoring import Workers
    from callscore.export.report_file import STANDARD_OUTPUT, write_report
    from callscore.export.sources import SourceRequest, open_source
    from callscore.report.formats import report_format
    from callscore.report.source import ReportOptions
    from callscore.results import indexed_source
    from callscore.store.files import check_new_folder, check_targets
    from callscore.store.remote_files import is_remote

    read_as = parse_pairs("--decide", decide)
    wanted = SourceRequest(target, store, eval_file, run_id, read_as, Workers(workers))
    chosen = report_format(_format_name(form, output))
    place = output or STANDARD_OUTPUT
    is_folder = chosen.files is not None
    if is_folder:
        check_new_folder(place)
    is_file = place != STANDARD_OUTPUT and not (is_folder and is_remote(place))
    check_targets([place] if is_file else [], wanted.files)
    options = ReportOptions(
        without_text=without_text, short=short, other=parse_pairs("--set", other)
    )
    if max_mb is not None:
        options = msgspec.structs.replace(options, max_bytes=int(max_mb * 1_000_000))
    if sign is not None:
        from callscore.export.dossier_file import load_signer

        options = msgspec.structs.replace(options, sign=load_signer(sign))
    # A dossier archives scenarios with everything that scoring them reads.
    with open_source(wanted, None if chosen.name == "dossier" else indexed_source) as source:
        for note in source.absent:
            say(f"note: {note}", err=True)
        write_report(source, chosen, options, place)


def _format_name(form: str | None, output: Path | None) -> str:
    """The requested format, else the one of the suffix of the file."""
    from callscore.report.formats import format_for, format_names

    name = form or (format_for(output.name) if output is not None else None)
    if name is None:
        known = ", ".join(format_names())
        raise click.UsageError(f"the format is unknown; expected --format with one of {known}")
    return name
