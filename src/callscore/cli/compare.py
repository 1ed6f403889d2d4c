"""`callscore compare`: whether the second model is better than the first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE, decide_option, parse_pairs

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--results", type=FILE, nargs=2, metavar="A B", help="The results files of two scorecards."
)
@click.option("--store", type=STORE, help="The store of the runs (.callscore/runs.db).")
@click.option("--eval", "eval_file", type=FILE, help="The eval file of the runs, if it was moved.")
@click.option(
    "--force", is_flag=True, help="Compare results that are not comparable, and label them."
)
@click.option(
    "--all-rows",
    is_flag=True,
    help="Test and show every row, also precision, recall and rows without a change.",
)
@decide_option
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Show at most N changed cases.",
)
@click.option("--json", "json_file", type=FILE, help="Write the comparison as JSON (- for stdout).")
@click.option(
    "--markdown",
    type=FILE,
    help="Write the comparison as Markdown for a pull request (- for stdout).",
)
def compare(
    first: str,
    second: str,
    results: tuple[Path, Path] | None,
    store: StoreAddress | None,
    eval_file: Path | None,
    force: bool,
    all_rows: bool,
    decide: tuple[str, ...],
    cases: int,
    json_file: Path | None,
    markdown: Path | None,
) -> None:
    """Compare two models call by call: what changed, and whether it is more than chance.

    A and B are the id of a stored run, an eval file (its newest run), or a scorecard or a result
    file of scenarios that --json wrote. Add :MODEL if it has several models. Results with different
    data, settings, judge or embedder are refused.

    \b
    callscore compare 3 4
    callscore compare eval.yaml:old eval.yaml:new --markdown comment.md
    callscore compare old.json new.json --results old.jsonl new.jsonl
    """
    from callscore.cli import output
    from callscore.comparison.inputs import split_target
    from callscore.comparison.model_comparison import compare as compare_models
    from callscore.config.score import DEFAULT_STORE
    from callscore.report.comparison_text import comparison_lines, comparison_markdown
    from callscore.report.json import comparison_json
    from callscore.store.address import as_option
    from callscore.store.files import check_targets

    inputs: list[StoreAddress] = [Path(split_target(name)[0]) for name in (first, second)]
    inputs += [store or DEFAULT_STORE, *(results or ()), *([eval_file] if eval_file else ())]
    check_targets(map(output.path_unless_stdout, (json_file, markdown)), inputs)
    comparison = compare_models(
        first,
        second,
        results=results,
        store=None if store is None else as_option(store),
        eval_file=eval_file,
        force=force,
        all_rows=all_rows,
        decide=parse_pairs("--decide", decide),
    )
    if json_file is not None:
        output.write_parts(json_file, comparison_json(comparison))
    if markdown is not None:
        text = comparison_markdown(comparison, all_rows=all_rows, max_cases=cases)
        output.write_bytes(markdown, text.encode())
    if output.STANDARD_OUTPUT in (json_file, markdown):
        return
    output.print_lines(
        lambda width: comparison_lines(comparison, width, all_rows=all_rows, max_cases=cases)
    )
    if comparison.not_comparable:
        say("note: these results are not comparable (--force)", err=True)
