"""Scores one case after another: replies are read, questions collected, measures taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from callscore.core.case import Case, Failed, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdicts
from callscore.core.measure import MALFORMED, Measure
from callscore.core.scorecard import CaseResult
from callscore.core.suite import BenchmarkLayer, Metric
from callscore.core.task import Measured
from callscore.core.verdict_rules import TOO_MANY, VerdictRules
from callscore.evaluate.case_steps import (
    ExaminedCase,
    MeasuredAnswer,
    MeasuredCase,
    ParsedReply,
    ReadCase,
)
from callscore.evaluate.case_views import case_view
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.citations import uncited_scores
from callscore.evaluate.findings import Findings
from callscore.evaluate.judging import NOTHING_FOUND, Examined, as_json
from callscore.evaluate.results import error_of, result_of, verdict_record
from callscore.report.source import CaseView
from callscore.scorecard.case_score import score_case
from callscore.scorecard.formula import TaskFormula
from callscore.scorecard.records import Author, Record, records_of
from callscore.scorecard.tally import ScoredReply, TaskTally
from callscore.stats.contributions import Charge, TaskContributions, call_key
from callscore.store.verdict_records import VerdictRecord
from callscore.store.worklists import OnOpen, OpenItem
from callscore.suites.catalog import Catalog

OnResult = Callable[[CaseResult], None]
OnRecord = Callable[[Record], None]
OnVerdict = Callable[[VerdictRecord], None]
OnCase = Callable[[CaseView], None]
Tallies = dict[str, dict[str, TaskTally]]
GivenVerdicts = Mapping[tuple[str | None, int], Verdicts]
"""The verdicts of files, by model and run; under None those on every model."""
NOTHING_GIVEN: GivenVerdicts = {}
NO_BENCHMARKS: Mapping[str, Measure] = {}


class _Answered(msgspec.Struct):
    """What a model has answered to some cases of a task, on its way into their tally."""

    model: str
    tally: TaskTally
    cases: list[tuple[str, Sequence[ScoredReply]]] = []
    """By id, those with an answer at least."""
    charges: list[Charge] = []
    """Of the same cases, where contributions are kept."""
    costs: list[float | None] = []
    failed: int = 0


class ScoringOptions(msgspec.Struct, frozen=True):
    """What a scorer does besides measuring, and where its results go."""

    on_result: OnResult
    on_record: OnRecord | None = None
    on_verdict: OnVerdict | None = None
    benchmarks: bool = False
    estimates: bool = False
    """Whether verdicts in files may be estimates."""
    asks: bool = False
    """Whether there is a judge or an embedder."""
    on_open: OnOpen | None = None
    """Called with every item that still awaits a verdict."""
    whole: bool = False
    """Whether verdicts score metrics as a whole (C-100)."""
    on_case: OnCase | None = None
    """Receives every case with all its answers, for a report."""
    intervals: bool = True
    """Whether what each call contributes is kept, for intervals."""


class _TaskScoring(msgspec.Struct, frozen=True):
    """How the answers to one task are scored."""

    formula: TaskFormula
    layer: BenchmarkLayer | None
    """The second layer, where it is run and looks at the task."""


class Scorer:
    """Reads and measures the answers to one case after another; adds them to the tallies.

    `models` brings, for each model, the flags that all its results carry.
    """

    def __init__(
        self, catalog: Catalog, models: Mapping[str, Sequence[str]], options: ScoringOptions
    ) -> None:
        self._catalog = catalog
        self._models = models
        self._benchmarks = options.benchmarks
        self._on_open = options.on_open
        self._asks = options.asks or options.on_open is not None
        self._on_result = options.on_result
        self._on_record = options.on_record
        self._on_verdict = options.on_verdict
        self._on_case = options.on_case
        self._estimates = options.estimates
        self._whole = options.whole
        self._intervals = options.intervals
        self._of_task: dict[str, _TaskScoring] = {}
        self.tallies: Tallies = {model: {} for model in models}
        self.findings = Findings()

    def _scoring(self, task: str) -> _TaskScoring:
        found = self._of_task.get(task)
        if found is None:
            suite = self._catalog.suite_of(task)
            layer = None
            if self._benchmarks:
                layer = suite.benchmarks(self._catalog.settings_of(suite))
            if layer is not None and task not in layer.tasks:
                layer = None
            found = self._of_task[task] = _TaskScoring(self._catalog.formula(task), layer)
        return found

    def _tally(self, model: str, task: str) -> TaskTally:
        tallies = self.tallies[model]
        tally = tallies.get(task)
        if tally is None:
            kept = TaskContributions() if self._intervals else None
            tally = tallies[task] = TaskTally(contributions=kept)
        return tally

    def read(
        self,
        opened: LoadedCase,
        answers: Mapping[str, Mapping[int, Reply | Failed]],
        given: GivenVerdicts,
    ) -> ReadCase:
        """The answers of a case by model, with what is still open about each."""
        found: dict[str, list[ParsedReply | tuple[int, Failed]]] = {}
        for model in self._models:
            if runs := answers.get(model):
                read = found[model] = []
                for run in sorted(runs) if len(runs) > 1 else runs:
                    read.append(self._read(opened, model, run, runs[run], given))
        if not given and not self._asks:
            return ReadCase(opened, found)
        asked = self._asked_of_case(opened)
        about_case = [Item(question.metric, question.item) for question in asked]
        given_once = given.get((None, 1), NO_VERDICTS)
        known = {item: given_once[item] for item in about_case if item in given_once}
        if not self._asks:
            return ReadCase(opened, found, (), known)
        return ReadCase(opened, found, opened.rules.left_open(asked, known), known)

    def _asked_of_case(self, opened: LoadedCase) -> Sequence[Question]:
        """What is asked once a case, whatever the models answer        C-74, C-94"""
        layer = self._scoring(opened.task.name).layer
        of_layer = layer.ask_case(opened.case) if layer is not None else ()
        return [*opened.task.ask_case(opened.reference), *of_layer]

    def _read(
        self, opened: LoadedCase, model: str, run: int, reply: Reply | Failed, given: GivenVerdicts
    ) -> ParsedReply | tuple[int, Failed]:
        if isinstance(reply, Failed):
            return run, reply
        task, reference = opened.task, opened.reference
        output = task.read(reference, reply)
        known = _known(opened.rules, given, model, run) if given else NO_VERDICTS
        layer = self._scoring(task.name).layer if self._benchmarks else None
        if isinstance(output, Malformed) or not (self._asks or layer is not None):
            return ParsedReply(model, run, reply, output, None, known, ())
        view = None
        if layer is not None:
            view = layer.view(opened.case, reference, output, reply)
        if not self._asks:
            return ParsedReply(model, run, reply, output, view, known, ())
        asked = list(task.ask(reference, output))
        if layer is not None:
            asked += layer.ask(view)
        questions, excess = opened.rules.bounded(opened.rules.left_open(asked, known))
        if excess:
            known = {**known, **{Item(v.metric, v.item): [v] for v in excess}}
        return ParsedReply(model, run, reply, output, view, known, questions, bool(excess))

    def measure(self, read: ReadCase, examined: ExaminedCase) -> MeasuredCase:
        """Measure every answer of a case; nothing is written or added yet."""
        results, frozen = iter(examined.answers), examined.frozen
        if read.given or read.frozen:
            about_case = {**frozen.verdicts, **read.given}
            frozen = Examined(about_case, frozen.failures)
        measured: dict[str, list[MeasuredAnswer | tuple[int, Failed]]] = {}
        for model, runs in read.answers.items():
            done = measured[model] = []
            for answer in runs:
                if isinstance(answer, ParsedReply):
                    found = next(results, NOTHING_FOUND) if examined.answers else NOTHING_FOUND
                    done.append(self._measured(read.opened, answer, found, frozen))
                else:
                    done.append(answer)
        waiting: Sequence[OpenItem] = ()
        if self._on_open is not None and not self._whole:  # words are never mixed with its scores
            from callscore.evaluate.worklist import waiting_items

            waiting = waiting_items(read, measured, frozen.verdicts)
        return MeasuredCase(read.opened, measured, examined.frozen.verdicts, waiting)

    def add(self, cases: Sequence[MeasuredCase]) -> None:
        """Write what was found on some cases, in their order, and add them up."""
        groups: dict[str, list[_Answered]] = {}
        for measured in cases:
            case = measured.opened.case
            key = call_key(case.call_id, case.id) if self._intervals else 0
            self._emit_case(measured)
            of_task = groups.get(case.task)
            if of_task is None:
                of_task = groups[case.task] = [
                    _Answered(model, self._tally(model, case.task)) for model in self._models
                ]
            for group in of_task:
                runs = measured.answers.get(group.model)
                if runs:
                    self._emit(measured.opened, runs, group)
                    self._charge(key, runs, group)
                else:
                    group.tally.add_not_run()
                    self._on_result(CaseResult(case.id, group.model, 1, case.task, "not_run"))
        for task, of_task in groups.items():
            for group in of_task:
                group.tally.add_calls(group.costs, group.failed)
                if group.cases:
                    self._add_up(task, group)

    def _emit_case(self, measured: MeasuredCase) -> None:
        if self._on_case is not None:
            self._on_case(case_view(measured, self._models))
        if self._on_verdict is not None:
            self._keep(measured.opened.case, None, measured.frozen)
        if self._on_open is not None:
            for item in measured.open_items:
                self._on_open(item)

    def _add_up(self, task: str, group: _Answered) -> None:
        scoring = self._scoring(task)
        group.tally.add_cases(scoring.formula, group.cases, group.charges)
        if scoring.layer is not None:
            suite = self._catalog.suite_of(task)
            limits, ddof = suite.spec.benchmarks.criteria, self._catalog.settings.consistency_ddof
            group.tally.add_benchmarks([answers for _, answers in group.cases], limits, ddof)

    def _charge(
        self, key: int, runs: Sequence[MeasuredAnswer | tuple[int, Failed]], group: _Answered
    ) -> None:
        """Note the call of the case that was emitted last, and what was spent on it."""
        kept = group.tally.contributions
        if kept is None:
            return
        answered = sum(isinstance(run, MeasuredAnswer) for run in runs)
        costs = group.costs[-len(runs) :]
        spend = costs[0] or 0.0 if len(costs) == 1 else math.fsum(cost or 0.0 for cost in costs)
        charge = Charge(key, spend, answered)
        if answered:
            group.charges.append(charge)
        else:
            kept.add_unanswered(charge)

    def _emit(
        self,
        opened: LoadedCase,
        runs: Sequence[MeasuredAnswer | tuple[int, Failed]],
        group: _Answered,
    ) -> None:
        """Write the results of every run of a model on a case; collect those with an answer."""
        case, tally, model = opened.case, group.tally, group.model
        marks = self._models[model]
        answers: list[ScoredReply] = []
        if len(runs) > tally.most_runs:
            tally.most_runs = len(runs)
        for run in runs:
            if isinstance(run, MeasuredAnswer):
                group.costs.append(run.read.reply.cost_usd)
                self._on_result(result_of(case, model, run.read.run, run.answer, marks))
                if run.answer.measured.flags:
                    self.findings.add(model, case.id, run.answer.measured.flags)
                if self._on_record is not None:
                    self._record(opened, run, self._on_record)
                if self._on_verdict is not None:
                    self._keep(case, run.read, run.found)
                answers.append(run.answer)
            else:
                group.failed += 1
                group.costs.append(run[1].cost_usd or 0.0)
                self._on_result(error_of(case, model, *run))
        if answers:
            group.cases.append((case.id, answers))
        else:
            tally.add_error()

    def _measured(
        self, opened: LoadedCase, answer: ParsedReply, found: Examined, frozen: Examined
    ) -> MeasuredAnswer:
        verdicts: Verdicts = answer.given
        if found.verdicts or frozen.verdicts:
            verdicts = {**frozen.verdicts, **found.verdicts, **answer.given}
        measured = opened.task.measure(opened.reference, answer.output, verdicts)
        if added := self._catalog.metrics_of(opened.task.name):
            own = {metric.slug: _added(metric, opened.case, answer, verdicts) for metric in added}
            measured = msgspec.structs.replace(measured, measures={**measured.measures, **own})
        if self._whole or answer.has_excess:
            measured = self._with_given(measured, opened, answer, verdicts)
        if found is not NOTHING_FOUND or self._estimates:
            measured = _as_found(opened.rules, measured, verdicts, found)
        scoring = self._scoring(opened.task.name)
        layer_two = NO_BENCHMARKS
        if scoring.layer is not None:
            failures = {**frozen.failures, **found.failures}
            layer_two = self._second_layer(scoring.layer, opened, answer, verdicts)
            layer_two = opened.rules.with_failures(layer_two, failures)
        scored = ScoredReply(measured, score_case(scoring.formula, measured), layer_two)
        return MeasuredAnswer(answer, scored, verdicts, found.verdicts)

    def _with_given(
        self, measured: Measured, opened: LoadedCase, answer: ParsedReply, verdicts: Verdicts
    ) -> Measured:
        """The measures with the scores of whole metrics, and the flags about verdicts in files."""
        measures, raised = measured.measures, {TOO_MANY} if answer.has_excess else set()
        if self._whole:
            measures = opened.rules.with_whole_scores(measures, verdicts)
            raised |= {*uncited_scores(opened.case, answer)}
        flags = sorted({*measured.flags, *raised}) if raised else measured.flags
        return msgspec.structs.replace(measured, measures=measures, flags=flags)

    def _second_layer(
        self, layer: BenchmarkLayer, opened: LoadedCase, answer: ParsedReply, verdicts: Verdicts
    ) -> Mapping[str, Measure]:
        if answer.view is None:
            measures = layer.malformed(opened.case)
        else:
            measures = layer.measure(answer.view, verdicts)
        return opened.rules.with_whole_scores(measures, verdicts) if self._whole else measures

    def _keep(self, case: Case, answer: ParsedReply | None, verdicts: Verdicts) -> None:
        """Hand on what judge and embedder said, in the form of a verdicts file."""
        assert self._on_verdict is not None  # checked by the caller
        model, run = (answer.model, answer.run) if answer is not None else (None, 1)
        for given in verdicts.values():
            for verdict in given:
                self._on_verdict(verdict_record(case.id, model, run, verdict))

    def _record(self, opened: LoadedCase, measured: MeasuredAnswer, on_record: OnRecord) -> None:
        case, read, answer = opened.case, measured.read, measured.answer
        author = Author(read.model, read.run, read.reply)
        measures = {**answer.measured.measures, **answer.benchmarks}
        verdicts = measured.verdicts
        faults = opened.task.explain(opened.reference, read.output, verdicts)
        for record in records_of(opened.suite, case, author, measures, verdicts, faults):
            on_record(record)


def _known(rules: VerdictRules, given: GivenVerdicts, model: str, run: int) -> Verdicts:
    """What files say about a run of a model, and about that run of every model."""
    known = given.get((model, run), NO_VERDICTS)
    of_all = given.get((None, run))
    return rules.with_shared(known, of_all) if of_all else known


def _added(metric: Metric, case: Case, answer: ParsedReply, verdicts: Verdicts) -> Measure:
    """A metric of another package on one answer."""
    if isinstance(answer.output, Malformed):
        return MALFORMED
    return metric.measure(case, as_json(answer.reply), verdicts)


def _as_found(
    rules: VerdictRules, measured: Measured, verdicts: Verdicts, found: Examined
) -> Measured:
    """The measures, marked where they rest on estimates or a judge could not answer."""
    measures = rules.with_failures(
        rules.mark_approximate(measured.measures, verdicts), found.failures
    )
    causes = [f"unjudged: {why}" for why in found.failures.values()]
    if any(measure.estimated for measure in measures.values()):
        causes.append("estimate")
    flags = sorted({*measured.flags, *found.flags, *causes})
    return Measured(measures, flags, measured.secondary)
