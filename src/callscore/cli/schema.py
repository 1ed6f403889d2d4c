"""`callscore schema`: print the JSON schema of eval files."""

from __future__ import annotations

import click

from callscore.cli.console import say


@click.command()
def schema() -> None:
    """Print the JSON schema of eval files, for editors that complete and check YAML.

    Save it next to the eval file, and let the first line of that file be
    `# yaml-language-server: $schema=eval.schema.json`.
    """
    import msgspec

    from callscore.config.eval_schema import eval_schema

    say(msgspec.json.format(msgspec.json.encode(eval_schema()), indent=2).decode())
