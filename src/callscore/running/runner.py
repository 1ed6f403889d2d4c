"""A run from start to end: check everything, ask, keep, score what was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callscore.answers import Answers
from callscore.app import line_writer, score_answers
from callscore.core.case import Case
from callscore.core.errors import UsageError
from callscore.core.run_words import OnEvent, RunStatus, RunSummary
from callscore.core.scorecard import CaseResult, Scorecard
from callscore.engine.plan import EngineOptions, Plan, PlannedModel
from callscore.eval_config import EvalConfig
from callscore.pipeline import Outlets
from callscore.running.asked import AllSubjects, CallSubjects, Subjects, Survey, work_of
from callscore.running.estimate import Estimate, estimate
from callscore.running.models import LABELS, Reached, open_models
from callscore.running.preflight import Preflight
from callscore.running.session import ask_all
from callscore.scoring import OnResult
from callscore.store.journal import Journal
from callscore.store.run_records import RunHeader

if TYPE_CHECKING:
    from callscore.running.scenarios import ScenarioScore, ScenarioSet


class RunOptions(msgspec.Struct, frozen=True):
    """What a command line may say beside the file."""

    resume: bool = False
    limit: int | None = None
    budget_usd: float | None = None
    preflight: bool = True
    results: Path | None = None


class Prepared(msgspec.Struct, frozen=True):
    """A run that has been checked and not yet begun."""

    config: EvalConfig
    models: Sequence[Reached]
    subjects: Subjects
    sets: Sequence[ScenarioSet]
    survey: Survey
    options: RunOptions

    def close(self) -> None:
        """Give back the files that models read from."""
        for model in self.models:
            if model.recordings is not None:
                model.recordings.close()

    @property
    def budget_usd(self) -> float | None:
        """The budget of the command line, else of the file.

        Models that cannot cost anything need no price to be held to it.
        """
        budget = self.options.budget_usd
        budget = self.config.budget_usd if budget is None else budget
        offline = not any(model.online for model in self.models)
        unpriced = any(model.spec.price is None for model in self.models)
        return None if offline and unpriced else budget

    @property
    def notes(self) -> list[str]:
        """What a reader of the scores must know about models that are none."""
        return [
            f"{model.spec.name}: {LABELS[model.spec.provider]}"
            for model in self.models
            if not model.online
        ]


class Ran(msgspec.Struct, frozen=True):
    """What a run leaves: how it went, and the scores where it was not interrupted."""

    run_id: int
    summary: RunSummary
    preflights: Sequence[Preflight]
    card: Scorecard | None = None
    orchestration: Mapping[str, ScenarioScore] = {}


def prepare(config: EvalConfig, options: RunOptions) -> Prepared:
    """Read and check config and data; nothing is sent, nothing is written."""
    scoring = msgspec.structs.replace(config.scoring, limit=options.limit)
    config = msgspec.structs.replace(config, scoring=scoring)
    parts: list[Subjects] = [CallSubjects(scoring)] if config.cases else []
    sets: Sequence[ScenarioSet] = ()
    if config.scenarios:
        # The other suite is imported only where there are scenarios: half of the start-up.
        from callscore.running.scenarios import ScenarioSet, ScenarioSubjects

        sets = [ScenarioSet(data, options.limit) for data in config.scenarios]
        parts.append(ScenarioSubjects(sets))
    subjects = AllSubjects(parts)
    found = subjects.survey()
    if not found.cases:
        raise UsageError(f"{config.path}: no case of the wanted tasks in the data")
    return Prepared(config, open_models(config), subjects, sets, found, options)


def dry_run(prepared: Prepared) -> list[Estimate]:
    """What the run would come to; answers that are already in the store cost nothing."""
    store = prepared.config.store
    if not store.exists():
        return _estimate(prepared, None)
    with Journal(store) as journal:
        return _estimate(prepared, journal)


def _estimate(prepared: Prepared, journal: Journal | None) -> list[Estimate]:
    return estimate(
        prepared.models,
        prepared.subjects,
        prepared.config.repeats,
        lambda key: journal is not None and journal.stored(key) is not None,
    )


def run_prepared(prepared: Prepared, on_event: OnEvent) -> Ran:
    """Ask every model, keep every answer, score what was kept."""
    plan = _plan(prepared)
    plan.check()
    config = prepared.config
    with Journal(config.store) as journal:
        header = RunHeader(
            name=config.name,
            config_hash=f"{config.fingerprint}/{prepared.options.limit or 'all'}",
            dataset_hash=prepared.survey.digest,
            total=sum(model.total for model in plan.models.values()),
        )
        ledger = journal.open_run(header, resume=prepared.options.resume)
        spent = journal.run(ledger.id).cost_usd
        options = msgspec.structs.replace(plan.options, already_spent_usd=spent)
        plan = msgspec.structs.replace(plan, options=options)
        status: RunStatus = "interrupted"
        try:
            asked = _wanting(prepared, journal) if prepared.options.preflight else {}
            preflights, summary = ask_all(plan, ledger, asked, on_event)
            status = summary.status
        finally:
            ledger.end(status)
        ran = Ran(ledger.id, summary, preflights)
        return ran if status == "interrupted" else _scored(prepared, journal, ran)


def rescore(prepared: Prepared, run_id: int) -> Ran:
    """Score a stored run again; nothing is sent."""
    with Journal(prepared.config.store) as journal:
        record = journal.run(run_id)
        if record.header.dataset_hash != prepared.survey.digest:
            raise UsageError(f"run {run_id} was made with other data than {prepared.config.path}")
        return _scored(prepared, journal, Ran(run_id, RunSummary("complete", {}), ()))


def _plan(prepared: Prepared) -> Plan:
    config, repeats = prepared.config, prepared.config.repeats
    attempts = config.attempts
    options = EngineOptions(
        budget_usd=prepared.budget_usd,
        attempt_s=attempts.timeout_s,
        case_s=attempts.case_timeout_s,
        max_attempts=attempts.most,
    )
    return Plan(
        {
            model.spec.name: PlannedModel(
                model.spec,
                model.provider,
                work_of(model.spec.name, model.provider, prepared.subjects.stream(), repeats),
                _total(prepared, model),
            )
            for model in prepared.models
        },
        options,
    )


def _total(prepared: Prepared, model: Reached) -> int:
    """Pieces of work; only a recording may have fewer than there are cases and repeats."""
    repeats = prepared.config.repeats
    if model.spec.provider != "replay":
        return prepared.survey.cases * repeats
    return sum(
        1 for _ in work_of(model.spec.name, model.provider, prepared.subjects.stream(), repeats)
    )


def _wanting(prepared: Prepared, journal: Journal) -> dict[str, Reached]:
    """The online models that have something left to be asked."""
    return {
        model.spec.name: model
        for model in prepared.models
        if model.online
        and any(
            journal.stored(work.call.key) is None
            for work in work_of(
                model.spec.name, model.provider, prepared.subjects.stream(), prepared.config.repeats
            )
        )
    }


class _JournalAnswers:
    """The answers of one run, from the journal."""

    def __init__(self, journal: Journal, run_id: int, models: Sequence[Reached]) -> None:
        self._journal = journal
        self._run_id = run_id
        self.models: Sequence[str] = [model.spec.name for model in models]
        self.labels: Mapping[str, str] = {
            model.spec.name: model.spec.provider for model in models if not model.online
        }

    def answers(self, position: int, case: Case) -> Answers:
        return self._journal.answers_to(self._run_id, case.id)

    def close(self) -> None:
        """The journal is closed by whoever opened it."""


def _scored(prepared: Prepared, journal: Journal, ran: Ran) -> Ran:
    config = prepared.config
    source = _JournalAnswers(journal, ran.run_id, prepared.models)
    card = None
    scenarios: Mapping[str, ScenarioScore] = {}
    with line_writer(prepared.options.results) as on_result:
        if config.cases:
            card = score_answers(config.scoring, Outlets(on_result), source)
            card = msgspec.structs.replace(card, notes=[*card.notes, *prepared.notes])
        if prepared.sets:
            from callscore.running.scenarios import score_scenarios

            scenarios = score_scenarios(
                prepared.sets,
                source.models,
                lambda case_id: journal.answers_to(ran.run_id, case_id),
                config.repeats,
                _labelling(on_result, source.labels),
            )
    return msgspec.structs.replace(ran, card=card, orchestration=scenarios)


def _labelling(on_result: OnResult, labels: Mapping[str, str]) -> OnResult:
    """Results of a model that is none say so, each of them."""

    def labelled(result: CaseResult) -> None:
        label = labels.get(result.model)
        if label is not None:
            result = msgspec.structs.replace(result, flags=sorted({*result.flags, label}))
        on_result(result)

    return labelled
