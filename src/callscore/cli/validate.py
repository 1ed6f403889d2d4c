"""`callscore validate`: check case files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from callscore.cli.console import say
from callscore.cli.options import workers_option


@click.command()
@click.argument("cases", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--most", default=50, show_default=True, help="The number of problems and of warnings to print."
)
@workers_option
def validate(cases: tuple[Path, ...], most: int, workers: int | None) -> None:
    """Check case files; list every problem with file, line and field.

    Exits with 0 if every case can be scored, else with 2. Warns if a prompt differs from what is
    scored, or a reference contradicts itself. Reports languages, lengths, labels, duplicate calls,
    questions with one answer only, the smallest difference that the data can show, and the score
    of a trivial answer.
    """
    from callscore.app import check_cases
    from callscore.cli.console import ignore_broken_pipe
    from callscore.core.errors import DataError
    from callscore.report.numbers import show_count

    report = check_cases(cases, workers)
    with ignore_broken_pipe():
        _print([str(problem) for problem in report.problems], most)
        _print([f"warning: {warning}" for warning in report.warnings], most)
    if report.problems:
        raise DataError(show_count(len(report.problems), "unusable case"))
    if not report.tasks:
        raise DataError(f"{', '.join(map(str, cases))}: contains no case")
    counts = ", ".join(f"{task} {number}" for task, number in report.tasks.items())
    total = show_count(sum(report.tasks.values()), "case")
    say(f"{total} can be scored: {counts}")
    for line in (*report.statistics, *report.notes):
        say(line)


def _print(lines: Sequence[str], most: int) -> None:
    for line in lines[:most]:
        say(line, err=True)
    if (more := len(lines) - most) > 0:
        say(f"… and {more} more", err=True)
