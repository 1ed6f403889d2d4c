"""The orchestration suite in a run: steps to ask, and the stored answers scored as recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from callscore.app_orchestration import language_of, read_cards, result_document, shown_path
from callscore.config.scenarios import Departure, ScenarioData, ScenarioSettings
from callscore.core.case import Case, Failed, Reply
from callscore.core.errors import DataError
from callscore.core.scorecard import CaseResult, Status
from callscore.core.task import SCENARIO
from callscore.core.version import __version__
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.model_identity import AnsweredBy
from callscore.evaluate.scorer import OnRecord
from callscore.evaluate.step_judging import JudgedSteps, judge_steps
from callscore.evaluate.step_verdicts import StepVerdicts, with_unused
from callscore.evaluate.worklist import open_items
from callscore.runner.cases import Asked, Survey
from callscore.runner.scenario_outputs import public_output
from callscore.runner.scenario_replies import (
    NOT_RUN,
    ScenarioReplies,
    Usage,
    asked_and_answered,
    latency_of,
    usage_of_scenarios,
)
from callscore.runner.step_gold import gold_of
from callscore.store.orchestration_files import read_text, scenario_files
from callscore.store.worklists import OpenItem
from callscore.suites.orchestration import result as outcomes
from callscore.suites.orchestration.call.questions import Unanswered
from callscore.suites.orchestration.compat.evaluation import evaluate_file
from callscore.suites.orchestration.headline import Headline
from callscore.suites.orchestration.identity import scenarios_hash
from callscore.suites.orchestration.records import StepRecord
from callscore.suites.orchestration.result import About, LanguageResult, Mode
from callscore.suites.orchestration.rows import FailedRow, Row
from callscore.suites.orchestration.scenario.cases import StepCase, step_cases
from callscore.suites.orchestration.scenario.protocol import (
    Protocol,
    bundled,
    with_public_prompts,
)
from callscore.suites.orchestration.scenario.reading import Place, read_scenario
from callscore.suites.orchestration.scenario.values import AgentStep, RawStep, Scenario
from callscore.suites.orchestration.settings import History
from callscore.suites.orchestration.standard import Evaluated, OpenStep, evaluate, open_steps

if TYPE_CHECKING:
    from callscore.runner.free_scores import FreeScoring

TASK = "orchestration"
READ_BY_DOCUMENT = "standard_reading"
"""Of a step's result in a run that is scored as the public evaluator does."""

StoredAnswers = Callable[[str, str], Mapping[int, Reply | Failed]]
"""What was stored of a model for a case id, by run."""
OnResult = Callable[[CaseResult], None]
OnScenario = Callable[[ScenarioReplies, Sequence[StepRecord]], None]


class ScenarioScore(msgspec.Struct, frozen=True):
    """The result document of one model, and its four numbers as a gate sees them."""

    document: dict[str, Any]
    headline: Headline


def chosen_protocol(settings: ScenarioSettings) -> Protocol:
    """How models are asked; raises DataError where the user's prompts cannot be used."""
    if settings.prompts is None:
        return bundled(settings.protocol)
    try:
        return with_public_prompts(read_text(settings.prompts))
    except DataError as error:
        raise error.located(str(settings.prompts)) from None


class ScenarioSet:
    """The scenarios of one language with their cards, read when they are asked for."""

    def __init__(
        self, data: ScenarioData, limit: int | None = None, protocol: Protocol | None = None
    ) -> None:
        self.protocol = protocol or bundled("callscore")
        self.folder = data.scenarios
        self.cards, self._cards_hash = read_cards(data.cards)
        self.lang = language_of(data.scenarios)
        self._paths = scenario_files(data.scenarios)[:limit]
        self.digest = ""
        """Hash of the content of cards and scenarios, as `score` has it        C-134"""

    def scenarios(self) -> Iterator[Scenario]:
        """Every scenario; raises DataError with the file where one is none."""
        for path in self._paths:
            try:
                yield read_scenario(read_text(path), Place(self.lang, path.stem), self.cards)
            except DataError as error:
                raise error.located(str(path)) from None

    def askable(self, scenario: Scenario) -> list[StepCase]:
        """The steps of agents with a card: without one there is no tool to call."""
        return [
            case
            for case in step_cases(scenario, self.cards, self.protocol)
            if not isinstance(case.step, AgentStep) or case.step.has_card
        ]

    def hashed(self, steps: Iterable[tuple[str, Sequence[RawStep]]]) -> str:
        """Data and protocol: answers that were asked for otherwise are not scored as these."""
        self.digest = scenarios_hash(self._cards_hash, steps)
        named = "" if self.protocol.name == "callscore" else f":{self.protocol.signature}"
        return self.digest + named

    def shown_path(self, scenario_id: str) -> str:
        """The scenario's file as results name it        C-121"""
        found = (path for path in self._paths if path.stem == scenario_id)
        return shown_path(next(found, self.folder))


class ScenarioSubjects:
    """Every step that a model is asked, as a case with its gold."""

    def __init__(self, sets: Sequence[ScenarioSet]) -> None:
        self._sets = sets

    def survey(self) -> Survey:
        """Read and hash every scenario."""
        ids: list[str] = []
        digests = []
        for part in self._sets:
            raw = []
            for scenario in part.scenarios():
                raw.append((scenario.id, scenario.raw))
                ids += [step.id for step in part.askable(scenario)]
            digests.append(part.hashed(raw))
        return Survey(ids, "+".join(digests))

    def stream(self) -> Iterator[Asked]:
        """Every step of every scenario."""
        for part in self._sets:
            for scenario in part.scenarios():
                for step in part.askable(scenario):
                    yield as_asked(step)


def as_asked(step: StepCase, case_id: str = "") -> Asked:
    """The step as a case with its gold, under its own id or another."""
    return Asked(Case(case_id or step.id, SCENARIO, "", {}, gold_of(step.step)), step.prompt)


class ScenarioAnswers(msgspec.Struct, frozen=True):
    """What the models of a run answered to some sets of scenarios."""

    sets: Sequence[ScenarioSet]
    models: Sequence[str]
    stored: StoredAnswers
    repeats: int
    answered_by: AnsweredBy
    verdicts: StepVerdicts = StepVerdicts()
    """What the files of the run say about values that code cannot compare."""
    mode: Mode = "standard"
    history: History = "gold"
    departures: Sequence[Departure] = ()
    """Where models were not asked as the protocol has it."""

    def replies(self, model: str, part: ScenarioSet, scenario: Scenario) -> ScenarioReplies:
        """The answers of one model to one scenario."""
        cases = part.askable(scenario)
        stored = {case.id: self.stored(model, case.id) for case in cases}
        steps = list(asked_and_answered(cases, stored, self.repeats))
        return ScenarioReplies(scenario, model, self.repeats, steps)


class Listeners(NamedTuple):
    """Who is told of every step's result, and of every scenario with its records."""

    on_result: OnResult
    on_scenario: OnScenario | None = None
    on_free: OnScenario | None = None
    """Of scenarios in the pass with the model's own history."""
    on_record: OnRecord | None = None


Judged = Mapping[tuple[str, Path], JudgedSteps]
"""What a judge said, by model and folder of scenarios."""


async def judge_scenarios(given: ScenarioAnswers, examiner: JudgeRunner) -> Judged:
    """Put every value that code cannot compare, and no file has decided, to the judge."""
    try:
        return {
            (model, part.folder): await judge_steps(
                _open_steps(given, model, part), examiner, model
            )
            for model in given.models
            for part in given.sets
        }
    finally:
        await examiner.close()


def open_values(given: ScenarioAnswers, judged: Judged) -> Iterator[OpenItem]:
    """Every value that neither code nor files nor the judge has compared, for people to decide."""
    for model in given.models:
        for part in given.sets:
            said = judged.get((model, part.folder))
            known = said.verdicts if said is not None else {}
            for step in _open_steps(given, model, part):
                left = [q for q in step.questions if (step.case_id, step.run, q.item) not in known]
                yield from open_items(step.case_id, model, step.run, left)


def _open_steps(given: ScenarioAnswers, model: str, part: ScenarioSet) -> Iterator[OpenStep]:
    recorded = given.verdicts.of(model, part.lang)
    for scenario in part.scenarios():
        recording = given.replies(model, part, scenario).recording()
        with suppress(DataError):  # an outage: the scenario fails when it is scored
            place = Place(part.lang, scenario.id)
            yield from list(open_steps(recording, place, part.cards, recorded))


def score_scenarios(
    given: ScenarioAnswers, judged: Judged, listeners: Listeners
) -> dict[str, ScenarioScore]:
    """The result of every model, from what was stored."""
    found = {}
    for model in given.models:
        scored = [
            _Scoring(given, model, part, judged.get((model, part.folder))).outcome(listeners)
            for part in given.sets
        ]
        if listeners.on_record is not None:
            _record(scored, listeners.on_record)
        named = [_named(outcome, given) for outcome in scored]
        found[model] = ScenarioScore(result_document(named), outcomes.headline(scored))
    return found


def _record(scored: Sequence[LanguageResult], on_record: OnRecord) -> None:
    """One record a step, run and metric (`--records`)."""
    from callscore.suites.orchestration.metric_records import metric_records

    for outcome in scored:
        for step in outcome.records:
            for record in metric_records(step, outcome.about.model):
                on_record(record)


def _named(outcome: LanguageResult, given: ScenarioAnswers) -> LanguageResult:
    """The result, with the names under which the model answered where it was asked by another."""
    model = outcome.about.model
    about = msgspec.structs.replace(outcome.about, answered_by=given.answered_by.identity(model))
    asked_otherwise = [str(each) for each in given.departures if each.model in (None, model)]
    warnings = (*outcome.warnings, *asked_otherwise, *given.answered_by.notes_on(model))
    return msgspec.structs.replace(outcome, about=about, warnings=warnings)


class _Scoring:
    """One model's answers to one set, and who knows what code cannot compare in them."""

    def __init__(
        self, given: ScenarioAnswers, model: str, part: ScenarioSet, judged: JudgedSteps | None
    ) -> None:
        self._given, self._model, self._part, self._judged = given, model, part, judged
        self._recorded = given.verdicts.of(model, part.lang)
        self._known = self._recorded if judged is None else judged.after(self._recorded)
        self._evaluated: list[Evaluated] = []
        self._public_rows: list[Row] = []
        self._failed: list[FailedRow] = []
        self._used: dict[str, Usage] = {}

    def outcome(self, listeners: Listeners) -> LanguageResult:
        """The result of every scenario; each is let go when it is scored."""
        part, shown = self._part, shown_path(self._part.folder)
        free = self._free_scoring()
        for scenario in part.scenarios():
            replies = self._given.replies(self._model, part, scenario)
            records = self._score(replies, part.shown_path(scenario.id), listeners.on_result)
            self._used[scenario.id] = replies.usage()
            if listeners.on_scenario is not None:
                listeners.on_scenario(replies, records)
            if free is not None:
                free.add(replies, listeners.on_free)
        about = About(
            shown,
            part.lang,
            self._model,
            self._given.verdicts.source,
            part.digest,
            __version__,
            protocol=part.protocol.signature,
            usage=usage_of_scenarios(self._used),
            free_running=None if free is None else free.document(),
        )
        about = about if self._judged is None else self._judged.told(about)
        return with_unused(self._outcome(about), self._recorded)

    def _free_scoring(self) -> FreeScoring | None:
        if self._given.history != "own":
            return None
        from callscore.runner.free_scores import FreeScoring

        return FreeScoring(self._given, self._model, self._part)

    def _outcome(self, about: About) -> LanguageResult:
        if self._given.mode == "compat":
            return outcomes.compat_outcome(about, self._public_rows, self._failed)
        return outcomes.standard_outcome(about, self._evaluated, self._failed)

    def _score(
        self, replies: ScenarioReplies, path: str, on_result: OnResult
    ) -> Sequence[StepRecord]:
        """The records of one scenario, told one by one; none where an answer is missing."""
        try:
            evaluated = self._evaluate(replies, path)
        except DataError as error:
            self._failed.append(FailedRow(path, error.problem))
            for result in _failures(replies):
                on_result(result)
            return ()
        self._evaluated.append(evaluated)
        answers = replies.by_step()
        for record in evaluated.records:
            on_result(_result(record, self._model, answers, self._given.mode))
        return evaluated.records

    def _evaluate(self, replies: ScenarioReplies, path: str) -> Evaluated:
        part, scenario = self._part, replies.scenario
        if self._given.mode == "standard":
            place = Place(part.lang, scenario.id)
            return evaluate(replies.recording(), place, part.cards, self._known, path)
        # The records say step by step what was right; the numbers are the public evaluator's.
        apart = self._given.verdicts.of(self._model, part.lang)
        place = Place(part.lang, scenario.id)
        evaluated = evaluate(replies.recording(), place, part.cards, apart, path)
        if replies.missing:
            raise DataError(f"error: {replies.missing}")
        schemas = {name: tool.parameters for name, tool in part.cards.tools.items()}
        prefix = f"{part.lang}/{scenario.id}"
        known = self._known if self._given.verdicts.records else Unanswered()
        row = evaluate_file(public_output(replies), path, schemas, known, prefix)
        self._public_rows.append(row)
        return evaluated


def _failures(replies: ScenarioReplies) -> Iterator[CaseResult]:
    """The steps behind a scenario that could not be scored: each with its cause."""
    for step in sorted(replies.steps, key=lambda step: (step.run, step.case.step_id)):
        if isinstance(step.found, Reply):
            continue
        status: Status = "not_run" if step.found is None else "error"
        why = NOT_RUN if step.found is None else step.found.why or step.found.stage
        yield CaseResult(step.case.id, replies.model, step.run, TASK, status, flags=(why,))


def _result(
    record: StepRecord, model: str, answers: Mapping[tuple[str, int], Reply], mode: Mode
) -> CaseResult:
    metrics: dict[str, float | None] = {"orchestration.success": float(record.success)}
    if record.plan is not None:
        metrics["orchestration.plan"] = record.plan.score
    if record.call is not None:
        metrics |= {
            "orchestration.name": record.call.name,
            "orchestration.key": record.call.key,
            "orchestration.value": record.call.value,
        }
    reply = answers.get((record.case_id, record.run))
    if reply is not None:
        metrics |= {
            "orchestration.input_tokens": reply.input_tokens,
            "orchestration.output_tokens": reply.output_tokens,
            "orchestration.cost_usd": reply.cost_usd,
            "orchestration.latency_ms": latency_of(reply),
        }
    return CaseResult(
        record.case_id,
        model,
        record.run,
        TASK,
        "valid",
        score=float(record.success),
        ungated_score=float(record.success),
        reasons=tuple(difference.kind for difference in record.differences),
        flags=(*record.flags, *(() if mode == "standard" else (READ_BY_DOCUMENT,))),
        metrics=metrics,
    )
