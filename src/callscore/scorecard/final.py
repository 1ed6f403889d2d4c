"""Final Score, options A and B, and the Benchmark Score that option A includes.

003 Final Scoring (C-79 … C-82); 003 Benchmark Score: eleven binaries and their mean (C-88 … C-90,
C-99).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from callscore.core.errors import ConfigError
from callscore.core.scorecard import (
    FINAL,
    BenchmarkScore,
    CriterionScore,
    FinalScore,
    Status,
    TaskScore,
)
from callscore.core.spec import Benchmarks, Criterion, ScoreSettings, Spec, holds
from callscore.scorecard.criteria import CriterionTally
from callscore.scorecard.formula import weighted_sum
from callscore.scorecard.metric_tally import Padding, to_count

SUM_TOLERANCE = 1e-9
BENCHMARKS = "benchmarks"
"""The name of the Benchmark Score among the weights of option A."""

NOTHING_TO_TEST = "not_run: no answer of these tasks has what this criterion looks at"
Weights = Mapping[str, float]
TalliesByTask = Mapping[str, Mapping[str, CriterionTally]]
"""Tallies by task, then by criterion."""


class FinalWeights(NamedTuple):
    """What the weights of a Final Score follow from."""

    spec: Spec
    settings: ScoreSettings
    tasks: Collection[str]
    """The tasks with cases in the data, before a limit; others are outside the Final Score."""
    custom: Weights = {}
    """The user's own weights; empty if those of the document apply."""

    @property
    def options(self) -> Sequence[str]:
        """The options that have a score; custom weights have one: A if benchmarks count    C-82"""
        if not self.custom:
            return tuple(self.spec.final)
        return ("a",) if self.custom.get(BENCHMARKS) else ("b",)

    @property
    def over(self) -> Sequence[str]:
        """The tasks that the Final Score is over, in the order of the specification        C-82"""
        counted = [name for option in self.options for name in self.of(option)]
        return [task for task in self.spec.tasks if task in counted]

    @property
    def heading(self) -> str:
        """`Final over QA`; `Final Score` if it is over every task of the document        C-82"""
        over = self.over
        every = {name for weights in self.spec.final.values() for name in weights}
        narrowed = [self.spec.scores[task].over for task in over if self.spec.scores[task].over]
        if narrowed:
            return f"Final over {', '.join(narrowed)}"
        if not over or {task for task in self.spec.tasks if task in every} == set(over):
            return FINAL
        return f"Final over {', '.join(self.spec.scores[task].label for task in over)}"

    def of(self, option: str) -> Weights:
        """The positive weights of an option: w / Σ w over the tasks with cases        C-82

        In option A the weight of the benchmarks is scaled with them.
        """
        if self.custom:
            check_weights(self.spec, self.custom)
            check_weighted_tasks(self.custom, self.tasks)
            return {name: weight for name, weight in self.custom.items() if weight}
        weights = self._of_document(option)
        counted = {BENCHMARKS, *self.tasks}
        kept = {name: weight for name, weight in weights.items() if weight and name in counted}
        if len(kept) == len(weights):
            return weights
        if not any(name in self.spec.tasks for name in kept):
            return {}
        whole = math.fsum(kept.values())
        return {name: weight / whole for name, weight in kept.items()}

    def _of_document(self, option: str) -> Weights:
        """The weights as printed, or exactly proportional to those of option A        C-80"""
        spec = self.spec
        if option == "b" and self.settings.weights == "proportional" and "a" in spec.final:
            tasks = {task: weight for task, weight in spec.final["a"].items() if task in spec.tasks}
            whole = math.fsum(tasks.values())
            return {task: weight / whole for task, weight in tasks.items()}
        return spec.final[option]


def check_weights(spec: Spec, custom: Weights) -> None:
    """Raise ConfigError if the user's own weights name an unknown task or are no shares    C-82"""
    known = dict.fromkeys((*spec.final.get("a", ()), *spec.tasks))
    for name, weight in custom.items():
        if name not in known:
            raise ConfigError(f"weights: unknown task {name!r}; expected one of {', '.join(known)}")
        if not math.isfinite(weight) or weight < 0:
            raise ConfigError(f"weights: {name} = {weight}; expected a number of at least 0")
    whole = math.fsum(custom.values())
    if abs(whole - 1) > SUM_TOLERANCE:
        raise ConfigError(f"weights: the sum is {whole:.9g}; expected 1")


def check_weighted_tasks(custom: Weights, tasks: Collection[str]) -> None:
    """Raise ConfigError if a task without cases has a positive weight        C-82"""
    for name, weight in custom.items():
        if weight and name != BENCHMARKS and name not in tasks:
            found = ", ".join(sorted(tasks)) or "no task"
            raise ConfigError(
                f"weights: {name} = {weight:g}, but the data has no case of this task; expected "
                f"positive weights for {found} only"
            )


def final_score(
    rule: FinalWeights, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> FinalScore:
    """Σ weight × task score; official is A if the benchmarks are complete, else B (C-79).

    The user's own weights apply to one option: to A if they weight the benchmarks (C-82).
    """
    scores = {option: _option_score(rule.of(option), tasks, benchmarks) for option in rule.options}
    option = "a" if "a" in scores and (rule.custom or benchmarks.status == "valid") else "b"
    weights = rule.of(option)
    status, reasons = _status(weights, tasks, benchmarks)
    zeroed, zeroed_tasks = _zeroed_final(weights, tasks, benchmarks)
    return FinalScore(
        option=option.upper(),
        over=[rule.spec.scores[task].over or task for task in rule.over],
        status=status,
        score=scores[option],
        floor_score=_floor(weights, tasks, benchmarks) if status == "invalid" else None,
        zeroed_final=zeroed,
        zeroed_tasks=zeroed_tasks,
        official=status == "valid" and _are_official(weights, tasks, benchmarks),
        a=scores.get("a"),
        b=scores.get("b"),
        reasons=reasons,
        weights=weights,
    )


def _are_official(
    weights: Weights, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> bool:
    """Whether nothing that counts is an estimate        C-125"""
    if BENCHMARKS in weights and benchmarks.approximate:
        return False
    return all(tasks[name].official for name in weights if name in tasks)


def _score_of(
    name: str, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> tuple[Status, float | None]:
    if name == BENCHMARKS:
        return benchmarks.status, benchmarks.score
    task = tasks.get(name)
    return (task.status, task.score) if task else ("not_run", None)


def _option_score(
    weights: Weights, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> float | None:
    if not weights:
        return None
    return weighted_sum(
        (weight, _score_of(name, tasks, benchmarks)[1]) for name, weight in weights.items()
    )


def _status(
    weights: Weights, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> tuple[Status, list[str]]:
    """The worst status among the tasks that count, and the tasks that have it (C-81, C-82)."""
    if not weights:
        return "not_run", []
    statuses = {name: _score_of(name, tasks, benchmarks)[0] for name in weights}
    invalid = [name for name, status in statuses.items() if status == "invalid"]
    if invalid:
        return "invalid", invalid
    open_tasks = [name for name, status in statuses.items() if status != "valid"]
    if not open_tasks:
        return "valid", []
    if all(statuses[name] == "error" for name in open_tasks):
        return "error", open_tasks
    return "incomplete", open_tasks


def _floor(
    weights: Weights, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> float | None:
    """The formula with invalid tasks as 0: a lower bound, never official (C-81)."""
    terms = []
    for name, weight in weights.items():
        status, score = _score_of(name, tasks, benchmarks)
        terms.append((weight, 0.0 if status == "invalid" else score))
    return weighted_sum(terms)


def _zeroed_final(
    weights: Weights, tasks: Mapping[str, TaskScore], benchmarks: BenchmarkScore
) -> tuple[float | None, list[str]]:
    """Σ weight × official or zeroed score, over the tasks that ran        C-129

    A call of an invalid task counts 0 if it breaches a gate of any kind on its own. Tasks that were
    not run are left out of the sum and of its weights.
    """
    scores: dict[str, float | None] = {}
    for name in weights:
        status, score = _score_of(name, tasks, benchmarks)
        if status != "not_run":
            task = tasks.get(name)
            scores[name] = task.zeroed_score if task and status == "invalid" else score
    whole = math.fsum(weights[name] for name in scores)
    if not whole:
        return None, []
    if len(scores) == len(weights):
        whole = 1.0  # nothing is scaled if nothing is left out
    total = weighted_sum((weights[name] / whole, score) for name, score in scores.items())
    return total, list(scores)


def score_benchmarks(
    spec: Benchmarks, tasks: TalliesByTask, settings: ScoreSettings, *, is_covered: bool
) -> BenchmarkScore:
    """sum(binary scores) / 11; official only with all eleven        003 Benchmark Score, C-89"""
    if not any(tasks.values()):
        untested = {slug: _untested(criterion) for slug, criterion in spec.criteria.items()}
        return BenchmarkScore("not_run", None, untested)
    criteria = {
        slug: _criterion(slug, criterion, tasks) for slug, criterion in spec.criteria.items()
    }
    ran = [entry.binary for entry in criteria.values() if entry.binary is not None]
    status, score = _benchmark_mean(ran, len(criteria), settings, is_covered)
    return BenchmarkScore(
        status=status,
        score=score,
        criteria=criteria,
        provisional=math.fsum(ran) / len(ran) if ran else None,
        ran=len(ran),
        approximate=any(entry.approximate for entry in criteria.values()),
        meets_recommended=None if score is None else holds(score, ">=", spec.recommended_minimum),
    )


def _benchmark_mean(
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


def _criterion(slug: str, criterion: Criterion, tasks: TalliesByTask) -> CriterionScore:
    """The mean over tasks of the mean over cases, and its limit   C-88, C-90"""
    found = {task: tallies[slug] for task, tallies in tasks.items() if slug in tallies}
    tallies = [tally for tally in found.values() if tally.n or tally.waiting or tally.failed]
    if not tallies:
        return _untested(criterion)
    why = _why_none(tallies)
    n = sum(tally.n for tally in tallies)
    value = None
    if why is None:
        value = math.fsum(tally.total / tally.n for tally in tallies) / len(tallies)
    is_limited = criterion.limits_padding and value is not None
    padding = _padding_of(tallies) if is_limited else None
    return CriterionScore(
        value=value,
        binary=None if value is None else int(criterion.passes(value)),
        why=why,
        unit=criterion.unit,
        case_pass_rate=sum(tally.passed for tally in tallies) / n if n else None,
        n=n,
        approximate=any(tally.approximate for tally in tallies),
        plain=None if padding is None else padding.plain,
        claims_left_out=None if padding is None else padding.left_out,
    )


def _untested(criterion: Criterion) -> CriterionScore:
    return CriterionScore(None, None, NOTHING_TO_TEST, criterion.unit)


def _padding_of(tallies: Sequence[CriterionTally]) -> Padding:
    """The value over all claims, and how many are left out of the official one        C-136"""
    plain = math.fsum(tally.plain_total / tally.n for tally in tallies) / len(tallies)
    return Padding(plain, to_count(math.fsum(tally.left_out for tally in tallies)))


def _why_none(tallies: Sequence[CriterionTally]) -> str | None:
    failed, waiting = (
        sum(tally.failed for tally in tallies),
        sum(tally.waiting for tally in tallies),
    )
    detail = next((f" ({tally.why})" for tally in tallies if tally.why), "")
    if failed:
        return f"failed: {failed} answers could not be judged{detail}"
    if waiting:
        return f"not_run: {waiting} answers await a verdict, a similarity or another run{detail}"
    return None
