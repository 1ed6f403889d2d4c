"""Model level: eleven binaries and their mean (003 Benchmark Score; C-88 … C-90, C-99)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from callscore.core.rating import holds
from callscore.core.scorecard import BenchmarkScore, CriterionScore, Status
from callscore.core.spec import Benchmarks, Criterion, ScoreSettings
from callscore.scorecard.criteria import CriterionTally

OfTasks = Mapping[str, Mapping[str, CriterionTally]]
"""Tallies by task, then by criterion."""


def score_benchmarks(
    spec: Benchmarks, tasks: OfTasks, settings: ScoreSettings, *, is_covered: bool
) -> BenchmarkScore:
    """sum(binary scores) / 11; official only with all eleven        003 Benchmark Score, C-89"""
    criteria = {
        slug: _criterion(slug, criterion, tasks) for slug, criterion in spec.criteria.items()
    }
    ran = [entry.binary for entry in criteria.values() if entry.binary is not None]
    if not any(tasks.values()):
        return BenchmarkScore("not_run", None, criteria)
    status, score = _partial(ran, len(criteria), settings, is_covered)
    return BenchmarkScore(
        status=status,
        score=score,
        criteria=criteria,
        provisional=math.fsum(ran) / len(ran) if ran else None,
        ran=len(ran),
        approximate=any(entry.approximate for entry in criteria.values()),
        meets_recommended=None if score is None else holds(score, ">=", spec.recommended_minimum),
    )


def _partial(
    ran: Sequence[int], all_of_them: int, settings: ScoreSettings, is_covered: bool
) -> tuple[Status, float | None]:
    """The score, or why there is none: the setting decides if criteria are missing        C-89"""
    if not is_covered or not ran:
        return "incomplete", None
    if len(ran) == all_of_them or settings.benchmarks_partial == "zero":
        return "valid", math.fsum(ran) / all_of_them
    if settings.benchmarks_partial == "mean":
        return "valid", math.fsum(ran) / len(ran)
    return "incomplete", None


def _criterion(slug: str, criterion: Criterion, tasks: OfTasks) -> CriterionScore:
    """The mean over tasks of the mean over cases, and its limit   C-88, C-90"""
    found = {task: tallies[slug] for task, tallies in tasks.items() if slug in tallies}
    tallies = [tally for tally in found.values() if tally.n or tally.waiting or tally.failed]
    why = _why_none(tallies)
    n = sum(tally.n for tally in tallies)
    value = None
    if why is None:
        value = math.fsum(tally.total / tally.n for tally in tallies) / len(tallies)
    return CriterionScore(
        value=value,
        binary=None if value is None else int(criterion.passes(value)),
        why=why,
        unit=criterion.unit,
        case_pass_rate=sum(tally.passed for tally in tallies) / n if n else None,
        n=n,
        approximate=any(tally.approximate for tally in tallies),
    )


def _why_none(tallies: Sequence[CriterionTally]) -> str | None:
    failed, waiting = (
        sum(tally.failed for tally in tallies),
        sum(tally.waiting for tally in tallies),
    )
    detail = next((f" ({tally.why})" for tally in tallies if tally.why), "")
    if failed:
        return f"failed: {failed} answers could not be judged{detail}"
    if waiting:
        return f"not_run: {waiting} answers still wait{detail}"
    if not tallies:
        return "not_run: no answer of these tasks has what this criterion looks at"
    return None
