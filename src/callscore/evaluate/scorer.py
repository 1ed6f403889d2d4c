"""One case after another: its answers are read, what is open is noted, all is measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.case import Case, Failed, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult
from callscore.core.task import Measured
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
from callscore.evaluate.judging import NOTHING_FOUND, Examined
from callscore.evaluate.results import error_of, result_of, verdict_record
from callscore.report.source import CaseView
from callscore.stats.contributions import Charge, TaskContributions, call_key
from callscore.store.verdict_records import VerdictRecord
from callscore.store.worklists import OnOpen, OpenItem
from callscore.suites import catalog
from callscore.suites.calls.approximation import mark_approximate, with_failures
from callscore.suites.calls.benchmarks.words import criteria_of
from callscore.suites.calls.case_score import score_case
from callscore.suites.calls.formula import TaskFormula
from callscore.suites.calls.parse import Parsed, read_object
from callscore.suites.calls.questions import TOO_MANY, bounded, left_open, with_common
from callscore.suites.calls.records import Author, Record, faults_of, records_of
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.tally import ScoredReply, TaskTally
from callscore.suites.calls.translation import outcomes
from callscore.suites.calls.whole_scores import with_whole_scores

if TYPE_CHECKING:  # the second layer is imported where somebody asks for it
    from callscore.suites.calls.benchmarks.view import Subject

OnResult = Callable[[CaseResult], None]
OnRecord = Callable[[Record], None]
OnVerdict = Callable[[VerdictRecord], None]
OnCase = Callable[[CaseView], None]
TRANSLATION = "translation"
Tallies = dict[str, dict[str, TaskTally]]
GivenVerdicts = Mapping[tuple[str | None, int], Verdicts]
"""What files say, by model and run; None stands for every model."""
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
    """What a scorer does beside measuring, and where its results go."""

    on_result: OnResult
    on_record: OnRecord | None = None
    on_verdict: OnVerdict | None = None
    benchmarks: bool = False
    estimates: bool = False
    """Whether verdicts in files may be estimates."""
    asks: bool = False
    """Whether anybody is there to answer questions."""
    on_open: OnOpen | None = None
    """Who is told what still awaits a verdict."""
    whole: bool = False
    """Whether verdicts score metrics as a whole (C-100)."""
    on_case: OnCase | None = None
    """Receives every case with all its answers, for a report."""
    intervals: bool = True
    """Whether what each call contributes is kept, for intervals."""


class _Formulas(dict[str, TaskFormula]):
    """The formulas of the tasks by name, each made when it is first asked for."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    def __missing__(self, task: str) -> TaskFormula:
        formula = self[task] = catalog.formula_for(task, self._settings)
        return formula


class Scorer:
    """Reads and measures the answers to one case after another; the tallies are what it leaves.

    `models` brings, for each model, the flags that all its results carry.
    """

    def __init__(
        self, settings: Settings, models: Mapping[str, Sequence[str]], options: ScoringOptions
    ) -> None:
        self._settings = settings
        self._models = models
        names = catalog.tasks(settings)
        self._benchmarked = {name for name in names if options.benchmarks and criteria_of(name)}
        self._on_open = options.on_open
        self._asked = set(names) if options.asks or options.on_open is not None else set()
        self._looked_into = self._benchmarked | self._asked
        self._on_result = options.on_result
        self._on_record = options.on_record
        self._on_verdict = options.on_verdict
        self._on_case = options.on_case
        self._estimates = options.estimates
        self._whole = options.whole
        self._intervals = options.intervals
        self._formulas = _Formulas(settings)
        self.tallies: Tallies = {model: {} for model in models}

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
        if not given and opened.task.name not in self._asked:
            return ReadCase(opened, found)
        asked = self._asked_of_case(opened)
        about_case = [Item(question.metric, question.item) for question in asked]
        given_once = given.get((None, 1), NO_VERDICTS)
        known = {item: given_once[item] for item in about_case if item in given_once}
        if opened.task.name not in self._asked:
            return ReadCase(opened, found, (), known)
        return ReadCase(opened, found, left_open(asked, known), known)

    def _asked_of_case(self, opened: LoadedCase) -> Sequence[Question]:
        """What is asked once a case, whatever the models answer        C-74, C-94"""
        name = opened.task.name
        asked: Sequence[Question] = ()
        if name in self._benchmarked:
            from callscore.suites.calls.benchmarks.measuring import ask_of_case

            asked = ask_of_case(opened.case)
        if name == TRANSLATION:
            return [*outcomes.questions_of_case(opened.reference), *asked]
        return asked

    def _read(
        self, opened: LoadedCase, model: str, run: int, reply: Reply | Failed, given: GivenVerdicts
    ) -> ParsedReply | tuple[int, Failed]:
        if isinstance(reply, Failed):
            return run, reply
        task, reference = opened.task, opened.reference
        output = task.read(reference, reply)
        known = _known(given, model, run) if given else NO_VERDICTS
        if task.name not in self._looked_into or isinstance(output, Malformed):
            return ParsedReply(model, run, reply, output, None, known, ())
        subject = None
        if task.name in self._benchmarked:
            subject = self._subject(opened, output, reply)
        questions: Sequence[Question] = ()
        if task.name in self._asked:
            asked = list(task.ask(reference, output))
            if subject:
                from callscore.suites.calls.benchmarks.measuring import ask

                asked += ask(subject)
            questions, excess = bounded(left_open(asked, known))
            if excess:
                known = {**known, **{Item(v.metric, v.item): [v] for v in excess}}
                return ParsedReply(model, run, reply, output, subject, known, questions, True)
        return ParsedReply(model, run, reply, output, subject, known, questions)

    def _subject(self, opened: LoadedCase, output: Any, reply: Reply) -> Subject:
        from callscore.suites.calls.benchmarks.view import Subject

        parsed = read_object(reply, self._settings.parse)
        assert isinstance(parsed, Parsed)  # the task has read the same reply
        return Subject(opened.case, opened.reference, output, parsed.value)

    def measure(self, read: ReadCase, examined: ExaminedCase) -> MeasuredCase:
        """Measure every answer of a case; nothing is told or added yet."""
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
        """Tell what was found on some cases, in their order, and add them up."""
        groups: dict[str, list[_Answered]] = {}
        for measured in cases:
            case = measured.opened.case
            key = call_key(case.call_id, case.id) if self._intervals else 0
            self._tell_of_case(measured)
            of_task = groups.get(case.task)
            if of_task is None:
                of_task = groups[case.task] = [
                    _Answered(model, self._tally(model, case.task)) for model in self._models
                ]
            for group in of_task:
                runs = measured.answers.get(group.model)
                if runs:
                    self._tell(measured.opened, runs, group)
                    self._charge(key, runs, group)
                else:
                    group.tally.add_not_run()
                    self._on_result(CaseResult(case.id, group.model, 1, case.task, "not_run"))
        for task, of_task in groups.items():
            for group in of_task:
                group.tally.add_calls(group.costs, group.failed)
                if group.cases:
                    self._add_up(task, group)

    def _tell_of_case(self, measured: MeasuredCase) -> None:
        if self._on_case is not None:
            self._on_case(case_view(measured, self._models))
        if self._on_verdict is not None:
            self._keep(measured.opened.case, None, measured.frozen)
        if self._on_open is not None:
            for item in measured.open_items:
                self._on_open(item)

    def _add_up(self, task: str, group: _Answered) -> None:
        group.tally.add_cases(self._formulas[task], group.cases, group.charges)
        if task in self._benchmarked:
            answered = [answers for _, answers in group.cases]
            group.tally.add_benchmarks(answered, self._settings.consistency_ddof)

    def _charge(
        self, key: int, runs: Sequence[MeasuredAnswer | tuple[int, Failed]], group: _Answered
    ) -> None:
        """Note which call the case belongs to that was told last, and what was spent on it."""
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

    def _tell(
        self,
        opened: LoadedCase,
        runs: Sequence[MeasuredAnswer | tuple[int, Failed]],
        group: _Answered,
    ) -> None:
        """Tell about every run of a model on a case; those that were answered are put by."""
        case, tally, model = opened.case, group.tally, group.model
        marks = self._models[model]
        answers: list[ScoredReply] = []
        if len(runs) > tally.most_runs:
            tally.most_runs = len(runs)
        for run in runs:
            if isinstance(run, MeasuredAnswer):
                group.costs.append(run.read.reply.cost_usd)
                self._on_result(result_of(case, model, run.read.run, run.answer, marks))
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
        if self._whole:
            scored_whole = with_whole_scores(measured.measures, verdicts)
            measured = msgspec.structs.replace(measured, measures=scored_whole)
        if self._whole and (uncited := uncited_scores(opened.case, answer)):
            measured = msgspec.structs.replace(measured, flags=sorted({*measured.flags, *uncited}))
        if answer.has_excess:
            measured = msgspec.structs.replace(measured, flags=sorted({*measured.flags, TOO_MANY}))
        if found is not NOTHING_FOUND or self._estimates:
            measured = _as_found(measured, verdicts, found)
        layer_two = NO_BENCHMARKS
        if opened.task.name in self._benchmarked:
            from callscore.suites.calls.benchmarks.measuring import malformed, measure

            layer_two = (
                malformed(opened.case)
                if answer.subject is None
                else measure(answer.subject, verdicts)
            )
            if self._whole:
                layer_two = with_whole_scores(layer_two, verdicts)
            layer_two = with_failures(layer_two, {**frozen.failures, **found.failures})
        score = score_case(self._formulas[opened.task.name], measured)
        scored = ScoredReply(measured, score, layer_two)
        return MeasuredAnswer(answer, scored, verdicts, found.verdicts)

    def _keep(self, case: Case, answer: ParsedReply | None, verdicts: Verdicts) -> None:
        """Hand on what judge and embedder said, in the form of a verdicts file."""
        assert self._on_verdict is not None  # nobody else calls this
        model, run = (answer.model, answer.run) if answer is not None else (None, 1)
        for given in verdicts.values():
            for verdict in given:
                self._on_verdict(verdict_record(case.id, model, run, verdict))

    def _record(self, opened: LoadedCase, measured: MeasuredAnswer, on_record: OnRecord) -> None:
        case, read, answer = opened.case, measured.read, measured.answer
        author = Author(read.model, read.run, read.reply)
        measures = {**answer.measured.measures, **answer.benchmarks}
        verdicts = measured.verdicts
        faults = faults_of(case.task, opened.reference, read.output, verdicts)
        for record in records_of(case, author, measures, verdicts, faults):
            on_record(record)


def _known(given: GivenVerdicts, model: str, run: int) -> Verdicts:
    """What files say about a run of a model, and about that run of every model."""
    known = given.get((model, run), NO_VERDICTS)
    of_everybody = given.get((None, run))
    return with_common(known, of_everybody) if of_everybody else known


def _as_found(measured: Measured, verdicts: Verdicts, found: Examined) -> Measured:
    """The measures, marked where they rest on estimates or nobody could be asked."""
    measures = with_failures(mark_approximate(measured.measures, verdicts), found.failures)
    causes = [f"unjudged: {why}" for why in found.failures.values()]
    if any(measure.estimated for measure in measures.values()):
        causes.append("estimate")
    flags = sorted({*measured.flags, *found.flags, *causes})
    return Measured(measures, flags, measured.secondary)
