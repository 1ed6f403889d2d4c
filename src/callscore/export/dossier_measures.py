"""Recomputes scores of a dossier without text from the measures of its answers.

A measure is a value with its counts, so no text is needed: values → score of an answer, values of
all answers → rows and score of a task, scores of tasks → Final Score and ranks. That the measures
are those of the replies cannot be checked without the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from callscore.config.score import ScoreConfig
from callscore.core.measure import Measure
from callscore.core.scorecard import Blocker, CaseResult, ModelScore, Scorecard, TaskScore
from callscore.core.task import Measured
from callscore.evaluate.scorecards import is_estimate
from callscore.export.dossier_file import decoded_lines
from callscore.report.cells import tasks_run
from callscore.report.dossier import CARD, OUTPUTS, RESULTS
from callscore.scorecard.final import FinalWeights, final_score
from callscore.scorecard.formula import CaseScore, TaskFormula, task_score
from callscore.scorecard.model_score import score_task
from callscore.scorecard.ranking import model_cost, rank, rank_zeroed
from callscore.scorecard.scored_reply import ScoredReply
from callscore.scorecard.tally import TaskTally
from callscore.suites.registry import suite_of

ROW_KEYS = ("value", "macro", "micro")
RATING_KEYS = ("rating", "meets_threshold")
"""Not compared for estimates: no gate applies to them."""
TASK_KEYS = ("n", "cases", "blocked_calls", "unblocked_share", "ungated_score")
GATED_KEYS = ("status", "score", "zeroed_score")
"""Not compared for estimates, which no gate applies to, and for tasks that wait for verdicts: the
lines do not say what was estimated or why a value is missing."""
FINAL_KEYS = (
    *("option", "over", "status", "score", "official", "a", "b", "reasons", "weights"),
    *("floor_score", "zeroed_final", "zeroed_tasks"),
)
COST_KEYS = ("status", "per_1000_calls", "total", "calls", "per_1000_requests", "workload")
BLOCKER_KEYS = ("task", "metric", "value", "limit", "cases", "share_of_runs", "gating")
RANK_KEYS = (
    *("model", "rank", "efficiency", "final_score", "cost_per_1000_calls", "normalised_cost"),
    *("cost_status", "quality_rank", "pareto", "estimate", "reason"),
)
ZEROED_KEYS = (
    *("model", "rank", "zeroed_final", "cost_per_1000_calls", "tasks", "estimate", "obstacles"),
)
TOLERANCE = 1e-9


class ResultLine(CaseResult, frozen=True, gc=False, kw_only=True):
    """A line of the results: an answer with its measures as (numerator, denominator)."""

    measures: Mapping[str, tuple[float, float]] = {}


class PaidOutput(Protocol):
    """What a line of the outputs says about the cost of a request."""

    case_id: str
    model: str
    cost_usd: float | None
    error: Any


class MeasureRecount:
    """Recomputes all scores that follow from the measures, and collects differences by file."""

    def __init__(
        self, results: Path, config: ScoreConfig, outputs: Iterable[PaidOutput] = ()
    ) -> None:
        self._config = config
        self._tasks: dict[str, str] = {}
        self.differences: dict[str, list[str]] = {}
        self.results = 0
        self._tallies: dict[str, dict[str, TaskTally]] = {}
        found = decoded_lines([results], ResultLine)
        for _, lines in groupby(found, key=lambda line: (line.case_id, line.task)):
            by_model: dict[str, list[ResultLine]] = {}
            for line in lines:
                by_model.setdefault(line.model, []).append(line)
            for model, runs in by_model.items():
                self._add_case(model, runs)
        for output in outputs:
            self._charge(output)

    def _charge(self, output: PaidOutput) -> None:
        """Add the cost of a request; a failed one is no answer (C-83)."""
        tallies = self._tallies.get(output.model, {})
        tally = tallies.get(self._tasks.get(output.case_id, ""))
        if tally is None:
            self._add(OUTPUTS, f"case {output.case_id!r}, model {output.model!r}: has no result")
            return
        has_failed = output.error is not None
        cost = output.cost_usd or 0.0 if has_failed else output.cost_usd
        tally.add_calls([cost], int(has_failed))

    def _add(self, file: str, what: str) -> None:
        self.differences.setdefault(file, []).append(what)

    def _add_case(self, model: str, runs: Sequence[ResultLine]) -> None:
        task = self._tasks[runs[0].case_id] = runs[0].task
        self.results += len(runs)
        if suite_of(task) is None:
            self._add(RESULTS, f"case {runs[0].case_id!r}, model {model!r}: {task!r} is not a task")
            return
        tally = self._tallies.setdefault(model, {}).setdefault(task, TaskTally())
        if all(run.status == "not_run" for run in runs):
            tally.add_not_run()
            return
        formula = self._config.catalog.formula(task)
        replies = [self._score_line(run, formula) for run in runs if run.metrics]
        tally.most_runs = max(tally.most_runs, len(runs))
        if replies:
            tally.add_case(runs[0].case_id, formula, replies)
        else:
            tally.add_error()

    def _score_line(self, line: ResultLine, formula: TaskFormula) -> ScoredReply:
        place = f"case {line.case_id!r}, model {line.model!r}, run {line.run}"
        values = {slug: line.metrics.get(slug) for slug in formula.slugs}
        ungated = task_score(formula.score, values)
        score = ungated if line.status == "valid" else None
        for name, stored, recomputed in (
            ("ungated_score", line.ungated_score, ungated),
            ("score", line.score, score),
        ):
            if not _same(stored, recomputed):
                self._add(
                    RESULTS, f"{place}: {name}: {stored} is stored, {recomputed} is recomputed"
                )
        criteria = self._config.catalog.suite_of(line.task).spec.benchmarks.criteria
        for slug in line.metrics:
            if slug not in values and slug not in criteria:
                self._add(RESULTS, f"{place}: {slug!r} is not a metric of {line.task}")
        gates = {gate.slug: gate.rule for gate in formula.gates}
        reasons = line.reasons if line.status == "invalid" else ()
        for slug in reasons:
            value = values.get(slug)
            if slug not in gates or value is None or not gates[slug].is_breached(value):
                self._add(RESULTS, f"{place}: {slug} = {value} does not breach a gate")
        of_calls = [slug for slug in reasons if slug in gates and gates[slug].kind == "call"]
        scored = CaseScore(line.status, line.score, ungated, reasons, of_calls, values)
        measures = {slug: _measure(slug, line) for slug in formula.slugs}
        return ScoredReply(Measured(measures), scored)

    def compare(self, card: Scorecard) -> None:
        """Compare the rows, tasks, Final Scores and ranks of a scorecard."""
        for model in card.models:
            self._compare_model(model)
        spec = self._config.catalog.spec_with(tasks_run(card))
        for path, keys, stored, recomputed in (
            ("ranking", RANK_KEYS, card.ranking, rank(card.models, spec)),
            ("zeroed_ranking", ZEROED_KEYS, card.zeroed_ranking, rank_zeroed(card.models, spec)),
        ):
            self._compare(path, keys, stored, recomputed, skip_missing=False)
        if card.estimate != any(map(is_estimate, card.models)):
            self._add(CARD, f"estimate: {card.estimate} is stored, but not what the rows say")

    def _compare_model(self, model: ModelScore) -> None:
        catalog, path = self._config.catalog, f"models.{model.model}"
        tallies = self._tallies.get(model.model, {})
        for task, stored in model.tasks.items():
            if suite_of(task) is None:
                self._add(CARD, f"{path}: {task!r} is not a task")
                continue
            if stored.bounded:  # the lines do not have the worst case of undecided items (C-137)
                continue
            settings = catalog.settings_of(catalog.suite_of(task))
            formula = catalog.formula(task)
            recomputed = score_task(formula, tallies.get(task, TaskTally()), settings)
            self._compare_task(f"{path}.{task}", stored, recomputed.score)
            self._compare_blockers(model, task, recomputed.blockers)
        suite = catalog.suites_with(model.tasks)[0]
        rule = FinalWeights(
            spec=catalog.spec_with(model.tasks),
            settings=catalog.settings_of(suite),
            tasks={*self._tasks.values(), *self._config.other_tasks},
            custom=self._config.weights,
        )
        final = final_score(rule, model.tasks, model.benchmarks)
        cost = model_cost(
            tallies, self._config.workload, self._config.cost_per_1000.get(model.model)
        )
        for name, keys, one, other in (
            ("final", FINAL_KEYS, model.final, final),
            ("cost", COST_KEYS, model.cost, cost),
        ):
            self._compare(f"{path}.{name}", keys, [one], [other], skip_missing=False)

    def _compare_blockers(
        self, model: ModelScore, task: str, recomputed: Sequence[Blocker]
    ) -> None:
        """Compare what blocks a task; if gates cannot be recomputed, with its reasons."""
        path, score = f"models.{model.model}.blockers", model.tasks[task]
        stored = [blocker for blocker in model.blockers if blocker.task == task]
        if _follows_from_measures(score):
            decided = [each for each in recomputed if score.metrics[each.metric].value is not None]
            self._compare(path, BLOCKER_KEYS, stored, decided, skip_missing=False)
            return
        reasons = score.reasons if score.status == "invalid" else ()
        if sorted(reasons) != sorted(each.metric for each in stored if each.gating):
            self._add(CARD, f"{path}: are not the reasons why {task} is {score.status}")

    def _compare_task(self, path: str, stored: TaskScore, recomputed: TaskScore) -> None:
        gated: Sequence[str] = GATED_KEYS if _follows_from_measures(stored) else ()
        if not gated and stored.status == recomputed.status == "valid":
            gated = ("score",)  # an estimate that no gate can make invalid
        keys = (*TASK_KEYS, *gated)
        self._compare(path, keys, [stored], [recomputed])
        for slug, metric in stored.metrics.items():
            if slug not in recomputed.metrics:
                self._add(CARD, f"{path}: {slug!r} is not a metric of this task")
            elif metric.value is not None:
                keys = ROW_KEYS if metric.approximate else (*ROW_KEYS, *RATING_KEYS)
                self._compare(f"{path}.{slug}", keys, [metric], [recomputed.metrics[slug]])
        for name, part in stored.subscores.items():
            if name not in recomputed.subscores:
                self._add(CARD, f"{path}: {name!r} is not a part of this task")
            else:
                self._compare(f"{path}.{name}", ("score",), [part], [recomputed.subscores[name]])

    def _compare(
        self,
        path: str,
        keys: Sequence[str],
        stored: Sequence[Any],
        recomputed: Sequence[Any],
        *,
        skip_missing: bool = True,
    ) -> None:
        if len(stored) != len(recomputed):
            self._add(CARD, f"{path}: has {len(stored)} entries, {len(recomputed)} are recomputed")
        for one, other in zip(stored, recomputed, strict=False):
            for key in keys:
                values = getattr(one, key), getattr(other, key)
                if not (skip_missing and values[0] is None) and not _same(*values):
                    what = f"{values[0]} is stored, {values[1]} is recomputed"
                    self._add(CARD, f"{path}.{key}: {what}")


def _measure(slug: str, line: ResultLine) -> Measure:
    """Return a measure of an answer; a value without counts is one by convention (C-13).

    A line does not say why a value is missing; no number of a scorecard depends on it.
    """
    value = line.metrics.get(slug)
    if value is None:
        return Measure(None, absence="undefined")
    numerator, denominator = line.measures.get(slug, (0.0, 0.0))
    return Measure(value, numerator, denominator, vacuous=not denominator)


def _follows_from_measures(task: TaskScore) -> bool:
    """Whether the lines say all that the gates of a task depend on."""
    estimated = any(metric.approximate for metric in task.metrics.values())
    return not estimated and task.status in ("valid", "invalid")


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, numbers up to the rounding of their sums."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return list(one) == list(other)
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)
