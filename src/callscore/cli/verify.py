"""`callscore verify`: recompute a dossier and list differences."""

from __future__ import annotations

from pathlib import Path

import click

from callscore.cli.console import say

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("dossier", metavar="DOSSIER.zip", type=FILE)
@click.option("--key", type=FILE, help="Check the signature with this public key (PEM).")
@click.option("--require-complete", is_flag=True, help="Exit with 3 if something was not checked.")
@click.option(
    "--max-gb",
    type=click.FloatRange(min=0.001),
    default=1.0,
    show_default=True,
    help="Refuse a dossier that unpacks to more.",
)
def verify(dossier: Path, key: Path | None, require_complete: bool, max_gb: float) -> None:
    """Recompute every score of a dossier, offline, and list differences.

    Checks hashes, costs, results, scorecard and prompts, and with --key the signature. Without
    it, a dossier is at best consistent: anyone could have made it. Exits with 0 if everything
    that was checked is the same, with 1 if anything differs.

    \b
    callscore report 3 --format dossier -o run.zip
    callscore verify run.zip
    """
    from callscore.core.errors import GateFailed, Inconclusive
    from callscore.export.verification import verify as verify_dossier
    from callscore.report.numbers import show_count

    found = verify_dossier(dossier, key, int(max_gb * 1_000_000_000))
    for difference in found.differences:
        say(f"DIFFERS   {difference}")
    for checked in found.checked:
        say(f"checked   {checked}")
    for left in found.not_checked:
        say(f"not checked: {left}")
    if found.differences:
        number = show_count(len(found.differences), "difference")
        raise GateFailed(f"{dossier}: {number}; the dossier is not what was scored")
    if require_complete and found.not_checked:
        raise Inconclusive(f"{dossier}: not everything could be checked")
    if found.is_authenticated:
        say("Consistent, and signed by the given key: everything that was checked is the same.")
    else:
        say("Consistent, not authenticated: what was checked is the same; anyone can make one.")
