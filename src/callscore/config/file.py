"""The structure of EVAL.yaml: every key, its type and its meaning."""

from __future__ import annotations

from typing import Any

import msgspec

from callscore.core.run import Limits, Price

PROVIDERS = ("openai", "anthropic", "gemini", "bedrock", "replay", "simulated", "baseline")
OFFLINE = frozenset({"replay", "simulated", "baseline"})
SAMPLE = "sample"
"""The value of `data` for the bundled sample calls."""


class ScenarioEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`data.orchestration`: a folder of scenarios and the cards of their agents, or several."""

    scenarios: str | list[str]
    cards: str | list[str]
    protocol: str = "callscore"
    mode: str = "standard"
    history: str = "gold"
    prompts: str | None = None
    """Public protocol only: a config file of the public runner, for its prompts."""


class DataEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`data` written out: case files of the calls suite, scenarios of the orchestration suite."""

    calls: str | list[str] = []
    orchestration: ScenarioEntry | None = None


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `models`."""

    name: str
    provider: str
    model: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    params: dict[str, Any] = {}
    price: Price | None = None
    limits: Limits = Limits()
    allow_http: bool = False
    api: str | None = None
    """Which API of the provider, or which version of it."""
    outputs: str | list[str] = []
    """Replay only: the files with the recorded outputs."""


class RegressionEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`no_regression`: how far below a baseline a value may be."""

    margin: float
    baseline: str = "callscore-baseline.json"
    """The file that `callscore baseline set` has written, relative to the eval file."""
    against: str | None = None
    """A model of the baseline; by default the one with the same name, or its only one."""


class GateEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `gates`: a condition for exit code 0."""

    of: str
    at_least: float | None = None
    at_most: float | None = None
    no_regression: RegressionEntry | None = None
    sure: bool = False
    """Whether the limit of the interval must hold, not just the value."""
    model: str | None = None


class AttemptsEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`attempts`: retries and timeouts."""

    most: int = 6
    timeout_s: float = 600.0
    case_timeout_s: float = 900.0


class RaceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`race`: error probability, margin and subject of `--race`."""

    alpha: float = 0.05
    """The greatest probability that the best model is dropped."""
    margin: float = 0.01
    """Finals that differ by less count as equal."""
    about: str = "pool"
    finish_invalid: bool = False
    """Whether a model that is certainly invalid still gets all requests."""
    seed: int = 0
    """Seed of the order in which calls are drawn."""


class EvalFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    data: str | list[Any] | dict[str, Any]
    models: list[ModelEntry]
    name: str = ""
    tasks: list[str] = []
    judge: Any = None
    embedder: Any = None
    repeats: int | None = None
    benchmarks: Any = None
    budget_usd: float | None = None
    store: str | None = None
    gates: list[GateEntry] = []
    verdicts: str | list[str] = []
    settings: dict[str, Any] = {}
    metrics: list[str] = []
    """Metrics of other installed packages, by the name of their entry point."""
    weights: dict[str, float] = {}
    workload: dict[str, float] = {}
    """The share of telephone calls that need a task, by task (C-83)."""
    intervals: bool = True
    """Whether every number gets its 95 % interval."""
    attempts: AttemptsEntry = AttemptsEntry()
    redact: Any = None
    """Whether personal data is replaced before anything is sent or stored, and which."""
    race: RaceEntry = RaceEntry()
    prompts: dict[str, Any] = {}
    """Prompt files by task, and `variants`: prompt files by name and task."""
