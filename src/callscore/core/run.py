"""The types of a run that engine and store share: models, work, replies, events, summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.provider import AttemptFailed, ProviderRequest

TOKENS_PER_PRICE = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """The price of a model, in US dollars per million tokens."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """(input tokens · input price + output tokens · output price) / 1,000,000        C-83"""
        return (input_tokens * self.input + output_tokens * self.output) / TOKENS_PER_PRICE

    def of_reply(self, reply: Reply) -> float | None:
        """The cost of a reply; None if its tokens are unknown."""
        if reply.input_tokens is None or reply.output_tokens is None:
            return None
        return self.of(reply.input_tokens, reply.output_tokens)


class Limits(msgspec.Struct, frozen=True):
    """Limits for requests to a model; the engine lowers the concurrency if a provider objects."""

    concurrency: int = 16
    rpm: int | None = None
    """Requests per minute."""
    tpm: int | None = None
    """Tokens per minute, input and output together."""


class ModelSpec(msgspec.Struct, frozen=True):
    """One entry of `models` in a config. It holds the location of a secret, never the secret."""

    name: str
    provider: str
    model: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    params: Mapping[str, Any] = {}
    price: Price | None = None
    limits: Limits = Limits()
    allow_http: bool = False
    api: str | None = None
    """Which API of the provider, or which version of it; None for the default."""
    mode: Literal["live", "batch"] = "live"
    """Request by request, or many at once by the batch API of the provider, at half the price."""
    then: Literal["live", "batch", "stop"] = "live"
    """Batch only: what happens to requests that a job has left without a final answer."""

    @property
    def account(self) -> tuple[str, str, str]:
        """Identifies the key and the host; models with the same account pause together."""
        key = self.api_key_env or self.api_key_file or ""
        return (self.provider, self.base_url or "", key)


class JudgeSpec(ModelSpec, frozen=True):
    """A judging model, and how it is asked."""

    style: Literal["items", "document"] = "items"
    """Item by item, or with the framework's own prompt (C-100)."""
    items_per_request: int | None = None
    """The most items that it is asked about at once; None for the default."""
    seed: int = 0
    """Of the ids, the order and the canaries in its requests."""


class Survey(msgspec.Struct, frozen=True):
    """The result of checking all cases of a run."""

    ids: Sequence[str]
    """The ids of the selected cases, in order."""
    digest: str
    tasks: frozenset[str] = frozenset()
    """The tasks of these cases."""


class Work(msgspec.Struct, frozen=True):
    """One request to send: a case, a model, the number of the repeat."""

    case_id: str
    model: str
    run: int
    request: ProviderRequest
    task: str


class CachedReply(msgspec.Struct, frozen=True):
    """A paid reply as the journal stores it; its cost is in the reply."""

    key: bytes
    reply: Reply
    attempts: int = 1

    @property
    def cost_usd(self) -> float | None:
        """What was paid; None if unknown."""
        return self.reply.cost_usd


class RunItem(msgspec.Struct, frozen=True):
    """How one piece of work of a run ended: answered (`error` is None) or failed."""

    case_id: str
    model: str
    run: int
    task: str
    key: bytes
    error: str | None = None
    paid: bool = False
    """Whether this run paid for it; a cached reply is free."""


class Completed(msgspec.Struct, frozen=True):
    """A finished piece of work."""

    work: Work
    answer: Reply | Failed
    cached: bool = False
    """Already in the store; nothing was sent."""
    attempts: int = 0


class Retry(msgspec.Struct, frozen=True):
    """A failed attempt that is repeated after `wait_s`, or given up."""

    work: Work
    failure: AttemptFailed
    attempt: int
    wait_s: float | None
    """None if it is not repeated."""


class Uncertain(msgspec.Struct, frozen=True):
    """An attempt that was sent and got no complete reply: it may be billed."""

    model: str
    usd: float
    """The most it may cost."""


class Progress(msgspec.Struct, frozen=True):
    """The progress of one model."""

    model: str
    done: int
    """Answered, cached or failed."""
    total: int
    failed: int
    cached: int
    spend_usd: float
    """The known part of this run's cost."""
    unpriced: int
    """Paid replies of unknown cost."""
    rate: float
    """Recent throughput per second, of requests that were sent; cached replies do not count."""
    concurrency: int
    """The current limit of concurrent requests."""
    stopped: str | None = None
    timeouts: int = 0
    """Attempts without a complete reply within their deadline."""
    in_flight: int = 0
    """Requests that are sent and not yet answered."""
    elapsed_s: float = 0.0
    """Since the first request could be sent."""

    def after(self, earlier: ModelSummary) -> Progress:
        """The progress with that of an earlier part of the same run."""
        done = earlier.answered + earlier.failed
        return msgspec.structs.replace(
            self,
            done=self.done + done,
            total=self.total + done,
            failed=self.failed + earlier.failed,
            cached=self.cached + earlier.cached,
            spend_usd=self.spend_usd + earlier.spend_usd,
            unpriced=self.unpriced + earlier.unpriced,
        )


class Waiting(msgspec.Struct, frozen=True):
    """The preflight waits for models: their names, and what each of them is doing."""

    states: Mapping[str, str]
    elapsed_s: float


class Stopping(msgspec.Struct, frozen=True):
    """The run is shutting down: nothing more is sent, requests in flight are awaited."""

    in_flight: int
    at_most_s: float


class StoreNews(msgspec.Struct, frozen=True):
    """The store cannot be used, so that nothing new is sent; or it can be used again."""

    outage: str | None
    """Why it cannot be used; None when it can."""


class NodeNews(msgspec.Struct, frozen=True):
    """A node of a cluster no longer sends requests of the run, for a reason of its own."""

    node: str
    why: str


class JobNews(msgspec.Struct, frozen=True):
    """A job at a batch API has reached a state, or there is something to say about it."""

    model: str
    job: str
    """Its id at the vendor, or the token that marks it there."""
    state: str
    requests: int
    text: str = ""


class RaceRound(msgspec.Struct, frozen=True):
    """A round of a race was scored."""

    blocks: int
    """Blocks read so far, of `of_blocks`."""
    of_blocks: int
    racing: Sequence[str]
    news: Sequence[str]
    """Sentences about models that left the race or are in it again."""
    requests: int
    """Requests sent so far, of `of_requests`."""
    of_requests: int
    saved: int
    """Requests that eliminated models are not sent."""
    name: str = "race"
    """`race of scenarios`, if the run has a race of calls too."""


Event = (
    Progress
    | Completed
    | Retry
    | Uncertain
    | Stopping
    | RaceRound
    | Waiting
    | JobNews
    | StoreNews
    | NodeNews
)
"""What happens in a run, as `on_event` receives it."""
OnEvent = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Ignore an event."""


RunStatus = Literal["complete", "unanswered", "budget", "interrupted"]
"""How a run ended: all work is done; every request failed; the budget does not cover the next
request; interrupted."""


class ModelSummary(msgspec.Struct, frozen=True):
    """The summary of one model's part of a run."""

    model: str
    total: int
    answered: int
    """Work with a reply, paid now or cached."""
    cached: int
    failed: int
    attempts: int
    input_tokens: int
    output_tokens: int
    spend_usd: float
    unpriced: int
    uncertain_usd: float
    """The most that may still be billed for attempts without a complete reply."""
    stopped: str | None = None
    """Why the model was stopped early."""

    @property
    def not_run(self) -> int:
        """Work that is left for a resumed run; failures do not count."""
        return self.total - self.answered - self.failed

    def merge(self, later: ModelSummary) -> ModelSummary:
        """Add the next part of the same run."""
        totals = {
            field: getattr(self, field) + getattr(later, field)
            for field in self.__struct_fields__
            if field not in ("model", "stopped")
        }
        return ModelSummary(self.model, stopped=self.stopped or later.stopped, **totals)


class RunSummary(msgspec.Struct, frozen=True):
    """The summary of a run."""

    status: RunStatus
    models: Mapping[str, ModelSummary]
    judges: Mapping[str, ModelSummary] = {}

    def merge(self, later: RunSummary) -> RunSummary:
        """Add the next session of the same run."""
        models = {
            name: model.merge(later.models[name]) if name in later.models else model
            for name, model in self.models.items()
        }
        added = {name: model for name, model in later.models.items() if name not in models}
        return RunSummary(later.status, {**models, **added}, self.judges)

    @property
    def spend_usd(self) -> float:
        """The known part of the cost of the models under test."""
        return sum(model.spend_usd for model in self.models.values())


class Chunk(msgspec.Struct, frozen=True):
    """Cases of a run for one model, held by one worker."""

    model: str
    number: int
    cases: range
    """Their positions among the cases of the run."""
    digest: bytes
    worker: int
    epoch: int
    """Counts its holders: only the last one can finish it."""


class SpendingLimit(Protocol):
    """What requests may cost."""

    async def reserve(self, most_usd: float) -> bool:
        """Reserve the amount, or wait; False if the budget is spent."""
        ...

    def settle(self, most_usd: float, spent_usd: float) -> None:
        """End a reservation with the actual cost."""
        ...


RateKind = Literal["requests", "tokens"]
OnPermits = Callable[[float], None]
"""Called when permits may have arrived, with the seconds that the account has to pause."""


class RateBucket(Protocol):
    """Permits for requests or tokens."""

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until the amount may be available."""
        ...

    def take(self, amount: float) -> None:
        """Take the amount."""
        ...

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used (negative: used beyond what was taken)."""
        ...


class SharedRates(Protocol):
    """Rates that several processes share."""

    def share(self, limit: int) -> int:
        """The part of a limit on concurrent requests that is this process's; may be 0."""
        ...

    def bucket(
        self, spec: ModelSpec, kind: RateKind, per_minute: int, on_permits: OnPermits
    ) -> RateBucket:
        """The bucket of a model."""
        ...

    def pause(self, spec: ModelSpec, seconds: float) -> None:
        """Make all processes that use this model pause."""
        ...


class Ledger(Protocol):
    """The journal, as the engine uses it."""

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The stored reply to this request, if there is one."""
        ...

    async def claim(
        self, key: bytes, patience_s: float, most_usd: float
    ) -> CachedReply | Failed | None:
        """Lock a request until it is released; returns the reply if another process has stored one.

        It fails if a batch job has the request in flight. If this process is killed meanwhile, up
        to `most_usd` may be billed.
        """
        ...

    def release(self, key: bytes) -> None:
        """Unlock the request."""
        ...

    async def keep(self, item: RunItem, stored: CachedReply) -> None:
        """Store a paid reply and its item, and wait until both are durable."""
        ...

    async def note(self, item: RunItem) -> None:
        """Store an item that cost nothing; it is durable after the next `keep` or `settle`."""
        ...

    async def settle(self) -> None:
        """Wait until everything is durable."""
        ...
