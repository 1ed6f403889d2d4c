"""One request to a provider and what may come of it; the engine and the providers meet here."""

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
"""Why an attempt brought no answer.

rate_limited   429: wait as told, then again; the whole key pauses
overloaded     529, 503 with Retry-After: as rate_limited
server         other 5xx: again, after a while
timeout        no complete answer within the deadline of the attempt
connection     refused, reset, closed half-way, DNS, TLS
unreadable     200, but the body is not what the protocol promises
bad_request    400, 413, 422: this request will never work; never repeated
unauthorised   401, 403: no request with this key will work; the model stops at once
not_found      404: no request to this model will work; the model stops at once
not_sent       nothing was sent: the budget would not hold it, or somebody said stop
"""

STOPS_THE_MODEL: frozenset[FailureKind] = frozenset({"unauthorised", "not_found"})
NEVER_REPEATED: frozenset[FailureKind] = STOPS_THE_MODEL | {"bad_request", "not_sent"}


class ProviderRequest(msgspec.Struct, frozen=True):
    """A request built once: its bytes, and the key that says whether it was already paid.

    `key` is a hash of everything that determines the answer: provider, model, full request
    and the number of the repeat. No secret enters it, nor the body.
    """

    key: bytes
    model: str
    body: bytes
    input_tokens: int
    """Estimated: for limits and budgets, never for the bill."""
    max_output_tokens: int
    prompt: Prompt | None = None
    """What the body was made from: where an API refuses the form of a request, it is made anew.
    The key stays, so that an answer had in another form is not paid for twice."""


class Answered(msgspec.Struct, frozen=True):
    """A paid answer; a refusal or an empty text is an answer, too (C-27)."""

    reply: Reply
    requests_left: int | None = None
    tokens_left: int | None = None
    reset_s: float | None = None
    """What rate-limit headers say, where there are any."""


class AttemptFailed(msgspec.Struct, frozen=True):
    """No answer this time. `message` is safe to store and print: no secret, one line."""

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after_s: float | None = None


class Provider(Protocol):
    """Something that builds requests from prompts and sends them."""

    name: str

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """Build the request for a prompt, once for all attempts; nothing is sent."""
        ...

    async def attempt(self, request: ProviderRequest) -> Answered | AttemptFailed:
        """Send the request once. A failed attempt is returned, never raised."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


@runtime_checkable
class CaseProvider(Protocol):
    """A provider that answers from the case, not from the prompt: recorded or simulated answers.

    Its requests are keyed by everything that determines the answer, as those of any provider.
    """

    def request_for(self, case: Case, prompt: Prompt, repeat: int) -> ProviderRequest | None:
        """The request for a case; None where there is nothing to ask (no answer was recorded)."""
        ...
