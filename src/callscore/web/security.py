"""Who may ask: allowed hosts and origins, start tokens, sessions, and the headers of answers.

Every request passes `Guard.refuse` before it is routed, also those for static files and for pages
that do not exist: exactly one known `Host` (another name that resolves to this machine is an attack
by DNS), for writes an equal `Origin`, then the session.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from callscore.web.screen import Role, WebSession

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send forms with Origin: null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SAFE_METHODS = ("GET", "HEAD")
START_S = 600.0
"""How long the address that the command prints can be opened."""
SESSION_S = 7 * 24 * 3600
MAX_SESSIONS = 1_000
TOKEN_BYTES = 32


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    why: str


class Reviewer(NamedTuple):
    """A person of the file of reviewers."""

    name: str
    role: Role
    token_sha256: str


class Guard:
    """Decides about every request; keeps tokens and sessions by their hashes, in memory."""

    def __init__(
        self,
        origins: Sequence[str],
        cookie: str,
        reviewers: Sequence[Reviewer] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.origins = frozenset(origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in origins)
        self.cookie = cookie
        self.reviewers = tuple(reviewers)
        self.is_secure = all(origin.startswith("https://") for origin in origins)
        self._clock = clock
        self._starts: dict[bytes, tuple[float, WebSession]] = {}
        self._sessions: dict[bytes, tuple[float, WebSession]] = {}

    def refuse(
        self, method: str, hosts: Sequence[str], origin: str | None, site: str | None
    ) -> Refusal | None:
        """Return why a request is refused, with or without a session; None if it may go on."""
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return Refusal(403, "This address is not one that the server was started with.")
        if method in SAFE_METHODS:
            return None
        if origin not in self.origins or origin.partition("://")[2] != hosts[0].lower():
            return Refusal(403, "The form does not come from a page of this server.")
        if site is not None and site != "same-origin":
            return Refusal(403, "The form does not come from a page of this server.")
        return None

    def issue_start_token(self, session: WebSession) -> str:
        """Return a token that becomes one session, once, within ten minutes."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._starts[_hash(token)] = (self._clock() + START_S, session)
        return token

    def redeem(self, token: str) -> str | None:
        """Return the id of a new session for a start token; None if it is unknown or was used."""
        until, session = self._starts.pop(_hash(token), (0.0, None))
        if session is None or until < self._clock():
            return None
        return self._open(session)

    def log_in(self, token: str) -> str | None:
        """Return the id of a new session for the token of a reviewer; None if there is none."""
        digest = sha256(token.strip().encode()).hexdigest()
        found = None
        for reviewer in self.reviewers:  # all of them: the time says nothing about the token
            if hmac.compare_digest(reviewer.token_sha256, digest):
                found = reviewer
        return None if found is None else self._open(WebSession(found.name, found.role))

    def log_out(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(_hash(session_id), None)

    def session(self, session_id: str | None) -> WebSession | None:
        """Return the session of a cookie; None if there is none."""
        until, session = self._sessions.get(_hash(session_id or ""), (0.0, None))
        return session if until > self._clock() else None

    def _open(self, session: WebSession) -> str:
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        session_id = secrets.token_urlsafe(TOKEN_BYTES)
        self._sessions[_hash(session_id)] = (self._clock() + SESSION_S, session)
        return session_id


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()
