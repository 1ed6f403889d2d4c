"""Checks the gates of an eval file on the result of its run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.comparison.inputs import shapes_by_model
from callscore.comparison.pseudovalues import pseudovalues_by_model
from callscore.config.baseline import Baseline, BaselineModel, BaselineRuns, read_baseline
from callscore.config.config import EvalConfig, load_eval
from callscore.config.file import GateEntry
from callscore.config.gates import gate_checks
from callscore.core.run import ignore_event
from callscore.core.scorecard import CheckResult, Scorecard
from callscore.engine.api_call import run_off_loop
from callscore.evaluate.scorecards import contributions_by_model
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.runner.prepare import RunOptions, prepare
from callscore.runner.run import RunResult, run_prepared


def check_run(
    config: EvalConfig, result: RunResult, tallies: Sequence[ScoringResult] = ()
) -> list[CheckResult]:
    """Check every gate of the file for each of its models.

    `tallies` are those of the scoring pass: gates with `sure` against a baseline need them.
    """
    required = config.scoring.checked_settings().coverage_required

    def per_call() -> dict[str, BaselineModel]:
        if result.card is None:
            return {}
        shapes = shapes_by_model(result.card, config.scoring.catalog)
        return pseudovalues_by_model(contributions_by_model(tallies, result.card), shapes)

    baselines = BaselineRuns(load_baselines(config), per_call)
    return gate_checks(result.card, config.gates, required, baselines)


class GatedRun(NamedTuple):
    """A run with all that is needed to check its gates."""

    config: EvalConfig
    result: RunResult
    tallies: Sequence[ScoringResult]

    @property
    def card(self) -> Scorecard | None:
        """The scorecard of the run, if it has one."""
        return self.result.card

    @property
    def status(self) -> str:
        """The status of the run."""
        return self.result.summary.status

    def checks_of(self, gate: GateEntry, model: str) -> list[CheckResult]:
        """Check one gate for one model."""
        config = msgspec.structs.replace(self.config, gates=[gate])
        return [c for c in check_run(config, self.result, self.tallies) if c.model == model]


def run_eval(path: Path) -> GatedRun:
    """Run an eval file, or continue its unfinished run; gates are not checked yet."""
    tallies: list[ScoringResult] = []
    config = load_eval(path)
    options = RunOptions(resume=True, accept_changed=True, on_scoring_result=tallies.append)

    load_baselines(config)  # an invalid file is an error before any request is paid

    def carry_out() -> RunResult:
        with closing(prepare(config, options)) as prepared:
            return run_prepared(prepared, ignore_event)

    result = run_off_loop(carry_out)
    if result.summary.status == "interrupted":
        raise KeyboardInterrupt
    return GatedRun(config, result, tallies)


def load_baselines(config: EvalConfig) -> dict[str, Baseline]:
    """Load the existing baselines that gates refer to, by their name in the eval file."""
    names = {gate.no_regression.baseline for gate in config.gates if gate.no_regression is not None}
    paths = {name: config.path.parent / name for name in names}
    return {name: read_baseline(path) for name, path in paths.items() if path.exists()}
