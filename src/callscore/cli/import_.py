"""`callscore import`: convert files of other systems to transcripts or cases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import redact_options, redaction_choice, workers_option

if TYPE_CHECKING:
    from callscore.import_job import ImportResult
    from callscore.importers.folder import FileReport, ImportReport

SHOWN = 3
"""Lines of one kind that are printed one by one; more become one line."""
_NAMES = re.compile(r"'[^']*'|\d+")


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="The file to write."
)
@click.option("--format", "format_name", help="Read every file as this format.")
@click.option(
    "--roles",
    multiple=True,
    metavar="LABEL=ROLE",
    help="The roles of speakers: 'SPEAKER_00=agent,SPEAKER_01=customer'; may be repeated.",
)
@click.option(
    "--map",
    "fields",
    multiple=True,
    metavar="FIELD=NAME",
    help="The names of fields in files of no known format: 'text=utterance,speaker=who,start=at'; "
    "also end, call_id, lang and turns (the list).",
)
@click.option("--lang", help="The language of calls whose file does not name it.")
@click.option(
    "--form",
    type=click.Path(path_type=Path),
    help="A QA form (Amazon Connect, Genesys, Google, CSV or XLSX): write cases of the task qa.",
)
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Filled-in evaluations of the form; may be repeated.",
)
@click.option(
    "--columns",
    multiple=True,
    metavar="HEADING=NAME",
    help="What headings of a table of marks mean: 'Call=call_id,Q3=Verification'; a heading "
    "without a name is ignored ('Team='). May be repeated.",
)
@click.option(
    "--allow-unmarked", is_flag=True, help="Leave out questions without a mark on any call."
)
@click.option("--task", help="Write cases of this task, from the expected answers of a data set.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The `config` of those cases, a JSON or YAML file.",
)
@click.option(
    "--outputs",
    type=click.Path(path_type=Path),
    help="Write the answers of models in the files as an outputs file.",
)
@redact_options
@workers_option
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    help="Write a JSON report of what was read, guessed and skipped.",
)
@click.option(
    "--agents",
    is_flag=True,
    help="Import recordings of agents into the folder of -o: scenarios to confirm, or cases of "
    "a benchmark with its gold.",
)
@click.option(
    "--scenarios",
    type=click.Path(path_type=Path),
    help="With --agents: write recordings of these confirmed scenarios.",
)
@click.option("--model", default="", help="With --agents: the name of the recorded model.")
@click.option("--allow-problems", is_flag=True, help="Exit with 0 even if a file cannot be read.")
def import_(
    paths: tuple[Path, ...],
    out: Path,
    format_name: str | None,
    roles: tuple[str, ...],
    fields: tuple[str, ...],
    lang: str | None,
    form: Path | None,
    gold: tuple[Path, ...],
    columns: tuple[str, ...],
    allow_unmarked: bool,
    task: str | None,
    config: Path | None,
    outputs: Path | None,
    report: Path | None,
    agents: bool,
    scenarios: Path | None,
    model: str,
    allow_problems: bool,
    redact: bool,
    names: Path | None,
    workers: int | None,
) -> None:
    """Import transcripts, forms and data sets of other systems.

    Writes one JSON line per call: its turns with speaker, times and source. With --form and --gold,
    or with --task for a data set, it writes cases. The format of a file is detected from its
    content and printed; everything that was guessed or skipped is listed.

    \b
    callscore import calls/ -o transcripts.jsonl
    callscore import calls/ --form form.csv --gold marks.xlsx -o cases.jsonl
    callscore import traces.jsonl --agents -o desk
    """
    if agents:
        _import_agents(paths, out, scenarios, model)
        return
    from callscore.import_job import ImportJob, run_import

    job = ImportJob(
        paths=paths,
        out=out,
        format=format_name,
        roles=roles,
        fields=fields,
        lang=lang,
        form=form,
        gold=gold,
        columns=columns,
        allow_unmarked=allow_unmarked,
        task=task,
        config=config,
        outputs=outputs,
        report=report,
        redact=redaction_choice(redact, names),
        workers=workers,
    )
    _print_result(run_import(job), out, allow_problems=allow_problems)


def _import_agents(paths: tuple[Path, ...], out: Path, scenarios: Path | None, model: str) -> None:
    from callscore.agent_import import import_agents

    imported = import_agents(paths, out, scenarios, model)
    for line in imported.written:
        say(line)
    for note in imported.notes:
        say(f"note: {note}")


def _print_result(found: ImportResult, out: Path, *, allow_problems: bool) -> None:
    _print(found.report)
    for note in found.notes:
        say(f"note: {note}")
    say(f"{out}: {found.written}")
    if found.report.problems and not allow_problems:
        from callscore.core.errors import DataError

        raise DataError(
            f"not imported: {len(found.report.problems)} of {len(found.report.files)} files; "
            "the others are written (--allow-problems exits with 0)"
        )


def _print(report: ImportReport) -> None:
    from callscore.report.numbers import show_count

    kinds = _kinds(report)
    frequent = {kind: lines for kind, lines in kinds.items() if len(lines) > SHOWN}
    for file in report.files:
        if file.problem:
            say(f"{file.path}: NOT IMPORTED: {file.problem}", err=True)
            continue
        counts = f"{show_count(file.calls, 'call')}, {show_count(file.turns, 'turn')}"
        say(f"{file.path}: {file.format}, {counts}")
        for kind, line in _lines(file):
            if kind not in frequent:
                say(f"  {line}")
    for lines in frequent.values():
        say(f"{len(lines)} × {lines[0]}")
    if frequent:
        say("(--report FILE lists all)")


def _kinds(report: ImportReport) -> dict[str, list[str]]:
    """What was skipped, guessed or changed, by kind: lines that differ in names and numbers."""
    kinds: dict[str, list[str]] = {}
    for file in report.files:
        for kind, line in _lines(file):
            kinds.setdefault(kind, []).append(line)
    return kinds


def _lines(file: FileReport) -> Iterator[tuple[str, str]]:
    for one in file.skipped:
        yield f"skipped {_NAMES.sub('', one.why)}", f"skipped {one.where}: {one.why}"
    for note in file.notes:
        yield _NAMES.sub("", note.partition(": ")[2] or note), note
