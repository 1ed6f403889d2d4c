"""API keys: where they come from, where they may be sent, and texts without them (S-14).

A shared eval file could send a key, the calls of its user, or any file it names as a prompt, to a
host of its author's. So what a config may send where is stored per user, and no config decides it.
"""

from __future__ import annotations

import base64
import os
import re
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from callscore.core.consent import consent
from callscore.core.errors import ConfigError
from callscore.core.run import ModelSpec

MAX_KEY_BYTES = 16_384
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Secrets(msgspec.Struct, frozen=True):
    """The environment with the keys; its repr shows nothing of it."""

    environment: Mapping[str, str]

    def __repr__(self) -> str:
        return "Secrets(…)"

    @property
    def permissions(self) -> Permissions:
        """What the user has allowed configs to send, and where."""
        return Permissions(self.environment)

    def key_for(self, spec: ModelSpec, default_env: str | None = None) -> str | None:
        """The key of a model; None if its config names none and the default is not set."""
        if spec.api_key_env and spec.api_key_file:
            raise ConfigError("api_key_env and api_key_file: give one of them")
        if spec.api_key_file:
            return _usable(_read_key_file(Path(spec.api_key_file)), "api_key_file")
        if spec.api_key_env:
            key = self.environment.get(spec.api_key_env, "")
            if not key.strip():
                raise ConfigError(f"api_key_env: {spec.api_key_env} is not set or empty")
            return _usable(key, "api_key_env")
        usual = self.environment.get(default_env, "") if default_env else ""
        return _usable(usual, str(default_env)) if usual.strip() else None


def _usable(key: str, source: str) -> str:
    """The key, checked for use in a header."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{source}: contains no usable key (one ASCII word)")
    return key


def _read_key_file(path: Path) -> str:
    where = f"api_key_file: {path}"
    try:
        mode = path.stat().st_mode
        if mode & _OTHERS:
            raise ConfigError(f"{where}: others may read it (mode {mode & 0o777:o}); chmod 600")
        with path.open("rb") as file:
            return file.read(MAX_KEY_BYTES).decode()
    except OSError as error:
        raise ConfigError(f"{where}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: not text") from None


_WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


CALLS = "calls"
"""The entry for data without a key, in the list of hosts."""


class _PermissionsFile(msgspec.Struct, omit_defaults=True):
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

    def check_file(self, file: Path, name: str) -> None:
        """Raise ConfigError unless a file outside the project may be sent, or the user agrees.

        The answer holds for the folder of the file.
        """
        allowed = self._read()
        folder = str(file.parent)
        if folder in allowed.folders:
            return
        _ask(f"{name} is outside the project", "send its content", "sends its content")
        allowed.folders.append(folder)
        self._remember(allowed)

    def _read(self) -> _PermissionsFile:
        path = self.path
        if path is None:
            return _PermissionsFile()
        try:
            mode, raw = path.stat().st_mode, path.read_bytes()
        except OSError:
            return _PermissionsFile()
        if mode & _WRITTEN_BY_OTHERS:
            raise ConfigError(f"{path}: others may write it (mode {mode & 0o777:o}); chmod 600")
        try:
            return msgspec.json.decode(raw, type=_PermissionsFile)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConfigError(f"{path}: cannot be read; remove it to be asked again") from None

    def _remember(self, allowed: _PermissionsFile) -> None:
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


REDACTED = "[redacted]"
LONGEST_EXCERPT = 300
MOST_SEARCHED = 4_000
"""Characters of a body that are considered. Secrets are removed before the text is cut, so that no
part of a key is left at its end."""

_SHORTEST_SECRET = 6
_SHAPES = (
    (re.compile(r"://[^/\s@]{1,300}@"), f"://{REDACTED}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), rf"\1 {REDACTED}"),
    (
        re.compile(
            r"(?i)\b((?:x-|x-goog-)?api[-_]?key|authorization|x-amz-security-token|password|secret)"
            r"(\"?'?\s?[:=]\s?\"?'?)(?!\[redacted)(?!bearer|basic)[^\s\"',;&}]+"
        ),
        rf"\1\2{REDACTED}",
    ),
    (
        re.compile(r"(?i)([?&](?:key|token|sig|signature|access_token)=)[^&\s\"']+"),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"\b(?:sk|pk|rk|xai|pplx|nvapi|gsk|hf|ghp|gho|r8|key)[-_][\w-]{12,}"), REDACTED),
    (re.compile(r"\bAIza[\w-]{20,}"), REDACTED),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"), REDACTED),
    (re.compile(r"\bABSK[\w+/=]{20,}"), REDACTED),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w.-]+"), REDACTED),
)
_BACKSLASHES = r"\\{1,4}"
_URL_SAFE = str.maketrans("+/", "-_")
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text without the given secrets, plain or encoded as JSON, URL or base64."""
    for secret in secrets:
        if len(secret) < _SHORTEST_SECRET:
            continue
        if secret in text:
            text = text.replace(secret, REDACTED)
        if "\\u00" in text or "%" in text or "\\/" in text:
            text = _escaped_pattern(secret).sub(REDACTED, text)
        for written in _in_base64(secret):
            if written in text:
                text = text.replace(written, REDACTED)
    return text


@lru_cache(maxsize=64)
def _escaped_pattern(secret: str) -> re.Pattern[str]:
    """Matches the secret with any of its characters escaped, at any depth of JSON in JSON."""
    return re.compile(
        "".join(
            rf"(?:(?:{_BACKSLASHES})?{re.escape(char)}|{_BACKSLASHES}u00{code:02x}|%{code:02x})"
            for char, code in zip(secret, secret.encode("latin-1", "replace"), strict=True)
        ),
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _in_base64(secret: str) -> Sequence[str]:
    """The base64 characters that depend on the secret alone, at each of three offsets."""
    found: dict[str, None] = {}
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret.encode()).decode()
        own = encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        found |= {own: None, own.translate(_URL_SAFE): None}
    return tuple(found)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without the given secrets and without anything that looks like a key."""
    text = without_secrets(text, secrets)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


def excerpt(text: str, secrets: Sequence[str] = ()) -> str:
    """One redacted line of at most 300 characters, without control and bidi characters."""
    line = redact(" ".join(text[:MOST_SEARCHED].split()), secrets)
    line = "".join("\ufffd" if unicodedata.category(c) in _UNSEEN else c for c in line)
    return line if len(line) <= LONGEST_EXCERPT else line[: LONGEST_EXCERPT - 1] + "…"
