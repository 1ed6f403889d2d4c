"""A first eval file: written from a few answers, with its schema, and tried on two cases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from callscore.config.eval_schema import eval_schema
from callscore.core.errors import CallscoreError, UsageError
from callscore.store.files import atomic_write

SCHEMA_FILE = "eval.schema.json"
TRIED = 2


class FoundModel(msgspec.Struct, frozen=True):
    """A provider whose key is in the environment."""

    provider: str
    key: str
    example: str
    """An example model, to be replaced."""


KNOWN: Sequence[FoundModel] = (
    FoundModel("openai", "OPENAI_API_KEY", "gpt-5-mini"),
    FoundModel("anthropic", "ANTHROPIC_API_KEY", "claude-haiku-4-5"),
    FoundModel("gemini", "GEMINI_API_KEY", "gemini-2.5-flash"),
)


class Choices(msgspec.Struct, frozen=True):
    """The answers of the user."""

    data: str
    tasks: Sequence[str] = ()
    models: Sequence[FoundModel] = ()
    offline: bool = True
    """Whether simulated models are included."""
    judge: str = "offline"
    budget_usd: float = 5.0


def models_in(environment: Mapping[str, str] = os.environ) -> list[FoundModel]:
    """The providers whose usual key is set; the key itself is not read."""
    return [model for model in KNOWN if environment.get(model.key)]


def eval_text(choices: Choices) -> str:
    """The commented eval file for these answers."""
    lines = [
        f"# yaml-language-server: $schema={SCHEMA_FILE}",
        "# What is evaluated, by whom, and how it is scored. All keys: docs/run.md.",
        "name: first evaluation",
        "",
        "# Case files or globs, relative to this file; `sample` is the bundled sample.",
        f"data: {_quoted(choices.data)}",
        "",
    ]
    if choices.tasks:
        lines += ["# Only cases of these tasks.", f"tasks: [{', '.join(choices.tasks)}]", ""]
    lines += ["# The models to compare. Keys stay in the environment: only their name is here."]
    lines += ["models:"]
    for model in choices.models:
        lines += [
            f"  - name: {model.example}",
            f"    provider: {model.provider}",
            f"    model: {model.example}          # replace by the model that you want",
            f"    api_key_env: {model.key}",
            "    # price: {input: 0.25, output: 2.00}   # dollars per million tokens, if unknown",
        ]
    if choices.offline:
        lines += [
            "  # Simulated models are the expected answers made worse: no network, no cost.",
            "  - {name: simulated-good, provider: simulated, params: {wrong_scores: 0.03}}",
            "  - {name: simulated-poor, provider: simulated, params: {wrong_scores: 0.25}}",
        ]
    lines += [
        "",
        "# Who decides what code cannot: `offline` is an estimate by rules, `none` leaves",
        "# such rows open, a model here judges them (docs/judge.md).",
        f"judge: {choices.judge}",
        "",
        "# The run stops before it spends more than this, in dollars.",
        f"budget_usd: {choices.budget_usd:g}",
        "",
        "# What must hold for the command to end with 0:",
        "# gates:",
        "#   - {of: final, at_least: 0.8}",
        "#   - {of: blockers, at_most: 0}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def write_start(path: Path, choices: Choices) -> list[Path]:
    """Write the eval file and its schema; existing files are not overwritten."""
    schema = path.with_name(SCHEMA_FILE)
    if path.exists():
        raise UsageError(f"{path}: exists; expected another name (--file)")
    with atomic_write(path) as file:
        file.write(eval_text(choices).encode())
    if not schema.exists():
        with atomic_write(schema) as file:
            raw = msgspec.json.encode(eval_schema())
            file.write(msgspec.json.format(raw, indent=2) + b"\n")
    return [path, schema]


def case_files_in(folder: Path) -> list[str]:
    """JSON Lines files of a folder that look like cases, by name."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            head = file.read(20_000)
        if b'"expected_outcome"' in head:
            found.append(path.name)
    return found


def write_and_try(path: Path, choices: Choices) -> tuple[list[Path], str]:
    """Write the files and try them; if they do not work, none of them is left behind."""
    before = {file for file in (path, path.with_name(SCHEMA_FILE)) if file.exists()}
    written = write_start(path, choices)
    try:
        return written, try_eval(path)
    except CallscoreError:
        for file in written:
            if file not in before:
                file.unlink()
        raise


def try_eval(path: Path) -> str:
    """Run two cases through the simulated models of a file, in a temporary store."""
    from callscore.config.config import load_eval
    from callscore.core.run import ignore_event
    from callscore.runner.prepare import RunOptions, prepare
    from callscore.runner.run import run_prepared

    with TemporaryDirectory(prefix="callscore-init-") as folder:
        config = load_eval(path, Path(folder) / "runs.db")
        offline = [model for model in config.models if model.provider == "simulated"]
        prepared = prepare(msgspec.structs.replace(config, models=offline), RunOptions(limit=TRIED))
        result = run_prepared(prepared, ignore_event)
    models = result.card.models if result.card is not None else ()
    tasks = ", ".join(models[0].tasks) if models else "none"
    return f"tried {prepared.survey.cases} cases with simulated models: it works (tasks: {tasks})"
