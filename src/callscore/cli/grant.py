"""`callscore grant`: what a user of a PostgreSQL store may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress


@click.command()
@click.argument("role", type=click.Choice(["writer", "reviewer", "reader"]))
@click.argument("user")
@click.option("--store", type=STORE, required=True, help="The PostgreSQL store, as its owner.")
def grant(role: str, user: str, store: StoreAddress) -> None:
    """Give a user of a PostgreSQL store a role, in place of the one before.

    \b
    writer    runs evaluations and works on them
    reviewer  reads everything, adds reviews
    reader    lists runs with their progress and cost; sees no reply

    The user must exist (CREATE ROLE). The command is for the owner of the tables, who alone can
    migrate and purge.
    """
    from callscore.core.errors import UsageError
    from callscore.report.safe_text import plain
    from callscore.store.postgres.schema import grant_role
    from callscore.store.postgres.url import DatabaseUrl

    if not isinstance(store, DatabaseUrl):
        raise UsageError(f"{store}: is a file; expected a store with users: postgresql://…")
    grant_role(store, role, user)
    say(f"{store}: {plain(user)} is a {role}")
