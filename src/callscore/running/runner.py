"""A run from start to end: check everything, ask, keep, score what was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import UsageError
from callscore.core.run_words import Event, OnEvent, Outcome, RunStatus, RunSummary, Work
from callscore.core.scorecard import Scorecard
from callscore.engine.plan import EngineOptions, Plan, PlannedModel
from callscore.providers.nearness import is_nearby
from callscore.running.asked import work_of
from callscore.running.estimate import Estimate, JudgedAnswers, estimate, estimate_judging
from callscore.running.models import Reached, price_of
from callscore.running.preflight import JUDGED, Preflight, Trial, small_prompt
from callscore.running.preparing import Prepared
from callscore.running.scoring import RunScoring
from callscore.running.session import Beside, ask_all, judge_all
from callscore.running.sharing import SharedStream
from callscore.scoring.judge_calls import JudgeCalls, Payer
from callscore.store.journal import Journal, OpenRun
from callscore.store.run_records import RunHeader

if TYPE_CHECKING:
    from callscore.running.scenarios import ScenarioScore


class Ran(msgspec.Struct, frozen=True):
    """What a run leaves: how it went, and the scores where it was not interrupted."""

    run_id: int
    summary: RunSummary
    preflights: Sequence[Preflight]
    card: Scorecard | None = None
    orchestration: Mapping[str, ScenarioScore] = {}
    notes: Sequence[str] = ()
    """What a reader must know about the models; the card has them, too."""


def dry_run(prepared: Prepared) -> list[Estimate]:
    """What the run would come to; answers that are already in the store cost nothing."""
    store = prepared.config.store
    if not store.exists():
        return _estimate(prepared, None)
    with Journal(store) as journal:
        return _estimate(prepared, journal)


def _estimate(prepared: Prepared, journal: Journal | None) -> list[Estimate]:
    config, subjects = prepared.config, prepared.subjects
    found = estimate(
        prepared.models,
        subjects,
        config.repeats,
        lambda key: journal is not None and journal.stored(key) is not None,
    )
    judge, benchmarks = config.scoring.judge, config.scoring.benchmarks
    if isinstance(judge, tuple):
        judges = [msgspec.structs.replace(spec, price=price_of(spec)) for spec in judge]
        longest = [one.most_output_tokens // (one.calls - one.already_paid or 1) for one in found]
        answers = JudgedAnswers(
            len(prepared.models) * config.repeats, max(longest, default=0), benchmarks
        )
        found += estimate_judging(judges, answers, subjects)
    return found


class _Interrupted(Exception):
    """The run ended early; leaves the results file unwritten on its way out."""

    def __init__(self, ran: Ran) -> None:
        self.ran = ran


def run_prepared(prepared: Prepared, on_event: OnEvent) -> Ran:
    """Ask every model, keep every answer, score what was kept."""
    plan = _plan(prepared)
    plan.check()
    config = prepared.config
    header = RunHeader(
        name=config.name,
        config_hash=f"{config.fingerprint}/{prepared.options.limit or 'all'}",
        dataset_hash=prepared.survey.digest,
        total=sum(model.total for model in plan.models.values()),
    )
    with Journal(config.store) as journal:
        ledger = journal.open_run(header, resume=prepared.options.resume)
        held = _Held(ledger)
        payer = Payer(_engine_options(prepared), ledger.id, on_event)
        calls = JudgeCalls(ledger.answers, payer)
        try:
            with held, RunScoring(prepared, journal, ledger.id, calls) as scoring:
                calls.check()
                plan = _counting(plan, journal.run(ledger.id).spent_usd)
                first = _first(prepared, journal, calls) if prepared.options.preflight else []
                told = _also_scored(ledger, scoring, on_event)
                beside = Beside(scoring.catch_up, scoring.judging)
                preflights, summary = ask_all(plan, ledger, first, told, beside)
                ran = Ran(ledger.id, summary, preflights)
                if summary.status == "interrupted":
                    raise _Interrupted(ran)
                ran = _scored(ran, scoring)
                held.status = summary.status
                return ran
        except _Interrupted as interrupted:
            return interrupted.ran


class _Held:
    """A run in our hands: whatever happens, it is let go with the status it has by then."""

    def __init__(self, ledger: OpenRun) -> None:
        self._ledger = ledger
        self.status: RunStatus = "interrupted"

    def __enter__(self) -> None:
        """The run is held since it was opened."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ledger.end(self.status)


def _also_scored(ledger: OpenRun, scoring: RunScoring, on_event: OnEvent) -> OnEvent:
    """Hands answers to scoring as they come."""

    def told(event: Event) -> None:
        if isinstance(event, Outcome):
            scoring.take(event, overtaken=ledger.overtaken)
        on_event(event)

    return told


def _counting(plan: Plan, spent_usd: float) -> Plan:
    """The plan, with what the run has spent before counted against its budget."""
    options = msgspec.structs.replace(plan.options, already_spent_usd=spent_usd)
    return msgspec.structs.replace(plan, options=options)


def _scored(ran: Ran, scoring: RunScoring) -> Ran:
    card, orchestration = scoring.card(), scoring.scenarios()
    notes = scoring.notes()
    if card is not None:
        card = msgspec.structs.replace(card, notes=[*card.notes, *notes])
    return msgspec.structs.replace(ran, card=card, orchestration=orchestration, notes=notes)


def rescore(prepared: Prepared, run_id: int) -> Ran:
    """Score a stored run again; nothing is sent."""
    store = prepared.config.store
    if not store.exists():
        raise UsageError(f"{store}: no such store; expected one that `callscore run` has written")
    with Journal(store) as journal:
        record = journal.run(run_id)
        if record.header.dataset_hash != prepared.survey.digest:
            raise UsageError(
                f"run {run_id} was made with other data than {prepared.config.path} names now, "
                "or with another --limit"
            )
        with (
            journal.open_answers() as answers,
            RunScoring(
                prepared, journal, run_id, JudgeCalls(answers, Payer(sends=False))
            ) as scoring,
        ):
            if scoring.judging is not None and not judge_all(scoring.judging):
                return Ran(run_id, RunSummary("interrupted", {}), ())
            return _scored(Ran(run_id, RunSummary("complete", {}), ()), scoring)


def _engine_options(prepared: Prepared) -> EngineOptions:
    attempts = prepared.config.attempts
    return EngineOptions(
        budget_usd=prepared.budget_usd,
        attempt_s=attempts.timeout_s,
        case_s=attempts.case_timeout_s,
        max_attempts=attempts.most,
    )


def _plan(prepared: Prepared) -> Plan:
    repeats = prepared.config.repeats
    options = msgspec.structs.replace(
        _engine_options(prepared), budget_usd=prepared.model_budget_usd
    )
    shared = SharedStream(prepared.subjects)
    return Plan(
        {
            model.spec.name: PlannedModel(
                model.spec,
                model.provider,
                work_of(model.spec.name, model.provider, shared.reader(), repeats),
                _total(prepared, model),
                is_nearby(model.spec),
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


def _first(prepared: Prepared, journal: Journal, calls: JudgeCalls) -> list[Trial]:
    """Who is asked before anything is spent: online models with work left, and then judges."""
    wanting = [(model, _open_work(prepared, journal, model)) for model in prepared.models]
    trials = [
        Trial(model.spec, model.provider, small_prompt(work.call.prompt))
        for model, work in wanting
        if work is not None and model.online
    ]
    if any(work is not None for _, work in wanting):
        planned = [seat.planned for seat in calls.seats]
        trials += [Trial(judge.spec, judge.provider, small_prompt(JUDGED)) for judge in planned]
    return trials


def _open_work(prepared: Prepared, journal: Journal, model: Reached) -> Work | None:
    """The first piece of work that is left to be asked."""
    name, repeats = model.spec.name, prepared.config.repeats
    work = work_of(name, model.provider, prepared.subjects.stream(), repeats)
    return next((piece for piece in work if journal.stored(piece.call.key) is None), None)
