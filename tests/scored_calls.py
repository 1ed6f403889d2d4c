"""A scored data set with the contributions of its calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from builders import Json
from calls_suite import formula_for
from callscore.config.score import ScoreConfig
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.evaluate.scorecards import scorecard
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import open_pass
from callscore.evaluate.shape import model_shape
from callscore.stats.contributions import Contributions, ModelShape
from callscore.suites.calls.spec import load_spec


class ScoredCalls(NamedTuple):
    """A scorecard with the contributions of its calls."""

    card: Scorecard
    contributions: Mapping[str, Contributions]
    config: ScoreConfig

    def shape(self, model: ModelScore) -> ModelShape:
        """The formulas behind the column of a model."""
        settings = self.config.checked_settings()
        return model_shape(
            model,
            lambda task: formula_for(task, settings),
            load_spec().benchmarks.criteria,
        )


def score_with_contributions(config: ScoreConfig) -> ScoredCalls:
    """Score files, and keep the contribution of every call."""
    with closing(open_pass(config, Sinks(lambda result: None))) as scoring:
        tallied = scoring.finish()
    contributions = {
        model: {
            task: tally.contributions.whole()
            for task, tally in tallies.items()
            if tally.contributions is not None
        }
        for model, tallies in tallied.tallies.items()
    }
    return ScoredCalls(scorecard(config, tallied, None), contributions, config)


def write_records(folder: Path, name: str, records: Sequence[Json]) -> Path:
    """Write records as a JSON Lines file."""
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
