"""Maps error responses to the kind of the failure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.provider import AttemptFailed, FailureKind
from callscore.providers.http import HttpResponse
from callscore.providers.rate_limit_headers import duration_s, retry_after_s
from callscore.providers.redaction import MAX_READ, excerpt

_BY_STATUS: Mapping[int, FailureKind] = {
    401: "unauthorised",
    402: "unauthorised",
    403: "unauthorised",
    404: "not_found",
    408: "timeout",
    409: "server",
    424: "server",
    425: "server",
    429: "rate_limited",
    504: "timeout",
    529: "overloaded",
}
_KEY_IS_USELESS = frozenset(
    ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "API_KEY_INVALID")
)
"""Error codes that mean a useless key, whatever the status."""
_OUT_OF_CREDIT = (
    "Your credit balance is too low",
    "You have reached your specified API usage limits",
)
_THROTTLED = frozenset(("ServiceQuotaExceededException", "ThrottlingException"))
_NO_HEADERS: Mapping[str, str] = {}
_AMAZON_ERROR = "x-amzn-errortype"


class ServerError(NamedTuple):
    """The content of an error body, in any of the usual shapes."""

    message: str
    codes: frozenset[str] = frozenset()
    retry_after_s: float | None = None


def server_error(body: bytes, headers: Mapping[str, str] = _NO_HEADERS) -> ServerError:
    """The error in a body, and in the header that AWS uses for it."""
    error = _in_body(body)
    amazon = headers.get(_AMAZON_ERROR)
    if amazon is None:
        return error
    return error._replace(codes=error.codes | {amazon.partition(":")[0]})


def _in_body(body: bytes) -> ServerError:
    """Parse `{"error": {…}}`, `{"message": …}`, `{"detail": …}` or any other text."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ServerError(body[: 4 * MAX_READ].decode(errors="replace"))
    inner = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(inner, dict):
        return ServerError(inner if isinstance(inner, str) else repr(value)[:MAX_READ])
    message = next((inner[k] for k in ("message", "detail", "Message") if k in inner), None)
    details = inner.get("details")
    details = details if isinstance(details, list) else []
    codes = frozenset(_words(inner, ("code", "type", "status"), details))
    shown = message if isinstance(message, str) else repr(value)[:MAX_READ]
    return ServerError(shown, codes, _retry_delay(details))


def _words(error: Mapping[str, Any], names: Sequence[str], details: Sequence[Any]) -> Iterator[str]:
    yield from (str(error[name]) for name in names if isinstance(error.get(name), (str, int)))
    for detail in details:
        if isinstance(detail, dict) and isinstance(detail.get("reason"), str):
            yield detail["reason"]


def _retry_delay(details: Sequence[Any]) -> float | None:
    """Gemini puts the wait into the body: `{"retryDelay": "34s"}`."""
    reported = (d.get("retryDelay") for d in details if isinstance(d, dict))
    return next((duration_s(delay) for delay in reported if isinstance(delay, str)), None)


def failure(
    answer: HttpResponse, error: ServerError, host: str, secrets: Sequence[str]
) -> AttemptFailed:
    """The failed attempt for a response with an error status."""
    wait = retry_after_s(answer.headers)
    wait = error.retry_after_s if wait is None else wait
    if 300 <= answer.status < 400:
        return _redirect_error(answer, host, secrets)
    reported = excerpt(error.message, secrets) or "no message"
    return AttemptFailed(
        kind_of(answer.status, error, has_wait=wait is not None),
        f"{host} answered {answer.status}: {reported}",
        answer.status,
        wait,
    )


def kind_of(status: int, error: ServerError, *, has_wait: bool) -> FailureKind:
    """The `FailureKind` for a status and the codes that came with it."""
    if error.codes & _KEY_IS_USELESS or error.message.startswith(_OUT_OF_CREDIT):
        return "unauthorised"
    if error.codes & _THROTTLED:
        return "rate_limited"
    if status == 503 and has_wait:
        return "overloaded"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 400 <= status < 500:
        return "bad_request"
    return "server" if status >= 500 else "unreadable"


def _redirect_error(answer: HttpResponse, host: str, secrets: Sequence[str]) -> AttemptFailed:
    where = excerpt(answer.headers.get("location", "nowhere"), secrets)
    message = (
        f"{host} answered {answer.status} and points to {where}; redirects are not followed, "
        "so that a key reaches no other host: put the final address into base_url"
    )
    return AttemptFailed("not_found", message, answer.status)
