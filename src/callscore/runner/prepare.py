"""A run before it begins: config and data checked, models opened, nothing sent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from callscore.app import OutputPaths
from callscore.config.config import EvalConfig
from callscore.config.file import OFFLINE
from callscore.config.scenarios import Departure, departures
from callscore.core.errors import ConfigError, UsageError
from callscore.core.provider import Provider
from callscore.core.run import ModelSpec, Price
from callscore.core.scenarios import Mode, OnStep, ScenarioCases, Survey
from callscore.evaluate.scorer import OnCase
from callscore.evaluate.scoring_pass import OnTallied
from callscore.providers.client_pool import ClientPool
from callscore.providers.prompted import PromptedProvider
from callscore.providers.replay import ReplayProvider
from callscore.runner.cases import Asked, CaseFiles, CaseSource, ScenarioSteps
from callscore.runner.replay_files import Recordings
from callscore.store.files import check_targets
from callscore.store.worklists import check_worklist
from callscore.suites.registry import noise_of, scenario_suite

LABELS: Mapping[str, str] = {
    "simulated": "simulated: expected answers made worse at stated rates; no model was asked",
    "baseline": "baseline: rules only; no model was asked",
    "replay": "replay: recorded outputs; no model was asked",
}
"""The label of a provider that calls no model."""


class RunOptions(msgspec.Struct, frozen=True):
    """The options of the command line."""

    resume: bool = False
    limit: int | None = None
    budget_usd: float | None = None
    preflight: bool = True
    accept_changed: bool = False
    """Where the run to be resumed was begun with another file or other data, begin a new one."""
    results: Path | None = None
    records: Path | None = None
    save_verdicts: Path | None = None
    card: Path | None = None
    log: Path | None = None
    open_items: Path | None = None
    mode: Mode | None = None
    """Which reading scores scenarios, instead of the one that the file names."""
    export: Path | None = None
    """A folder for the answers to scenarios in the public form."""
    trajectories: Path | None = None
    """A file for every step of every scenario: what was sent, answered, due and decided."""
    race: bool = False
    """Ask only until it is certain which model is best."""
    finish_invalid: bool = False
    """In a race, ask a model everything that is invalid for certain."""
    on_case: OnCase | None = None
    """Receives every case with all its answers, for a report."""
    on_step: OnStep | None = None
    """Receives every step of scenarios with the answers of one model, for a report."""
    on_tallied: OnTallied | None = None
    """Receives what the scoring of calls leaves behind, for a comparison."""

    @property
    def targets(self) -> OutputPaths:
        """The files that the run writes."""
        return OutputPaths(
            self.results, self.records, self.save_verdicts, self.card, self.open_items
        )

    def check_targets(self, config: EvalConfig) -> None:
        """Refuse what cannot be written, or would be written into something else of the run."""
        check_targets((*self.targets.files, self.log, self.trajectories), config.files)
        if self.open_items is not None:
            check_worklist(self.open_items)

    def refuse_those_of_scenarios(self) -> None:
        """What has a meaning for scenarios alone would silently do nothing elsewhere."""
        given = {
            "--mode": self.mode,
            "--export": self.export,
            "--trajectories": self.trajectories,
        }
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} is about scenarios; expected data.orchestration")


class ModelHandle(msgspec.Struct, frozen=True):
    """A model with its price and its provider."""

    spec: ModelSpec
    provider: Provider
    recordings: Recordings | None = None
    """The files a replaying model reads from."""

    @property
    def online(self) -> bool:
        """Whether asking it needs a network."""
        return self.spec.provider not in OFFLINE


class Prepared(msgspec.Struct, frozen=True):
    """A run that has been checked and not yet begun."""

    config: EvalConfig
    models: Sequence[ModelHandle]
    case_files: CaseFiles | None
    scenarios: ScenarioCases | None
    sources: Sequence[CaseSource]
    """Where cases come from: the case files first, then the scenarios."""
    survey: Survey
    options: RunOptions

    def read_cases(self) -> Iterator[Asked]:
        """One more pass over all cases."""
        for source in self.sources:
            yield from source.stream()

    def total(self, model: ModelHandle) -> int:
        """Requests to a model; only a recording may lack some cases or repeats."""
        recorded = model.recordings
        repeats = range(1, self.config.repeats + 1)
        if recorded is None:
            return self.survey.cases * len(repeats)
        return sum(recorded(case, run) is not None for case in self.survey.ids for run in repeats)

    def close(self) -> None:
        """Give back the files that models read from."""
        for model in self.models:
            if model.recordings is not None:
                model.recordings.close()

    @property
    def budget_usd(self) -> float | None:
        """The budget of the command line, else of the file: for models and judges together."""
        budget = self.options.budget_usd
        return self.config.budget_usd if budget is None else budget

    @property
    def model_budget_usd(self) -> float | None:
        """The same for the models: those that cannot cost anything need no price to be held."""
        offline = not any(model.online for model in self.models)
        unpriced = any(model.spec.price is None for model in self.models)
        return None if offline and unpriced else self.budget_usd

    @property
    def notes(self) -> list[str]:
        """What a reader of the scores must know about models that are none."""
        offline = [
            f"{model.spec.name}: {LABELS[model.spec.provider]}"
            for model in self.models
            if not model.online
        ]
        own = [
            f"{name}: asked with own prompts ({', '.join(templates)})"
            for name, templates in self.config.prompts.items()
        ]
        return [*offline, *own, *map(str, self.departures)]

    @property
    def departures(self) -> list[Departure]:
        """Where a run that is called public asks otherwise."""
        config = self.config
        return departures(config.repeats, config.models, config.scenario_settings)


def _with_mode(config: EvalConfig, mode: Mode | None) -> EvalConfig:
    """The config with the reading of the command line; refused where it does not fit."""
    settings = config.scenario_settings
    settings = msgspec.structs.replace(settings, mode=mode or settings.mode)
    if settings.mode == "compat" and config.scoring.judge != "none":
        raise UsageError("compat counts as the public evaluator; expected verdicts, not a judge")
    return msgspec.structs.replace(config, scenario_settings=settings)


def _check_race(config: EvalConfig) -> None:
    """Refuse a race that could decide nothing."""
    if config.scenarios or not config.cases:
        raise UsageError("--race is about calls; expected case files and no scenarios")
    if len(config.models) < 2:
        raise UsageError("--race needs at least two models; expected another one under `models`")


def prepare(config: EvalConfig, options: RunOptions, *, sending: bool = True) -> Prepared:
    """Read and check config and data; nothing is sent, nothing is written.

    A dry run and scoring again send nothing later either: `sending=False` needs no keys.
    """
    options.check_targets(config)
    if not config.scenarios:
        options.refuse_those_of_scenarios()
    if options.race:
        _check_race(config)
    elif options.finish_invalid:
        raise UsageError("--finish-invalid is about a race; expected --race")
    config = _with_mode(config, options.mode)
    scoring = msgspec.structs.replace(config.scoring, limit=options.limit)
    config = msgspec.structs.replace(config, scoring=scoring)
    files: CaseFiles | None = None
    if config.cases:
        files = CaseFiles(scoring, keep_content=options.on_case is not None)
    sources: list[CaseSource] = [files] if files is not None else []
    scenarios = _open_scenarios(config, options.limit) if config.scenarios else None
    if scenarios is not None:
        sources.append(ScenarioSteps(scenarios))
    found = [source.survey() for source in sources]
    survey = Survey(
        [case for part in found for case in part.ids], "/".join(p.digest for p in found)
    )
    if not survey.cases:
        raise UsageError(f"{config.path}: no case of the wanted tasks in the data")
    models = open_models(config, sending=sending)
    return Prepared(config, models, files, scenarios, sources, survey, options)


def _open_scenarios(config: EvalConfig, limit: int | None) -> ScenarioCases:
    """The scenarios of the run; their suite is imported only where there are some."""
    from callscore.store.orchestration_files import SCENARIO_FILES

    settings = config.scenario_settings
    return scenario_suite().open_cases(config.scenarios, settings, limit, SCENARIO_FILES)


def open_models(
    config: EvalConfig, environment: Mapping[str, str] = os.environ, *, sending: bool = True
) -> list[ModelHandle]:
    """Every model, in the order of their names; nothing is sent yet.

    Where nothing is to be sent later either, no key is needed.
    """
    if sending:
        _check_access(config, environment)
    online = ClientPool(environment, attempt_seconds=config.attempts.timeout_s)
    reached = []
    for spec in sorted(config.models, key=lambda spec: spec.name):
        priced = msgspec.structs.replace(spec, price=price_of(spec))
        if spec.provider == "replay":
            recordings = Recordings(spec.name, spec.model, config.recordings[spec.name])
            provider: Provider = ReplayProvider(spec.name, recordings)
            reached.append(ModelHandle(priced, provider, recordings))
        else:
            provider = _offline(spec) or online.provider(spec, sending=sending)
            if spec.name in config.prompts:
                provider = PromptedProvider(provider, config.prompts[spec.name])
            reached.append(ModelHandle(priced, provider))
    return reached


def _check_access(config: EvalConfig, environment: Mapping[str, str]) -> None:
    """ConfigError that names every model and judge which could not be asked, and why."""
    judge = config.scoring.judge
    specs = [spec for spec in config.models if spec.provider not in OFFLINE]
    specs += judge if isinstance(judge, tuple) else ()
    if not specs:
        return
    from callscore.providers.catalog import check_access
    from callscore.providers.secrets import Secrets

    problems = []
    for spec in specs:
        try:
            check_access(spec, Secrets(environment))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(dict.fromkeys(problems)))


def _offline(spec: ModelSpec) -> Provider | None:
    if spec.provider == "simulated":
        from callscore.providers.simulated import SimulatedProvider

        return SimulatedProvider(spec.name, spec.model, spec.params, noise_of)
    if spec.provider == "baseline":
        from callscore.providers.baseline.provider import BaselineProvider

        return BaselineProvider(spec.name)
    return None


def price_of(spec: ModelSpec) -> Price | None:
    """The user's price, else the listed one; rules cost nothing; unknown stays unknown."""
    if spec.price is not None:
        return spec.price
    if spec.provider == "baseline":
        return Price(0.0, 0.0)
    if spec.provider in OFFLINE:
        return None
    from callscore.providers.prices import price_for

    return price_for(spec)
