"""The gates of an eval file, applied to the result of its run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.comparison.per_call import per_call_of_models
from callscore.comparison.sides import contributions_in, shapes_of
from callscore.config.baseline import Baseline, BlessedModel, read_baseline
from callscore.config.config import EvalConfig, load_eval
from callscore.config.file import GateEntry
from callscore.config.gates import gate_checks
from callscore.config.regression import BlessedRuns
from callscore.core.checks import Check
from callscore.core.run import ignore_event
from callscore.core.scorecard import Scorecard
from callscore.engine.off_loop import off_loop
from callscore.evaluate.scoring_pass import Tallied
from callscore.runner.prepare import RunOptions, prepare
from callscore.runner.run import RunResult, run_prepared


def run_checks(config: EvalConfig, ran: RunResult, tallies: Sequence[Tallied] = ()) -> list[Check]:
    """Check every gate of the file for each of its models.

    `tallies` are what the scoring of the run's calls has left behind: gates that must surely hold
    against a baseline need them.
    """
    required = config.scoring.checked_settings().coverage_required

    def per_call() -> dict[str, BlessedModel]:
        if ran.card is None:
            return {}
        shapes = shapes_of(ran.card, config.scoring.catalog)
        return per_call_of_models(contributions_in(tallies), shapes)

    blessed = BlessedRuns(baselines_of(config), per_call)
    return gate_checks(ran.card, config.gates, required, blessed)


class CheckedRun(NamedTuple):
    """A run with all that its gates need."""

    config: EvalConfig
    ran: RunResult
    tallies: Sequence[Tallied]

    @property
    def card(self) -> Scorecard | None:
        """The scorecard of the calls suite."""
        return self.ran.card

    @property
    def status(self) -> str:
        """How the run ended."""
        return self.ran.summary.status

    def checks_of(self, gate: GateEntry, model: str) -> list[Check]:
        """The result of one gate for one model."""
        config = msgspec.structs.replace(self.config, gates=[gate])
        return [c for c in run_checks(config, self.ran, self.tallies) if c.model == model]


def run_and_check(path: Path) -> CheckedRun:
    """Run an eval file, or continue its unfinished run; gates are checked on request."""
    tallies: list[Tallied] = []
    config = load_eval(path)
    options = RunOptions(resume=True, accept_changed=True, on_tallied=tallies.append)

    baselines_of(config)  # a broken file is an error before anything is spent

    def carry_out() -> RunResult:
        with closing(prepare(config, options)) as prepared:
            return run_prepared(prepared, ignore_event)

    ran = off_loop(carry_out)
    if ran.summary.status == "interrupted":
        raise KeyboardInterrupt
    return CheckedRun(config, ran, tallies)


def baselines_of(config: EvalConfig) -> dict[str, Baseline]:
    """The baselines that gates name and that are there, by the name in the file."""
    names = {gate.no_regression.baseline for gate in config.gates if gate.no_regression is not None}
    paths = {name: config.path.parent / name for name in names}
    return {name: read_baseline(path) for name, path in paths.items() if path.exists()}
