"""`callscore orchestration`: score recorded agent runs, check scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from callscore.cli.console import say
from callscore.cli.options import STORE, VariadicCommand, trust_option

if TYPE_CHECKING:
    from callscore.app import OutputPaths
    from callscore.core.scenarios import OnStep, OutputsScorer
    from callscore.core.scorecard import Scorecard
    from callscore.evaluate.scenarios import OutputsJob, VerdictsByPart
    from callscore.runner.run import RunResult
    from callscore.store.address import StoreAddress

PATH = click.Path(path_type=Path)


@click.group()
def orchestration() -> None:
    """Score recorded agent runs: plans, tool calls, rejections (document 001)."""


@orchestration.command(cls=VariadicCommand)
@click.argument("output_dirs", nargs=-1, required=True, type=PATH)
@click.option(
    "--cards",
    multiple=True,
    required=True,
    type=PATH,
    help="The folder of agent cards; one for all outputs, or one each.",
)
@click.option(
    "--mode",
    type=click.Choice(["standard", "compat"]),
    default="standard",
    show_default=True,
    help="Score by document 001 (standard) or like the public evaluator (compat).",
)
@click.option(
    "--judge",
    default="none",
    show_default=True,
    metavar="none|offline|FILE",
    help="Compares the argument values that code cannot: none, built-in rules (an estimate), or "
    "the models in a YAML file.",
)
@click.option("--store", type=STORE, help="Store the replies of judges here (.callscore/runs.db).")
@click.option("--save-verdicts", type=PATH, help="Write the judge's verdicts as a verdicts file.")
@click.option("--verdicts", multiple=True, type=PATH, help="JSONL of verdicts by people or judges.")
@click.option(
    "--json",
    "json_file",
    type=PATH,
    help="Write the result file (- for stdout); for several languages also one file each.",
)
@click.option("--html", type=PATH, help="Write the report as one HTML file.")
@click.option(
    "--dossier", type=PATH, help="Write everything that the scores follow from, to be verified."
)
@click.option("--records", type=PATH, help="Write one JSON line per step, model, run and metric.")
@click.option("--model", default="", help="Name of the model; by default from the folder.")
@trust_option
@click.option(
    "--lang",
    multiple=True,
    help="Language of the outputs, one for all or one each; else taken from the paths of cards "
    "and outputs.",
)
@click.option("--require-complete", is_flag=True, help="Exit with 3 unless everything was scored.")
def score(
    output_dirs: tuple[Path, ...],
    cards: tuple[Path, ...],
    mode: Literal["standard", "compat"],
    judge: str,
    store: StoreAddress | None,
    save_verdicts: Path | None,
    verdicts: tuple[Path, ...],
    json_file: Path | None,
    html: Path | None,
    dossier: Path | None,
    records: Path | None,
    model: str,
    lang: tuple[str, ...],
    require_complete: bool,
) -> None:
    """Score folders of recorded runs (*_out.json), one folder per language.

    \b
    callscore orchestration score runs/EN --cards cards/EN --json result.json
    callscore orchestration score runs/EN --cards cards/EN --html report.html --dossier run.zip
    callscore orchestration score runs/EN runs/KO --cards cards/EN cards/KO --json both.json
    callscore orchestration score runs/EN --cards cards/EN --judge judge.yaml
    callscore orchestration score one/EN other/EN --cards cards/EN --json models.json
    """
    from callscore.app import OutputPaths
    from callscore.cli import output
    from callscore.cli.output import path_unless_stdout
    from callscore.config.score import DEFAULT_STORE, judge_choice
    from callscore.core.errors import UsageError
    from callscore.core.scenarios import RecordedOutputs
    from callscore.evaluate.scenarios import OutputsJob, jobs_by_model
    from callscore.report.document_001 import result_files
    from callscore.store.files import check_targets

    recorded = RecordedOutputs(output_dirs, cards, mode, model, lang)
    job = OutputsJob(recorded, verdicts, judge_choice(judge), store or DEFAULT_STORE)
    jobs = jobs_by_model(job)
    if len(jobs) > 1 and (html is not None or dossier is not None):
        raise UsageError("--html and --dossier of recorded outputs take one model at a time")
    if records is not None and mode == "compat":
        raise UsageError("compat has no records of single steps; expected --mode standard")
    check_targets((path_unless_stdout(json_file), save_verdicts, records, html, dossier), job.files)
    targets = OutputPaths(records=records, save_verdicts=save_verdicts, html=html)
    scored = _score(jobs, targets, dossier)
    documents = list(scored.documents.values()) if scored.documents else []
    show(scored, json_file)
    if len(output_dirs) > 1 and (file_name := path_unless_stdout(json_file)) is not None:
        files = result_files(file_name, documents)
        check_targets(files, job.files)
        for path, part in files.items():
            write(part, path)
    if require_complete:
        output.require_complete(scored)


def _score(jobs: Sequence[OutputsJob], targets: OutputPaths, dossier: Path | None) -> Scorecard:
    """Score the jobs, one per model, and write the requested files; reports have one job."""
    job = jobs[0]
    from callscore.app import open_sinks
    from callscore.core.scenarios import ScenarioSinks
    from callscore.evaluate.scenarios import score_outputs

    with open_sinks(targets) as sinks:
        if targets.html is None and dossier is None:
            return score_outputs(jobs, ScenarioSinks(on_record=sinks.on_record), sinks.on_verdict)
        from callscore.export.report_file import write_report, write_reports
        from callscore.export.scenario_archive import archive_outputs
        from callscore.export.sources import source_of_outputs
        from callscore.export.step_cases import StepCases
        from callscore.report.formats import report_format
        from callscore.report.source import ReportOptions, ScenarioArchive

        archives: list[ScenarioArchive] = []

        def archive(scorer: OutputsScorer, judged: VerdictsByPart) -> None:
            archives.append(archive_outputs(job, scorer, judged))

        with StepCases() as steps:
            wanted = ScenarioSinks(on_record=sinks.on_record, on_step=steps.add)
            scored = score_outputs([job], wanted, sinks.on_verdict, archive)
            source = source_of_outputs(job, scored, steps, archives[0])
            write_reports(source, targets)
            if dossier is not None:
                write_report(source, report_format("dossier"), ReportOptions(), dossier)
        return scored


def show(scored: Scorecard, json_file: Path | None) -> None:
    """Write the result file if requested, of several models together; print card and results."""
    from callscore.cli.output import STANDARD_OUTPUT, print_card, print_verdict, write_bytes
    from callscore.report.orchestration_terminal import model_table, result_text
    from callscore.runner.document import joint_document

    documents = scored.documents or {}
    first = next(iter(documents.values()))
    if json_file is not None and len(documents) > 1:
        write_bytes(json_file, joint_document(scored))
    elif json_file is not None:
        write(first, json_file)
    if json_file == STANDARD_OUTPUT:
        return
    print_card(scored, f"{scored.title} {scored.framework}", repeat_decision=False)
    for document in documents.values():
        say()
        say(result_text(document))
    for line in model_table(documents):
        say(line)
    say()
    print_verdict(scored)


def write(document: Mapping[str, object], path: Path) -> None:
    """Write a result file, or the result to stdout."""
    from callscore.cli.output import write_bytes
    from callscore.report.document_001 import document_json

    write_bytes(path, document_json(document))


def write_result_files(ran: RunResult, joint: Path) -> None:
    """Write one file per model and language, unless the joint file is already that."""
    if not ran.documents:
        return
    from callscore.report.document_001 import result_files

    parts = result_files(joint, ran.documents.values())
    if len(parts) > 1 or not ran.has_only_scenarios:
        for path, document in parts.items():
            write(document, path)


@orchestration.command(cls=VariadicCommand)
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option(
    "--cards", multiple=True, type=PATH, help="Agent cards; else FOLDER/multiagent_cards."
)
@click.option("--json", "json_file", type=PATH, help="Write the data report as JSON.")
def validate(folders: tuple[Path, ...], cards: tuple[Path, ...], json_file: Path | None) -> None:
    """Read scenarios and print the data report: what was repaired or skipped, and why.

    FOLDERS contain `scenario_data` and `multiagent_cards`, or the scenarios themselves.
    Exits with 2 if a file is not a scenario.
    """
    import msgspec

    from callscore.core.errors import DataError
    from callscore.report.numbers import show_count
    from callscore.report.safe_text import escape_json, plain
    from callscore.store.files import atomic_write, check_targets
    from callscore.store.scenario_files import SCENARIO_FILES
    from callscore.suites.registry import scenario_suite

    check_targets((json_file,), ())
    report = scenario_suite().check(folders, cards, SCENARIO_FILES)
    for finding in report.findings:
        say(
            f"{plain(finding.case_id)}  {finding.action.replace('_', ' ')}  "
            f"{finding.kind.replace('_', ' ')}  {plain(finding.detail, 100)}".rstrip()
        )
    if json_file is not None:
        with atomic_write(json_file) as file:
            raw = msgspec.json.format(msgspec.json.encode(report.findings), indent=2)
            file.write(escape_json(raw) + b"\n")
    say(
        f"{show_count(report.scenarios, 'scenario')}: {show_count(report.plan_steps, 'plan step')} "
        f"and {show_count(report.agent_steps, 'agent step')} can be run; "
        f"{show_count(len(report.findings), 'finding')}"
    )
    for problem in report.problems:
        say(plain(str(problem)), err=True)
    if report.problems:
        raise DataError(f"{show_count(len(report.problems), 'file')} cannot be used")


def score_samples(on_step: OnStep) -> Scorecard:
    """Score the bundled sample runs; `on_step` receives every step."""
    from callscore.core.scenarios import ScenarioSinks
    from callscore.demo.orchestration import sample_runs
    from callscore.evaluate.scenarios import score_outputs

    with sample_runs() as jobs:
        return score_outputs(jobs, ScenarioSinks(on_step=on_step))
