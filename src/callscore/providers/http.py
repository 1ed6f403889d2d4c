"""One connection pool for all models; every failure is a value."""

from __future__ import annotations

import io
import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from aiohttp import ClientTimeout
from yarl import URL

from callscore.core.provider import AttemptFailed, FailureKind
from callscore.providers.addresses import RefusedAddress, is_loopback, open_guarded_socket
from callscore.providers.rate_limit_headers import duration_s, retry_after_s
from callscore.providers.secrets import MOST_SEARCHED, excerpt

MAX_ANSWER_BYTES = 20_000_000
"""A larger answer is a fault of the server; all answers in flight are in memory."""
ATTEMPT_SECONDS = 600.0
"""As the clients of OpenAI and Anthropic wait: models that reason answer after minutes."""
CONNECT_SECONDS = 20.0
KEEP_ALIVE_SECONDS = 30.0
"""Usual proxies close idle connections after 60 seconds: a request sent then would be lost."""
DNS_SECONDS = 300
LARGE_BODY = 2**20
"""From this size on aiohttp needs a stream, to write in chunks."""


class Endpoint(NamedTuple):
    """The URL of one model's requests, and its proxy."""

    url: URL
    proxy: URL | None = None

    @property
    def host(self) -> str:
        """The host, as messages show it."""
        return self.url.host_port_subcomponent or ""


class HttpResponse(NamedTuple):
    """A complete HTTP response with any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """The connections of a process; the last model to release them closes them.

    Redirects are not followed, cookies not stored, `.netrc` not read. A request has one deadline
    from connecting to the last byte, so that neither a hang nor a slow response outlives it.
    """

    def __init__(
        self, *, attempt_seconds: float = ATTEMPT_SECONDS, max_bytes: int = MAX_ANSWER_BYTES
    ) -> None:
        self._timeout = ClientTimeout(total=attempt_seconds, sock_connect=CONNECT_SECONDS)
        self._seconds = attempt_seconds
        self._max_bytes = max_bytes
        self._session: aiohttp.ClientSession | None = None
        self._users = 0

    def join(self) -> None:
        """Another model uses the connections."""
        self._users += 1

    async def leave(self) -> None:
        """A model no longer uses them; the last one closes them."""
        self._users -= 1
        if self._users <= 0 and self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def post(
        self, endpoint: Endpoint, body: bytes, headers: Mapping[str, str]
    ) -> HttpResponse | AttemptFailed:
        """Send one request and read the complete response; returns why that failed."""
        session = self._session or self._open()
        data = body if len(body) < LARGE_BODY else io.BytesIO(body)
        try:
            async with session.post(
                endpoint.url,
                data=data,
                headers=headers,
                proxy=endpoint.proxy,
                allow_redirects=False,
            ) as response:
                read = await self._read(response)
                if read is None:
                    message = f"{endpoint.host} sent more than {self._max_bytes} bytes"
                    return AttemptFailed("unreadable", message, response.status)
                return HttpResponse(response.status, response.headers, read)
        except TimeoutError:
            message = f"{endpoint.host}: no complete answer within {self._seconds:g} s"
            return AttemptFailed("timeout", message)
        except (aiohttp.ClientError, OSError) as error:
            return _connection_failure(endpoint, error)

    async def call(
        self,
        method: str,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        data: bytes | BinaryIO | aiohttp.FormData | None = None,
        into: BinaryIO | None = None,
    ) -> HttpResponse | AttemptFailed:
        """Send or get what may be large: `data` may be a file, and a body with status 200 goes
        `into` a file. The time between two parts is limited, not the whole.

        `not_sent` says that there was no connection, and so nothing was sent.
        """
        session = self._session or self._open()
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._seconds)
        try:
            async with session.request(
                method,
                endpoint.url,
                data=data,
                headers=headers,
                proxy=endpoint.proxy,
                allow_redirects=False,
                timeout=timeout,
            ) as response:
                if into is None or response.status != 200:
                    read = await self._read(response)
                    if read is None:
                        message = f"{endpoint.host} sent more than {self._max_bytes} bytes"
                        return AttemptFailed("unreadable", message, response.status)
                    return HttpResponse(response.status, response.headers, read)
                async for part in response.content.iter_any():
                    into.write(part)
                return HttpResponse(response.status, response.headers, b"")
        except TimeoutError:
            message = f"{endpoint.host}: no answer within {self._seconds:g} s"
            return AttemptFailed("timeout", message)
        except aiohttp.ClientConnectorError as error:
            failed = _connection_failure(endpoint, error)
            return failed if failed.kind == "not_found" else _not_sent(failed)
        except (aiohttp.ClientError, OSError) as error:
            return _connection_failure(endpoint, error)

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,
            ttl_dns_cache=DNS_SECONDS,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            socket_factory=open_guarded_socket,
        )
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        """The body; None if it is larger than allowed, before or after decompression."""
        length = response.content_length
        if length is not None and "content-encoding" not in response.headers:
            return await response.read() if length <= self._max_bytes else None
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self._max_bytes:
                return None
            parts.append(part)
        return b"".join(parts)


def _not_sent(failed: AttemptFailed) -> AttemptFailed:
    return msgspec.structs.replace(failed, kind="not_sent")


def proxy_for(url: URL) -> URL | None:
    """The proxy that the environment sets for a URL; never for this machine."""
    if is_loopback(url) or proxy_bypass(url.host_port_subcomponent or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return URL(proxy) if proxy else None


def _connection_failure(endpoint: Endpoint, error: aiohttp.ClientError | OSError) -> AttemptFailed:
    """A connection that was refused, reset, closed early or never made."""
    cause = getattr(error, "os_error", None)
    if isinstance(cause, RefusedAddress):
        # no later attempt can succeed, so the model stops at once
        return AttemptFailed("not_found", f"{endpoint.host}: {cause}")
    if isinstance(error, aiohttp.InvalidURL):
        return AttemptFailed("not_found", f"{endpoint.host}: {excerpt(str(error))}")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        why = "the name cannot be resolved; check base_url, the network and HTTPS_PROXY"
    elif isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        why = f"TLS failed: {cause or error}"
    elif isinstance(error, aiohttp.ClientResponseError):
        return AttemptFailed("unreadable", f"{endpoint.host}: not HTTP: {excerpt(error.message)}")
    elif isinstance(cause, OSError) and cause.errno:
        why = os.strerror(cause.errno)
    else:
        why = str(error) or type(error).__name__
    return AttemptFailed("connection", f"{endpoint.host}: {excerpt(why)}")


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
        return ServerError(body[: 4 * MOST_SEARCHED].decode(errors="replace"))
    inner = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(inner, dict):
        return ServerError(inner if isinstance(inner, str) else repr(value)[:MOST_SEARCHED])
    message = next((inner[k] for k in ("message", "detail", "Message") if k in inner), None)
    details = inner.get("details")
    details = details if isinstance(details, list) else []
    codes = frozenset(_words(inner, ("code", "type", "status"), details))
    shown = message if isinstance(message, str) else repr(value)[:MOST_SEARCHED]
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
