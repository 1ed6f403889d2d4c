"""The protocol of a provider: requests, responses and failed attempts."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import msgspec

from callscore.core.case import Case, Prompt, Reply

FailureKind = Literal[
    "rate_limited",
    "overloaded",
    "server",
    "timeout",
    "connection",
    "unreadable",
    "bad_request",
    "unauthorised",
    "not_found",
    "not_sent",
]
"""Why an attempt failed.

rate_limited   429: wait as demanded, then retry; all requests with the same key pause
overloaded     529, 503 with Retry-After: like rate_limited
server         other 5xx: retried after a wait
timeout        no complete reply within the deadline of the attempt
connection     refused, reset, closed early, DNS, TLS
unreadable     200, but the body violates the protocol
bad_request    400, 413, 422: this request can never work; never retried
unauthorised   401, 403: no request with this key can work; the model stops at once
not_found      404: no request to this model can work; the model stops at once
not_sent       nothing was sent: the budget does not cover it, or the run is shutting down
"""

STOPS_THE_MODEL: frozenset[FailureKind] = frozenset({"unauthorised", "not_found"})
NEVER_REPEATED: frozenset[FailureKind] = STOPS_THE_MODEL | {"bad_request", "not_sent"}


class ProviderRequest(msgspec.Struct, frozen=True):
    """A request, built once: its bytes and its cache key.

    `key` is a hash of everything that determines the reply: provider, model, full request and the
    number of the repeat. Neither the key nor the body contains a secret.
    """

    key: bytes
    model: str
    body: bytes
    input_tokens: int
    """An estimate for rate limits and budgets, not for the cost."""
    max_output_tokens: int
    prompt: Prompt | None = None
    """The prompt of the body. If an API refuses a request, it is built again in another form; the
    key stays the same, so that no reply is paid for twice."""


class ProviderResponse(msgspec.Struct, frozen=True):
    """A paid reply; a refusal or an empty text is a reply, too (C-27)."""

    reply: Reply
    requests_left: int | None = None
    tokens_left: int | None = None
    reset_s: float | None = None
    """The values of rate-limit headers, if there are any."""
    is_stored: bool = False
    """Whether it was sent and paid for earlier: by another run, or for another reply (C-140)."""


class AttemptFailed(msgspec.Struct, frozen=True):
    """A failed attempt. `message` is safe to store and print: one line, no secret."""

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after_s: float | None = None


class Provider(Protocol):
    """Builds requests from prompts and sends them."""

    name: str

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """Build the request for a prompt, once for all attempts; nothing is sent."""
        ...

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """Send the request once. A failed attempt is returned, never raised."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


@runtime_checkable
class CaseProvider(Protocol):
    """A provider that answers from the case instead of the prompt: recorded or simulated
    replies.
    """

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest | None:
        """The request for a case; None if there is nothing to send (no reply was recorded)."""
        ...
