"""`callscore annotate`: labelling by people, in the terminal or in a spreadsheet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say

if TYPE_CHECKING:
    from callscore.core.labelling import Label, LabelItem
    from callscore.label_job import LabelJob, LabelResult
    from callscore.labelling.sheet import ItemKey

QUIT = "q"
SHOWN = 10


@click.command()
@click.argument("transcripts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--task", required=True, help="The task of the cases, such as qa.")
@click.option(
    "--config", type=click.Path(path_type=Path), help="The `config` of the cases (YAML or JSON)."
)
@click.option("--form", type=click.Path(path_type=Path), help="A QA form, for the task qa.")
@click.option(
    "--sheet",
    type=click.Path(path_type=Path),
    help="Write the items to label as .xlsx (with drop-down lists) or .csv, and exit.",
)
@click.option(
    "--from",
    "filled",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A filled-in sheet; repeat it for several people.",
)
@click.option(
    "--resolved",
    type=click.Path(path_type=Path),
    help="A filled-in sheet that decides the items on which people disagree.",
)
@click.option(
    "--disputed",
    type=click.Path(path_type=Path),
    help="Write the items on which people disagree to a sheet to fill in.",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    help="Label in the terminal; every answer is saved to this CSV file.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="The case file to write; of scenarios, the folder.",
)
def annotate(
    transcripts: tuple[Path, ...],
    task: str,
    config: Path | None,
    form: Path | None,
    sheet: Path | None,
    filled: tuple[Path, ...],
    resolved: Path | None,
    disputed: Path | None,
    labels: Path | None,
    out: Path | None,
) -> None:
    """Let people label calls, and write cases with their answers.

    In a spreadsheet: --sheet writes it, --from reads the filled-in one. The sheets of several
    people are compared; calls on which they disagree need --resolved. In the terminal: --labels.

    With --task scenario, TRANSCRIPTS are folders of scenarios: people confirm or correct the
    expected steps, and the scenarios are written to a new folder.

    \b
    callscore annotate transcripts.jsonl --task qa --form form.csv --sheet labels.xlsx
    callscore annotate transcripts.jsonl --task qa --form form.csv --from labels.xlsx -o cases.jsonl
    """
    from callscore.core.errors import UsageError
    from callscore.label_job import make_cases, prepare_labelling, read_sheet, write_sheet

    if sum(map(bool, (sheet, filled, labels))) != 1:
        raise UsageError("expected one of --sheet, --from and --labels")
    job = prepare_labelling(transcripts, task, config, form)
    for note in job.notes:
        say(f"note: {note}", err=True)
    if sheet is not None:
        items = write_sheet(job, sheet, {})
        say(f"{sheet}: {items} items of {len(job.calls)} {job.names[0]} to label")
        return
    if labels is not None:
        sheets = [_ask_all(job, labels)]
    else:
        sheets = [read_sheet(path) for path in filled]
    if out is None:
        if labels is None:
            raise UsageError("--from needs -o: the case file to write")
        return
    made = make_cases(job, sheets, read_sheet(resolved) if resolved else {}, out)
    _print(made, len(sheets))
    if disputed is not None:
        _write_disputed(job, made, disputed)
    say(f"{out}: {made.cases} {job.names[1]}")


def _print(made: LabelResult, people: int) -> None:
    from callscore.report.numbers import show_count

    if people > 1 and made.agreement is not None:
        kappa = "not defined" if made.kappa is None else f"{made.kappa:.3f}"
        say(f"agreement on {made.compared} items: {made.agreement:.1%}, Cohen's kappa {kappa}")
    for one in made.disagreements[:SHOWN]:
        answers = " / ".join(one.answers)
        say(f"  disagreement: {one.item.call_id}, {one.item.part} {one.item.item}: {answers}")
    if len(made.disagreements) > SHOWN:
        say(f"  … and {len(made.disagreements) - SHOWN} more")
    for call, left in list(made.unfinished.items())[:SHOWN]:
        say(f"  incomplete: {call}: {show_count(left, 'item')} open or disputed")
    if len(made.unfinished) > SHOWN:
        say(f"  … and {len(made.unfinished) - SHOWN} more")
    if made.without_call:
        say(f"  labelled, but not in the transcripts: {', '.join(made.without_call[:SHOWN])}")


def _write_disputed(job: LabelJob, made: LabelResult, path: Path) -> None:
    import msgspec

    from callscore.label_job import write_sheet

    items = [one.item for one in made.disagreements]
    calls = {item.call_id for item in items}
    part = msgspec.structs.replace(
        job, items=items, calls=[call for call in job.calls if call.name in calls]
    )
    say(f"{path}: {write_sheet(part, path, {})} items to decide")


def _ask_all(job: LabelJob, path: Path) -> dict[ItemKey, Label]:
    """Ask in the terminal, call by call; every answer is written before the next question."""
    from callscore.core.labelling import Label
    from callscore.label_job import read_sheet, write_sheet

    labels = read_sheet(path) if path.exists() else {}
    left = [item for item in job.items if item.key not in labels]
    say(f"{len(job.items) - len(left)} of {len(job.items)} items are labelled; {QUIT} quits")
    shown = ""
    for number, item in enumerate(left, start=1):
        if item.call_id != shown:
            shown = item.call_id
            _show_call(job, item.call_id)
        answer = _ask(item, f"[{number}/{len(left)}]")
        if answer is None:
            break
        if answer:
            comment = ""
            if item.asks_reason:
                comment = click.prompt("  reason", default="", show_default=False)
            labels[item.key] = Label(answer, comment)
            write_sheet(job, path, labels)
    say(f"{path}: {len(labels)} of {len(job.items)} items labelled")
    return labels


def _show_call(job: LabelJob, call_id: str) -> None:
    from callscore.core.case import turns

    call = next(call for call in job.calls if call.name == call_id)
    say(f"\n=== {call_id} ===")
    for turn in turns(call.transcript):
        say(f"{turn.id}. {turn.speaker or '?'}: {turn.text}")


def _ask(item: LabelItem, place: str) -> str | None:
    """The answer; empty if the item is skipped, None if the person quits."""
    from callscore.core.errors import DataError
    from callscore.labelling.sheet import check_answer

    section = f"{item.section} · " if item.section else ""
    say(f"{place} {section}{item.question}" + (f"  {item.text!r}" if item.text else ""))
    for line in item.help.splitlines():
        say(f"  ({line})")
    hint = " · ".join(item.options) if item.options else "text"
    while True:
        answer: str = click.prompt(f"  {hint}", default="", show_default=False)
        if answer.strip().casefold() == QUIT:
            return None
        try:
            return check_answer(item, answer.strip()) if answer.strip() else ""
        except DataError as error:
            say(f"  {error.problem}")
