"""Settings of a suite: its defaults with some replaced, checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.spec import ScoreSettings

Settings = TypeVar("Settings", bound=ScoreSettings)


def checked_settings(
    kind: type[Settings], defaults: Mapping[str, Any], given: Mapping[str, Any]
) -> Settings:
    """The defaults with some replaced; raises ConfigError on an unknown key or value."""
    usual = msgspec.convert(defaults, kind)
    if not given:
        return usual
    known = msgspec.to_builtins(usual)
    for key in given:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}; expected one of: {', '.join(known)}")
    lists = list_settings(kind)
    # on a command line, several paths are separated by spaces
    given = {
        key: tuple(value.split()) if key in lists and isinstance(value, str) else value
        for key, value in given.items()
    }
    try:
        return msgspec.convert({**known, **given}, kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise _error(kind, given, str(error)) from None


def _error(kind: type[ScoreSettings], given: Mapping[str, Any], message: str) -> ConfigError:
    wrong = next((key for key in given if f"$.{key}`" in message), None)
    words = setting_words(kind).get(wrong or "")
    problem = message.partition(" - at ")[0].replace("`", "")
    if words:
        problem = f"expected one of {', '.join(words)}"
    # the message about a value out of range begins with the name of its setting
    return ConfigError(f"setting {wrong}: {problem}" if wrong else f"setting {problem}")


@cache
def setting_words(kind: type[ScoreSettings]) -> Mapping[str, tuple[str, ...]]:
    """The allowed words of each setting; numbers and paths are left out."""
    hints = get_type_hints(kind)
    return {
        field.encode_name: tuple(map(str, words))
        for field in msgspec.structs.fields(kind)
        if (words := get_args(hints[field.name])) and get_origin(hints[field.name]) is Literal
    }


@cache
def list_settings(kind: type[ScoreSettings]) -> frozenset[str]:
    """The settings that are lists."""
    hints = get_type_hints(kind)
    return frozenset(
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if get_origin(hints[field.name]) is tuple
    )


def changed_settings(settings: ScoreSettings, usual: ScoreSettings) -> Mapping[str, Any]:
    """The settings that are not the default, by name."""
    defaults = msgspec.to_builtins(usual)
    return {
        key: value
        for key, value in msgspec.to_builtins(settings).items()
        if value != defaults.get(key)
    }
