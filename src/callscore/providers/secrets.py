"""API keys: from the environment or a private file, never from a config."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.run import ModelSpec
from callscore.providers.permissions import Permissions

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
            return _usable(_read(Path(spec.api_key_file)), "api_key_file")
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


def _read(path: Path) -> str:
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
