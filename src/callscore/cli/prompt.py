"""`callscore prompt`: show what a model is sent for a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say

if TYPE_CHECKING:
    from callscore.runner.prompt_preview import PromptPreview


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--case", "case_id", help="The id of the case; by default the first one.")
@click.option("--model", help="With an eval file: the prompt for this model.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the body of the request.")
def prompt(files: tuple[Path, ...], case_id: str | None, model: str | None, as_json: bool) -> None:
    """Show what a model is sent for a case: messages, tools and schema. Nothing is sent.

    FILES are case files, or one eval file. With an eval file, its own prompts are used, and --json
    adds the body of the HTTP request. A step of a scenario has the id LANG/SCENARIO#STEP.

    \b
    callscore prompt cases.jsonl --case call-1/qa
    callscore prompt eval.yaml --model my-model --json
    callscore prompt eval.yaml --case EN/book#4
    """
    from callscore.core.errors import UsageError
    from callscore.runner.prompt_preview import prompt_of_case, prompt_of_run

    if files[0].suffix.lower() in (".yaml", ".yml"):
        if len(files) > 1:
            raise UsageError("expected one eval file, or case files")
        shown = prompt_of_run(files[0], case_id, model)
    else:
        if model is not None:
            raise UsageError("--model needs an eval file that names the model")
        shown = prompt_of_case(files, case_id)
    _print_json(shown) if as_json else _print(shown)


def _print_json(shown: PromptPreview) -> None:
    import msgspec

    say(msgspec.json.format(msgspec.json.encode(shown)).decode())


_NO_SCHEMA = b"null"


def _print(shown: PromptPreview) -> None:
    import msgspec

    by = f", model {shown.model}" if shown.model else ""
    say(f"case {shown.case_id}, task {shown.task}{by}")
    for message in shown.messages:
        say(f"\n=== {message.role} ===\n{message.content}")
    for tool in shown.tools:
        say(
            f"\n=== tool {tool.name} ===\n{msgspec.json.format(msgspec.json.encode(tool)).decode()}"
        )
    if bytes(shown.schema) != _NO_SCHEMA:
        say(f"\n=== schema of the answer ===\n{msgspec.json.format(bytes(shown.schema)).decode()}")
