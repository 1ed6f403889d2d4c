"""Values as msgpack, for a cluster: data and classes of this package, and nothing that runs.

Unlike pickle, reading calls no function that the bytes name: it makes objects of classes of this
package and sets their attributes. Whole numbers stay whole, and floats keep every digit.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, cast

import msgspec

PACKAGE = "callscore."
SCALARS = frozenset({type(None), bool, float, bytes})
SEQUENCES: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def to_bytes(value: object) -> bytes:
    """A value as bytes; raises TypeError for what has no data of its own, such as a function."""
    classes: dict[str, int] = {}
    tree = _pack(value, classes)
    return msgspec.msgpack.encode([list(classes), tree])


def from_bytes(data: bytes) -> Any:
    """The value in some bytes; raises TypeError if it has a class of another package."""
    names, tree = msgspec.msgpack.decode(data)
    return _unpack(tree, [_class(name) for name in names])


def _pack(value: Any, classes: dict[str, int]) -> Any:
    """A scalar, or a list: the kind of a value and its parts."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is str:
        return value if _is_unicode(value) else ["str", value.encode("utf-8", "surrogatepass")]
    if kind is int:
        return value if -(1 << 63) <= value < 1 << 64 else ["int", hex(value)]
    if kind is array:
        return ["array", value.typecode, value.tobytes()]
    if value is msgspec.UNSET:
        return ["unset"]
    if isinstance(value, Enum):
        return ["enum", _number(kind, classes), value.value]
    if isinstance(value, PurePath):
        return ["path", os.fsencode(value)]
    if kind.__name__ in SEQUENCES and kind.__module__ == "builtins":
        return [kind.__name__, *_pack_each(value, classes)]
    if isinstance(value, dict):
        return _pack_mapping(value, classes)
    return _pack_object(value, classes)


def _pack_mapping(value: Mapping[Any, Any], classes: dict[str, int]) -> Any:
    kind = type(value)
    entries = (_pack(part, classes) for entry in value.items() for part in entry)
    if kind is dict or kind is Counter:
        return ["dict" if kind is dict else "counter", *entries]
    return ["mapping", _number(kind, classes), *entries]


def _pack_object(value: Any, classes: dict[str, int]) -> Any:
    kind = type(value)
    number = _number(kind, classes)
    if isinstance(value, msgspec.Struct):
        fields = [getattr(value, name) for name in kind.__struct_fields__]
        return ["struct", number, *(_pack(field, classes) for field in fields)]
    if isinstance(value, tuple):
        return ["named", number, *(_pack(field, classes) for field in value)]
    args = _pack(value.args, classes) if isinstance(value, Exception) else None
    state = {name: getattr(value, name) for name in _attributes(value)}
    return ["object", number, args, _pack(state, classes)]


def _attributes(value: object) -> Sequence[str]:
    slots = (name for base in type(value).__mro__ for name in vars(base).get("__slots__", ()))
    return [*slots, *getattr(value, "__dict__", ())]


def _pack_each(values: Collection[Any], classes: dict[str, int]) -> Iterable[Any]:
    """The parts of a sequence; ids of many cases stay as they are."""
    kinds = set(map(type, values))
    if kinds <= SCALARS or (kinds == {str} and all(map(str.isascii, values))):
        return values
    return (_pack(each, classes) for each in values)


def _is_unicode(text: str) -> bool:
    """Whether a text has no half of a character, as the name of a file may."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(kind: type, classes: dict[str, int]) -> int:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if not kind.__module__.startswith(PACKAGE) or "<" in name:
        raise TypeError(f"{name} cannot be sent to another machine")
    return classes.setdefault(name, len(classes))


@cache
def _class(name: str) -> type[Any]:
    """A class of this package by its name."""
    module, _, path = name.partition(":")
    found: Any = import_module(module) if module.startswith(PACKAGE) else None
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or found.__module__ != module:
        raise TypeError(f"{name!r} is not a class of {PACKAGE.rstrip('.')}")
    return found


def _unpack(tree: Any, classes: Sequence[type[Any]]) -> Any:
    if type(tree) is not list:
        return tree
    kind, *parts = tree
    if kind == "struct":
        made = classes[parts[0]]
        values = (_unpack(part, classes) for part in parts[1:])
        return made(**dict(zip(made.__struct_fields__, values, strict=True)))
    if make := SEQUENCES.get(kind):
        if list not in set(map(type, parts)):
            return make(parts)
        return make(_unpack(part, classes) for part in parts)
    return _UNPACK[kind](parts, classes)


def _unpack_entries(parts: Sequence[Any], classes: Sequence[type[Any]]) -> dict[Any, Any]:
    values = (_unpack(part, classes) for part in parts)
    return dict(zip(values, values, strict=True))


def _unpack_object(parts: Sequence[Any], classes: Sequence[type[Any]]) -> Any:
    number, args, state = parts
    made = classes[number].__new__(classes[number])
    if args is not None:
        made.args = _unpack(args, classes)
    for name, value in _unpack(state, classes).items():
        object.__setattr__(made, name, value)
    return made


_UNPACK: Mapping[str, Callable[[Sequence[Any], Sequence[type[Any]]], Any]] = {
    "str": lambda parts, _: parts[0].decode("utf-8", "surrogatepass"),
    "int": lambda parts, _: int(parts[0], 16),
    "array": lambda parts, _: array(*parts),
    "path": lambda parts, _: Path(os.fsdecode(parts[0])),
    "dict": _unpack_entries,
    "counter": lambda parts, classes: Counter(_unpack_entries(parts, classes)),
    "mapping": lambda parts, classes: cast(
        Any, classes[parts[0]](_unpack_entries(parts[1:], classes))
    ),
    "named": lambda parts, classes: classes[parts[0]]._make(
        _unpack(part, classes) for part in parts[1:]
    ),
    "object": _unpack_object,
    "unset": lambda parts, _: msgspec.UNSET,
    "enum": lambda parts, classes: classes[parts[0]](parts[1]),
}
