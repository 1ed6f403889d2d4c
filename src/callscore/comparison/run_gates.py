"""The gates of an eval file, held against what its run gave."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.comparison.per_call import per_call_of_models
from callscore.comparison.sides import contributions_in, formulas_of, shapes_of
from callscore.config.baseline import Baseline, BlessedModel, read_baseline
from callscore.config.config import EvalConfig
from callscore.config.gates import gate_checks
from callscore.config.regression import BlessedRuns
from callscore.core.checks import Check
from callscore.evaluate.scoring_pass import Tallied
from callscore.runner.run import RunResult


def run_checks(config: EvalConfig, ran: RunResult, tallies: Sequence[Tallied] = ()) -> list[Check]:
    """Every gate of the file for every model it is for, and whether it holds.

    `tallies` are what the scoring of the run's calls has left behind: gates that must surely hold
    against a baseline need them.
    """
    headlines = {model: score.headline for model, score in ran.orchestration.items()}
    required = config.scoring.checked_settings().coverage_required

    def per_call() -> dict[str, BlessedModel]:
        if ran.card is None:
            return {}
        shapes = shapes_of(ran.card, formulas_of(config.scoring))
        return per_call_of_models(contributions_in(tallies), shapes)

    blessed = BlessedRuns(baselines_of(config), per_call)
    return gate_checks(ran.card, config.gates, required, headlines, blessed)


def baselines_of(config: EvalConfig) -> dict[str, Baseline]:
    """The baselines that gates name and that are there, by the name in the file."""
    names = {gate.no_regression.baseline for gate in config.gates if gate.no_regression is not None}
    paths = {name: config.path.parent / name for name in names}
    return {name: read_baseline(path) for name, path in paths.items() if path.exists()}
