"""Prepares a run: checks config and data, opens models, sends nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.app import NO_FILES, OutputPaths
from callscore.config.config import EvalConfig
from callscore.config.file import OFFLINE, PROVIDERS
from callscore.config.scenarios import Departure, departures
from callscore.core.batch import batch_price, batch_provider
from callscore.core.blocks import BlockSize
from callscore.core.case import Reply
from callscore.core.errors import ConfigError, UsageError
from callscore.core.provider import Provider
from callscore.core.run import ModelSpec, Price, Survey
from callscore.core.scenarios import TOOLS, USER, Mode, OnStep
from callscore.core.scorecard import Scorecard
from callscore.evaluate.block_scoring import ONE_PROCESS, Workers
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scorer import OnCase
from callscore.evaluate.scoring_pass import OnScoringResult, ScoringResult
from callscore.evaluate.sub_blocks import OnSubBlock
from callscore.providers.client_pool import ClientPool
from callscore.providers.replay import ReplayProvider
from callscore.runner.cases import CaseFiles, CasePrompt, CaseSource, ScenarioSteps
from callscore.runner.replay_files import Recordings
from callscore.runner.run_key import RunKey
from callscore.scorecard.final import check_weighted_tasks
from callscore.suites.registry import noise_of, rules_of, scenario_suite

if TYPE_CHECKING:
    from callscore.providers.tools import ToolProvider
    from callscore.store.run_records import RunHeader

NEVER_REPORT_COST = frozenset(PROVIDERS) - {"replay"}
"""Providers whose stored costs are token counts at the price of the run that paid."""
LABELS: Mapping[str, str] = {
    "simulated": "simulated: expected answers made worse at stated rates; no model was asked",
    "baseline": "baseline: rules only; no model was asked",
    "replay": "replay: recorded outputs; no model was asked",
}
"""The label of a provider that calls no model."""


class ScoredParts(NamedTuple):
    """The calls and the scenarios of a run, each added up and with a scorecard of its own."""

    results: Sequence[ScoringResult]
    cards: Sequence[Scorecard]
    judge_runner: JudgeRunner | None


class RunOptions(msgspec.Struct, frozen=True):
    """The options of the command line."""

    resume: bool = False
    limit: int | None = None
    weights: Mapping[str, float] = {}
    """Weights of the tasks in the Final Score, instead of those in the file (C-82)."""
    labels: Sequence[Path] = ()
    """Labels of people, instead of those in the file (STATS §5)."""
    verdicts: Sequence[Path] = ()
    """Verdicts of people, besides those in the file."""
    budget_usd: float | None = None
    preflight: bool = True
    unstored: bool = False
    """Delete the run and its replies when it ends."""
    accept_changed: bool = False
    """Start a new run if the one to resume was started with another file or other data."""
    targets: OutputPaths = NO_FILES
    """The files that the run writes."""
    log: Path | None = None
    mode: Mode | None = None
    """The mode that scores scenarios, instead of the one in the file."""
    export: Path | None = None
    """A folder for the replies to scenarios in the public form."""
    trajectories: Path | None = None
    """A file with every step of every scenario: request, reply, expected step, verdict."""
    race: bool = False
    """Send requests only until it is certain which model is best."""
    finish_invalid: bool = False
    """In a race, complete models that are certainly invalid."""
    on_case: OnCase | None = None
    """Receives every case with all its replies, for a report."""
    on_step: OnStep | None = None
    """Receives every step of scenarios with the answers of one model, for a report."""
    on_scoring_result: OnScoringResult | None = None
    """Receives the tallies of calls, for a comparison."""
    on_scored: Callable[[ScoredParts], None] | None = None
    """Receives what the scorecard is made of, for an index."""
    on_sub_block: OnSubBlock | None = None
    """Receives what every sub-block of calls adds to the sums, for an index."""
    workers: Workers = ONE_PROCESS
    """How many processes score a stored run again."""
    cluster: str | None = None
    """The address of a Ray cluster whose nodes send requests, too."""

    @property
    def output_folder(self) -> Path | None:
        """The folder that the run writes to: that of `--export`, else that of `--json`."""
        card = self.targets.card
        return self.export if self.export is not None or card is None else card.parent

    def refuse_scenario_options(self) -> None:
        """Refuse options that apply to scenarios only, if there are none."""
        given = {
            "--mode": self.mode,
            "--export": self.export,
            "--trajectories": self.trajectories,
        }
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} is for scenarios only; expected data.orchestration")


class PricedModel(msgspec.Struct, frozen=True):
    """A model with its price."""

    spec: ModelSpec

    @property
    def online(self) -> bool:
        """Whether its requests need a network."""
        return self.spec.provider not in OFFLINE

    def at_price(self, reply: Reply) -> Reply:
        """The reply at the price of this model, unless its provider reported a cost."""
        is_reported = reply.cost_usd is not None and self.spec.provider not in NEVER_REPORT_COST
        if is_reported or self.spec.price is None:
            return reply
        cost = self.spec.price.of_reply(reply)
        if cost is None or cost == reply.cost_usd:
            return reply
        return msgspec.structs.replace(reply, cost_usd=cost)


class ModelHandle(PricedModel, frozen=True):
    """A model with its price and its provider."""

    provider: Provider
    recordings: Recordings | None = None
    """The files of a replaying model."""


class PreparedRun(msgspec.Struct, frozen=True):
    """A run that has been checked and not yet started."""

    config: EvalConfig
    models: Sequence[ModelHandle]
    sources: Sequence[CaseSource]
    """Where cases come from: the case files first, then the scenarios."""
    survey: Survey
    options: RunOptions
    helpers: Sequence[ModelHandle] = ()
    """What answers in conversations besides the models: tools, and a model that plays the user."""

    @property
    def tools(self) -> ToolProvider | None:
        """The tools to try out before anything is spent; None if there are none."""
        if not self.options.preflight:
            return None
        from callscore.providers.tools import ToolProvider

        found = (each.provider for each in self.helpers if isinstance(each.provider, ToolProvider))
        return next(found, None)

    def load_tools(self) -> None:
        """Load the functions that are tools, which runs their files; raises ConfigError."""
        from callscore.providers.tools import ToolProvider

        for helper in self.helpers:
            if isinstance(helper.provider, ToolProvider):
                helper.provider.check()

    def read_cases(self) -> Iterator[CasePrompt]:
        """Read all cases again."""
        for source in self.sources:
            yield from source.stream()

    def total(self, model: ModelHandle, ids: Sequence[str] | None = None) -> int:
        """Number of requests to a model, for some cases or for all; a recording may lack some."""
        ids = self.survey.ids if ids is None else ids
        recorded = model.recordings
        repeats = range(1, self.config.repeats + 1)
        if recorded is None:
            return len(ids) * len(repeats)
        return sum(recorded(case, run) is not None for case in ids for run in repeats)

    @property
    def header(self) -> RunHeader:
        """What identifies the run when it is resumed."""
        from callscore.store.run_records import RunHeader, relative_to_store  # loads SQLite

        config, redact = self.config, ""
        if config.redaction is not None:
            from callscore.config.redaction import encode_option

            redact = encode_option(config.redaction, config.store)
        return RunHeader(
            name=config.name,
            config_hash=str(RunKey(config.fingerprint, self.options.limit, self.options.weights)),
            dataset_hash=self.survey.digest,
            total=sum(map(self.total, self.models)),
            eval_file=relative_to_store(config.path, config.store),
            redact=redact,
            unstored=self.options.unstored,
        )

    def close(self) -> None:
        """Close the files of replaying models."""
        for model in self.models:
            if model.recordings is not None:
                model.recordings.close()

    @property
    def budget_usd(self) -> float | None:
        """The budget of the command line, else of the file, for models and judges together."""
        budget = self.options.budget_usd
        return self.config.budget_usd if budget is None else budget

    @property
    def model_budget_usd(self) -> float | None:
        """The budget of the models; None if none of them can cost anything."""
        offline = not any(model.online for model in self.models)
        unpriced = any(model.spec.price is None for model in self.models)
        return None if offline and unpriced else self.budget_usd

    @property
    def notes(self) -> list[str]:
        """Notes on providers that are not real models."""
        offline = [
            f"{model.spec.name}: {LABELS[model.spec.provider]}"
            for model in self.models
            if not model.online
        ]
        own = [
            f"{name}: asked with custom prompts ({', '.join(templates)})"
            for name, templates in self.config.prompts.items()
        ]
        batches = [
            f"{model.spec.name}: asked by its batch API, at half the price of live requests"
            for model in self.models
            if model.spec.mode == "batch"
        ]
        redaction = self.config.redaction
        redacted = [] if redaction is None else redaction.report.lines()
        departed = map(str, self.departures) if self.config.scenarios else ()
        return [*redacted, *offline, *own, *batches, *departed]

    @property
    def departures(self) -> list[Departure]:
        """Differences of the run from the public protocol, which concerns scenarios only."""
        config = self.config
        return departures(config.repeats, config.models, config.scenario_settings)


def _with_mode(config: EvalConfig, mode: Mode | None) -> EvalConfig:
    """The config with the mode of the command line; refused if it does not apply."""
    settings = config.scenario_settings
    settings = msgspec.structs.replace(settings, mode=mode or settings.mode)
    if settings.mode == "compat" and config.scoring.judge != "none":
        raise UsageError("compat scores like the public evaluator; expected verdicts, not a judge")
    return msgspec.structs.replace(config, scenario_settings=settings)


def _check_batches(config: EvalConfig, options: RunOptions) -> None:
    """Refuse jobs that nothing would remember."""
    if all(spec.mode == "live" for spec in config.models):
        return
    if options.unstored:
        raise UsageError(
            "--no-store-text deletes the run, and mode: batch needs it to collect its results; "
            "expected mode: live"
        )


def _check_cluster(config: EvalConfig, options: RunOptions) -> None:
    """Refuse a cluster that could not help."""
    if isinstance(config.store, Path):
        raise UsageError(
            "--engine ray: the nodes need a store that they reach; expected `store: postgresql://…`"
        )
    what = "a race, whose next round depends on the last one" if options.race else ""
    if any(spec.mode == "batch" for spec in config.models):
        what = "`mode: batch`, whose requests the vendor divides"
    if what:
        raise UsageError(
            f"--engine ray: nodes, like `callscore work`, only share a full run of live requests, "
            f"not {what}; expected --engine local"
        )


def _check_race(config: EvalConfig) -> None:
    """Refuse a race that could decide nothing."""
    if len(config.models) < 2:
        raise UsageError("--race needs at least two models; expected another one under `models`")


def prepare(config: EvalConfig, options: RunOptions, *, sending: bool = True) -> PreparedRun:
    """Read and check config and data; nothing is sent, nothing is written.

    With `sending=False`, for a dry run or for scoring again, no keys are needed.
    """
    options.targets.check((*config.files, *options.labels), options.log, options.trajectories)
    _check_batches(config, options)
    if options.cluster is not None:
        _check_cluster(config, options)
    if not config.scenarios:
        options.refuse_scenario_options()
    if options.race:
        _check_race(config)
    elif options.finish_invalid:
        raise UsageError("--finish-invalid needs --race")
    config = _with_mode(config, options.mode)
    scoring = msgspec.structs.replace(
        config.scoring,
        limit=options.limit,
        weights=options.weights or config.scoring.weights,
        labels=options.labels or config.scoring.labels,
        verdicts=(*config.scoring.verdicts, *options.verdicts),
    )
    scoring.check_options()
    config = msgspec.structs.replace(config, scoring=scoring)
    sources = open_sources(config, options)
    found = [source.survey() for source in sources]
    survey = Survey(
        found[0].ids if len(found) == 1 else [case for part in found for case in part.ids],
        "/".join(part.digest for part in found),
        frozenset(task for part in found for task in part.tasks),
    )
    if not survey.ids:
        raise UsageError(f"{config.path}: no case of the selected tasks in the data")
    _check_tasks(config, survey)
    check_weighted_tasks(scoring.weights, sources[0].tasks)
    models = open_models(config, sending=sending)
    helpers = open_helpers(config, sending=sending) if config.scenarios else ()
    return PreparedRun(config, models, sources, survey, options, helpers)


def _check_tasks(config: EvalConfig, survey: Survey) -> None:
    """Refuse tasks that `simulated` or `baseline` cannot answer, before anything is spent."""
    providers = {model.provider for model in config.models}
    for provider, look_up in (("simulated", noise_of), ("baseline", rules_of)):
        if provider in providers:
            for task in sorted(survey.tasks):
                look_up(task)


def open_sources(config: EvalConfig, options: RunOptions) -> list[CaseSource]:
    """Where cases come from; the suite of scenarios is imported only if there are some."""
    sources: list[CaseSource] = []
    if config.cases:
        keep_content, size = options.on_case is not None, options.workers.size
        if options.workers.number == 1:  # a run sends sub-blocks to the process that scores it
            size = BlockSize(size.sub_block, 1)
        sources.append(CaseFiles(config.scoring, keep_content=keep_content, size=size))
    if config.scenarios:
        from callscore.store.scenario_files import SCENARIO_FILES

        settings, limit = config.scenario_settings, options.limit
        opened = scenario_suite().open_cases(config.scenarios, settings, limit, SCENARIO_FILES)
        sources.append(ScenarioSteps(opened))
    return sources


def open_models(
    config: EvalConfig, environment: Mapping[str, str] = os.environ, *, sending: bool = True
) -> list[ModelHandle]:
    """Every model, in the order of their names; nothing is sent.

    With `sending=False` no key is needed.
    """
    if sending:
        _check_access(config, environment)
    pool: ClientPool | None = None
    redacted = _redacting(config) if sending and config.redaction is not None else None
    reached = []
    for spec in sorted(config.models, key=lambda spec: spec.name):
        priced = msgspec.structs.replace(spec, price=price_of(spec))
        if spec.provider == "replay":
            recordings = Recordings(spec.name, spec.model, config.recordings[spec.name])
            provider: Provider = ReplayProvider(spec.name, recordings)
            provider = provider if redacted is None else redacted(provider)
            reached.append(ModelHandle(priced, provider, recordings))
        else:
            if (offline := _offline_provider(spec)) is not None:
                provider = offline
            else:
                pool = pool or ClientPool(environment, attempt_seconds=config.attempts.timeout_s)
                provider = pool.provider(spec, sending=sending)
                provider = provider if redacted is None else redacted(provider)
                if sending and spec.mode == "batch":
                    _ = batch_provider(provider).batch_api  # raises if its address has none
            if spec.name in config.prompts:
                from callscore.runner.wrapped_providers import PromptedProvider

                tasks = config.scoring.catalog.tasks()
                provider = PromptedProvider(provider, config.prompts[spec.name], tasks)
            reached.append(ModelHandle(priced, provider))
    return reached


def open_helpers(
    config: EvalConfig, environment: Mapping[str, str] = os.environ, *, sending: bool = True
) -> list[ModelHandle]:
    """What answers in conversations besides the models; nothing is started or sent."""
    settings, found = config.scenario_settings, []
    taken = [spec.name for spec in config.models if spec.name in (TOOLS, USER)]
    if taken and (settings.tools or settings.user):
        raise ConfigError(f"model {taken[0]!r}: the name is in use; expected another one")
    if settings.tools and config.redaction is not None:
        raise ConfigError(
            "data.orchestration.tools: results of tools are not redacted; expected no `redact`, or "
            "recorded results only"
        )
    if settings.tools:
        from callscore.providers.tools import ToolProvider

        tools = ToolProvider(settings.tools, config.path.parent)
        if sending:
            tools.check()
        found.append(ModelHandle(ModelSpec(TOOLS, "tools", price=Price(0.0, 0.0)), tools))
    if settings.user is not None:
        spec = msgspec.structs.replace(settings.user, price=price_of(settings.user))
        provider = _offline_provider(spec)
        if provider is None:
            pool = ClientPool(environment, attempt_seconds=config.attempts.timeout_s)
            provider = pool.provider(settings.user, sending=sending)
            if sending and config.redaction is not None:
                provider = _redacting(config)(provider)
        found.append(ModelHandle(spec, provider))
    return found


def _redacting(config: EvalConfig) -> Callable[[Provider], Provider]:
    """Makes a provider redact its replies; the rules are loaded only if they are needed.

    What `simulated` and `baseline` answer is made from the redacted data itself.
    """
    from callscore.runner.wrapped_providers import RedactedReplies

    assert config.redaction is not None  # checked by the caller
    redactor = config.redaction.options.redactor()
    return lambda provider: RedactedReplies(provider, redactor)


def _check_access(config: EvalConfig, environment: Mapping[str, str]) -> None:
    """Raise ConfigError with every model and judge that cannot be requested, and why."""
    judge = config.scoring.judge
    user = config.scenario_settings.user
    asked = config.models if user is None else (*config.models, user)
    specs = [spec for spec in asked if spec.provider not in OFFLINE]
    specs += judge if isinstance(judge, tuple) else ()
    if not specs:
        return
    from callscore.providers.catalog import check_access, leaves_machine
    from callscore.providers.secrets import Secrets
    from callscore.store.remote_files import shown

    problems, secrets = [], Secrets(environment)
    for spec in specs:
        try:
            check_access(spec, secrets)
        except ConfigError as error:
            problems.append(str(error))
    if any(map(leaves_machine, specs)):
        for path in config.outside:
            secrets.permissions.check_file(path, shown(path))
    if problems:
        raise ConfigError("; ".join(dict.fromkeys(problems)))


def _offline_provider(spec: ModelSpec) -> Provider | None:
    if spec.provider == "simulated":
        from callscore.providers.simulated import SimulatedProvider

        return SimulatedProvider(spec.name, spec.model, spec.params, noise_of)
    if spec.provider == "baseline":
        from callscore.providers.baseline import BaselineProvider

        return BaselineProvider(spec.name, rules_of)
    return None


def price_of(spec: ModelSpec) -> Price | None:
    """The user's price, else the listed one, half of it in a batch; rules cost nothing; None if
    unknown.
    """
    if spec.price is None and spec.provider in OFFLINE:
        return Price(0.0, 0.0) if spec.provider == "baseline" else None
    price = spec.price
    if price is None:
        from callscore.providers.prices import price_for

        price = price_for(spec)
    return batch_price(price) if price is not None and spec.mode == "batch" else price
