"""One connection pool for all models; every failure is a value."""

from __future__ import annotations

import io
import os
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import ClientTimeout
from yarl import URL

from callscore.core.provider import AttemptFailed
from callscore.providers.addresses import RefusedAddress, is_loopback, open_guarded_socket
from callscore.providers.redaction import excerpt

MAX_ANSWER_BYTES = 20_000_000
ATTEMPT_SECONDS = 600.0
CONNECT_SECONDS = 20.0
KEEP_ALIVE_SECONDS = 30.0
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
