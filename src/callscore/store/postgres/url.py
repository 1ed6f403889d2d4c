"""The URL of a PostgreSQL store: read here, so that no message of libpq can show a secret.

libpq prints the whole URL for a bad host, and the password for a bad escape.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from callscore.core.errors import ConfigError

SCHEMES = ("postgresql:", "postgres:")
DEFAULT_PORT = 5432
LEASE_S = 30.0
LEAST_LEASE_S, MOST_LEASE_S = 1.0, 3_600.0
REMOTE = {
    "sslmode": "verify-full",
    "require_auth": "scram-sha-256",
    "channel_binding": "require",
}
"""What a connection to another machine demands; libpq's own default falls back to plain text."""
ENCRYPTION = (*REMOTE, "sslrootcert", "sslcert", "sslkey", "sslcrl")
OWN = ("password_env", "lease_s")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_EXPECTED = "expected postgresql://USER@HOST[:PORT]/DATABASE"


class DatabaseUrl(msgspec.Struct, frozen=True):
    """Where a PostgreSQL store is, and how it is reached. It holds no password."""

    host: str
    """A name, an address, or the folder of a socket."""
    port: int
    database: str
    user: str
    text: str
    """The URL as it was given, for commands."""
    settings: Mapping[str, str] = {}
    """Of the encryption, as libpq names them."""
    password_env: str | None = None
    lease_s: float = LEASE_S
    """After how many seconds without a heartbeat a worker may be declared dead."""
    parent: Path = Path(".callscore")
    """The folder of files that stay on this machine: replies that could not be written yet."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        place = "" if self.is_socket else f"{host}:{self.port}"
        return f"postgresql://{self.user}@{place}/{self.database}"

    def absolute(self) -> DatabaseUrl:
        """The same URL with an absolute folder for files."""
        return msgspec.structs.replace(self, parent=self.parent.absolute())

    @property
    def is_socket(self) -> bool:
        """Whether the server is reached by a socket in a folder."""
        return self.host.startswith("/")

    @property
    def database_digest(self) -> str:
        """Identifies the database in names of files: several stores may share a folder."""
        place = f"{self.host}\n{self.port}\n{self.database}"
        return hashlib.blake2b(place.encode(), digest_size=8).hexdigest()

    def exists(self) -> bool:
        """Whether the database has a store; raises StoreError if it cannot be reached."""
        from callscore.store.postgres.connection import Link, connect
        from callscore.store.postgres.schema import version_of

        connect(self).close()  # a wrong address is an error at once, an outage later is not
        link = Link(self)
        try:
            return link.do(lambda connection: version_of(connection, self)) > 0
        finally:
            link.close()

    @property
    def demands(self) -> str:
        """What its server must have because it may be on another machine; empty if nothing."""
        if self.is_socket or self.host in _LOCAL:
            return ""
        both = ", ".join(f"{name}={value}" for name, value in {**REMOTE, **self.settings}.items())
        return f"; the URL demands {both} (docs/scale.md)"

    def parameters(self, environment: Mapping[str, str] = os.environ) -> dict[str, str | int]:
        """The connection parameters for libpq; raises ConfigError if the password is missing."""
        found: dict[str, str | int] = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
        }
        if not self.is_socket and self.host not in _LOCAL:
            found |= REMOTE
        found |= self.settings
        is_own = "sslrootcert" in found or (Path.home() / ".postgresql/root.crt").exists()
        if found.get("sslmode") == REMOTE["sslmode"] and not is_own:
            found["sslrootcert"] = "system"  # libpq refuses it with anything weaker
        if self.password_env is not None:
            if not environment.get(self.password_env):
                raise ConfigError(
                    f"{self}: the variable {self.password_env} is not set; expected the password"
                )
            found["password"] = environment[self.password_env]
        return found


def is_database(text: str) -> bool:
    """Whether a store is named by a URL and not by a path."""
    return text.startswith(SCHEMES)


def read_url(text: str, folder: Path) -> DatabaseUrl:
    """The URL of a store; raises ConfigError. `folder`: for files that stay on this machine."""
    if _BAD_ESCAPE.search(text):
        raise _error("has a % that begins no escape; expected %25 for the sign itself")
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORT
        queried = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:  # its message has parts of the URL
        raise _error(f"cannot be read; {_EXPECTED}") from None
    if parts.password is not None:
        raise _error(
            "contains a password; expected none: put it into the file that PGPASSFILE names, or "
            "into a variable and add ?password_env=NAME"
        )
    settings = dict(queried)
    if len(settings) < len(queried):
        raise _error("names a setting twice; expected each once")
    host = settings.pop("host", "") or unquote(parts.hostname or "")
    database, user = unquote(parts.path).strip("/"), unquote(parts.username or "")
    if not (host and database and user) or parts.fragment:
        raise _error(_EXPECTED)
    unknown = [name for name in settings if name not in (*ENCRYPTION, *OWN)]
    if unknown:
        known = ", ".join(("host", *ENCRYPTION, *OWN))
        # a misspelt `password` has its value in the URL, so only the names are shown
        raise _error(f"has unknown settings: {len(unknown)}; expected some of {known}")
    return DatabaseUrl(
        host,
        port,
        database,
        user,
        text,
        {name: value for name, value in settings.items() if name in ENCRYPTION},
        settings.get("password_env"),
        _lease(settings.get("lease_s", str(LEASE_S))),
        folder,
    )


def _lease(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not LEAST_LEASE_S <= seconds <= MOST_LEASE_S:
        raise _error(f"lease_s: expected seconds from {LEAST_LEASE_S:g} to {MOST_LEASE_S:g}")
    return seconds


def _error(what: str) -> ConfigError:
    return ConfigError(f"the URL of the store {what}")
