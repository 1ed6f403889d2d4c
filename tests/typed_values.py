"""Check a JSON value against a type annotation, such as the request types of official SDKs.

The check is stricter than the usual libraries: an unknown key of a TypedDict is an error, and the
items of a list are checked for every kind of annotation.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any, get_args, get_origin

import typing_extensions

_LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)
_DICTS = (dict, collections.abc.Mapping)
_REQUIRED: tuple[Any, ...] = (typing.Required, typing_extensions.Required)
_WRAPPERS = (*_REQUIRED, typing.NotRequired, typing_extensions.NotRequired, typing.Annotated)


def type_errors(value: Any, kind: Any, path: str = "$") -> list[str]:
    """The differences between a value and a type; empty if the value has the type."""
    origin = _origin(kind)
    if kind in (object, Any):
        return []
    if origin in _WRAPPERS:
        return type_errors(value, get_args(kind)[0], path)
    if origin in (typing.Union, types.UnionType):
        tried = [type_errors(value, option, path) for option in get_args(kind)]
        return min(tried, key=len) if all(tried) else []
    if origin is typing.Literal or origin is typing_extensions.Literal:
        return [] if value in get_args(kind) else [f"{path}: {value!r} is not {get_args(kind)}"]
    if typing_extensions.is_typeddict(kind):
        return _object_errors(value, kind, path)
    if origin in _DICTS:
        return [] if isinstance(value, dict) else [f"{path}: {value!r} is no object"]
    if origin is not None and issubclass(origin, _LISTS):
        return _list_errors(value, get_args(kind)[0], path)
    return _scalar_errors(value, kind, path)


def _object_errors(value: Any, kind: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no object"]
    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    required = {name for name, hint in hints.items() if _origin(hint) in _REQUIRED}
    found = [f"{path}: lacks {name}" for name in sorted(required - value.keys())]
    for name, inner in value.items():
        if name in hints:
            found += type_errors(inner, hints[name], f"{path}.{name}")
        else:
            found.append(f"{path}: {name} is unknown")
    return found


def _origin(hint: Any) -> Any:
    return get_origin(hint)


def _list_errors(value: Any, kind: Any, path: str) -> list[str]:
    if not isinstance(value, list):
        return [f"{path}: {value!r} is no list"]
    return [
        fault
        for number, item in enumerate(value)
        for fault in type_errors(item, kind, f"{path}[{number}]")
    ]


def _scalar_errors(value: Any, kind: Any, path: str) -> list[str]:
    if kind is type(None):
        return [] if value is None else [f"{path}: {value!r} is not null"]
    wanted = (int, float) if kind is float else kind
    right = isinstance(value, wanted) and (kind is bool or not isinstance(value, bool))
    return [] if right else [f"{path}: {value!r} is no {getattr(kind, '__name__', kind)}"]
