"""Converts YAML values to structs; unknown keys are refused with the nearest known one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.config.file import (
    AttemptsEntry,
    DataEntry,
    EvalFile,
    GateEntry,
    ModelEntry,
    ScenarioEntry,
)
from callscore.core.run import Limits, Price
from callscore.store.strict_yaml import Document

_AT = re.compile(r" - at `\$\.?(.*)`$")
_SECRET_KEYS = frozenset({"api_key", "apikey", "key", "token", "secret", "password"})


def converted(document: Document, kind: Any, part: str, value: Any) -> Any:
    """The value as a struct; an error for an unknown key names the nearest known one."""
    refuse_unknown(document, kind, part, value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        found = _AT.search(message)
        inner = found.group(1) if found else ""
        whole = f"{part}.{inner}" if part and inner else part or inner
        raise document.error(whole, _AT.sub("", message).replace("`", "")) from None


def refuse_unknown(document: Document, kind: Any, part: str, value: Any) -> None:
    """Raise if a mapping has a key that its struct does not have, at any depth."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            refuse_unknown(document, kind, f"{part}[{number}]", item)
    if not isinstance(value, dict):
        return
    known = kind.__struct_fields__
    for key, item in value.items():
        inner = f"{part}.{key}" if part else key
        if key not in known:
            raise document.error(inner, _unknown(key, known))
        if (kind, key) in _NESTED:
            refuse_unknown(document, _NESTED[kind, key], inner, item)


def _unknown(key: str, known: Sequence[str]) -> str:
    if key.casefold().replace("-", "_") in _SECRET_KEYS and "api_key_env" in known:
        return "a secret does not belong in this file; expected api_key_env or api_key_file"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    return f"unknown key; {hint}"


_NESTED: Mapping[tuple[Any, str], Any] = {
    (EvalFile, "models"): ModelEntry,
    (EvalFile, "gates"): GateEntry,
    (EvalFile, "attempts"): AttemptsEntry,
    (ModelEntry, "price"): Price,
    (ModelEntry, "limits"): Limits,
    (DataEntry, "orchestration"): ScenarioEntry,
}
