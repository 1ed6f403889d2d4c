"""Outcomes of calls for a race, from measured replies: scores, breached gates, counts of rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.judging import NO_VERDICTS
from callscore.evaluate.case_steps import MeasuredReply
from callscore.evaluate.cases import LoadedCase
from callscore.runner.cases import CasePrompt
from callscore.stats.race import CallOutcome
from callscore.stats.race_tests import RateGate
from callscore.suites.registry import Catalog

NOT_COUNTED = ("undefined", "absent", "malformed")
"""Reasons of a measure without a value that adds nothing to a rate."""

Runs = Sequence[MeasuredReply | tuple[int, Failed]]


class RaceGates(NamedTuple):
    """The gates of the tasks of a race."""

    rates: Sequence[RateGate]
    calls: Mapping[str, str]
    """The tasks of call gates, by slug."""
    floors: frozenset[str]
    """Rate gates whose rate must be at least the limit: they count the missing items."""


class DrawnCalls(NamedTuple):
    """The calls of one round of a race."""

    calls: Mapping[str, Sequence[str]]
    """By model, the calls that it was asked about."""
    prompts: Mapping[str, Sequence[CasePrompt]]
    """By call, its cases."""
    gates: RaceGates


class CaseObservation(NamedTuple):
    """The score bounds, counts and breached call gates of one model on one case."""

    task: str
    least: float
    most: float
    counts: Mapping[str, tuple[float, float] | None]
    breached: frozenset[str]


class ObservedCall(NamedTuple):
    """What a race reads of one model on one call."""

    cases: Sequence[CaseObservation]
    replies: Sequence[Reply]
    """The replies that were paid."""
    scored: frozenset[str] = frozenset()
    """The tasks of which a reply has a score."""
    unscored: Mapping[str, Sequence[str]] = {}
    """By task, the metrics without a value in a reply without a score."""


class ReferenceItems:
    """By rate gate, the items of every call, counted in the references        STATS §4.7"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._items: dict[str, dict[str, float]] = {}
        """By gate and call."""

    def add(self, call: str, loaded: LoadedCase) -> None:
        """Count the items of a case: those of its reference as an answer to itself."""
        gates = self._catalog.formula(loaded.case.task).gates
        slugs = [gate.slug for gate in gates if gate.rule.kind != "call"]
        if not slugs:
            return
        task, reference = loaded.task, loaded.reference
        reply = Reply(msgspec.json.encode(loaded.case.expected_outcome).decode())
        measured = task.measure(reference, task.read(reference, reply), NO_VERDICTS)
        for slug in slugs:
            measure = measured.measures[slug]
            if measure.value is not None:
                of_gate = self._items.setdefault(slug, {})
                of_gate[call] = of_gate.get(call, 0.0) + measure.denominator

    def most(self, slug: str) -> float:
        """The most items of a call; 0 if no reference has any."""
        return max(self._items.get(slug, {}).values(), default=0.0)


def collect_gates(
    tasks: Sequence[str], catalog: Catalog, items: ReferenceItems | None = None
) -> RaceGates:
    """All active gates; a rate gate is a share of events that must be at most its limit."""
    items = items or ReferenceItems(catalog)
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
            rates.append(RateGate(gate.slug, task, limit, items.most(gate.slug)))
    return RaceGates(rates, calls, frozenset(floors))


def observe_case(task: str, runs: Runs, repeats: int, gates: RaceGates) -> CaseObservation:
    """The mean of the runs, with 0 and 1 as bounds of a run without score; 0 if a call gate is
    breached

    A breached rate gate does not block a single call, whose score counts (C-03, C-07).
    """
    scored = [run.scored for run in runs if isinstance(run, MeasuredReply)]
    breached = frozenset(slug for reply in scored for slug in reply.score.call_breaches)
    scores = [reply.score.ungated_score for reply in scored]
    known = [score for score in scores if score is not None]
    open_runs = max(repeats, len(runs)) - len(known)
    number = len(known) + open_runs
    least = math.fsum(known) / number
    most = math.fsum([*known, float(open_runs)]) / number
    if breached:
        least = most = 0.0
    counts = {
        gate.slug: _count_events(gate.slug, runs, gates)
        for gate in gates.rates
        if gate.task == task
    }
    return CaseObservation(task, least, most, counts, breached)


def observe_cases(
    cases: Sequence[tuple[str, Runs]], repeats: int, gates: RaceGates
) -> ObservedCall:
    """The cases of one call, each with its task and its runs."""
    replies = [
        (task, run) for task, runs in cases for run in runs if isinstance(run, MeasuredReply)
    ]
    return ObservedCall(
        [observe_case(task, runs, repeats, gates) for task, runs in cases],
        [run.parsed.reply for _, run in replies],
        frozenset(task for task, run in replies if run.scored.score.status != "incomplete"),
        {
            task: run.scored.score.reasons
            for task, run in replies
            if run.scored.score.status == "incomplete"
        },
    )


def observe_score(task: str, score: float | None) -> CaseObservation:
    """A case with a score and no gate; 0 and 1 are its bounds if it has none."""
    least, most = (0.0, 1.0) if score is None else (score, score)
    return CaseObservation(task, least, most, {}, frozenset())


def _count_events(slug: str, runs: Runs, gates: RaceGates) -> tuple[float, float] | None:
    """Events and items, each run with weight 1 / N; None if a run has no result        C-07"""
    events, items = [], []
    for run in runs:
        if not isinstance(run, MeasuredReply):
            return None
        measure = run.scored.measured.measures[slug]
        if measure.value is None and measure.absence in NOT_COUNTED:
            continue
        if measure.value is None or measure.estimated:
            return None
        missing = measure.denominator - measure.numerator
        events.append(missing if slug in gates.floors else measure.numerator)
        items.append(measure.denominator)
    if not runs:
        return None
    return math.fsum(events) / len(runs), math.fsum(items) / len(runs)


def observe_call(cases: Sequence[CaseObservation], *, mean: bool) -> CallOutcome:
    """The outcome of a call: the sum of its cases by task, or their mean (for future calls)."""
    by_task: dict[str, list[CaseObservation]] = {}
    for case in cases:
        by_task.setdefault(case.task, []).append(case)
    scores, counts = {}, {}
    for task, of_task in by_task.items():
        share = len(of_task) if mean else 1
        least = math.fsum(case.least for case in of_task)
        scores[task] = (least / share, math.fsum(case.most for case in of_task) / share)
        for slug in of_task[0].counts:
            counts[slug] = _add_counts([case.counts[slug] for case in of_task])
    breached = frozenset(slug for case in cases for slug in case.breached)
    return CallOutcome(scores, counts, breached)


def _add_counts(counts: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    return math.fsum(count[0] for count in known), math.fsum(count[1] for count in known)
