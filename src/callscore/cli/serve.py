"""`callscore serve`: the web app on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import FILE, STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress


@click.command()
@click.argument("store", metavar="[STORE]", required=False, type=STORE)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8420,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option("--data", type=FILE, help="The folder for uploaded calls and labels.")
@click.option("--author", help="Your name on what you write; by default your user name.")
@click.option(
    "--reviewers",
    type=FILE,
    help="A file with name, role and token hash of the people who may log in.",
)
@click.option(
    "--new-reviewer",
    metavar="NAME=ROLE",
    help="Print an entry for --reviewers and a token, and end; roles: read, label, review, admin.",
)
@click.option("--cert", type=FILE, help="The TLS certificate (PEM), with --key.")
@click.option("--key", type=FILE, help="The private key of --cert (PEM).")
@click.option(
    "--proxy",
    metavar="ORIGIN",
    help="The address that people open, if a proxy with TLS forwards to this server.",
)
@click.option("--open/--no-open", "opens", default=True, help="Open the browser.")
def serve(
    store: StoreAddress | None,
    host: str,
    port: int,
    data: Path | None,
    author: str | None,
    reviewers: Path | None,
    new_reviewer: str | None,
    cert: Path | None,
    key: Path | None,
    proxy: str | None,
    opens: bool,
) -> None:
    """Show the runs of a store in the browser: compare, look, label, review.

    Without STORE, it shows .callscore/runs.db in the current folder; if there is none yet, the
    sample: simulated models on made-up calls. The server listens on this machine only, and the
    address that it prints can be opened once, within ten minutes. Runs are started on the command
    line only.
    """
    import sys

    from callscore.config.score import DEFAULT_STORE
    from callscore.web.serving import ServeOptions, serve_store

    if new_reviewer is not None:
        from callscore.web.reviewers import new_reviewer as make_reviewer

        entry, token = make_reviewer(new_reviewer)
        say(f"Add to the file of reviewers:\n{entry}\nGive to the person, once: {token}")
        return
    options = ServeOptions(
        store=store or DEFAULT_STORE,
        host=host,
        port=port,
        data=data,
        author=author,
        reviewers=reviewers,
        cert=cert,
        key=key,
        proxy=proxy,
        opens=opens and sys.stdout.isatty(),
    )
    if store is None and not DEFAULT_STORE.exists() and options.is_local:
        from callscore.cli.demo import SAMPLE_STORE, serve_sample

        say(f"There is no {DEFAULT_STORE} here yet, so this shows the sample ({SAMPLE_STORE}).")
        say("Your own runs appear after `callscore run EVAL.yaml` and another start.")
        serve_sample(SAMPLE_STORE, options)
        return
    serve_store(options, say)
