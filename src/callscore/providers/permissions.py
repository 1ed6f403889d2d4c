"""What a config may send where: stored per user, so that no config decides it (S-14).

A shared eval file could send a key, the calls of its user, or any file it names as a prompt, to a
host of its author's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from callscore.core.consent import consent
from callscore.core.errors import ConfigError

_WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


CALLS = "calls"
"""The entry for data without a key, in the list of hosts."""


class _File(msgspec.Struct, omit_defaults=True):
    """The file: the hosts of every variable or key file, and folders that may be sent."""

    hosts: dict[str, list[str]] = {}
    folders: list[str] = []


class Permissions(msgspec.Struct, frozen=True):
    """What the user has allowed configs to send."""

    environment: Mapping[str, str]

    @property
    def path(self) -> Path | None:
        """The path of the file; None for a user without a home."""
        base = self.environment.get("XDG_CONFIG_HOME", "")
        if not Path(base).is_absolute():
            home = self.environment.get("HOME", "")
            if not Path(home).is_absolute():
                return None
            base = str(Path(home) / ".config")
        return Path(base) / "callscore" / "keys.json"

    def check_key(self, source: str, host: str, *, is_vendor: bool = False) -> None:
        """Raise ConfigError unless this key may be sent to this host, or the user agrees.

        `source` is the variable or the file of the key. The vendor's own address, which no config
        has named, needs no question; the key is bound to it all the same.
        """
        allowed = self._read()
        bound = allowed.hosts.get(source, [])
        if host in bound:
            return
        if bound:
            known = f"{source} holds a key for {', '.join(bound)}"
        else:
            known = f"{source} was never sent anywhere by Callscore"
        if not (is_vendor and not bound):
            _ask(known, f"send it to {host}", f"sends it to {host}")
        allowed.hosts.setdefault(source, []).append(host)
        self._remember(allowed)

    def check_host(self, host: str) -> None:
        """Raise ConfigError unless calls may be sent to this host without a key, or the user
        agrees.
        """
        allowed = self._read()
        if any(host in hosts for hosts in allowed.hosts.values()):
            return
        _ask(f"nothing was ever sent to {host}", "send it calls", "sends it calls")
        allowed.hosts.setdefault(CALLS, []).append(host)
        self._remember(allowed)

    def check_file(self, file: Path) -> None:
        """Raise ConfigError unless a file outside the project may be sent, or the user agrees.

        The answer holds for the folder of the file.
        """
        allowed = self._read()
        folder = str(file.parent)
        if folder in allowed.folders:
            return
        _ask(f"{file} is outside the project", "send its content", "sends its content")
        allowed.folders.append(folder)
        self._remember(allowed)

    def _read(self) -> _File:
        path = self.path
        if path is None:
            return _File()
        try:
            mode, raw = path.stat().st_mode, path.read_bytes()
        except OSError:
            return _File()
        if mode & _WRITTEN_BY_OTHERS:
            raise ConfigError(f"{path}: others may write it (mode {mode & 0o777:o}); chmod 600")
        try:
            return msgspec.json.decode(raw, type=_File)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConfigError(f"{path}: cannot be read; remove it to be asked again") from None

    def _remember(self, allowed: _File) -> None:
        """Store what is allowed; if that fails, the user is asked again next time."""
        path = self.path
        if path is None:
            return
        raw = msgspec.json.format(msgspec.json.encode(allowed), indent=1) + b"\n"
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(raw)
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)


def _ask(known: str, action: str, done: str) -> None:
    """Ask the user for an action of the config; raise ConfigError if it is not allowed."""
    said = consent(f"{known}. {action.capitalize()}, as the config says?")
    if not said:
        remedy = (
            "not confirmed" if said is False else "if that is right, say so once: --trust-config"
        )
        raise ConfigError(f"{known}, and the config {done}; {remedy}")
