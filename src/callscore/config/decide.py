"""`decide` of an eval file and `--decide`: what the recommended model is chosen by (C-138)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.nearest import nearest
from callscore.core.scorecard import BY, Decide
from callscore.store.strict_yaml import Document

KEYS = Decide.__struct_fields__
LOSS = "loss"
"""What the framework of decisions also knows; prices of errors do not exist yet."""


def read_decide(given: Mapping[str, Any]) -> Decide:
    """The settings, some of them given; raises ConfigError with the key and what was expected."""
    for key in given:
        if key not in KEYS:
            near = nearest(key, KEYS)
            hint = f"did you mean {near}?" if near else f"expected {', '.join(KEYS)}"
            raise ConfigError(f"decide.{key}: unknown key; {hint}")
    by, expected = given.get("by", Decide().by), ", ".join(BY)
    if by == LOSS:
        raise ConfigError(f"decide.by: 'loss' needs prices of errors; expected one of {expected}")
    if by not in BY:
        raise ConfigError(f"decide.by: {by!r}; expected one of {expected}")
    try:
        found = msgspec.convert({**given}, Decide, strict=False)
    except msgspec.ValidationError as error:
        key = str(error).rpartition("`$.")[2].rstrip("`")
        expected = "true or false" if key == "allow_fail" else "a number from 0 to 1"
        raise ConfigError(f"decide.{key}: {given.get(key)!r}; expected {expected}") from None
    if not 0 <= found.margin <= 1:
        raise ConfigError(f"decide.margin: {found.margin:g}; expected a number from 0 to 1")
    return found


def decide_of(document: Document, given: Mapping[str, Any]) -> Decide:
    """The settings in an eval file; an error names its line."""
    try:
        return read_decide(given)
    except ConfigError as error:
        part, _, problem = str(error).partition(": ")
        raise document.error(part, problem) from None
