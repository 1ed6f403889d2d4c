"""A PostgreSQL server of the tests' own: a new cluster in a temporary folder, on a free port.

PostgreSQL refuses to run as root, so root starts it as an unprivileged user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SETTINGS = (
    "fsync=off",  # a test kills processes, never the machine
    "full_page_writes=off",
    "max_connections=60",
    "shared_buffers=16MB",
    "autovacuum=off",
    "log_min_messages=fatal",
)
OWNER = "owner"
"""Not the name of the schema, which is in the search path of a user of this name."""
UNPRIVILEGED = ("postgres", "nobody")


class PostgresServer:
    """A cluster without passwords, for connections from this machine."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self._folder = binaries, folder
        self.port = _free_port()
        self._run("initdb", "-U", OWNER, "-A", "trust", "-N", "-E", "UTF8", "--locale=C")

    @property
    def host(self) -> str:
        """The folder of its socket, as libpq expects it."""
        return str(self._folder)

    def start(self, *settings: str) -> None:
        place = (f"port={self.port}", f"unix_socket_directories={self._folder}")
        here = "listen_addresses=127.0.0.1"
        options = [f"-c{setting}" for setting in (*SETTINGS, *place, here, *settings)]
        self._run("pg_ctl", "-w", "-t", "60", "-l", self._folder / "log", "-o", " ".join(options))

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-w", "-m", mode, action="stop")

    def own(self, folder: Path) -> None:
        """Give a folder to the user of the server."""
        if (user := _user()) is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)

    def trust(self, address: str) -> None:
        """Let an address connect, from the next start on."""
        with (self._folder / "data/pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write(f"host all all {address}/32 trust\n")

    def ask_for_password(self, user: str, address: str) -> None:
        """Start again: this user needs a password, and another address of this machine answers."""
        rules = f"host all {user} all scram-sha-256\n"
        hba = self._folder / "data/pg_hba.conf"
        hba.write_text(rules + hba.read_text(encoding="utf-8"), encoding="utf-8")
        self.stop()
        self.start(f"listen_addresses=127.0.0.1,{address}")

    def url(self, database: str = "postgres", parameters: str = "") -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}{parameters}"

    def execute(self, statement: str, *values: object) -> list[Any]:
        """The rows of one statement in its own transaction."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            found = connection.execute(statement.encode(), values or None)
            return found.fetchall() if found.description else []

    def new_store(self, parameters: str = "") -> str:
        """The URL of a database without tables; creating a database takes longer."""
        self.execute("DROP SCHEMA IF EXISTS callscore CASCADE")
        return self.url(parameters=parameters)

    def read_data_file(self, path: str) -> bytes:
        """A file of the cluster, such as that of a table."""
        return (self._folder / "data" / path).read_bytes()

    def _run(self, program: str, *arguments: object, action: str = "start") -> None:
        command = [
            str(self._binaries / program),
            *map(str, arguments),
            "-D",
            f"{self._folder}/data",
        ]
        if program == "pg_ctl":
            command.append(action)
        ended = subprocess.run(
            [*_unprivileged(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode()


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server; skips the test if there is no PostgreSQL, fails it in CI."""
    binaries = find_binaries()
    if binaries is None:
        why = "no PostgreSQL: expected initdb in PATH or in /usr/lib/postgresql/*/bin"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="callscore-pg-"))
    try:
        if (user := _user()) is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        server = PostgresServer(binaries, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@cache
def find_binaries() -> Path | None:
    """The folder of initdb; installed by apt if it is missing and this is root."""
    for _ in range(2):
        found = shutil.which("initdb")
        places = [Path(found).resolve().parent] if found else []
        places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        for place in places:
            if all((place / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
                return place
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            return None
        install = ["apt-get", "install", "-y", "-q", "postgresql"]
        subprocess.run(install, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return None


def _user() -> pwd.struct_passwd | None:
    """The unprivileged user that root starts the server as; None if this is not root."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user for user in pwd.getpwall()}
    return next(known[name] for name in UNPRIVILEGED if name in known)


def _unprivileged() -> Sequence[str]:
    user = _user()
    if user is None:
        return ()
    ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}")
    return ("setpriv", *ids, "--clear-groups", "--")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
