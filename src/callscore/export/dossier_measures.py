"""Recomputes scores of a dossier without text from the measures of its answers.

A measure is a value with its counts, so no text is needed: values → score of an answer, values of
all answers → rows and score of a task, scores of tasks → Final Score and ranks. That the measures
are those of the replies cannot be checked without the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult, ModelScore, Scorecard, TaskScore
from callscore.core.strict_json import DECODE_ERRORS
from callscore.core.task import Measured
from callscore.report.cells import tasks_run
from callscore.report.dossier import CARD, RESULTS
from callscore.scorecard.final import final_score
from callscore.scorecard.formula import CaseScore, TaskFormula, task_score
from callscore.scorecard.model_score import score_task
from callscore.scorecard.ranking import rank
from callscore.scorecard.tally import ScoredReply, TaskTally
from callscore.store.files import lines_of
from callscore.suites.registry import suite_of

ROW_KEYS = ("value", "macro", "micro")
TASK_KEYS = ("n", "cases", "blocked_calls", "unblocked_share", "ungated_score")
GATED_KEYS = ("status", "score", "zeroed_score")
"""Not compared for estimates, which no gate applies to, and for tasks that wait for verdicts: the
lines do not say what was estimated or why a value is missing."""
FINAL_KEYS = ("score", "b", "floor_score", "zeroed_final")
RANK_KEYS = ("model", "rank", "quality_rank", "final_score", "efficiency")
TOLERANCE = 1e-9


class ResultLine(CaseResult, frozen=True, gc=False, kw_only=True):
    """A line of the results: an answer with its measures as (numerator, denominator)."""

    measures: Mapping[str, tuple[float, float]] = {}


class MeasureRecount:
    """Recomputes all scores that follow from the measures, and collects differences by file."""

    def __init__(self, results: Path, config: ScoreConfig) -> None:
        self._config = config
        self.differences: dict[str, list[str]] = {}
        self.results = 0
        self._tallies: dict[str, dict[str, TaskTally]] = {}
        for _, lines in groupby(_read(results), key=lambda line: (line.case_id, line.task)):
            by_model: dict[str, list[ResultLine]] = {}
            for line in lines:
                by_model.setdefault(line.model, []).append(line)
            for model, runs in by_model.items():
                self._add_case(model, runs)

    def _add(self, file: str, what: str) -> None:
        self.differences.setdefault(file, []).append(what)

    def _add_case(self, model: str, runs: Sequence[ResultLine]) -> None:
        task = runs[0].task
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
        ranked = rank(card.models, self._config.catalog.spec_with(tasks_run(card)))
        self._compare("ranking", RANK_KEYS, card.ranking, ranked)

    def _compare_model(self, model: ModelScore) -> None:
        catalog = self._config.catalog
        for task, stored in model.tasks.items():
            if suite_of(task) is None:
                self._add(CARD, f"models.{model.model}: {task!r} is not a task")
                continue
            tally = self._tallies.get(model.model, {}).get(task, TaskTally())
            settings = catalog.settings_of(catalog.suite_of(task))
            recomputed = score_task(catalog.formula(task), tally, settings).score
            self._compare_task(f"models.{model.model}.{task}", stored, recomputed)
        spec = catalog.spec_with(model.tasks)
        suite = catalog.suites_with(model.tasks)[0]
        final = final_score(
            spec,
            model.tasks,
            model.benchmarks,
            catalog.settings_of(suite),
            self._config.weights or None,
        )
        self._compare(f"models.{model.model}.final", FINAL_KEYS, [model.final], [final])

    def _compare_task(self, path: str, stored: TaskScore, recomputed: TaskScore) -> None:
        estimated = any(metric.approximate for metric in stored.metrics.values())
        is_open = stored.status not in ("valid", "invalid")
        keys = TASK_KEYS if estimated or is_open else (*TASK_KEYS, *GATED_KEYS)
        self._compare(path, keys, [stored], [recomputed])
        for slug, metric in stored.metrics.items():
            if slug not in recomputed.metrics:
                self._add(CARD, f"{path}: {slug!r} is not a metric of this task")
            elif metric.value is not None:
                self._compare(f"{path}.{slug}", ROW_KEYS, [metric], [recomputed.metrics[slug]])
        for name, part in stored.subscores.items():
            if name not in recomputed.subscores:
                self._add(CARD, f"{path}: {name!r} is not a part of this task")
            else:
                self._compare(f"{path}.{name}", ("score",), [part], [recomputed.subscores[name]])

    def _compare(
        self, path: str, keys: Sequence[str], stored: Sequence[Any], recomputed: Sequence[Any]
    ) -> None:
        if len(stored) != len(recomputed):
            self._add(CARD, f"{path}: has {len(stored)} entries, {len(recomputed)} are recomputed")
        for one, other in zip(stored, recomputed, strict=False):
            for key in keys:
                values = getattr(one, key), getattr(other, key)
                if values[0] is not None and not _same(*values):
                    what = f"{values[0]} is stored, {values[1]} is recomputed"
                    self._add(CARD, f"{path}.{key}: {what}")


def _read(path: Path) -> Iterator[ResultLine]:
    decode = msgspec.json.Decoder(ResultLine).decode
    for line in lines_of([path]):
        try:
            yield decode(line.raw)
        except DECODE_ERRORS as error:
            raise DataError(
                f"{error}; expected a line that `callscore report` wrote",
                place=f"{RESULTS}:{line.number}",
            ) from None


def _measure(slug: str, line: ResultLine) -> Measure:
    """Return a measure of an answer; a value without counts is one by convention (C-13).

    A line does not say why a value is missing; no number of a scorecard depends on it.
    """
    value = line.metrics.get(slug)
    if value is None:
        return Measure(None, absence="undefined")
    numerator, denominator = line.measures.get(slug, (0.0, 0.0))
    return Measure(value, numerator, denominator, vacuous=not denominator)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, numbers up to the rounding of their sums."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)
