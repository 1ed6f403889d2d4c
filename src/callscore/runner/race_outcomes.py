"""What a race reads off measured answers: scores of calls, gates in breach, counts of rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from callscore.core.case import Failed
from callscore.evaluate.case_steps import MeasuredReply
from callscore.stats.race import Outcome
from callscore.stats.race_gates import RateGate
from callscore.suites.registry import Catalog

NOTHING_TO_COUNT = ("undefined", "absent", "malformed")
"""Why a measure has no value although nothing about it is open: it adds nothing to a rate."""

Runs = Sequence[MeasuredReply | tuple[int, Failed]]


class Gates(NamedTuple):
    """The gates of the tasks of a race."""

    rates: Sequence[RateGate]
    calls: Mapping[str, str]
    """Slug of a call gate to its task."""
    floors: frozenset[str]
    """Rate gates that ask for at least their limit: what is missing is the event."""


class CaseOutcome(NamedTuple):
    """What one model made of one case."""

    task: str
    least: float
    most: float
    counts: Mapping[str, tuple[float, float] | None]
    breached: frozenset[str]


def gates_of(tasks: Sequence[str], catalog: Catalog) -> Gates:
    """All active gates, the rates as shares of events that must be at most a limit."""
    rates, calls, floors = [], {}, set()
    for task in tasks:
        formula = catalog.formula(task)
        for gate in formula.gates:
            if gate.rule.kind == "call":
                calls[gate.slug] = task
                continue
            scale = 100.0 if formula.specs[gate.slug].unit == "percent" else 1.0
            limit = gate.rule.limit / scale
            if gate.rule.comparison.startswith("<"):
                floors.add(gate.slug)
                limit = 1 - limit
            rates.append(RateGate(gate.slug, task, limit))
    return Gates(rates, calls, frozenset(floors))


def case_outcome(task: str, runs: Runs, repeats: int, gates: Gates) -> CaseOutcome:
    """The mean of the runs; 0 if one breaches a call gate; a run without score at its bounds

    A rate gate says nothing about one call: what breaches it counts with its score (C-03, C-07).
    """
    answered = [run.scored for run in runs if isinstance(run, MeasuredReply)]
    breached = frozenset(slug for answer in answered for slug in answer.score.call_breaches)
    scores = [answer.score.ungated_score for answer in answered]
    known = [score for score in scores if score is not None]
    open_runs = max(repeats, len(runs)) - len(known)
    number = len(known) + open_runs
    least = math.fsum(known) / number
    most = math.fsum([*known, float(open_runs)]) / number
    if breached:
        least = most = 0.0
    counts = {
        gate.slug: _counted(gate.slug, runs, gates) for gate in gates.rates if gate.task == task
    }
    return CaseOutcome(task, least, most, counts, breached)


def _counted(slug: str, runs: Runs, gates: Gates) -> tuple[float, float] | None:
    """Events and items, each run with weight 1 / N; None if a run is open        C-07"""
    events, items = [], []
    for run in runs:
        if not isinstance(run, MeasuredReply):
            return None
        measure = run.scored.measured.measures[slug]
        if measure.value is None and measure.absence in NOTHING_TO_COUNT:
            continue
        if measure.value is None or measure.estimated:
            return None
        missing = measure.denominator - measure.numerator
        events.append(missing if slug in gates.floors else measure.numerator)
        items.append(measure.denominator)
    if not runs:
        return None
    return math.fsum(events) / len(runs), math.fsum(items) / len(runs)


def call_outcome(cases: Sequence[CaseOutcome], *, mean: bool) -> Outcome:
    """All cases of a call: the sum of each task, or its mean where future calls are meant."""
    by_task: dict[str, list[CaseOutcome]] = {}
    for case in cases:
        by_task.setdefault(case.task, []).append(case)
    scores, counts = {}, {}
    for task, found in by_task.items():
        share = len(found) if mean else 1
        least = math.fsum(case.least for case in found)
        scores[task] = (least / share, math.fsum(case.most for case in found) / share)
        for slug in found[0].counts:
            counts[slug] = _added([case.counts[slug] for case in found])
    breached = frozenset(slug for case in cases for slug in case.breached)
    return Outcome(scores, counts, breached)


def _added(counts: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    return math.fsum(count[0] for count in known), math.fsum(count[1] for count in known)
