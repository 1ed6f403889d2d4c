"""One scored reply, what it would be with other verdicts, and the runs of a case together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import Measure
from callscore.core.task import Measured
from callscore.scorecard.criteria import CriterionMeasures
from callscore.scorecard.formula import STRUCTURE, CaseScore, TaskFormula, gate_flags
from callscore.scorecard.metric_tally import mean_of_runs
from callscore.stats.contributions import BLOCKED_SHARE, CALL_BLOCKED, Labelled, TaskContributions


class ReplyLabels(msgspec.Struct, frozen=True, gc=False):
    """How far people have labelled what a judge decided about a reply        STATS §5"""

    judged: Mapping[str, int]
    """By row, the items that a judge decided."""
    labelled: Mapping[str, int]
    """By row, how many of these people labelled."""
    people: ScoredReply | None
    """The reply as people judge the labelled items."""


class ScoredReply(msgspec.Struct, frozen=True, gc=False):
    """One run of one case, measured and scored, with what it cost."""

    measured: Measured
    score: CaseScore
    benchmarks: CriterionMeasures = {}
    """The criteria of the second layer; empty if it does not run."""
    extremes: tuple[ScoredReply, ScoredReply] | None = None
    """The reply as if its open items had the worst and the best verdicts (C-137)."""
    labels: ReplyLabels | None = None
    """The labels of people on it; None if there are none at all."""


def _is_blocked(runs: Sequence[ScoredReply]) -> float:
    """1 if a call gate blocks a run of the case, else 0        C-07"""
    return float(bool(gate_flags([run.score for run in runs]) & CALL_BLOCKED))


def case_measure(slug: str, replies: Sequence[ScoredReply]) -> Measure:
    """The measure of a case, from those of its runs        C-07"""
    runs = [reply.measured.measures[slug] for reply in replies]
    return runs[0] if len(runs) == 1 else mean_of_runs(runs)


def secondary_of(replies: Sequence[ScoredReply]) -> Mapping[str, Measure]:
    """The secondary figures of a case, the mean of its runs."""
    if len(replies) == 1:
        return replies[0].measured.secondary
    by_run = [reply.measured.secondary for reply in replies if reply.measured.secondary]
    return {
        key: mean_of_runs([secondary[key] for secondary in by_run if key in secondary])
        for key in dict.fromkeys(key for secondary in by_run for key in secondary)
    }


def is_malformed(score: CaseScore) -> bool:
    """Whether a reply breaches the gate of its structure."""
    return any(slug.endswith(STRUCTURE) for slug in score.call_breaches)


def run_score(reply: ScoredReply) -> Measure:
    """The ungated task score of one run; a malformed reply counts 0        C-98"""
    score = reply.score
    if is_malformed(score):
        return Measure(0.0)
    if score.ungated_score is None:
        why = f"a run has no task score: {', '.join(score.reasons)}"
        return Measure(None, absence="failed" if score.status == "error" else "not_run", why=why)
    approximate = any(measure.approximate for measure in reply.measured.measures.values())
    return Measure(score.ungated_score, approximate=approximate)


def add_labels(
    formula: TaskFormula,
    runs: Sequence[ScoredReply],
    contributions: TaskContributions,
    from_end: int,
) -> None:
    """Record what people say about a case, the mean of its runs        STATS §5"""
    labels = [run.labels for run in runs if run.labels is not None]
    by_people = [run.labels.people if run.labels and run.labels.people else run for run in runs]
    judged_slugs = {slug for of_run in labels for slug in of_run.judged}
    for slug in sorted(judged_slugs):
        judged, people = case_measure(slug, runs), case_measure(slug, by_people)
        if judged.value is None:
            continue
        items = sum(of_run.judged.get(slug, 0) for of_run in labels)
        labelled = sum(of_run.labelled.get(slug, 0) for of_run in labels)
        if people.value is None:
            labelled = 0
        contributions.add_label(slug, from_end, Labelled(items, labelled, judged, people))
    gates = [gate.slug for gate in formula.gates if gate.rule.kind == "call"]
    if gated := [slug for slug in gates if slug in judged_slugs]:
        items = sum(of_run.judged.get(slug, 0) for of_run in labels for slug in gated)
        labelled = sum(of_run.labelled.get(slug, 0) for of_run in labels for slug in gated)
        ends = [Measure(_is_blocked(replies)) for replies in (runs, by_people)]
        contributions.add_label(BLOCKED_SHARE, from_end, Labelled(items, labelled, *ends))
