"""Tallies: per case a contribution, `+` over cases, the formula at the end (C-06, C-07).

A metric's tally holds the sum and number of case values (the official macro mean) and the
pooled numerator and denominator (micro), so that runs can be resumed, split and merged.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from copy import deepcopy

import msgspec

from callscore.core.measure import UNDECIDED, Measure
from callscore.core.spec import Criterion
from callscore.scorecard import criteria
from callscore.scorecard.criteria import CriterionTally
from callscore.scorecard.formula import TaskFormula, gate_flags
from callscore.scorecard.metric_tally import MetricTally
from callscore.scorecard.scored_reply import (
    ScoredReply,
    add_labels,
    case_measure,
    is_malformed,
    run_score,
    secondary_of,
)
from callscore.stats.contributions import (
    NO_VALUE,
    CallKeys,
    CaseContributions,
    Charge,
    TaskContributions,
    call_key,
)


def _no_keys() -> array[int]:
    return array("Q")


class TaskTally(msgspec.Struct):
    """The sum of all cases so far for one task of one model."""

    cases: int = 0
    evaluated: int = 0
    errors: int = 0
    not_run: int = 0
    metrics: dict[str, MetricTally] = msgspec.field(default_factory=dict)
    breaches: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Case ids in breach, by call gate or rate gate."""
    blocked: set[str] = msgspec.field(default_factory=set)
    """Case ids in breach of any gate."""
    call_blocked: set[str] = msgspec.field(default_factory=set)
    """Case ids in breach of a call gate."""
    call_keys: CallKeys = msgspec.field(default_factory=_no_keys)
    """The keys of the telephone calls of evaluated cases; those of one call have the same key."""
    blocked_keys: set[int] = msgspec.field(default_factory=set)
    """The keys of calls with a case in breach of any gate (C-87)."""
    breaching_runs: dict[str, int] = msgspec.field(default_factory=dict)
    """Runs in breach, by call gate (C-07)."""
    malformed: dict[str, int] = msgspec.field(default_factory=dict)
    flags: dict[str, int] = msgspec.field(default_factory=dict)
    """Well-formed answers by flag, without flags that name an item."""
    """Malformed replies, by cause: the first flag of each."""
    benchmarks: dict[str, CriterionTally] = msgspec.field(default_factory=dict)
    spend: float = 0.0
    calls: int = 0
    """Answered requests, not telephone calls."""
    unpriced: int = 0
    most_runs: int = 0
    """Runs of the case that has most, failed ones included."""
    scored: int = 0
    """Replies with an ungated score; the next two are the sums of the scores and their squares."""
    score_total: float = 0.0
    score_squares: float = 0.0
    contributions: CaseContributions | None = None
    """The contribution of each case, if intervals are computed (STATS §1)."""
    open_cases: OpenCases | None = None
    """The cases with undecided items at their worst and best (`undecided.py`)."""
    strata: Mapping[str, TaskTally] = msgspec.field(default_factory=dict)
    """The tallies that this is the sum of, if each row is the mean of theirs (`strata.py`)."""

    @property
    def missing_runs(self) -> int:
        """Runs that failed or were not made, compared with the case that has most."""
        return self.most_runs * self.evaluated - self.calls

    @property
    def standard_error(self) -> float | None:
        """√(variance of the replies' scores / replies); None for fewer than two"""
        n = self.scored
        if n < 2:
            return None
        mean = self.score_total / n
        return math.sqrt(max(0.0, self.score_squares / n - mean * mean) / (n - 1))

    def rename_calls(self, keys: Mapping[int, int]) -> None:
        """Replace the keys of calls; two calls that get one key are one from then on."""
        self.call_keys = array("Q", [keys.get(key, key) for key in self.call_keys])
        self.blocked_keys = {keys.get(key, key) for key in self.blocked_keys}
        if isinstance(self.contributions, TaskContributions):
            self.contributions.rename_calls(keys)

    def add_not_run(self) -> None:
        """Count a case without any run."""
        self.cases += 1
        self.not_run += 1

    def add_error(self) -> None:
        """Count a case of which every run failed."""
        self.cases += 1
        self.errors += 1

    def add_calls(self, costs: Sequence[float | None], failed: int) -> None:
        """Add requests to the model and the cost of each, if known (C-83), in their order.

        A failed one costs its price if it has one, else nothing, and does not count in `calls`.
        """
        unpriced = costs.count(None)
        self.calls += len(costs) - failed
        self.unpriced += unpriced
        if unpriced < len(costs):
            for cost in costs:
                self.spend += cost or 0.0

    def add_benchmarks(
        self, cases: Sequence[Sequence[ScoredReply]], limits: Mapping[str, Criterion], ddof: int
    ) -> None:
        """Add the second layer of the cases that were added last, if it runs."""
        by_case: list[Mapping[str, Measure]] = []
        for replies in cases:
            layers = [reply.benchmarks for reply in replies]
            consistency = criteria.consistency_of([run_score(reply) for reply in replies], ddof)
            by_case.append(criteria.add_case(self.benchmarks, layers, consistency, limits))
        if isinstance(self.contributions, TaskContributions):
            for slug in dict.fromkeys(slug for case in by_case for slug in case):
                measures = [case.get(slug, NO_VALUE) for case in by_case]
                self.contributions.add_column(slug, measures)

    def add_case(self, case_id: str, formula: TaskFormula, replies: Sequence[ScoredReply]) -> None:
        """Add the runs of one case, averaged within the case first (C-07)."""
        self.add_cases(formula, [(case_id, replies)])

    def add_cases(
        self,
        formula: TaskFormula,
        cases: Sequence[tuple[str, Sequence[ScoredReply]]],
        charges: Sequence[Charge] = (),
    ) -> None:
        """Add the runs of some cases, in their order: metric by metric if each has one run.

        `charges` has the call of each case; without it, every case is a call of its own.
        """
        keys = [charge.key for charge in charges] or [call_key(None, name) for name, _ in cases]
        self.call_keys.extend(keys)
        if isinstance(self.contributions, TaskContributions):
            self.contributions.add_cases(
                charges, [gate_flags([reply.score for reply in runs]) for _, runs in cases]
            )
        self.cases += len(cases)
        self.evaluated += len(cases)
        replies: list[ScoredReply] = []
        has_other_verdicts = False
        for (case_id, runs), key in zip(cases, keys, strict=True):
            for reply in runs:
                replies.append(reply)
                if reply.extremes is not None or reply.labels is not None:
                    has_other_verdicts = True
                if reply.measured.flags:
                    self._count_flags(reply)
                score = reply.score.ungated_score
                if score is not None:
                    self.scored += 1
                    self.score_total += score
                    self.score_squares += score * score
                if reply.score.status == "invalid":
                    self._add_breach(case_id, reply)
                    self.blocked_keys.add(key)
        if len(replies) == len(cases):
            self._add_rows(formula, replies)
        else:
            self._add_runs(formula, [runs for _, runs in cases])
        self._add_secondary(cases)
        if has_other_verdicts:
            self._add_other_verdicts(formula, cases)

    def _add_other_verdicts(
        self, formula: TaskFormula, cases: Sequence[tuple[str, Sequence[ScoredReply]]]
    ) -> None:
        """Add what the last cases would be with other verdicts: of people, or on open items."""
        for from_end, (case_id, runs) in zip(range(len(cases), 0, -1), cases, strict=True):
            if any(reply.extremes is not None for reply in runs):
                self._add_open(formula, case_id, runs, from_end)
            kept = self.contributions
            if isinstance(kept, TaskContributions) and any(reply.labels for reply in runs):
                add_labels(formula, runs, kept, from_end)

    def _add_open(
        self, formula: TaskFormula, case_id: str, runs: Sequence[ScoredReply], from_end: int
    ) -> None:
        """Add a case with undecided items, as if these had the worst and the best verdicts."""
        if self.open_cases is None:
            self.open_cases = OpenCases()
        found = self.open_cases
        found.cases += 1
        decided = {slug: case_measure(slug, runs) for slug in formula.slugs}
        undecided = [slug for slug, case in decided.items() if case.absence in UNDECIDED]
        for side, tally in enumerate((found.worst, found.best)):
            replies = [run.extremes[side] if run.extremes else run for run in runs]
            tally.add_extreme(formula, case_id, replies, undecided)
            if any(reply.score.status == "invalid" for reply in replies):
                tally.blocked_keys.add(self.call_keys[-from_end])
            if side == 0 and isinstance(self.contributions, TaskContributions):
                flags = gate_flags([reply.score for reply in replies])
                measures = {slug: case_measure(slug, replies) for slug in undecided}
                self.contributions.add_open(from_end, flags, measures)

    def add_extreme(
        self,
        formula: TaskFormula,
        case_id: str,
        replies: Sequence[ScoredReply],
        undecided: Sequence[str],
    ) -> None:
        """Add what a case would add to the undecided metrics, and its breaches."""
        for slug in undecided:
            tally, case = self._metric(slug), case_measure(slug, replies)
            tally.add([case])
            if slug in formula.watched:
                tally.watch_runs([reply.measured.measures[slug] for reply in replies], case)
        for reply in replies:
            score = reply.score.ungated_score
            if score is not None:
                self.scored += 1
                self.score_total += score
                self.score_squares += score * score
            if reply.score.status == "invalid":
                self._add_breach(case_id, reply)

    def _add_rows(self, formula: TaskFormula, replies: Sequence[ScoredReply]) -> None:
        """Add the only runs of some cases: as rows of measures, metric by metric."""
        rows = [formula.row(reply.measured.measures) for reply in replies]
        for slug, measures in zip(formula.slugs, zip(*rows, strict=True), strict=True):
            tally = self._metric(slug)
            tally.add(measures)
            if slug in formula.watched:
                tally.watch(measures)
            self._contribute(formula, slug, measures)

    def _add_runs(self, formula: TaskFormula, cases: Sequence[Sequence[ScoredReply]]) -> None:
        """Add several runs of some cases, a case as one value for every metric        C-07"""
        for slug in formula.slugs:
            tally = self._metric(slug)
            measures = []
            for replies in cases:
                case = case_measure(slug, replies)
                measures.append(case)
                if slug in formula.watched:
                    tally.watch_runs([reply.measured.measures[slug] for reply in replies], case)
            tally.add(measures)
            self._contribute(formula, slug, measures)

    def _contribute(self, formula: TaskFormula, slug: str, measures: Sequence[Measure]) -> None:
        if isinstance(self.contributions, TaskContributions):
            pooled = formula.specs[slug].pooled
            self.contributions.add_column(slug, measures, pooled=pooled)

    def _add_secondary(self, cases: Sequence[tuple[str, Sequence[ScoredReply]]]) -> None:
        """Add the secondary figures of the metrics, those of several runs as their mean."""
        columns: dict[str, list[Measure]] = {}
        for _, replies in cases:
            for key, case in secondary_of(replies).items():
                columns.setdefault(key, []).append(case)
        for key, measures in columns.items():
            self._metric(key).add([case for case in measures if case.value is not None])

    def _count_flags(self, reply: ScoredReply) -> None:
        if not is_malformed(reply.score):
            for flag in reply.measured.flags:
                if ":" not in flag:
                    self.flags[flag] = self.flags.get(flag, 0) + 1

    def _add_breach(self, case_id: str, reply: ScoredReply) -> None:
        score = reply.score
        self.blocked.add(case_id)
        if is_malformed(score):
            for cause in reply.measured.flags[:1]:
                self.malformed[cause] = self.malformed.get(cause, 0) + 1
        if score.call_breaches:
            self.call_blocked.add(case_id)
            for slug in score.call_breaches:
                self.breaching_runs[slug] = self.breaching_runs.get(slug, 0) + 1
        for slug in score.reasons:
            ids = self.breaches.setdefault(slug, [])
            if not ids or ids[-1] != case_id:
                ids.append(case_id)

    def _metric(self, slug: str) -> MetricTally:
        tally = self.metrics.get(slug)
        if tally is None:
            tally = self.metrics[slug] = MetricTally()
        return tally

    def __iadd__(self, other: TaskTally) -> TaskTally:
        """Add another tally, which gives up its parts: it must not be used afterwards.

        Both may share the contributions, if these were added in order already.
        """
        for slug, metric in other.metrics.items():
            own = self.metrics.get(slug)
            self.metrics[slug] = metric if own is None else own + metric
        for slug, ids in other.breaches.items():
            self.breaches.setdefault(slug, []).extend(ids)
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most_runs = max(self.most_runs, other.most_runs)
        self.blocked |= other.blocked
        self.call_blocked |= other.call_blocked
        self.call_keys.extend(other.call_keys)
        self.blocked_keys |= other.blocked_keys
        for counts, more in (
            (self.breaching_runs, other.breaching_runs),
            (self.malformed, other.malformed),
            (self.flags, other.flags),
        ):
            for key, number in more.items():
                counts[key] = counts.get(key, 0) + number
        self.benchmarks = criteria.add_tallies(self.benchmarks, other.benchmarks)
        if self.contributions is None or other.contributions is None:
            self.contributions = None
        elif self.contributions is not other.contributions:
            self.contributions.extend(other.contributions.whole())
        if self.open_cases is None:
            self.open_cases = other.open_cases
        elif other.open_cases is not None:
            self.open_cases += other.open_cases
        return self

    def __add__(self, other: TaskTally) -> TaskTally:
        """The sum of both tallies; it shares no state with its parts, which may still grow."""
        total = msgspec.structs.replace(deepcopy(self), strata={})
        total += deepcopy(other)
        return total


_COUNTS = (
    *("cases", "evaluated", "errors", "not_run", "spend", "calls", "unpriced"),
    *("scored", "score_total", "score_squares"),
)
"""The numbers of a tally that are sums."""


class OpenCases(msgspec.Struct):
    """The cases with undecided items: what these would add to the tally, at worst and at best.

    The tallies have the undecided metrics only, and the breaches of the whole case.
    """

    cases: int = 0
    worst: TaskTally = msgspec.field(default_factory=TaskTally)
    best: TaskTally = msgspec.field(default_factory=TaskTally)

    def __iadd__(self, other: OpenCases) -> OpenCases:
        """Add the cases of another tally, which must not be used afterwards."""
        self.cases += other.cases
        self.worst += other.worst
        self.best += other.best
        return self
