"""The gates of an eval file, held against what its run gave."""

from __future__ import annotations

from callscore.config.baseline import Baseline, read_baseline
from callscore.config.config import EvalConfig
from callscore.config.gates import gate_checks
from callscore.config.regression import BlessedRuns
from callscore.core.checks import Check
from callscore.runner.run import RunResult


def run_checks(config: EvalConfig, ran: RunResult) -> list[Check]:
    """Every gate of the file for every model it is for, and whether it holds."""
    headlines = {model: score.headline for model, score in ran.orchestration.items()}
    required = config.scoring.checked_settings().coverage_required
    return gate_checks(
        ran.card, config.gates, required, headlines, BlessedRuns(baselines_of(config))
    )


def baselines_of(config: EvalConfig) -> dict[str, Baseline]:
    """The baselines that gates name and that are there, by the name in the file."""
    names = {gate.no_regression.baseline for gate in config.gates if gate.no_regression is not None}
    paths = {name: config.path.parent / name for name in names}
    return {name: read_baseline(path) for name, path in paths.items() if path.exists()}
