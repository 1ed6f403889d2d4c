"""The models of a config, each with the way to it and its price."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from callscore.config.config import EvalConfig
from callscore.config.file import OFFLINE
from callscore.core.errors import ConfigError
from callscore.core.provider import Provider
from callscore.core.run import ModelSpec, Price
from callscore.providers.client_pool import Online
from callscore.providers.replay import ReplayProvider
from callscore.runner.replay_files import Recordings
from callscore.suites.registry import noise_of

LABELS: Mapping[str, str] = {
    "simulated": "simulated: expected answers made worse at stated rates; no model was asked",
    "baseline": "baseline: rules only; no model was asked",
    "replay": "replay: recorded outputs; no model was asked",
}
"""What is said of a model that is none."""


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


def open_models(
    config: EvalConfig, environment: Mapping[str, str] = os.environ, *, sending: bool = True
) -> list[ModelHandle]:
    """Every model, in the order of their names; nothing is sent yet.

    Where nothing is to be sent later either, no key is needed.
    """
    if sending:
        _check_access(config, environment)
    online = Online(environment, attempt_seconds=config.attempts.timeout_s)
    reached = []
    for spec in sorted(config.models, key=lambda spec: spec.name):
        priced = msgspec.structs.replace(spec, price=price_of(spec))
        if spec.provider == "replay":
            recordings = Recordings(spec.name, spec.model, config.recordings[spec.name])
            provider: Provider = ReplayProvider(spec.name, recordings)
            reached.append(ModelHandle(priced, provider, recordings))
        else:
            provider = _offline(spec) or online.provider(spec, sending=sending)
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
