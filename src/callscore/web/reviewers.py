"""The file of reviewers: who may log in from another machine, and in which role."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from callscore.core.errors import ConfigError, UsageError
from callscore.store.strict_yaml import read_yaml
from callscore.web.screen import ROLES
from callscore.web.security import TOKEN_BYTES, Reviewer

_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[\w][\w .@-]{0,59}")
_KEYS = {"name", "role", "token_sha256"}


def read_reviewers(path: Path) -> Sequence[Reviewer]:
    """Read the people of a file; raises ConfigError with place and what is expected.

    The file is a YAML list of `{name, role, token_sha256}`.
    """
    entries = read_yaml(path).value
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path}: expected a list of {{name, role, token_sha256}}")
    found = [_reviewer(path, number, entry) for number, entry in enumerate(entries, start=1)]
    for field in ("name", "token_sha256"):
        values = [getattr(one, field) for one in found]
        twice = next((number for number, one in enumerate(values) if one in values[:number]), None)
        if twice is not None:
            raise ConfigError(f"{path}: entry {twice + 1}: {field}: given twice; expected once")
    return found


def _reviewer(path: Path, number: int, entry: object) -> Reviewer:
    where = f"{path}: entry {number}"
    if not isinstance(entry, dict) or set(entry) != _KEYS:
        raise ConfigError(f"{where}: expected exactly name, role and token_sha256")
    name, role, digest = (str(entry[key]) for key in ("name", "role", "token_sha256"))
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: name: expected 1 to 60 letters, digits, spaces, . @ _ or -")
    if not _HASH.fullmatch(digest):
        raise ConfigError(f"{where}: token_sha256: expected 64 hexadecimal digits")
    for known in ROLES:
        if role == known:
            return Reviewer(name, known, digest)
    raise ConfigError(f"{where}: role: {role!r}; expected one of {', '.join(ROLES)}")


def new_reviewer(given: str) -> tuple[str, str]:
    """Return the entry of a new person, given as `NAME=ROLE`, and their token."""
    name, _, role = given.rpartition("=")
    if not _NAME.fullmatch(name) or role not in ROLES:
        raise UsageError(
            f"--new-reviewer {given}: expected NAME=ROLE with a role of {', '.join(ROLES)}"
        )
    token = secrets.token_urlsafe(TOKEN_BYTES)
    digest = sha256(token.encode()).hexdigest()
    return f"- {{name: '{name}', role: {role}, token_sha256: {digest}}}", token
