"""Which hosts a key may be sent to: stored per user, so that no config decides it (S-14)."""

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


class _File(msgspec.Struct):
    """The file: the hosts of every variable or key file."""

    hosts: dict[str, list[str]] = {}


class KeyBindings(msgspec.Struct, frozen=True):
    """The hosts that the keys of this user may be sent to."""

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

    def check(self, source: str, host: str, *, is_vendor: bool = False) -> None:
        """Raise ConfigError unless this key may be sent to this host, or the user agrees.

        `source` is the variable or the file of the key. The vendor's own address, which no config
        has named, needs no question; the key is bound to it all the same.
        """
        bound = self._read().hosts.get(source, [])
        if host in bound:
            return
        if bound:
            known = f"{source} holds a key for {', '.join(bound)}"
        else:
            known = f"{source} was never sent anywhere by Callscore"
        if not (is_vendor and not bound):
            said = consent(f"{known}. Send it to {host}, as the config says?")
            if not said:
                remedy = (
                    "not confirmed"
                    if said is False
                    else "if that is right, say so once: --trust-config"
                )
                raise ConfigError(f"{known}, and the config sends it to {host}; {remedy}")
        self._remember(source, host)

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

    def _remember(self, source: str, host: str) -> None:
        """Store the host; if that fails, the user is asked again next time."""
        path = self.path
        if path is None:
            return
        found = self._read()
        found.hosts.setdefault(source, []).append(host)
        raw = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
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
