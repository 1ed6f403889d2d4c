"""The orchestration suite in a run: steps to ask, and the stored answers scored as recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.app_orchestration import language_of, read_cards, result_document, shown_path
from callscore.core.case import Case, Failed, Reply
from callscore.core.errors import DataError
from callscore.core.scorecard import CaseResult, Status
from callscore.core.version import __version__
from callscore.evalfile.config import ScenarioData
from callscore.providers.degrading import SCENARIO
from callscore.running.asked import Asked, Survey
from callscore.scoring.answered_by import AnsweredBy
from callscore.scoring.casework import OnRecord
from callscore.scoring.examining import Examiner
from callscore.scoring.step_judging import JudgedSteps, judge_steps
from callscore.scoring.step_verdicts import StepVerdicts, with_unused
from callscore.scoring.worklist import open_items
from callscore.store.orchestration_files import read_text, scenario_files
from callscore.store.worklists import OpenItem
from callscore.suites.orchestration import outcome as outcomes
from callscore.suites.orchestration.headline import Headline
from callscore.suites.orchestration.identity import scenarios_hash
from callscore.suites.orchestration.outcome import About, Outcome
from callscore.suites.orchestration.plan.values import Plan
from callscore.suites.orchestration.records import StepRecord
from callscore.suites.orchestration.rows import FailedRow
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.cases import StepCase, step_cases
from callscore.suites.orchestration.scenario.reading import Place, read_scenario
from callscore.suites.orchestration.scenario.recording import Answer, Recording, Run
from callscore.suites.orchestration.scenario.values import CallsDue, PlanStep, Scenario
from callscore.suites.orchestration.standard import Evaluated, OpenStep, evaluate, open_steps

TASK = "orchestration"
NOT_RUN = "not run"

StoredAnswers = Callable[[str, str], Mapping[int, Reply | Failed]]
"""What was stored of a model for a case id, by run."""
OnResult = Callable[[CaseResult], None]


class ScenarioScore(msgspec.Struct, frozen=True):
    """The result document of one model, and its four numbers as a gate sees them."""

    document: dict[str, Any]
    headline: Headline


class ScenarioSet:
    """The scenarios of one language with their cards, read when they are asked for."""

    def __init__(self, data: ScenarioData, limit: int | None = None) -> None:
        self.folder = data.scenarios
        self.cards, self._cards_hash = read_cards(data.cards)
        self.lang = language_of(data.scenarios)
        self._paths = scenario_files(data.scenarios)[:limit]

    def scenarios(self) -> Iterator[Scenario]:
        """Every scenario; raises DataError with the file where one is none."""
        for path in self._paths:
            try:
                yield read_scenario(read_text(path), Place(self.lang, path.stem), self.cards)
            except DataError as error:
                raise error.located(str(path)) from None

    def digest(self) -> str:
        """Hash of the content of cards and scenarios, as `score` has it        C-134"""
        steps = ((scenario.id, scenario.raw) for scenario in self.scenarios())
        return scenarios_hash(self._cards_hash, steps)

    def shown_path(self, scenario_id: str) -> str:
        """The scenario's file as results name it        C-121"""
        found = (path for path in self._paths if path.stem == scenario_id)
        return shown_path(next(found, self.folder))


class ScenarioSubjects:
    """Every step that a model is asked, as a case with its gold."""

    def __init__(self, sets: Sequence[ScenarioSet]) -> None:
        self._sets = sets

    def survey(self) -> Survey:
        """Read every scenario."""
        cases = sum(1 for _ in self.stream())
        return Survey(cases, "+".join(part.digest() for part in self._sets))

    def stream(self) -> Iterator[Asked]:
        """Every step of every scenario."""
        for part in self._sets:
            for scenario in part.scenarios():
                for step in _askable(scenario, part.cards):
                    yield Asked(Case(step.id, SCENARIO, "", {}, _gold(step)), step.prompt)


def _askable(scenario: Scenario, cards: Cards) -> list[StepCase]:
    """The steps of agents with a card: without one there is no tool to call."""
    return [
        case
        for case in step_cases(scenario, cards)
        if isinstance(case.step, PlanStep) or case.step.has_card
    ]


def _gold(step: StepCase) -> dict[str, Any]:
    """What a perfect model would answer: a plan, calls, or the text of a rejection."""
    due = step.step
    if isinstance(due, PlanStep):
        return {"plan": _plan(due.gold)}
    if isinstance(due.due, CallsDue):
        calls = [msgspec.structs.asdict(call) for call in due.due.calls]
        return {"calls": calls or [{"name": due.due.tool, "arguments": {}}]}
    return {"text": f"<response><status>{due.due.type}</status></response>"}


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        workflow.name: {
            "status": workflow.status,
            "steps": [
                {"status": step.status, "agent_id": step.agent, "refined_query": step.query}
                for step in workflow.steps
            ],
            **({"depends_on": list(workflow.depends_on)} if workflow.depends_on else {}),
        }
        for workflow in plan.workflows
    }


class ScenarioAnswers(msgspec.Struct, frozen=True):
    """What the models of a run answered to some sets of scenarios."""

    sets: Sequence[ScenarioSet]
    models: Sequence[str]
    stored: StoredAnswers
    repeats: int
    answered_by: AnsweredBy
    verdicts: StepVerdicts = StepVerdicts()
    """What the files of the run say about values that code cannot compare."""

    def of(self, model: str) -> _Answers:
        """The answers of one model."""
        return _Answers(model, self.stored, self.repeats)


Judged = Mapping[tuple[str, Path], JudgedSteps]
"""What a judge said, by model and folder of scenarios."""


async def judge_scenarios(given: ScenarioAnswers, examiner: Examiner) -> Judged:
    """Put every value that code cannot compare, and no file has decided, to the judge."""
    try:
        return {
            (model, part.folder): await judge_steps(
                _open_steps(part, given.of(model), given.verdicts), examiner, model
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
            for step in _open_steps(part, given.of(model), given.verdicts):
                left = [q for q in step.questions if (step.case_id, step.run, q.item) not in known]
                yield from open_items(step.case_id, model, step.run, left)


def _open_steps(part: ScenarioSet, answers: _Answers, given: StepVerdicts) -> Iterator[OpenStep]:
    recorded = given.of(answers.model, part.lang)
    for scenario in part.scenarios():
        recording = answers.recording(scenario, part.cards)
        with suppress(DataError):  # an outage: the scenario fails when it is scored
            place = Place(part.lang, scenario.id)
            yield from list(open_steps(recording, place, part.cards, recorded))


def score_scenarios(
    given: ScenarioAnswers,
    judged: Judged,
    on_result: OnResult,
    on_record: OnRecord | None = None,
) -> dict[str, ScenarioScore]:
    """The result of every model, from what was stored."""
    found = {}
    for model in given.models:
        scored = [
            _score(
                _Part(part, given.of(model), given.verdicts, judged.get((model, part.folder))),
                on_result,
            )
            for part in given.sets
        ]
        if on_record is not None:
            _record(scored, on_record)
        named = [_named(outcome, given.answered_by) for outcome in scored]
        found[model] = ScenarioScore(result_document(named), outcomes.headline(scored))
    return found


def _record(scored: Sequence[Outcome], on_record: OnRecord) -> None:
    """One record a step, run and metric (`--records`)."""
    from callscore.suites.orchestration.metric_records import metric_records

    for outcome in scored:
        for step in outcome.records:
            for record in metric_records(step, outcome.about.model):
                on_record(record)


def _named(outcome: Outcome, answered_by: AnsweredBy) -> Outcome:
    """The result, with the names under which the model answered where it was asked by another."""
    model = outcome.about.model
    about = msgspec.structs.replace(outcome.about, answered_by=answered_by.identity(model))
    warnings = (*outcome.warnings, *answered_by.notes_on(model))
    return msgspec.structs.replace(outcome, about=about, warnings=warnings)


class _Answers(msgspec.Struct, frozen=True):
    """The stored answers of one model."""

    model: str
    stored: StoredAnswers
    repeats: int

    def recording(self, scenario: Scenario, cards: Cards) -> Recording:
        """A scenario as if it had been recorded: every run, every step that was asked."""
        runs = range(1, self.repeats + 1)
        plans: dict[int, dict[int, Answer]] = {run: {} for run in runs}
        steps: dict[int, dict[int, Answer]] = {run: {} for run in runs}
        for case in _askable(scenario, cards):
            kept = plans if isinstance(case.step, PlanStep) else steps
            found = self.stored(self.model, case.id)
            for run in runs:
                kept[run][case.step.step_id] = _answer(found.get(run))
        return Recording(
            scenario.id,
            tuple(Run(run, plans[run], steps[run]) for run in runs),
            (scenario.raw,) * self.repeats,
            self.model,
        )


def _answer(found: Reply | Failed | None) -> Answer:
    """What came back; an outage stays one, so that it never counts against the model."""
    if found is None:
        return Answer(error=NOT_RUN)
    if isinstance(found, Failed):
        return Answer(error=found.why or found.stage)
    text = found.text.decode("utf-8", "replace") if isinstance(found.text, bytes) else found.text
    calls = [{"name": call.name, "arguments": call.arguments} for call in found.tool_calls]
    return Answer(text, calls)


class _Part(NamedTuple):
    """One model's answers to one set, and who knows what code cannot compare in them."""

    scenarios: ScenarioSet
    answers: _Answers
    verdicts: StepVerdicts
    judged: JudgedSteps | None


def _score(given: _Part, on_result: OnResult) -> Outcome:
    part, answers, verdicts, judged = given
    shown = shown_path(part.folder)
    recorded = verdicts.of(answers.model, part.lang)
    known = recorded if judged is None else judged.after(recorded)
    evaluated: list[Evaluated] = []
    failed: list[FailedRow] = []
    for scenario in part.scenarios():
        path = part.shown_path(scenario.id)
        recording = answers.recording(scenario, part.cards)
        try:
            place = Place(part.lang, scenario.id)
            found = evaluate(recording, place, part.cards, known, path)
        except DataError as error:
            failed.append(FailedRow(path, error.problem))
            _report_failures(recording, scenario, answers.model, on_result)
            continue
        evaluated.append(found)
        for record in found.records:
            on_result(_result(record, answers.model))
    about = About(shown, part.lang, answers.model, verdicts.source, part.digest(), __version__)
    about = about if judged is None else judged.told(about)
    return with_unused(outcomes.standard_outcome(about, evaluated, failed), recorded)


def _report_failures(
    recording: Recording, scenario: Scenario, model: str, on_result: OnResult
) -> None:
    """The steps behind a scenario that could not be scored: each with its cause."""
    for run in recording.runs:
        for step, answer in sorted({**run.plans, **run.steps}.items()):
            if answer.error:
                case = f"{scenario.lang}/{scenario.id}#{step}"
                status: Status = "not_run" if answer.error == NOT_RUN else "error"
                on_result(CaseResult(case, model, run.number, TASK, status, flags=(answer.error,)))


def _result(record: StepRecord, model: str) -> CaseResult:
    metrics: dict[str, float | None] = {"orchestration.success": float(record.success)}
    if record.plan is not None:
        metrics["orchestration.plan"] = record.plan.score
    if record.call is not None:
        metrics |= {
            "orchestration.name": record.call.name,
            "orchestration.key": record.call.key,
            "orchestration.value": record.call.value,
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
        flags=record.flags,
        metrics=metrics,
    )
