"""`callscore schema`: print the JSON schema of eval files and of scenarios."""

from __future__ import annotations

import click

from callscore.cli.console import say


@click.command()
@click.argument("of", type=click.Choice(["eval", "scenario"]), default="eval")
def schema(of: str) -> None:
    """Print the JSON schema of eval files or of scenarios, for editors that complete and check.

    Save it next to the eval file, and let the first line of that file be
    `# yaml-language-server: $schema=eval.schema.json`.

    \b
    callscore schema > eval.schema.json
    callscore schema scenario > scenario.schema.json
    """
    import msgspec

    if of == "scenario":
        from callscore.suites.registry import scenario_suite

        value = scenario_suite().scenario_schema()
    else:
        from callscore.config.file import eval_schema

        value = eval_schema()
    say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
