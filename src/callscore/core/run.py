"""The words of a run: models, work, what is kept and told; engine, store and doors meet here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.provider import AttemptFailed, ProviderRequest

TOKENS_PER_PRICE = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """What a model costs, in US dollars per million tokens."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """(input tokens · input price + output tokens · output price) / 1,000,000        C-83"""
        return (input_tokens * self.input + output_tokens * self.output) / TOKENS_PER_PRICE


class Limits(msgspec.Struct, frozen=True):
    """How hard a model may be pressed; the engine goes lower by itself when told to."""

    concurrency: int = 16
    rpm: int | None = None
    """Requests per minute."""
    tpm: int | None = None
    """Tokens per minute, input and output together."""


class ModelSpec(msgspec.Struct, frozen=True):
    """One model under test as a config names it; holds where a secret is, never the secret."""

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    params: Mapping[str, Any] = {}
    price: Price | None = None
    limits: Limits = Limits()
    allow_http: bool = False
    style: Literal["items", "document"] = "items"
    """How a judge is asked: item by item, or by the framework's own prompt (C-100)."""
    api: str | None = None
    """Which API of the provider, or which version of it; None: the usual one."""

    @property
    def account(self) -> tuple[str, str, str]:
        """Models with the same account share one key on one host, so they pause together."""
        key = self.api_key_env or self.api_key_file or ""
        return (self.provider, self.base_url or "", key)


class Work(msgspec.Struct, frozen=True):
    """One answer that is wanted: a case, a model, the number of the repeat, and the request."""

    case_id: str
    model: str
    run: int
    call: ProviderRequest
    task: str


class CachedReply(msgspec.Struct, frozen=True):
    """A paid answer as the journal keeps it; what it cost stands in the reply."""

    key: bytes
    reply: Reply
    attempts: int = 1

    @property
    def cost_usd(self) -> float | None:
        """What was paid; None where nobody knows."""
        return self.reply.cost_usd


class Item(msgspec.Struct, frozen=True):
    """How one piece of work of a run ended: answered (`error` is None) or failed."""

    case_id: str
    model: str
    run: int
    task: str
    key: bytes
    error: str | None = None
    paid: bool = False
    """Whether this run paid for it; an answer that was already there is free."""


class Completed(msgspec.Struct, frozen=True):
    """What became of a piece of work."""

    work: Work
    answer: Reply | Failed
    cached: bool = False
    """Already there, so that nothing was sent."""
    attempts: int = 0


class Retry(msgspec.Struct, frozen=True):
    """An attempt brought nothing; it is repeated after `wait_s`, or given up."""

    work: Work
    failure: AttemptFailed
    attempt: int
    wait_s: float | None
    """None: it is not repeated."""


class Uncertain(msgspec.Struct, frozen=True):
    """An attempt was sent and never came back whole: it may be billed."""

    model: str
    usd: float
    """At most."""


class Progress(msgspec.Struct, frozen=True):
    """How far one model is."""

    model: str
    done: int
    """Answered, cached or failed."""
    total: int
    failed: int
    cached: int
    spend_usd: float
    """The known part of what this run paid."""
    unpriced: int
    """Paid answers whose cost nobody knows."""
    rate: float
    """Done per second, lately."""
    concurrency: int
    """Calls at once that the model is trusted with now."""
    stopped: str | None = None
    timeouts: int = 0
    """Attempts that brought no complete answer in their time."""


class Stopping(msgspec.Struct, frozen=True):
    """Nothing more is sent; what is under way is waited for."""

    under_way: int
    at_most_s: float


Event = Progress | Completed | Retry | Uncertain | Stopping
OnEvent = Callable[[Event], None]

RunStatus = Literal["complete", "unanswered", "budget", "interrupted"]
"""How a run ended: everything settled; every call failed; the budget would not hold the next call;
stopped."""


class ModelSummary(msgspec.Struct, frozen=True):
    """What one model's part of a run came to."""

    model: str
    total: int
    answered: int
    """With an answer, paid now or cached."""
    cached: int
    failed: int
    attempts: int
    input_tokens: int
    output_tokens: int
    spend_usd: float
    unpriced: int
    uncertain_usd: float
    """At most this much more may be billed: attempts that were sent and never came back whole."""
    stopped: str | None = None
    """Why the model was stopped before its end."""

    @property
    def not_run(self) -> int:
        """What is left for a resumed run, failures apart."""
        return self.total - self.answered - self.failed

    def followed_by(self, later: ModelSummary) -> ModelSummary:
        """This part of a run and the one after it, as one."""
        counted = {
            field: getattr(self, field) + getattr(later, field)
            for field in self.__struct_fields__
            if field not in ("model", "stopped")
        }
        return ModelSummary(self.model, stopped=self.stopped or later.stopped, **counted)


class RunSummary(msgspec.Struct, frozen=True):
    """What a run came to."""

    status: RunStatus
    models: Mapping[str, ModelSummary]
    judges: Mapping[str, ModelSummary] = {}

    def followed_by(self, later: RunSummary) -> RunSummary:
        """This session of a run and the one after it, as one."""
        models = {
            name: model.followed_by(later.models[name]) if name in later.models else model
            for name, model in self.models.items()
        }
        return RunSummary(later.status, models, self.judges)

    @property
    def spend_usd(self) -> float:
        """The known part of what was paid to the models under test."""
        return sum(model.spend_usd for model in self.models.values())


class Ledger(Protocol):
    """What a run under way asks of its journal."""

    def stored(self, key: bytes) -> CachedReply | None:
        """The answer to this request, if it was ever paid for."""
        ...

    async def claim(self, key: bytes, patience_s: float, most_usd: float) -> CachedReply | None:
        """Hold a request until it is released; the answer where another process has kept one.

        If this process is killed meanwhile, it may have to pay as much as `most_usd`.
        """
        ...

    def release(self, key: bytes) -> None:
        """Others may have the request now."""
        ...

    async def keep(self, item: Item, stored: CachedReply) -> None:
        """Returns when the paid answer and the item are durable."""
        ...

    async def note(self, item: Item) -> None:
        """Writes an item that cost nothing; it is durable after the next `keep` or `settle`."""
        ...

    async def settle(self) -> None:
        """Returns when everything is durable."""
        ...
