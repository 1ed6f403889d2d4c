"""Writes a first eval file with its schema, and tries it on two cases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from callscore.config.file import eval_schema
from callscore.core.errors import CallscoreError, UsageError
from callscore.report.numbers import show_count
from callscore.store.files import atomic_write

SCHEMA_FILE = "eval.schema.json"
TRIAL_CASES = 2
EXAMPLE_SERVER = "http://127.0.0.1:8080/v1"


class KnownProvider(msgspec.Struct, frozen=True):
    """A provider, the environment variable of its key, and an example model."""

    provider: str
    key: str
    example: str


KNOWN_PROVIDERS: Sequence[KnownProvider] = (
    KnownProvider("openai", "OPENAI_API_KEY", "gpt-5-mini"),
    KnownProvider("anthropic", "ANTHROPIC_API_KEY", "claude-haiku-4-5"),
    KnownProvider("gemini", "GEMINI_API_KEY", "gemini-2.5-flash"),
)


class Choices(msgspec.Struct, frozen=True):
    """The choices of the user."""

    data: str
    tasks: Sequence[str] = ()
    models: Sequence[KnownProvider] = ()
    local: str = ""
    """The base URL of a local server, if there is one."""
    judge: str = "offline"
    budget_usd: float = 5.0


def providers_with_keys() -> list[KnownProvider]:
    """The providers whose key is in the environment."""
    return [model for model in KNOWN_PROVIDERS if os.environ.get(model.key)]


def render_eval(choices: Choices) -> str:
    """The text of the eval file, with comments."""
    lines = [
        f"# yaml-language-server: $schema={SCHEMA_FILE}",
        "# The data, the models and the judge of an evaluation. All keys: docs/run.md.",
        "name: first evaluation",
        "",
        "# Case files or globs, relative to this file; `sample` is the bundled sample.",
        f"data: {_quote(choices.data)}",
        "",
    ]
    if choices.tasks:
        lines += ["# Only cases of these tasks.", f"tasks: [{', '.join(choices.tasks)}]", ""]
    lines += [
        "# The models to compare. Keys stay in the environment; `api_key_env` is the variable."
    ]
    lines += ["models:"]
    for model in choices.models:
        lines += [
            f"  - name: {model.example}",
            f"    provider: {model.provider}",
            f"    model: {model.example}          # replace it by your model",
            f"    api_key_env: {model.key}",
            "    # price: {input: 0.25, output: 2.00}   # US dollars per million tokens",
        ]
    lines += _local_entry(choices.local)
    lines += [
        "  # Simulated models return the expected answers with errors: no network, no cost.",
        "  - {name: simulated-good, provider: simulated, params: {wrong_scores: 0.03}}",
        "  - {name: simulated-poor, provider: simulated, params: {wrong_scores: 0.25}}",
        "",
        "# Judges what code cannot decide: `offline` estimates by rules, `none` leaves these",
        "# rows without a value, a model judges them (docs/judge.md).",
        f"judge: {choices.judge}",
        "",
        "# The run stops before it costs more than this, in US dollars.",
        f"budget_usd: {choices.budget_usd:g}",
        "",
        "# Conditions for exit code 0:",
        "# gates:",
        "#   - {of: final, at_least: 0.8}",
        "#   - {of: blockers, at_most: 0}",
    ]
    return "\n".join(lines) + "\n"


def _local_entry(base_url: str) -> list[str]:
    """The model of a local server; as a comment if there is no server."""
    from callscore.providers.addresses import check_url, is_loopback

    url = check_url(base_url or EXAMPLE_SERVER, allow_http=True)
    is_safe = url.scheme == "https" or is_loopback(url)
    entry = [
        "- name: local",
        "  provider: openai",
        "  model: local          # the name under which the server has the model",
        f"  base_url: {_quote(base_url or EXAMPLE_SERVER)}",
        *([] if is_safe else ["  allow_http: true      # not encrypted: trust the network"]),
        "  price: {input: 0, output: 0}   # or what the machine costs, for the ranking",
    ]
    if base_url:
        return [f"  {line}" for line in entry]
    return [
        "  # The model of a local server (llama.cpp, vLLM, Ollama):",
        *(f"  # {line}" for line in entry),
    ]


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()


def write_files(path: Path, choices: Choices) -> list[Path]:
    """Write the eval file, and its schema if there is none yet; return the written files."""
    schema = path.with_name(SCHEMA_FILE)
    if path.exists():
        raise UsageError(f"{path}: exists; expected another name (--file)")
    with atomic_write(path) as file:
        file.write(render_eval(choices).encode())
    if schema.exists():
        return [path]
    with atomic_write(schema) as file:
        raw = msgspec.json.encode(eval_schema())
        file.write(msgspec.json.format(raw, indent=2) + b"\n")
    return [path, schema]


def find_case_files(folder: Path) -> list[str]:
    """The names of the JSON Lines files in a folder that look like case files."""
    names = []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            head = file.read(20_000)
        if b'"expected_outcome"' in head:
            names.append(path.name)
    return names


def write_and_try(path: Path, choices: Choices) -> tuple[list[Path], str]:
    """Write the files and try them; if they do not work, remove them again."""
    written = write_files(path, choices)
    try:
        return written, try_eval(path)
    except CallscoreError:
        for file in written:
            file.unlink()
        raise


def try_eval(path: Path) -> str:
    """Run two cases with the simulated models of an eval file, in a temporary store."""
    from callscore.config.config import load_eval
    from callscore.core.run import ignore_event
    from callscore.runner.prepare import RunOptions, prepare
    from callscore.runner.run import run_prepared

    with TemporaryDirectory(prefix="callscore-init-") as folder:
        config = load_eval(path, Path(folder) / "runs.db")
        offline = [model for model in config.models if model.provider == "simulated"]
        prepared = prepare(
            msgspec.structs.replace(config, models=offline), RunOptions(limit=TRIAL_CASES)
        )
        result = run_prepared(prepared, ignore_event)
    models = result.card.models if result.card is not None else ()
    tasks = ", ".join(models[0].tasks) if models else "none"
    return (
        f"tried {show_count(len(prepared.survey.ids), 'case')} with simulated models: "
        f"it works (tasks: {tasks})"
    )
