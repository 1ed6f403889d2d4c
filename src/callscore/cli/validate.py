"""`callscore validate`: check case files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("cases", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--most", default=50, show_default=True, help="How many problems to print.")
def validate(cases: tuple[Path, ...], most: int) -> None:
    """Check case files and name every problem with file, line and field.

    Exits with 0 where every case can be scored, with 2 where one cannot.
    """
    from callscore.app import check_cases
    from callscore.core.errors import DataError

    report = check_cases(cases)
    for problem in report.problems[:most]:
        click.echo(str(problem), err=True)
    if report.problems:
        more = len(report.problems) - most
        if more > 0:
            click.echo(f"… and {more} more", err=True)
        total = len(report.problems)
        raise DataError(f"{total} unusable {'case' if total == 1 else 'cases'}")
    counts = ", ".join(f"{task} {number}" for task, number in report.tasks.items())
    click.echo(f"{sum(report.tasks.values())} cases can be scored: {counts or 'none'}")
