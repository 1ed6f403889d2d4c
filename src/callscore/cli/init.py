"""`callscore init`: write and test a first eval file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say

if TYPE_CHECKING:
    from callscore.first_eval import KnownProvider


@click.command()
@click.option(
    "--file", "path", type=click.Path(path_type=Path), default=Path("eval.yaml"), show_default=True,
    help="The eval file to write.",
)  # fmt: skip
@click.option("--data", help="Case files, or `sample`; if missing, the command asks.")
@click.option("--tasks", help="Only these tasks, separated by commas; if empty, all tasks.")
@click.option(
    "--judge",
    type=click.Choice(["offline", "none"]),
    help="The judge: built-in rules (an estimate), or none.",
)
@click.option(
    "--models/--no-models", default=None, help="Add models whose API keys are in the environment."
)
@click.option(
    "--local",
    metavar="URL",
    help="Add the model of a local server (llama.cpp, vLLM, Ollama): its base URL.",
)
@click.option(
    "--agents", is_flag=True, help="Write a card and a scenario for an agent of yours instead."
)
@click.option(
    "--tools",
    multiple=True,
    type=click.Path(path_type=Path),
    help="With --agents: files with its tools: OpenAI tool schemas, MCP tools/list, or OpenAPI.",
)
@click.option("--agent", default="assistant", show_default=True, help="With --agents: its id.")
@click.option("--yes", is_flag=True, help="Ask nothing; use defaults for missing options.")
@click.option("--no-try", is_flag=True, help="Write the files without testing them.")
def init(
    path: Path,
    data: str | None,
    tasks: str | None,
    judge: str | None,
    models: bool | None,
    local: str | None,
    agents: bool,
    tools: tuple[Path, ...],
    agent: str,
    yes: bool,
    no_try: bool,
) -> None:
    """Write a commented eval file with a schema for editors, and test it on two cases.

    Asks for data, tasks, models and judge. To use your own transcripts, run `callscore import` and
    `callscore annotate` first. The test uses simulated models only: nothing is sent.
    """
    if agents:
        _init_agents(path, tools, agent, ask=not yes)
        return
    from callscore.first_eval import (
        Choices,
        find_case_files,
        providers_with_keys,
        write_and_try,
        write_files,
    )

    found = find_case_files(Path.cwd())
    ask = not yes
    if data is None:
        default = found[0] if found else "sample"
        question = "Case files (`sample`: the bundled calls)"
        data = click.prompt(question, default=default) if ask else default
    if tasks is None:
        question = "Tasks, separated by commas (empty: all)"
        tasks = click.prompt(question, default="", show_default=False) if ask else ""
    named = _models(providers_with_keys(), models, ask=ask)
    if local is None:
        question = "Base URL of a local server (llama.cpp, vLLM, Ollama; empty: none)"
        local = click.prompt(question, default="", show_default=False) if ask else ""
    if judge is None:
        question = "Judge: offline (an estimate) or none"
        options = click.Choice(["offline", "none"])
        judge = click.prompt(question, default="offline", type=options) if ask else "offline"
    chosen = Choices(
        data=data,
        tasks=[task.strip() for task in tasks.split(",") if task.strip()],
        models=named,
        local=local.strip(),
        judge=judge,
    )
    written, tried = (write_files(path, chosen), "") if no_try else write_and_try(path, chosen)
    for file in written:
        say(f"wrote {file}")
    if tried:
        say(tried)
    say(f"Next:  callscore run {path} --dry-run   then   callscore run {path}")


def _init_agents(path: Path, tools: tuple[Path, ...], agent: str, *, ask: bool) -> None:
    from callscore.core.errors import UsageError
    from callscore.first_agents import tools_of, write_first_agent

    if not tools:
        if not ask:
            raise UsageError("--agents needs --tools: files that define the tools of the agent")
        question = "File with the tools (OpenAI tool schemas, MCP tools/list, or OpenAPI)"
        tools = (Path(click.prompt(question)),)
    if not agent.isidentifier():
        raise UsageError(f"--agent {agent!r}; expected letters, digits and _")
    left_out: list[str] = []
    written, tried = write_first_agent(path, agent, tools_of(tools, left_out))
    for file in written:
        say(f"wrote {file}")
    for what in left_out:
        say(f"note: left out {what}")
    say(tried)
    say(f"Next:  write scenarios in {written[1].parent}   then   callscore run {path}")


def _models(found: list[KnownProvider], wanted: bool | None, *, ask: bool) -> list[KnownProvider]:
    if not found or wanted is False:
        return []
    names = ", ".join(f"{model.provider} ({model.key})" for model in found)
    if wanted or not ask or click.confirm(f"Keys found: {names}. Add these models?", default=True):
        return found
    return []
