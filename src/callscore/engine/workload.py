"""The work of a run, validated before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.provider import Provider
from callscore.core.run import ModelSpec, Work


class EngineOptions(msgspec.Struct, frozen=True):
    """Retries, deadlines and budget; all times in seconds."""

    budget_usd: float | None = None
    already_spent_usd: float = 0.0
    """Spent by earlier sessions of the same run; counts against the budget."""
    attempt_s: float = 600.0
    case_s: float = 900.0
    """How long a request is retried after its first attempt failed, pauses included."""
    max_attempts: int = 6
    """Rate-limit refusals do not count: only the deadline of the case ends those."""
    backoff_first_s: float = 0.5
    backoff_cap_s: float = 30.0
    retry_after_cap_s: float = 60.0
    give_up_after: int = 25
    """Stop a model after this many failures in a row: it is down or misconfigured."""
    grace_s: float = 4.0
    """How long requests in flight may still answer after SIGTERM."""
    progress_s: float = 0.2
    seed: int = 0
    """Seed of the jitter."""


class PlannedModel(msgspec.Struct, frozen=True):
    """One model, its provider, and its work: a lazy stream, pulled when there is capacity."""

    spec: ModelSpec
    provider: Provider
    work: Iterable[Work]
    total: int
    is_local: bool = False
    """On this machine or in a private network: it may answer one request at a time."""


class Workload(msgspec.Struct, frozen=True):
    """The work of every model. Each has its own stream, so that none waits for another."""

    models: Mapping[str, PlannedModel]
    options: EngineOptions = EngineOptions()

    def after_spending(self, usd: float) -> Workload:
        """The same with what the run has spent before counted against its budget."""
        options = msgspec.structs.replace(self.options, already_spent_usd=usd)
        return msgspec.structs.replace(self, options=options)

    def check(self) -> None:
        """Refuse limits that cannot be met, before the first request."""
        budget = self.options.budget_usd
        for name, model in self.models.items():
            _check_limits(name, model.spec)
            if budget is not None and model.spec.price is None:
                raise ConfigError(
                    f"model {name!r}: its price is unknown, so a budget cannot be kept; "
                    "expected `price: {input, output}` in dollars per million tokens"
                )
        if budget is not None and not (isfinite(budget) and budget >= 0):
            raise ConfigError(f"budget: {budget}; expected a finite number of at least 0")


def _check_limits(name: str, spec: ModelSpec) -> None:
    limits = spec.limits
    for key, value in (
        ("concurrency", limits.concurrency),
        ("rpm", limits.rpm),
        ("tpm", limits.tpm),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"model {name!r}: limits.{key}: {value}; expected at least 1")
    price = spec.price
    if price is not None and not all(isfinite(p) and p >= 0 for p in (price.input, price.output)):
        raise ConfigError(f"model {name!r}: price {price}; expected finite numbers of at least 0")
