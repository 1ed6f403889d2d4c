"""`callscore orchestration`: score recorded agent runs, check scenarios."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from callscore.cli.greedy import GreedyCommand

PATH = click.Path(path_type=Path)


@click.group()
def orchestration() -> None:
    """Plans, tool calls, and knowing when not to call (document 001)."""


@orchestration.command(cls=GreedyCommand)
@click.argument("output_dirs", nargs=-1, required=True, type=PATH)
@click.option(
    "--cards", multiple=True, required=True, type=PATH, help="Agent cards: one folder, or one each."
)
@click.option(
    "--mode",
    type=click.Choice(["standard", "compat"]),
    default="standard",
    show_default=True,
    help="By document 001, or as the public evaluator counts.",
)
@click.option(
    "--judge",
    default="none",
    show_default=True,
    metavar="none|offline|FILE",
    help="Who compares the argument values that code cannot: nobody, built-in rules (an "
    "estimate), or the models in a YAML file.",
)
@click.option(
    "--store", type=PATH, help="Keep the answers of judging models here (.callscore/runs.db)."
)
@click.option("--save-verdicts", type=PATH, help="Write what the judge said, as a verdicts file.")
@click.option("--verdicts", multiple=True, type=PATH, help="JSONL of verdicts by people or judges.")
@click.option("--json", "json_file", type=PATH, help="Write the result file (- for stdout).")
@click.option("--model", default="", help="Name of the model; else taken from the folder.")
@click.option("--require-complete", is_flag=True, help="Exit with 3 unless all could be scored.")
def score(
    output_dirs: tuple[Path, ...],
    cards: tuple[Path, ...],
    mode: Literal["standard", "compat"],
    judge: str,
    store: Path | None,
    save_verdicts: Path | None,
    verdicts: tuple[Path, ...],
    json_file: Path | None,
    model: str,
    require_complete: bool,
) -> None:
    """Score folders of recorded runs (*_out.json), one folder a language.

    \b
    callscore orchestration score runs/EN --cards cards/EN --json result.json
    callscore orchestration score runs/EN runs/KO --cards cards/EN cards/KO
    callscore orchestration score runs/EN --cards cards/EN --judge judge.yaml
    """
    from callscore.app_orchestration import OrchestrationJob, result_document, score_orchestration
    from callscore.cli.output import a_file
    from callscore.config import DEFAULT_STORE
    from callscore.core.errors import Inconclusive
    from callscore.evalfile.choices import judge_choice
    from callscore.store.files import check_targets

    job = OrchestrationJob(
        output_dirs,
        cards,
        mode,
        verdicts,
        model,
        judge=judge_choice(judge),
        store=store or DEFAULT_STORE,
        save_verdicts=save_verdicts,
    )
    check_targets((a_file(json_file), save_verdicts), job.files)
    scored = score_orchestration(job)
    show(result_document(scored), json_file)
    unfinished = [outcome for outcome in scored if not outcome.overall.complete]
    if require_complete and unfinished:
        raise Inconclusive(f"not complete: {unfinished[0].overall.failed_files} scenarios failed")


def show(document: dict[str, object], json_file: Path | None) -> None:
    """Write the result file where asked; print the result unless the file is the terminal."""
    from callscore.cli.output import STANDARD_OUTPUT
    from callscore.report.orchestration_terminal import render
    from callscore.store.files import written_whole

    if json_file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(_as_file(document))
        return
    if json_file is not None:
        with written_whole(json_file) as file:
            file.write(_as_file(document))
    click.echo(render(document))


def _as_file(document: dict[str, object]) -> bytes:
    """The result as JSON; half a character from a model's answer stays an escape sequence."""
    import json

    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


@orchestration.command(cls=GreedyCommand)
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option(
    "--cards", multiple=True, type=PATH, help="Agent cards; else FOLDER/multiagent_cards."
)
@click.option("--json", "json_file", type=PATH, help="Write the data report as JSON.")
def validate(folders: tuple[Path, ...], cards: tuple[Path, ...], json_file: Path | None) -> None:
    """Read scenarios and print the data report: what was repaired, what set aside, and why.

    FOLDERS hold `scenario_data` and `multiagent_cards`, or the scenarios themselves.
    Exits with 2 where a file is no scenario at all.
    """
    import msgspec

    from callscore.app_orchestration import check_scenarios
    from callscore.core.errors import DataError
    from callscore.report.safe_text import plain
    from callscore.store.files import check_targets, written_whole

    check_targets((json_file,), ())
    report = check_scenarios(folders, cards)
    for finding in report.findings:
        click.echo(
            f"{plain(finding.case_id)}  {finding.action.replace('_', ' ')}  "
            f"{finding.kind.replace('_', ' ')}  {plain(finding.detail, 100)}".rstrip()
        )
    if json_file is not None:
        with written_whole(json_file) as file:
            file.write(msgspec.json.format(msgspec.json.encode(report.findings), indent=2) + b"\n")
    click.echo(
        f"{report.scenarios} scenarios: {report.plan_steps} plan steps and "
        f"{report.agent_steps} agent steps can be asked; {len(report.findings)} findings"
    )
    for problem in report.problems:
        click.echo(plain(str(problem)), err=True)
    if report.problems:
        raise DataError(f"{len(report.problems)} files are no scenarios")


def show_samples() -> str:
    """Print the bundled sample runs, as `callscore demo` does; their averages in words."""
    from callscore.app_orchestration import result_document, score_orchestration
    from callscore.demo.orchestration import sample_runs

    averages: list[str] = []
    with sample_runs() as jobs:
        for job in jobs:
            click.echo("\nSAMPLE DATA: made-up scenarios, models and verdicts")
            document = result_document(score_orchestration(job))
            show(document, None)
            averages.append(
                f"{job.model} {document['overall_statistics']['key_metrics']['Average']}"
            )
    return ", ".join(averages)
