"""Batch APIs: jobs of many requests that a vendor answers within a day, at half the price."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, runtime_checkable

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, Provider, ProviderRequest, ProviderResponse
from callscore.core.run import ModelSpec, Price

PROVIDERS = ("openai", "anthropic", "gemini")
"""The providers with a batch API."""
PRICE_SHARE = 0.5
"""The price of a request in a batch, as a share of the price of the same request sent live."""
TOKEN_DIGITS, KEY_DIGITS = 16, 48
"""Hexadecimal digits of a custom id: those of the job, then those of the key. Anthropic allows 64
characters."""

JobState = Literal[
    "planned", "uploaded", "submitting", "submitted", "ended", "collected", "deleted"
]
"""How far a job is; each change is durable before the next step.

planned      its keys and its cost are reserved; nothing was sent
uploaded     the vendor has its file of requests, and does nothing with it yet
submitting   the request that creates the job is being sent; the vendor may have it
submitted    the vendor has given it an id
ended        the vendor has finished with it, whatever the result
collected    its replies are stored and its keys are released
deleted      its files are deleted at the vendor
"""
Ending = Literal["completed", "failed", "oversized", "partial"]
"""How a vendor ended a job: it tried all requests; it refused the job; it refused it because too
many tokens would be queued; it stopped before the end (cancelled or expired)."""


class BatchItem(msgspec.Struct, frozen=True):
    """One request of a job, and the piece of work that it answers."""

    case_id: str
    run: int
    task: str
    key: bytes
    most_usd: float


class BatchJob(msgspec.Struct, frozen=True):
    """One job at a vendor."""

    token: str
    """Marks the job and its requests at the vendor, so that a lost one can be found."""
    run_id: int
    model: str
    state: JobState
    requests: int
    reserved_usd: float
    """The most that it may cost."""
    planned_at: float
    """Seconds since 1970, like the others."""
    changed_at: float
    """When the state was written."""
    submitted_at: float = 0.0
    file_id: str = ""
    remote_id: str = ""
    results: tuple[str, ...] = ()
    """The vendor's ids of the files with the results."""
    ending: Ending | None = None
    why: str = ""
    """The vendor's words on how it ended."""

    def custom_id(self, key: bytes) -> str:
        """The id of a request in this job."""
        return f"{self.token}{key.hex()[:KEY_DIGITS]}"


class BatchStatus(msgspec.Struct, frozen=True):
    """What a vendor says about a job."""

    ending: Ending | None
    """None if it is still at work."""
    why: str = ""
    results: tuple[str, ...] = ()
    done: int = 0
    """Requests that it has finished with."""


class BatchLine(msgspec.Struct, frozen=True):
    """One result: a response as it would have come live, or why there is none."""

    custom_id: str
    status: int
    """The HTTP status of the response; 0 without a response."""
    body: bytes = b""
    failure: AttemptFailed | None = None


class Unsure(msgspec.Struct, frozen=True):
    """A lost job may still turn up: jobs that could be it have not ended."""


class BatchLimits(msgspec.Struct, frozen=True):
    """What a vendor accepts in one job."""

    requests: int
    bytes: int
    window_s: float
    """After this time the vendor gives up."""


class BatchApi(Protocol):
    """The batch API of one model. A failed call is returned, never raised."""

    limits: BatchLimits
    has_files: bool
    """Whether requests are uploaded before the job is created."""

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One request as a line of the file that is uploaded or sent."""
        ...

    async def upload(self, job: BatchJob, file: Path) -> str | AttemptFailed:
        """Upload the lines; returns the id of the file."""
        ...

    async def remove_uploads(self, job: BatchJob) -> None:
        """Delete uploaded files of this job whose id was lost."""
        ...

    async def create(self, job: BatchJob, file: Path | None) -> str | AttemptFailed:
        """Create the job; returns its id. `not_sent` says that the vendor got nothing."""
        ...

    async def find(self, job: BatchJob) -> str | Unsure | AttemptFailed | None:
        """The id of a job whose creation got no answer; None if the vendor lists no such job."""
        ...

    async def poll(self, job: BatchJob) -> BatchStatus | AttemptFailed:
        """The state of the job; `not_found` if the vendor does not know it."""
        ...

    async def download(self, job: BatchJob, target: BinaryIO) -> AttemptFailed | None:
        """Write all results, one per line."""
        ...

    def read(self, line: bytes) -> BatchLine | None:
        """The result in a line; None if it cannot be read."""
        ...

    async def cancel(self, job: BatchJob) -> AttemptFailed | None:
        """Ask the vendor to stop; what is finished can still be collected."""
        ...

    async def delete(self, job: BatchJob) -> AttemptFailed | None:
        """Delete the files and, where possible, the job."""
        ...


@runtime_checkable
class BatchProvider(Protocol):
    """A provider whose requests can also be sent in a batch."""

    @property
    def batch_api(self) -> BatchApi:
        """The API; raises ConfigError if the address has none."""
        ...

    def batch_body(self, request: ProviderRequest) -> bytes:
        """The body of a request, in the best form that the API is known to accept."""
        ...

    def read_line(self, line: BatchLine) -> ProviderResponse | AttemptFailed:
        """The reply in a result, as if it had come live."""
        ...


class JobStore(Protocol):
    """Jobs, durable after every call."""

    def plan(self, job: BatchJob, items: Sequence[BatchItem]) -> Sequence[BatchItem]:
        """Store a job and hold its keys; returns the items whose key was free, and only those are
        in the job.
        """
        ...

    def write(self, job: BatchJob) -> None:
        """Store the new state of a job."""
        ...

    def finish(self, job: BatchJob, uncertain_usd: float = 0.0) -> None:
        """Store its last state, release its keys, and add what may still be billed to its run."""
        ...

    def jobs(self, run_id: int | None = None, model: str | None = None) -> Sequence[BatchJob]:
        """The jobs that are not deleted, oldest first: all, of a run, or of a model in it."""
        ...

    def items(self, job: BatchJob) -> Sequence[BatchItem]:
        """The requests of a job; none after it was finished."""
        ...

    def holder(self, key: bytes) -> BatchJob | None:
        """The job that has this request in flight."""
        ...


def batch_provider(provider: Provider) -> BatchProvider:
    """The provider, if its requests can be sent in a batch; raises ConfigError otherwise."""
    if not isinstance(provider, BatchProvider):
        raise ConfigError(
            f"model {provider.name!r}: mode: batch: it has no batch API; expected provider "
            f"{' or '.join(PROVIDERS)}"
        )
    return provider


def batch_price(price: Price) -> Price:
    """price · PRICE_SHARE"""
    return Price(price.input * PRICE_SHARE, price.output * PRICE_SHARE)


def live_spec(spec: ModelSpec) -> ModelSpec:
    """The same model, asked request by request at its full price."""
    if spec.mode == "live":
        return spec
    price = spec.price
    if price is not None:
        price = Price(price.input / PRICE_SHARE, price.output / PRICE_SHARE)
    return msgspec.structs.replace(spec, mode="live", price=price)
