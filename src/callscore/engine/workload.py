"""The work of a run: planned and validated before anything is spent, then a queue per model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from math import isfinite

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.errors import ConfigError
from callscore.core.provider import Provider, ProviderRequest
from callscore.core.run import Completed, ModelSpec, ModelSummary, Progress, Work
from callscore.engine.limits import Budget, RateLimiter, SharedLimits

SOON = 0.1
"""The share of the attempt's deadline within which a local server should answer all requests."""
RATE_SECONDS = 10.0
RATE_REPLIES = 5
"""The rate is averaged over this time, or over as many replies if they take longer."""


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

    def check(self) -> None:
        """Refuse a budget that is not a finite amount of at least 0."""
        budget = self.budget_usd
        if budget is not None and not (isfinite(budget) and budget >= 0):
            raise ConfigError(f"budget: {budget}; expected a finite number of at least 0")

    def shared_limits(self) -> SharedLimits:
        """A new budget, and no pauses."""
        return SharedLimits(Budget(self.budget_usd, self.already_spent_usd), {})


MoreWork = Callable[[bool], Awaitable[Iterable[Work] | None]]
"""More work for a model, given whether it was stopped; None if there is no more."""


class PlannedModel(msgspec.Struct, frozen=True):
    """One model, its provider, and its work: a lazy stream, pulled when there is capacity."""

    spec: ModelSpec
    provider: Provider
    work: Iterable[Work]
    total: int
    is_local: bool = False
    """On this machine or in a private network: it may answer one request at a time."""
    more: MoreWork | None = None
    """Provides more work when the stream has ended."""


class Workload(msgspec.Struct, frozen=True):
    """The work of every model. Each has its own stream, so that none waits for another."""

    models: Mapping[str, PlannedModel]
    options: EngineOptions = EngineOptions()

    def with_spending(self, usd: float) -> Workload:
        """The same workload, with the earlier spending of the run counted against its budget."""
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
        self.options.check()


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


class RecentRate:
    """Requests per second over the last seconds, or over the last few replies of a slow server."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def update(self, now: float, done: int) -> float:
        """The rate, if `done` requests have ended at this time."""
        samples = self._samples
        if not samples or done != samples[-1][1]:
            samples.append((now, done))
        while len(samples) > 1 and (
            now - samples[1][0] >= RATE_SECONDS and done - samples[1][1] >= RATE_REPLIES
        ):
            samples.popleft()
        began, before = samples[0]
        return (done - before) / (now - began) if now > began else 0.0


class ModelQueue:
    """The state of one model. It is changed by one thread only, between awaits."""

    def __init__(self, planned: PlannedModel, limits: SharedLimits, attempt_s: float) -> None:
        self.spec: ModelSpec = planned.spec
        self.provider: Provider = planned.provider
        self.work: Iterator[Work] = iter(planned.work)
        self.total = planned.total
        self._more = planned.more
        self._refilling = asyncio.Lock()
        self.limiter = RateLimiter(
            planned.spec,
            limits.pause(planned.spec),
            attempt_s * SOON if planned.is_local else None,
            limits.rates,
        )
        self.stop_reason: str | None = None
        self.out_of_budget = False
        self._failures_in_a_row = 0
        self._answered = self._cached = self._failed = self._attempts = self._unpriced = 0
        self._input_tokens = self._output_tokens = 0
        self._timeouts = 0
        self._spend_usd = self._uncertain_usd = 0.0
        self._rate = RecentRate()
        self._began: float | None = None

    async def refill(self) -> bool:
        """Get more work after the stream has ended; False if there is none."""
        if self._more is None or self.out_of_budget:
            return False
        ended = self.work
        async with self._refilling:
            if self.work is ended:  # else another worker has refilled it
                more = await self._more(self.stop_reason is not None)
                if more is None:
                    return False
                self.work = iter(more)
        return True

    def most_usd(self, request: ProviderRequest) -> float:
        """The most a request may cost; 0 if the price is unknown."""
        price = self.spec.price
        return 0.0 if price is None else price.of(request.input_tokens, request.max_output_tokens)

    def cost_usd(self, reply: Reply) -> float | None:
        """The cost of a reply: as the provider reports it, else price · tokens, else unknown."""
        if reply.cost_usd is not None:
            return reply.cost_usd
        return None if self.spec.price is None else self.spec.price.of_reply(reply)

    def stop(self, why: str) -> None:
        """Send no more requests to this model; the first reason is kept."""
        if self.stop_reason is None:
            self.stop_reason = why
            self.limiter.close()

    def count_attempt(self, uncertain_usd: float = 0.0) -> None:
        """Count an attempt; one that was sent and lost may still be billed."""
        self._attempts += 1
        self._uncertain_usd += uncertain_usd

    def count_timeout(self) -> None:
        """Count a timeout."""
        self._timeouts += 1

    def count_paid(self, reply: Reply) -> None:
        """Count a paid reply."""
        self._input_tokens += reply.input_tokens or 0
        self._output_tokens += reply.output_tokens or 0
        self._spend_usd += reply.cost_usd or 0.0
        self._unpriced += reply.cost_usd is None

    def count(self, outcome: Completed, give_up_after: int) -> None:
        """Count a finished piece of work."""
        if not isinstance(outcome.answer, Failed):
            self._answered += 1
            self._cached += outcome.cached
            self._failures_in_a_row = 0
            return
        self._failed += 1
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= give_up_after:
            self.stop(f"{give_up_after} failures in a row, the last: {outcome.answer.why}")

    def progress(self, now: float) -> Progress:
        """The progress of the model."""
        done = self._answered + self._failed
        self._began = now if self._began is None else self._began
        return Progress(
            model=self.spec.name,
            done=done,
            total=self.total,
            failed=self._failed,
            cached=self._cached,
            spend_usd=self._spend_usd,
            unpriced=self._unpriced,
            rate=self._rate.update(now, done - self._cached),
            concurrency=self.limiter.concurrency.allowed,
            stopped=self.stop_reason,
            timeouts=self._timeouts,
            in_flight=self.limiter.in_flight,
            elapsed_s=now - self._began,
        )

    def summary(self) -> ModelSummary:
        """The summary of the model's part of the run."""
        return ModelSummary(
            model=self.spec.name,
            total=self.total,
            answered=self._answered,
            cached=self._cached,
            failed=self._failed,
            attempts=self._attempts,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            spend_usd=self._spend_usd,
            unpriced=self._unpriced,
            uncertain_usd=self._uncertain_usd,
            stopped=self.stop_reason,
        )
