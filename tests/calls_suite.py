"""The scoring functions for all suites, bound to the specification of the calls suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from callscore.core.spec import ScoreSettings
from callscore.core.suite import DataNames, no_data_names
from callscore.core.task import Task
from callscore.scorecard import criteria, final, formula, ranking
from callscore.scorecard import template as rows
from callscore.scorecard.criteria import CriterionMeasures, CriterionTallies, consistency_of
from callscore.scorecard.final import FinalWeights
from callscore.scorecard.formula import TaskFormula
from callscore.suites.calls import spec
from callscore.suites.calls.suite import CallsSuite
from callscore.suites.registry import Catalog, NamesOf, no_names

SPEC = spec.load_spec()

formula_for = partial(formula.formula_for, SPEC)
score_benchmarks = partial(final.score_benchmarks, SPEC.benchmarks)
rank = partial(ranking.rank, spec=SPEC)
rank_zeroed = partial(ranking.rank_zeroed, spec=SPEC)
template = partial(rows.template_rows, SPEC)


def final_weights(
    settings: ScoreSettings, custom: Mapping[str, float] | None = None, over: Sequence[str] = ()
) -> FinalWeights:
    """The weights of the Final Score, by default over all tasks."""
    return FinalWeights(SPEC, settings, over or SPEC.tasks, custom or {})


def formula_of(task: str, gates: str) -> TaskFormula:
    return formula_for(task, spec.make_settings({"gates": gates}))


def tasks(
    settings: ScoreSettings | None = None, names: DataNames = no_data_names
) -> Mapping[str, Task[Any, Any]]:
    """The four tasks of the suite."""
    suite, used = CallsSuite(), spec.make_settings() if settings is None else settings
    return {name: suite.task(name, used, names) for name in SPEC.tasks}


def all_tasks(names: NamesOf = no_names) -> Mapping[str, Task[Any, Any]]:
    """The tasks of every suite."""
    return Catalog().tasks(names)


def add_case(
    tallies: CriterionTallies, runs: Sequence[CriterionMeasures], scores: Sequence[Any], ddof: int
) -> None:
    steady = consistency_of(scores, ddof)
    criteria.add_case(tallies, runs, steady, SPEC.benchmarks.criteria)
