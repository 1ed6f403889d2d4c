"""`callscore score`: score stored outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.options import (
    FILE,
    STORE,
    VariadicCommand,
    decide_option,
    engine_options,
    output_options,
    parse_numbers,
    parse_pairs,
    redact_options,
    redaction_choice,
    trust_option,
    weights_option,
    workers_option,
)
from callscore.config.score import default_embedder, embedder_choice, judge_choice

if TYPE_CHECKING:
    from callscore.app import OutputPaths
    from callscore.cli.output import FormSummary
    from callscore.config.redaction import RedactOptions
    from callscore.config.score import ScoreConfig
    from callscore.core.scorecard import Scorecard
    from callscore.evaluate.block_scoring import Workers
    from callscore.evaluate.scorer import OnProgress
    from callscore.store.address import StoreAddress
    from callscore.store.files import Source


@click.command(cls=VariadicCommand)
@click.argument("cases", nargs=-1, required=True, type=FILE)
@click.option(
    "--outputs",
    multiple=True,
    type=FILE,
    help="JSONL with case_id, model, output; several files may follow. "
    "Without it, the model_output embedded in each case is scored.",
)
@click.option(
    "--verdicts", multiple=True, type=FILE, help="JSONL or CSV of verdicts by people or judges."
)
@click.option(
    "--labels",
    multiple=True,
    type=FILE,
    help="Verdicts of people on a sample of judged items; they correct the judged values.",
)
@click.option(
    "--judge",
    default="none",
    show_default=True,
    metavar="none|offline|FILE",
    help="Decides what code cannot: none, built-in rules (an estimate), or the models in a YAML "
    "file.",
)
@click.option(
    "--embedder",
    metavar="auto|none|muse|labse|chrf|FILE",
    help="Compares sentences; by default auto with a judge, else none.",
)
@click.option("--benchmarks", is_flag=True, help="Also run the eleven optional benchmarks.")
@click.option(
    "--store", type=STORE, help="Where to store the replies of judges (.callscore/runs.db)."
)
@output_options
@weights_option
@decide_option
@click.option(
    "--workload",
    multiple=True,
    help="Share of calls that need a task, for the cost of a call, e.g. translation=0.2.",
)
@click.option("--cost", multiple=True, help="Cost per 1000 calls in USD, e.g. my-model=2.50.")
@click.option("--set", "settings", multiple=True, help="A setting, e.g. call_gate_tolerance=0.02.")
@click.option("--metric", "metrics", multiple=True, help="A metric of an installed package.")
@click.option("--allow-bad-cases", is_flag=True, help="Skip unusable cases and report them.")
@click.option(
    "--all-rows", is_flag=True, help="Show every row: details, and tasks that were not run."
)
@click.option("--no-intervals", is_flag=True, help="Leave out the 95 % interval of every number.")
@workers_option
@engine_options
@redact_options
@trust_option
@click.option("--require-complete", is_flag=True, help="Exit with 3 unless every task is complete.")
def score(
    cases: tuple[Path, ...],
    outputs: tuple[Path, ...],
    verdicts: tuple[Path, ...],
    labels: tuple[Path, ...],
    judge: str,
    embedder: str | None,
    benchmarks: bool,
    store: StoreAddress | None,
    targets: OutputPaths,
    json_file: Path | None,
    weights: tuple[str, ...],
    decide: tuple[str, ...],
    workload: tuple[str, ...],
    cost: tuple[str, ...],
    settings: tuple[str, ...],
    metrics: tuple[str, ...],
    allow_bad_cases: bool,
    all_rows: bool,
    no_intervals: bool,
    workers: int | None,
    cluster: str | None,
    redact: bool,
    names: Path | None,
    require_complete: bool,
) -> None:
    """Score stored model outputs against their cases.

    CASES are JSONL files, one case per line (id, task, transcript, config, expected_outcome),
    .json files with one case each (transcript, expected_outcome, model_output), or SUITE:FOLDER
    with the scenarios of an installed suite. Prints the scorecard with models side by side;
    blockers are marked [!].

    \b
    callscore score cases.jsonl --outputs a.jsonl b.jsonl --json card.json
    callscore score cases.jsonl --outputs a.jsonl --judge offline
    callscore score cases.jsonl --outputs a.jsonl --judge judge.yaml --benchmarks
    callscore score case.json
    """
    from callscore.app import read_other_files
    from callscore.cli import output
    from callscore.cli.console import ignore_broken_pipe
    from callscore.config.score import DEFAULT_STORE, ScoreConfig, read_decide
    from callscore.evaluate.block_scoring import Workers

    config = ScoreConfig(
        cases=cases,
        outputs=outputs,
        verdicts=verdicts,
        labels=labels,
        judge=judge_choice(judge),
        embedder=default_embedder(judge) if embedder is None else embedder_choice(embedder),
        benchmarks=benchmarks,
        store=store or DEFAULT_STORE,
        settings=parse_pairs("--set", settings),
        metrics=metrics,
        weights=parse_numbers("--weights", weights),
        decide=read_decide(parse_pairs("--decide", decide)),
        workload=parse_numbers("--workload", workload),
        cost_per_1000=parse_numbers("--cost", cost),
        allow_bad_cases=allow_bad_cases,
        intervals=not no_intervals,
    )
    config = read_other_files(config)
    form = output.FormSummary(config)
    card = _score(
        config, targets, redaction_choice(redact, names), form, Workers(workers, cluster=cluster)
    )
    with ignore_broken_pipe():
        title = f"{card.title} scorecard · {card.framework}"
        output.show_scorecard(card, title, json_file, form, all_rows=all_rows)
    output.require_verdicts(card)
    if require_complete:
        output.require_complete(card)


@contextmanager
def _read_cases(config: ScoreConfig, options: RedactOptions | None) -> Iterator[ScoreConfig]:
    """The config, with redacted copies of its files if wanted."""
    if options is None:
        yield config
        return
    import msgspec

    from callscore.cli.console import say
    from callscore.config.redaction import redacted_copies

    files: dict[str, Sequence[Source]] = {
        "cases": config.case_sources,
        "outputs": config.outputs,
        "verdicts": config.verdicts,
        "labels": config.labels,
    }
    with redacted_copies(files, options) as (copies, report):
        for line in report.lines():
            say(line, err=True)
        yield msgspec.structs.replace(config, case_lines={}, **copies)


def _score(
    config: ScoreConfig,
    targets: OutputPaths,
    redact: RedactOptions | None,
    form: FormSummary,
    workers: Workers,
) -> Scorecard:
    """Score, with a line that shows the progress."""
    from callscore.cli.console import ProgressLine

    progress = ProgressLine("scoring")
    try:
        with _read_cases(config, redact) as read:
            return _score_files(read, targets, progress, form, workers)
    finally:
        progress.close()


def _score_files(
    config: ScoreConfig,
    targets: OutputPaths,
    progress: OnProgress,
    form: FormSummary,
    workers: Workers,
) -> Scorecard:
    from callscore.app import score_files

    if targets.html is None and targets.parquet is None:
        return score_files(config, targets, progress, form.counting(), workers)
    from callscore.export.report_file import write_reports
    from callscore.export.sources import scored_source

    with scored_source(config, targets, progress, workers) as source:
        write_reports(source, targets)
        form.add_all(source.cases)
        return source.card
