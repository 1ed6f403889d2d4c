"""Starts the server: checks what it may expose, prints its address, waits for the end."""

from __future__ import annotations

import asyncio
import getpass
import ipaddress
import logging
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from callscore.core.errors import UsageError
from callscore.results.stored_results import StoredResults
from callscore.store.address import StoreAddress, is_read_only, require_store
from callscore.web.reviewers import read_reviewers
from callscore.web.screen import Site, WebSession
from callscore.web.screens import all_routes
from callscore.web.security import Guard
from callscore.web.server import START, build_app

Say = Callable[[str], None]
LOCAL_NAMES = ("127.0.0.1", "localhost")
SHUTDOWN_S = 2.0
MOST_SQL_S = 2.0
"""A search that takes longer is stopped, and the page says so: it would hold up all others."""


class ServeOptions(msgspec.Struct, frozen=True):
    """What is served, to whom."""

    store: StoreAddress
    host: str = "127.0.0.1"
    port: int = 8420
    data: Path | None = None
    author: str | None = None
    reviewers: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    proxy: str | None = None
    opens: bool = False
    """Whether the browser is opened."""
    is_sample: bool = False
    """Whether the store has the sample only; every page says so."""

    @property
    def is_local(self) -> bool:
        """Whether other people cannot log in."""
        return is_loopback(self.host) and self.proxy is None and self.reviewers is None


def serve_store(options: ServeOptions, say: Say) -> None:
    """Serve a store until an interrupt."""
    require_store(options.store, "; `callscore demo --serve` shows a sample")
    check_exposure(options)
    if options.data is not None:
        _make_folder(options.data)
    with _listen(options.host, options.port) as listener:
        asyncio.run(_serve(options, listener, say))


def _make_folder(path: Path) -> None:
    """Make the folder for files of people, unless there is one."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"--data {path}: {why}; expected a folder, or the name of a new one"
        ) from None


def check_exposure(options: ServeOptions) -> None:
    """Refuse what would expose calls: other machines need reviewers and TLS."""
    if (options.cert is None) != (options.key is None):
        raise UsageError("--cert and --key: expected both or none")
    if options.cert is not None and options.proxy is not None:
        raise UsageError("--cert and --proxy: expected one of them; the proxy has the certificate")
    if is_loopback(options.host) and options.proxy is None:
        return
    if options.reviewers is None:
        raise UsageError(
            f"--host {options.host}: other machines can reach it; expected --reviewers FILE"
        )
    if options.cert is None and options.proxy is None:
        raise UsageError(
            f"--host {options.host}: other machines can reach it; "
            "expected TLS: --cert and --key, or --proxy ORIGIN"
        )
    if options.cert is not None and options.host in ("0.0.0.0", "::"):
        raise UsageError(
            f"--host {options.host}: expected the name or address that people type, with --cert"
        )


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises UsageError if the port is taken."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"--host {host} --port {port}: {why}; --port 0 takes a free one") from None


def _origins(options: ServeOptions, port: int) -> list[str]:
    """Return the addresses that browsers may use."""
    if options.proxy is not None:
        return [_proxy_origin(options.proxy)]
    scheme = "https" if options.cert is not None else "http"
    names = LOCAL_NAMES if is_loopback(options.host) else (options.host,)
    shown = [f"[{name}]" if ":" in name else name for name in dict.fromkeys((*names, options.host))]
    default = 443 if scheme == "https" else 80
    return [f"{scheme}://{name}" + ("" if port == default else f":{port}") for name in shown]


def _proxy_origin(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query:
        raise UsageError(f"--proxy {given}: expected an origin such as https://calls.example.com")
    return f"https://{parts.netloc.lower()}"


async def _serve(options: ServeOptions, listener: socket.socket, say: Say) -> None:
    port = listener.getsockname()[1]
    origins = _origins(options, port)
    reviewers = [] if options.reviewers is None else read_reviewers(options.reviewers)
    guard = Guard(origins, f"callscore-{port}", reviewers)
    results = StoredResults(options.store, most_s=MOST_SQL_S)
    site = Site(
        results,
        options.store,
        all_routes(),
        options.data,
        is_read_only(options.store),
        options.is_sample,
    )
    runner = web.AppRunner(
        build_app(site, guard),
        access_log=None,
        logger=_fault_log(),
        shutdown_timeout=SHUTDOWN_S,
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener, ssl_context=_tls(options)).start()
        ended = _on_interrupt()
        _announce(options, guard, origins[0], say)
        await ended.wait()
    finally:
        await runner.cleanup()
        results.close()


def _fault_log() -> logging.Logger:
    """Return the log of the server's own faults.

    aiohttp logs a traceback for every request that is not HTTP or ends early, which any program
    that reaches the port can send: it would fill a disk, or block the server on a pipe that
    nothing reads.
    """
    log = logging.getLogger("callscore.web.requests")
    log.addFilter(_is_fault)
    return log


def _is_fault(record: logging.LogRecord) -> bool:
    raised = record.exc_info[1] if record.exc_info else None
    return not isinstance(raised, (BadHttpMessage, ConnectionError, web.RequestPayloadError))


def _tls(options: ServeOptions) -> ssl.SSLContext | None:
    if options.cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(options.cert, options.key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--cert {options.cert}: {error}; expected PEM files") from None
    return context


def _announce(options: ServeOptions, guard: Guard, origin: str, say: Say) -> None:
    if guard.reviewers:
        say(f"Open {origin} and log in with a token of {options.reviewers}.")
        say(f"It exposes every call, reply and verdict of {options.store} to:")
        for one in guard.reviewers:
            say(f"  {one.name} ({one.role})")
        return
    token = guard.issue_start_token(WebSession(options.author or getpass.getuser()))
    address = f"{origin}{START}?token={token}"
    say(f"Open within ten minutes, once: {address}")
    say("Ctrl-C ends the server.")
    if options.opens:
        import webbrowser

        webbrowser.open(address)


def _on_interrupt() -> asyncio.Event:
    """Return what an interrupt sets, from now on."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    return ended
