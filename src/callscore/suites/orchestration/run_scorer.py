"""Scenarios in a run: the steps to request, and the scores of the replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from callscore.core.case import Case, Prompt
from callscore.core.errors import ConfigError, DataError
from callscore.core.run import Survey
from callscore.core.scenarios import (
    NO_FLOORS,
    Floors,
    FollowUpBound,
    Json,
    OpenStep,
    RunData,
    ScenarioExport,
    ScenarioPart,
    ScenarioScore,
    ScenarioSettings,
    ScenarioSinks,
    StepVerdicts,
    StoredReplies,
    VerdictKey,
)
from callscore.core.version import __version__
from callscore.suites.orchestration import result as results
from callscore.suites.orchestration.call.questions import (
    JudgedVerdicts,
    NoVerdicts,
    RecordedVerdicts,
    VerdictChain,
    VerdictSource,
    add_judge_verdicts,
    judged_keys,
    verdict_source,
    verdicts_from_files,
)
from callscore.suites.orchestration.compat.evaluation import evaluate_file
from callscore.suites.orchestration.compat.export import public_output
from callscore.suites.orchestration.conversation import ALL, check_conversation
from callscore.suites.orchestration.conversation_scorer import (
    ConversationScorer,
    conversation_lines,
)
from callscore.suites.orchestration.error_propagation import FreeRunScorer
from callscore.suites.orchestration.floors import ScenarioFloors
from callscore.suites.orchestration.free_rounds import FreeRuns, follow_up_bounds
from callscore.suites.orchestration.free_run import is_right
from callscore.suites.orchestration.replies import (
    ReplyTimes,
    ReplyUsage,
    ScenarioReplies,
    collect_replies,
    usage_by_scenario,
)
from callscore.suites.orchestration.result import LanguageResult, ResultMetadata
from callscore.suites.orchestration.rows import FailedRow, ResultRow
from callscore.suites.orchestration.scenario.cards import unknown_tool
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.model import Scenario
from callscore.suites.orchestration.scenario.parse import ScenarioKey
from callscore.suites.orchestration.scenario_tally import scored_row
from callscore.suites.orchestration.standard_evaluation import (
    ScenarioEvaluation,
    evaluate_scenario,
    open_steps,
    right_by_run,
)
from callscore.suites.orchestration.step_record import StepRecord, failed_results, step_result
from callscore.suites.orchestration.step_views import run_views
from callscore.suites.orchestration.trajectory import trajectory
from callscore.suites.orchestration.twins import calls_of, check_twins, find_twins

STANDARD_READING = "standard_reading"
"""A flag of step results in the mode `compat`: steps are scored as in the mode `standard`."""


class RunScenarios:
    """The scenarios of a run, in one language or several."""

    def __init__(self, sets: Sequence[ScenarioSet], settings: ScenarioSettings) -> None:
        self._sets = sets
        self._settings = settings

    def survey(self) -> Survey:
        """Read, check and hash every scenario."""
        found = [each.survey() for each in self._sets]
        self._pair_languages()
        if self._settings.history == "own":
            self._refuse_unknown_tools()
            for each in self._sets:
                self._check_conversations(each)
        ids = [step for each in found for step in each.ids]
        return Survey(ids, "+".join(each.digest for each in found))

    def _pair_languages(self) -> None:
        """Make twins one call; raises DataError if a scenario names a twin that does not exist."""
        names = {each.lang: each.names for each in self._sets}
        for each in self._sets:
            for scenario, error in check_twins(each.lang, each.outlines, names):
                raise error.with_place(each.shown_path(scenario))
        outlines = {each.lang: each.outlines for each in self._sets}
        calls = calls_of(outlines, find_twins(outlines))
        for each in self._sets:
            each.calls = calls[each.lang]

    def _refuse_unknown_tools(self) -> None:
        """Raise ConfigError if the eval file names a tool that no card has: it would never run."""
        for name in self._settings.tools:
            if name != ALL and not any(name in each.cards.tools for each in self._sets):
                near = unknown_tool(name, self._sets[0].cards)
                raise ConfigError(f"data.orchestration.tools.{name}: {near}")

    def _check_conversations(self, scenario_set: ScenarioSet) -> None:
        """Raise DataError if a conversation cannot be held, before anything is asked."""
        for scenario in scenario_set.scenarios():
            if scenario.ending.facts:
                try:
                    check_conversation(scenario, scenario_set.cards, self._settings)
                except DataError as error:
                    raise error.with_place(scenario_set.shown_path(scenario.id)) from None

    def stream(self) -> Iterator[tuple[Case, Prompt]]:
        """Every step of every scenario."""
        for each in self._sets:
            yield from each.stream()

    def follow_ups(
        self, models: Sequence[str], stored: StoredReplies, repeats: int
    ) -> FreeRuns | None:
        """The pass in which models see their own history; None if it is not configured."""
        if self._settings.history != "own":
            return None
        return FreeRuns(self._sets, self._settings, models, repeats, stored)

    def follow_up_bounds(self) -> Iterator[FollowUpBound]:
        """The most that the pass with own history can take; nothing if it is not configured."""
        if self._settings.history == "own":
            yield from follow_up_bounds(self._sets, self._settings)

    def scorer(self, data: RunData) -> RunScorer:
        """The scorer of the replies."""
        return RunScorer(self._sets, self._settings, data)


class RunScorer:
    """Scores the replies of the models of a run."""

    def __init__(
        self, sets: Sequence[ScenarioSet], settings: ScenarioSettings, data: RunData
    ) -> None:
        self._sets = {str(each.folder): each for each in sets}
        self._settings = settings
        self._data = data
        self.parts = [ScenarioPart(model, folder) for model in data.models for folder in self._sets]
        self._by_call: dict[str, Mapping[str, Sequence[Scenario]]] = {}
        self._floors: dict[str, Floors] = {}

    def open_steps(self, part: ScenarioPart) -> Iterator[OpenStep]:
        """Steps with values that neither code nor verdicts from files have decided."""
        yield from self._open_steps(part, self._sets[part.folder].scenarios())

    def open_steps_of(self, part: ScenarioPart, call: str) -> Iterator[OpenStep]:
        """The open steps of the scenarios that are one call."""
        yield from self._open_steps(part, self._scenarios(part, call))

    def _open_steps(self, part: ScenarioPart, scenarios: Iterable[Scenario]) -> Iterator[OpenStep]:
        scenario_set = self._sets[part.folder]
        recorded = verdicts_from_files(self._data.verdicts, part.model, scenario_set.lang)
        for scenario in scenarios:
            recording = replies_of(self._data, part.model, scenario_set, scenario).to_recording()
            with suppress(DataError):  # a failed request: the scenario fails when it is scored
                key = ScenarioKey(scenario_set.lang, scenario.id)
                yield from list(open_steps(recording, key, scenario_set.cards, recorded))

    def scores_of(
        self, part: ScenarioPart, call: str, judged: StepVerdicts | None
    ) -> Iterator[float | None]:
        """The score of every scenario that is this call; None if a request failed."""
        scenario_set, is_compat = self._sets[part.folder], self._settings.mode == "compat"
        scorer = _LanguageScorer(self._data, self._settings, part.model, scenario_set, judged)
        for row in map(scorer.row, self._scenarios(part, call)):
            yield None if row is None else scored_row(row, is_compat=is_compat).score.score

    def _scenarios(self, part: ScenarioPart, call: str) -> Sequence[Scenario]:
        """The scenarios of the part that are this call; all are read once."""
        found = self._by_call.get(part.folder)
        if found is None:
            by_call: dict[str, list[Scenario]] = {}
            for each in self._sets[part.folder].scenarios():
                by_call.setdefault(each.call_id, []).append(each)
            found = self._by_call[part.folder] = by_call
        return found.get(call, ())

    def scores(
        self, judged: Mapping[ScenarioPart, StepVerdicts], sinks: ScenarioSinks
    ) -> Mapping[str, ScenarioScore]:
        """The score of every model over all sets."""
        return {model: self._score(model, judged, sinks) for model in self._data.models}

    def _score(
        self, model: str, judged: Mapping[ScenarioPart, StepVerdicts], sinks: ScenarioSinks
    ) -> ScenarioScore:
        scored = [
            _LanguageScorer(
                self._data,
                self._settings,
                model,
                scenario_set,
                judged.get(ScenarioPart(model, name)),
            )
            for name, scenario_set in self._sets.items()
        ]
        found = [
            each.result(sinks, self._floors_of(name))
            for name, each in zip(self._sets, scored, strict=True)
        ]
        results.emit_records(found, sinks)
        return results.model_score([self._add_identity(each) for each in found])

    def _floors_of(self, folder: str) -> Floors:
        """What trivial answers would score on the scenarios of a folder; computed once."""
        if self._settings.mode == "compat":
            return NO_FLOORS
        if folder not in self._floors:
            floors = ScenarioFloors(self._sets[folder].cards)
            for scenario in self._sets[folder].scenarios():
                floors.add(scenario)
            self._floors[folder] = floors.found()
        return self._floors[folder]

    def _add_identity(self, scored: LanguageResult) -> LanguageResult:
        """Add the names under which the model replied, and notes on its requests."""
        data, model = self._data, scored.metadata.model
        metadata = msgspec.structs.replace(
            scored.metadata,
            answered_by=data.identities.identity(model),
            origin=data.origins.get(model, ""),
        )
        notes = (*data.warnings(model), *data.identities.notes_on(model))
        return msgspec.structs.replace(
            scored, metadata=metadata, warnings=(*scored.warnings, *notes)
        )


def replies_of(
    data: RunData, model: str, scenario_set: ScenarioSet, scenario: Scenario
) -> ScenarioReplies:
    """The replies of one model to one scenario."""
    cases = scenario_set.requested_steps(scenario)
    stored = {case.id: data.stored(model, case.id) for case in cases}
    steps = list(collect_replies(cases, stored, data.repeats))
    asking_back = scenario_set.protocol.asking_back
    return ScenarioReplies(scenario, model, data.repeats, steps, asking_back)


class _LanguageScorer:
    """Scores the replies of one model to the scenarios of one language."""

    def __init__(
        self,
        data: RunData,
        settings: ScenarioSettings,
        model: str,
        scenario_set: ScenarioSet,
        judged: StepVerdicts | None,
    ) -> None:
        self._data, self._mode, self._set, self._judged = data, settings.mode, scenario_set, judged
        self._model = model
        self._recorded = verdicts_from_files(data.verdicts, model, scenario_set.lang)
        self._known = add_judge_verdicts(self._recorded, judged)
        self._by_judge = judged_keys(data.verdicts, model, judged)
        self._labelled: set[VerdictKey] = set()
        is_own = settings.history == "own"
        self._conversations = (
            ConversationScorer(model, scenario_set, settings, data.repeats, data.stored)
            if is_own
            else None
        )
        self._free = (
            FreeRunScorer(model, scenario_set, data.repeats, data.stored) if is_own else None
        )
        self._evaluated: list[ScenarioEvaluation] = []
        self._public_rows: list[ResultRow] = []
        self._failed: list[FailedRow] = []
        self._used: dict[str, ReplyUsage] = {}
        self._costs: dict[str, list[float | None]] = {}

    def result(self, sinks: ScenarioSinks, floors: Floors = NO_FLOORS) -> LanguageResult:
        """The result of all scenarios; one scenario is in memory at a time."""
        scenario_set = self._set
        times: list[ReplyTimes] = []
        for scenario in scenario_set.scenarios():
            replies = replies_of(self._data, self._model, scenario_set, scenario)
            records = self._score(replies, scenario_set.shown_path(scenario.id), sinks)
            if sinks.on_step is not None:
                for view in run_views(replies, records, self._flags):
                    sinks.on_step(view)
            self._used[scenario.id] = replies.usage()
            self._costs[scenario.id] = replies.costs()
            times.append(replies.times())
            if sinks.on_export is not None:
                sinks.on_export(export_scenario(replies))
            if sinks.on_trajectory is not None:
                sinks.on_trajectory(trajectory(replies, records))
            self._add_own_history(replies, sinks)
        metadata = ResultMetadata(
            self._data.directory(self._model),
            scenario_set.lang,
            self._model,
            verdict_source(self._data.verdicts),
            scenario_set.digest,
            __version__,
            protocol=scenario_set.protocol.signature,
            asking_back=scenario_set.protocol.asking_back,
            usage=usage_by_scenario(self._used),
            free_running=self._free_running(),
        )
        metadata = results.add_judge(metadata, self._judged)
        if self._mode == "compat":
            scored = results.compat_result(metadata, self._public_rows, self._failed, self._costs)
        else:
            scored = results.standard_result(
                metadata, self._evaluated, self._failed, self._costs, floors
            )
        of_all = ReplyTimes(
            [each for of in times for each in of.steps],
            [each for of in times for each in of.scenarios],
        )
        scored = msgspec.structs.replace(scored, times=of_all, outlines=scenario_set.outlines)
        scored = msgspec.structs.replace(
            scored,
            judged=sum(each.judged for each in self._evaluated),
            labelled=frozenset(self._labelled),
        )
        return results.warn_of_unused_verdicts(scored, self._recorded)

    def _add_own_history(self, replies: ScenarioReplies, sinks: ScenarioSinks) -> None:
        """Score the pass with own history: a conversation, or a free run by the script."""
        if self._free is None or self._conversations is None:
            return
        scenario = replies.scenario
        if scenario.ending.facts:
            runs = self._conversations.add(scenario)
            self._add_free_run(scenario, [run.conversation.is_right() for run in runs])
            if runs and sinks.on_trajectory is not None:
                sinks.on_trajectory(conversation_lines(runs))
            return
        free = self._free.add(replies)
        if free is not None:
            self._add_free_run(scenario, right_by_run(free[1], is_right))
            if sinks.on_trajectory is not None:
                sinks.on_trajectory(trajectory(*free, "own"))

    def _free_running(self) -> Json | None:
        """`x_extension.free_running`; None if no scenario was run with own history."""
        if self._free is None or self._conversations is None:
            return None
        conversations = self._conversations.document()
        if conversations is None:
            return self._free.document()
        scripted = self._free.document() if self._free.has_scenarios else {}
        return {**scripted, "conversations": conversations}

    def _add_free_run(self, scenario: Scenario, right: Sequence[bool]) -> None:
        """Add to the row of the last scenario whether its free runs are right        C-141"""
        last = self._evaluated[-1] if self._evaluated else None
        if right and last is not None and last.row.scenario == scenario.id:
            row = msgspec.structs.replace(last.row, free_right=tuple(right))
            self._evaluated[-1] = msgspec.structs.replace(last, row=row)

    def _score(
        self, replies: ScenarioReplies, path: str, sinks: ScenarioSinks
    ) -> Sequence[StepRecord]:
        """Score one scenario and return its records; none if a reply is missing."""
        try:
            evaluated = self._evaluate(replies, path)
        except DataError as error:
            not_run = all(step.reply is None for step in replies.steps)
            failed = FailedRow(path, error.problem, replies.scenario.id, not_run)
            self._failed.append(failed)
            for result in failed_results(replies):
                sinks.on_result(result)
            return ()
        self._evaluated.append(evaluated)
        by_step = replies.by_step()
        for record in evaluated.records:
            reply = by_step.get((record.case_id, record.run))
            sinks.on_result(step_result(record, self._model, reply, self._flags))
        return evaluated.records

    def _evaluate_with_labels(self, replies: ScenarioReplies, path: str) -> ScenarioEvaluation:
        """The scenario as judged, and as people judge the values that they labelled    STATS §5"""
        known = JudgedVerdicts(self._known, self._by_judge)
        evaluated = self._evaluate_by(known, replies, path)
        given = self._data.labels.get(self._model, {})
        labels = {key: given[key] for key in known.judged if key in given}
        people = None
        if labels:
            self._labelled.update(labels)
            by_people = VerdictChain(RecordedVerdicts(labels), self._known)
            people = self._evaluate_by(by_people, replies, path)
        return msgspec.structs.replace(
            evaluated, judged=len(known.judged), labelled=len(labels), people=people
        )

    def row(self, scenario: Scenario) -> ResultRow | None:
        """The row of one scenario; None if a request failed."""
        replies = replies_of(self._data, self._model, self._set, scenario)
        try:
            evaluated = self._evaluate(replies, scenario.id)
        except DataError:
            return None
        return evaluated.row if self._mode == "standard" else self._public_rows[-1]

    @property
    def _flags(self) -> Sequence[str]:
        return () if self._mode == "standard" else (STANDARD_READING,)

    def _evaluate(self, replies: ScenarioReplies, path: str) -> ScenarioEvaluation:
        if self._mode == "standard":
            return self._evaluate_with_labels(replies, path)
        # The records are those of the mode `standard`, the numbers those of the public evaluator.
        scenario_set, scenario = self._set, replies.scenario
        from_files = verdicts_from_files(self._data.verdicts, self._model, scenario_set.lang)
        evaluated = self._evaluate_by(from_files, replies, path)
        if replies.missing:
            raise DataError(f"error: {replies.missing}")
        schemas = {name: tool.parameters for name, tool in scenario_set.cards.tools.items()}
        prefix = f"{scenario_set.lang}/{scenario.id}"
        known = self._known if self._data.verdicts else NoVerdicts()
        row = evaluate_file(public_output(replies), path, schemas, known, prefix)
        self._public_rows.append(row)
        return evaluated

    def _evaluate_by(
        self, verdicts: VerdictSource, replies: ScenarioReplies, path: str
    ) -> ScenarioEvaluation:
        key = ScenarioKey(self._set.lang, replies.scenario.id)
        return evaluate_scenario(replies.to_recording(), key, self._set.cards, verdicts, path)


def export_scenario(replies: ScenarioReplies) -> ScenarioExport:
    """The replies in the public form, without a document if one is missing (Q18)."""
    scenario = replies.scenario
    document = None if replies.missing else public_output(replies)
    return ScenarioExport(replies.model, scenario.lang, scenario.id, document, replies.missing)
