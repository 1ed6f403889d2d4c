"""One case after another: its answers are read, what is open is noted, all is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult
from callscore.core.task import Measured
from callscore.scoring.cases import Opened
from callscore.scoring.examining import NOTHING_FOUND, Examined, Examiner
from callscore.store.records import VerdictRecord
from callscore.suites import catalog
from callscore.suites.calls.approximation import mark_approximate, with_failures
from callscore.suites.calls.asking import left_open, with_common
from callscore.suites.calls.benchmarks import measuring as benchmarks
from callscore.suites.calls.benchmarks.view import Subject
from callscore.suites.calls.benchmarks.words import criteria_of
from callscore.suites.calls.case_score import score_case
from callscore.suites.calls.formula import TaskFormula
from callscore.suites.calls.reading import Parsed, read_object
from callscore.suites.calls.records import Author, Record, faults_of, records_of
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.tally import Answer, TaskTally
from callscore.suites.calls.translation import outcomes

OnResult = Callable[[CaseResult], None]
OnRecord = Callable[[Record], None]
OnVerdict = Callable[[VerdictRecord], None]
TRANSLATION = "translation"
Tallies = dict[str, dict[str, TaskTally]]
GivenVerdicts = Mapping[tuple[str | None, int], Verdicts]
"""What files say, by model and run; None stands for every model."""


class ReadAnswer(msgspec.Struct, frozen=True, gc=False):
    """One answer as its task reads it, what files say about it, and what is still open."""

    model: str
    run: int
    reply: Reply
    output: Any
    subject: Subject | None
    """The answer as the benchmarks see it; None where they are not run, or it has no shape."""
    given: Verdicts
    questions: Sequence[Question]


class ReadCase(msgspec.Struct, frozen=True, gc=False):
    """A case with all its answers, ready to be examined and measured."""

    opened: Opened
    answers: Mapping[str, Sequence[ReadAnswer | tuple[int, Failed]]]
    """By model; a failed run stands with its number."""
    frozen: Sequence[Question] = ()
    """What is asked once a case, before any answer is looked at."""
    given: Verdicts = NO_VERDICTS
    """What files say to that."""


class ExaminedCase(msgspec.Struct, frozen=True):
    """What came back on one case: on its answers, in their order, and on itself."""

    answers: Sequence[Examined]
    frozen: Examined = NOTHING_FOUND


NOT_EXAMINED = ExaminedCase(())


class MeasuredAnswer(msgspec.Struct, frozen=True, gc=False):
    """One answer with its measures and score, and every verdict that they rest on."""

    read: ReadAnswer
    answer: Answer
    verdicts: Verdicts
    found: Verdicts
    """Those that judge and embedder gave just now."""


class MeasuredCase(msgspec.Struct, frozen=True, gc=False):
    """A case with all its answers measured, ready to be added up."""

    opened: Opened
    answers: Mapping[str, Sequence[MeasuredAnswer | tuple[int, Failed]]]
    frozen: Verdicts
    """What judge and embedder said of the case itself."""


async def examine_case(read: ReadCase, examiner: Examiner) -> ExaminedCase:
    """Put everything that is open about a case to judge and embedder, a request an answer.

    What is asked of an answer may rest on what was found about the case, which then comes first.
    """
    import asyncio

    case, answers = read.opened.case, answers_of(read)
    asked = [answer.questions for answer in answers]
    if len(asked) == 1 and not read.frozen and not read.given:
        # Nothing to be done at the same time: a task for each would cost more than it does.
        return ExaminedCase([await examiner.examine(case, asked[0])])
    about_case = asyncio.ensure_future(examiner.examine(case, read.frozen))
    if any(outcomes.is_frozen(Item(q.metric, q.item)) for q in read.frozen) or read.given:
        known = {**(await about_case).verdicts, **read.given}
        asked = [[*answer.questions, *ask_after(read, answer, known)] for answer in answers]
    frozen, *found = await asyncio.gather(
        about_case, *(examiner.examine(case, questions) for questions in asked)
    )
    return ExaminedCase(found, frozen)


def ask_after(read: ReadCase, answer: ReadAnswer, known: Verdicts) -> Sequence[Question]:
    """What is open about an answer once the outcomes of its case are known        C-74"""
    if read.opened.task.name != TRANSLATION or isinstance(answer.output, Malformed):
        return ()
    rendered = answer.output.rendered
    return left_open(outcomes.questions(read.opened.reference, rendered, known), answer.given)


def answers_of(read: ReadCase) -> list[ReadAnswer]:
    """The answers of a case that are answers, in the order of models and runs."""
    return [a for runs in read.answers.values() for a in runs if isinstance(a, ReadAnswer)]


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
        self._asked = set(names) if options.asks else set()
        self._on_result = options.on_result
        self._on_record = options.on_record
        self._on_verdict = options.on_verdict
        self._estimates = options.estimates
        self._formulas: dict[str, TaskFormula] = {}
        self.tallies: Tallies = {model: {} for model in models}

    def _formula(self, task: str) -> TaskFormula:
        formula = self._formulas.get(task)
        if formula is None:
            formula = self._formulas[task] = catalog.formula_for(task, self._settings)
        return formula

    def _tally(self, model: str, task: str) -> TaskTally:
        tallies = self.tallies[model]
        tally = tallies.get(task)
        if tally is None:
            tally = tallies[task] = TaskTally()
        return tally

    def read(
        self,
        opened: Opened,
        answers: Mapping[str, Mapping[int, Reply | Failed]],
        given: GivenVerdicts,
    ) -> ReadCase:
        """The answers of a case by model, with what is still open about each."""
        found: dict[str, Sequence[ReadAnswer | tuple[int, Failed]]] = {}
        for model in self._models:
            if runs := answers.get(model):
                order = sorted(runs) if len(runs) > 1 else runs
                found[model] = [self._read(opened, model, run, runs[run], given) for run in order]
        if not given and opened.task.name not in self._asked:
            return ReadCase(opened, found)
        asked = self._asked_of_case(opened)
        about_case = {Item(question.metric, question.item) for question in asked}
        given_once = given.get((None, 1), NO_VERDICTS)
        known = {item: given_once[item] for item in about_case if item in given_once}
        if opened.task.name not in self._asked:
            return ReadCase(opened, found, (), known)
        return ReadCase(opened, found, left_open(asked, known), known)

    def _asked_of_case(self, opened: Opened) -> Sequence[Question]:
        """What is asked once a case, whatever the models answer        C-74, C-94"""
        name = opened.task.name
        asked = benchmarks.ask_of_case(opened.case) if name in self._benchmarked else ()
        if name == TRANSLATION:
            return [*outcomes.questions_of_case(opened.reference), *asked]
        return asked

    def _read(
        self, opened: Opened, model: str, run: int, reply: Reply | Failed, given: GivenVerdicts
    ) -> ReadAnswer | tuple[int, Failed]:
        if isinstance(reply, Failed):
            return run, reply
        task, reference = opened.task, opened.reference
        output = task.read(reference, reply)
        known = given.get((model, run), NO_VERDICTS)
        if of_everybody := given.get((None, run)):
            known = with_common(known, of_everybody)
        if isinstance(output, Malformed):
            return ReadAnswer(model, run, reply, output, None, known, ())
        subject = None
        if task.name in self._benchmarked:
            subject = self._subject(opened, output, reply)
        questions: Sequence[Question] = ()
        if task.name in self._asked:
            asked = [*task.ask(reference, output), *(benchmarks.ask(subject) if subject else ())]
            questions = left_open(asked, known)
        return ReadAnswer(model, run, reply, output, subject, known, questions)

    def _subject(self, opened: Opened, output: Any, reply: Reply) -> Subject:
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
                if isinstance(answer, ReadAnswer):
                    found = next(results, NOTHING_FOUND)
                    done.append(self._measured(read.opened, answer, found, frozen))
                else:
                    done.append(answer)
        return MeasuredCase(read.opened, measured, examined.frozen.verdicts)

    def add(self, cases: Sequence[MeasuredCase]) -> None:
        """Tell what was found on some cases, in their order, and add them up."""
        answered: dict[tuple[str, str], list[tuple[str, Sequence[Answer]]]] = {}
        for measured in cases:
            case = measured.opened.case
            self._keep(case, None, measured.frozen)
            for model in self._models:
                answers = self._told(measured.opened, model, measured.answers.get(model))
                if answers:
                    answered.setdefault((model, case.task), []).append((case.id, answers))
        for (model, task), found in answered.items():
            tally = self._tally(model, task)
            tally.add_cases(self._formula(task), found)
            if task in self._benchmarked:
                for _, answers in found:
                    tally.add_benchmarks(answers, self._settings.consistency_ddof)

    def _told(
        self, opened: Opened, model: str, runs: Sequence[MeasuredAnswer | tuple[int, Failed]] | None
    ) -> Sequence[Answer]:
        """Tell about every run of a model on a case; those that were answered."""
        case = opened.case
        tally = self._tally(model, case.task)
        if not runs:
            tally.add_not_run()
            self._on_result(CaseResult(case.id, model, 1, case.task, "not_run"))
            return ()
        answers: list[Answer] = []
        tally.most_runs = max(tally.most_runs, len(runs))
        for run in runs:
            if isinstance(run, MeasuredAnswer):
                tally.add_call(run.read.reply.cost_usd)
                self._tell(opened, run)
                self._keep(case, run.read, run.found)
                answers.append(run.answer)
            else:
                tally.add_failed_call(run[1].cost_usd)
                self._on_result(_error(case, model, *run))
        if not answers:
            tally.add_error()
        return answers

    def _measured(
        self, opened: Opened, answer: ReadAnswer, found: Examined, frozen: Examined
    ) -> MeasuredAnswer:
        verdicts: Verdicts = answer.given
        if found.verdicts or frozen.verdicts:
            verdicts = {**frozen.verdicts, **found.verdicts, **answer.given}
        measured = self._measure(opened, answer.output, verdicts, found)
        layer_two: Mapping[str, Measure] = {}
        if opened.task.name in self._benchmarked:
            layer_two = (
                benchmarks.malformed(opened.case)
                if answer.subject is None
                else benchmarks.measure(answer.subject, verdicts)
            )
            layer_two = with_failures(layer_two, {**frozen.failures, **found.failures})
        score = score_case(self._formula(opened.task.name), measured)
        scored = Answer(measured, score, layer_two)
        return MeasuredAnswer(answer, scored, verdicts, found.verdicts)

    def _keep(self, case: Case, answer: ReadAnswer | None, verdicts: Verdicts) -> None:
        """Hand on what judge and embedder said, in the form of a verdicts file."""
        if self._on_verdict is None:
            return
        for given in verdicts.values():
            for verdict in given:
                self._on_verdict(_verdict_record(case, answer, verdict))

    def _tell(self, opened: Opened, measured: MeasuredAnswer) -> None:
        case, read, answer = opened.case, measured.read, measured.answer
        self._on_result(_result(case, read, answer, self._models[read.model]))
        if self._on_record is not None:
            author = Author(read.model, read.run, read.reply)
            measures = {**answer.measured.measures, **answer.benchmarks}
            verdicts = measured.verdicts
            faults = faults_of(case.task, opened.reference, read.output, verdicts)
            for record in records_of(case, author, measures, verdicts, faults):
                self._on_record(record)

    def _measure(
        self, opened: Opened, output: Any, verdicts: Verdicts, found: Examined
    ) -> Measured:
        measured = opened.task.measure(opened.reference, output, verdicts)
        if found is NOTHING_FOUND and not self._estimates:
            return measured
        measures = with_failures(mark_approximate(measured.measures, verdicts), found.failures)
        causes = (f"unjudged: {why}" for why in found.failures.values())
        flags = sorted({*measured.flags, *found.flags, *causes})
        return Measured(measures, flags, measured.secondary)


def _result(case: Case, answer: ReadAnswer, scored: Answer, marks: Sequence[str]) -> CaseResult:
    score, flags, metrics = scored.score, scored.measured.flags, scored.score.values
    if scored.benchmarks:
        second = {slug: measure.value for slug, measure in scored.benchmarks.items()}
        metrics = {**metrics, **second}
    return CaseResult(
        case.id,
        answer.model,
        answer.run,
        case.task,
        score.status,
        score.score,
        score.ungated_score,
        score.reasons,
        sorted({*flags, *marks}) if marks else flags,
        metrics,
    )


def _verdict_record(case: Case, answer: ReadAnswer | None, verdict: Verdict) -> VerdictRecord:
    """A verdict with whose answer it is about; without one it is about the case itself."""
    return VerdictRecord(
        case_id=case.id,
        metric=verdict.metric,
        item=verdict.item,
        model=answer.model if answer is not None else None,
        run=answer.run if answer is not None else 1,
        verdict=verdict.verdict,
        value=verdict.value,
        text=verdict.text,
        quote=verdict.quote,
        source=verdict.source,
        by=verdict.by,
        approximate=verdict.approximate,
    )


def _error(case: Case, model: str, run: int, failure: Failed) -> CaseResult:
    return CaseResult(case.id, model, run, case.task, "error", flags=(failure.why,))
