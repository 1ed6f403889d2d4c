"""The signature of a scorecard: what must be equal before two results may be compared (C-126)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.config.score import ScoreConfig
from callscore.core.suite import Suite
from callscore.core.version import __version__
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scoring_pass import ScoringResult


def card_signature(
    config: ScoreConfig,
    result: ScoringResult,
    suites: Sequence[Suite],
    over: Sequence[str],
    judge_runner: JudgeRunner | None,
) -> str:
    """The parts of a signature; `over` are the tasks of the Final Score (C-82)."""
    judge = judge_runner.judge_signature if judge_runner is not None else None
    embedder = judge_runner.embedder if judge_runner is not None else None
    judges = [*result.judges, *([judge] if judge is not None else ())]
    settings = [config.catalog.settings_of(suite) for suite in suites]
    changed = {
        key: value
        for suite in suites
        for key, value in config.catalog.changed_settings(suite).items()
    }
    specs = [config.catalog.spec_of(suite) for suite in suites]
    parts = {
        "suite": "+".join(suite.name for suite in suites),
        "framework": "+".join(spec.framework for spec in specs),
        "spec": "+".join(spec.digest for spec in specs),
        **_identity(result),
        "data": result.dataset if result.scenarios else result.dataset[:16],
        "repeats": str(config.repeats) if config.repeats is not None else _repeats(result),
        "settings": ",".join(f"{k}={v}" for k, v in changed.items()) or "default",
        "judge": "+".join(judges) or "none",
        "embedder": embedder.signature if embedder is not None else "none",
        "over": "+".join(over),
        **({"option": "A"} if config.benchmarks else {}),
        "weights": _list_numbers(config.weights) or settings[0].weights,
        **({"workload": _list_numbers(config.workload)} if config.workload else {}),
        **({"labels": result.labels.digest} if result.labels is not None else {}),
        "callscore": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _list_numbers(numbers: Mapping[str, float]) -> str:
    return ",".join(f"{task}={number:g}" for task, number in sorted(numbers.items()))


def _identity(result: ScoringResult) -> Mapping[str, str]:
    """How scenarios were asked and read: the same for all models."""
    return next((score.identity for score in result.scenarios.values()), {})


def _repeats(result: ScoringResult) -> str:
    """Requests per case: one number, or several if models or tasks differ        C-07"""
    of_tasks = (tally for tallies in result.tallies.values() for tally in tallies.values())
    found = sorted({tally.most_runs for tally in of_tasks if tally.most_runs})
    return "+".join(map(str, found)) or "0"
