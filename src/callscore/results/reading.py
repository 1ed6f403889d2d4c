"""The scorecard of a stored run with other weights, workload or rule of decision than its own.

The sums of the index are turned into a scorecard as a full pass does it, so every number is that of
a run with these settings.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.scorecard import Scorecard
from callscore.evaluate.scorecards import decide_again
from callscore.evaluate.sub_blocks import decode_sums
from callscore.results.port import QueryError, Reading
from callscore.results.scoring_parts import (
    EVERYTHING,
    decode_card,
    decode_contributions,
    decode_head,
    decode_kept,
)
from callscore.results.single_case import RunOfCases
from callscore.results.verdict_changes import card_of_sums
from callscore.stats.contributions import TaskContributions
from callscore.store.index_rows import Scoring
from callscore.store.results_index import ResultsIndex
from callscore.store.run_records import RunRecord


def card_read_with(
    index: ResultsIndex, scoring: Scoring, record: RunRecord, config: ScoreConfig, reading: Reading
) -> Scorecard:
    """The scorecard of a scoring as if its run had these settings."""
    kept = decode_kept(index.kept(scoring.id)[0])
    if kept is None:
        raise QueryError("weights, workload: they are about tasks of calls; the run has scenarios")
    if record.race is not None:
        raise QueryError(
            "weights, workload: the run is a race, which asked models by its own weights; expected "
            "other weights in the eval file of a new run"
        )
    old = decode_card(index.card(scoring.id)).card
    intervals = config.intervals and not decode_head(scoring.head).values_only
    config = msgspec.structs.replace(
        config,
        weights=reading.weights or config.weights,
        workload={**config.workload, **reading.workload},
        decide=reading.decide,
        intervals=intervals,
    )
    config.check_options()
    models = [model.model for model in old.models]
    sums = {
        model: decode_sums(index.sums(scoring.id, model, EVERYTHING, 0, 1)[0]) for model in models
    }
    contributions: dict[str, Mapping[str, TaskContributions]] = {}
    for model in models if intervals else ():
        raw = index.contributions(scoring.id, model)
        contributions[model] = {} if raw is None else decode_contributions(raw)
    cases = RunOfCases(config, models, {}, None, kept.calls.cases)
    card = card_of_sums(record, cases, kept, sums, contributions)
    return decide_again(config, msgspec.structs.replace(card, judging=old.judging))
