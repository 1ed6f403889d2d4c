"""What judge and embedder did, and what that cost, as the scorecard shows it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.interval import Interval
from callscore.core.judging_summary import Judging
from callscore.evaluate.judging import JudgeRunner, JudgingCost
from callscore.evaluate.scoring_pass import ScoringResult


def related_models(result: ScoringResult, judge_runner: JudgeRunner) -> list[str]:
    """The models that a judge of their own family has judged."""
    return [model for model in result.tallies if judge_runner.is_related(model)]


def overlap_notes(result: ScoringResult, judge_runner: JudgeRunner | None) -> list[str]:
    """A note on every model that was judged by its own family."""
    if judge_runner is None:
        return []
    judges = ", ".join(judge_runner.models)
    return [
        f"judge_overlap: {model} was judged by a model of its own family ({judges})"
        for model in related_models(result, judge_runner)
    ]


def judging_of(
    judge_runner: JudgeRunner, overlap: Sequence[str], *, intervals: bool = True
) -> Judging:
    """The judge, and what judging has cost so far."""
    spent = judge_runner.spent
    return Judging(
        judge=judge_runner.judge.name if judge_runner.judge is not None else None,
        embedder=judge_runner.embedder.name if judge_runner.embedder is not None else None,
        items=spent.items,
        requests=spent.requests,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_usd=spent.cost_usd,
        disputed=spent.disputed,
        rejudged=spent.rejudged,
        flip_rate=spent.flipped / spent.rejudged if spent.rejudged else None,
        failed=spent.failed,
        similarities=spent.similarities,
        overlap=overlap,
        flags=dict(sorted(spent.flags.items())),
        stored=spent.stored,
        unusable=dict(sorted(spent.unusable.items())),
        answered_by=judge_runner.answered_by.identities(),
        flip_rate_ci95=_flip_interval(spent) if intervals else msgspec.UNSET,
    )


def _flip_interval(spent: JudgingCost) -> Interval | msgspec.UnsetType:
    """The interval of the flip rate, from the counts of each call        STATS §2"""
    if not spent.flips:
        return msgspec.UNSET
    from callscore.stats.call_counts import interval_of_counts  # numpy

    found = interval_of_counts(spent.flips)
    return msgspec.UNSET if found is None else (found.low, found.high)
