"""Strata of a task, such as languages: a row is the mean of the strata (C-120)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.scorecard import MetricScore
from callscore.core.spec import MetricSpec
from callscore.scorecard.formula import formula_value
from callscore.scorecard.tally import TaskTally


def merge_strata(strata: Mapping[str, TaskTally]) -> TaskTally:
    """The tally of all strata, with rows that are means of the strata; a single one is returned."""
    tallies = list(strata.values())
    total = tallies[0]
    for tally in tallies[1:]:
        total = total + tally
    if len(tallies) > 1:
        total.strata = strata
        if total.contributions is not None:
            total.contributions.strata = {
                name: tally.contributions
                for name, tally in strata.items()
                if tally.contributions is not None
            }
    return total


def mean_of_strata(spec: MetricSpec, found: Sequence[MetricScore]) -> MetricScore:
    """Σ values / strata; none if a stratum has none        C-120"""
    values = [value for each in found if (value := formula_value(spec, each)) is not None]
    n = sum(each.n for each in found)
    if len(values) < len(found) or not n:
        without = next((each for each in found if formula_value(spec, each) is None), found[0])
        return msgspec.structs.replace(without, value=None, macro=None, micro=None, n=n)
    mean = math.fsum(values) / len(values)
    return msgspec.structs.replace(
        found[0],
        value=mean,
        why=None,
        macro=mean,
        micro=None,
        n=n,
        approximate=any(each.approximate for each in found),
    )
