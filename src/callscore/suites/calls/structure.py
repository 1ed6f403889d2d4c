"""Response Structure Compliance: kinds of containers and key sets, nothing else (C-23 … C-25).

Most replies have exactly the structure of the expected outcome; `parse` finds that without this
module. For others a `Shape` is compiled, once per case, which defines allowed differences and
locates faults.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from callscore.core.lazy import lazy_regex
from callscore.core.measure import ratio
from callscore.metrics.text import item_id

CONTAINERS = frozenset({dict, list})


class Shape(msgspec.Struct, frozen=True):
    """What a value must be: an object with these keys, or an array of such items.

    `containers` has the keys whose value is itself a container; all others are scalars.
    `unchecked` keys may be present or missing, with any value (C-127).
    """

    kind: str
    required: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    containers: Mapping[str, Shape] = {}
    unchecked: frozenset[str] = frozenset()
    item: Shape | None = None
    item_of_id: Mapping[str, Shape] = {}
    id_key: str = ""


SCALAR = Shape("scalar")
NO_KEYS: frozenset[str] = frozenset()
COMPLIES, DIFFERS = ratio(1, 1), ratio(0, 1)
"""Response Structure Compliance of one reply        003 Response Structure Compliance"""


class ShapeSources(msgspec.Struct, frozen=True):
    """What a shape depends on besides the expected outcome; the last two belong to the case."""

    sample_items: Mapping[str, Collection[str]]
    """Item keys of the framework's own sample, by path, for arrays expected empty (C-24)."""
    id_key: str = ""
    """The key that identifies the items of those arrays."""
    open_maps: Collection[str] = ()
    absent: frozenset[str] = frozenset()
    asked: Mapping[str, Sequence[str]] = {}
    """By path, the requested names where names are content."""


def is_like(expected: Mapping[str, Any], given: Any) -> bool:
    """Whether a reply has exactly the keys and containers of the expected outcome

    False does not mean that it differs: `fault` decides.
    """
    if type(given) is not dict or given.keys() != expected.keys():
        return False
    for key, value in expected.items():
        kind, other = type(value), given[key]
        if kind is dict:
            if not is_like(value, other):
                return False
        elif kind is list:
            if type(other) is not list or not _are_like(value, other):
                return False
        elif type(other) in CONTAINERS:
            return False
    return True


def _are_like(expected: list[Any], given: list[Any]) -> bool:
    """Whether all items of both arrays are scalars, or objects of scalars with the same keys"""
    if not given:
        return True
    if not expected:
        return False
    if type(expected[0]) is not dict:
        return CONTAINERS.isdisjoint(map(type, expected)) and CONTAINERS.isdisjoint(
            map(type, given)
        )
    keys = expected[0].keys()
    for item in chain(expected, given):
        if (
            type(item) is not dict
            or item.keys() != keys
            or not CONTAINERS.isdisjoint(map(type, item.values()))
        ):
            return False
    return True


def outline_of(expected: Any) -> Hashable | None:
    """The keys and containers of an expected outcome; None if the items of a list differ."""
    if type(expected) is list:
        if CONTAINERS.isdisjoint(map(type, expected)):
            return len(expected) > 0
        first = expected[0]
        return (True, *first) if type(first) is dict and _are_like(expected, expected) else None
    found: list[Hashable] = []
    for key, value in expected.items():
        if type(value) in CONTAINERS:
            inner = outline_of(value)
            if inner is None:
                return None
            found.append((key, inner))
        else:
            found.append(key)
    return tuple(found)


def compile_shape(expected: Any, sources: ShapeSources, path: str = "") -> Shape:
    """The shape that a reply to this expected outcome must have."""
    if isinstance(expected, dict):
        return _object_shape(expected, sources, path)
    if isinstance(expected, list):
        return _array_shape(expected, sources, path)
    return SCALAR


def _object_shape(expected: Mapping[str, Any], sources: ShapeSources, path: str) -> Shape:
    keys = frozenset(expected) - sources.absent
    containers = {
        key: compile_shape(value, sources, f"{path}.{key}" if path else key)
        for key, value in expected.items()
        if isinstance(value, (dict, list)) and key in keys
    }
    required, allowed = names_at(keys, path, sources, sources.asked.get(path, ()))
    if not containers:
        return _flat_shape(required, allowed, sources.absent)
    return Shape("object", required, allowed, containers, sources.absent)


def names_at(
    keys: frozenset[str], path: str, sources: ShapeSources, asked: Sequence[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The names that an object must and may have: the requested ones and the reference's   C-25

    A requested name may be missing if the reference lacks it, and a name of the reference if it was
    not requested.
    """
    requested = frozenset(asked) - sources.absent
    allowed = keys | requested if requested else keys
    if path in sources.open_maps:
        return NO_KEYS, allowed
    return keys & requested if requested else keys, allowed


@lru_cache(maxsize=1024)
def _flat_shape(required: frozenset[str], allowed: frozenset[str], absent: frozenset[str]) -> Shape:
    """An object of scalars; cached, as the items of all cases are alike."""
    return Shape("object", required, allowed, unchecked=absent)


def _array_shape(expected: list[Any], sources: ShapeSources, path: str) -> Shape:
    if not expected:
        sample = sources.sample_items.get(path)
        keys = frozenset(sample or ()) - sources.absent
        item = _flat_shape(keys, keys, sources.absent) if sample else SCALAR
        return Shape("array", item=item)
    first = compile_shape(expected[0], sources, path + "[]")
    if _is_flat(first) and all(_fault(item, first) is None for item in expected):
        return Shape("array", item=first)
    others = [compile_shape(item, sources, path + "[]") for item in expected[1:]]
    if all(shape == first for shape in others):
        return Shape("array", item=first)
    id_key = sources.id_key if path in sources.sample_items else ""
    return _mixed_array_shape(expected, [first, *others], id_key)


def _is_flat(shape: Shape) -> bool:
    """Whether all values that comply with a shape have that same shape."""
    return shape.kind != "array" and not shape.containers and shape.required == shape.allowed


def _mixed_array_shape(expected: list[Any], shapes: list[Shape], id_key: str) -> Shape:
    """Items that differ: the one with the same id decides, else union and intersection (C-24)."""
    objects = [shape for shape in shapes if shape.kind == "object"]
    if not objects:
        return Shape("array", item=SCALAR)
    merged = Shape(
        "object",
        required=frozenset.intersection(*(shape.required for shape in objects)),
        allowed=frozenset.union(*(shape.allowed for shape in objects)),
        containers={key: item for shape in objects for key, item in shape.containers.items()},
        unchecked=objects[0].unchecked,
    )
    of_id = {
        item_id(item[id_key]): shape
        for item, shape in zip(expected, shapes, strict=True)
        if isinstance(item, dict) and id_key in item
    }
    return Shape("array", item=merged, item_of_id=of_id, id_key=id_key)


def fault(value: Any, shape: Shape) -> str | None:
    """Where and how a value differs from its shape; None if it complies."""
    found = _fault(value, shape)
    return f"${found}" if found else None


def _fault(value: Any, shape: Shape) -> str | None:
    """The fault with its path from here; callers prepend their own step."""
    if shape.kind == "object":
        return _object_fault(value, shape)
    if shape.kind == "array":
        return _array_fault(value, shape)
    return ": expected a scalar" if isinstance(value, (dict, list)) else None


def _object_fault(value: Any, shape: Shape) -> str | None:
    if not isinstance(value, dict):
        return ": expected an object"
    keys = value.keys()
    if keys != shape.required:
        missing = shape.required - keys
        if missing:
            return f": missing key {min(missing)!r}"
        extra = keys - shape.allowed - shape.unchecked
        if extra:
            return f": extra key {min(extra)!r}"
    containers, unchecked = shape.containers, shape.unchecked
    if not containers and CONTAINERS.isdisjoint(map(type, value.values())):
        return None
    for key, item in value.items():
        if key in containers:
            found = _fault(item, containers[key])
            if found:
                return f".{key}{found}"
        elif isinstance(item, (dict, list)) and key not in unchecked:
            return f".{key}: expected a scalar"
    return None


def _array_fault(value: Any, shape: Shape) -> str | None:
    if not isinstance(value, list):
        return ": expected an array"
    item_shape = shape.item
    assert item_shape is not None  # every array shape has one
    if item_shape.kind == "scalar":
        return _scalars_fault(value)
    required = item_shape.required
    for index, item in enumerate(value):
        if (  # nearly every item: the expected keys, all scalars
            not item_shape.containers
            and type(item) is dict
            and item.keys() == required
            and CONTAINERS.isdisjoint(map(type, item.values()))
            and not shape.item_of_id
        ):
            continue
        expected = item_shape
        if shape.item_of_id and isinstance(item, dict):
            expected = shape.item_of_id.get(item_id(item.get(shape.id_key)), item_shape)
        found = _fault(item, expected)
        if found:
            return f"[{index}]{found}"
    return None


def _scalars_fault(values: list[Any]) -> str | None:
    if CONTAINERS.isdisjoint(map(type, values)):
        return None
    index = next(i for i, value in enumerate(values) if isinstance(value, (dict, list)))
    return f"[{index}]: expected a scalar"


_MARK = re.compile(r"[.!?\u2026\n\u3002\uff01\uff1f\u0964\u0965]")
_MAY_BREAK = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]?\s|[\n\u3002\uff01\uff1f\u0964\u0965]")
_BREAK = lazy_regex(
    r"""
      \n
    | (?<=[\u3002\uff01\uff1f\u0964\u0965])        # full stops that need no space after them
    | (?: (?<=[.!?\u2026]) | (?<=[.!?\u2026]["'\u201d\u2019)\]]) )
      (?<!\b[^\W\d_]\.)                            # not after an initial, nor after "p.m."
      (?<!\b(?i:mr|ms|dr|st|rs|vs)\.)
      (?<!\b(?i:mrs|inc|ltd|tel|ext)\.)
      (?<!\A\d\.)(?<!\A\d\d\.)(?<!\n\d\.)(?<!\n\d\d\.)      # "1." numbers the line
      (?<![.!?:;]\s\d\.)(?<![.!?:;]\s\d\d\.)            # "First. 2. Second."
      (?: (?<!\b(?i:no)\.) | (?!\s\d) )            # "No. 5" is a number, "no. Five" is not
      \s
    """,
    re.VERBOSE,
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; abbreviations and numbers do not end one"""
    mark = _MARK.search(text)
    if mark is None or _MAY_BREAK.search(text, mark.start()) is None:
        return [text.strip()]
    return [part.strip() for part in _BREAK.split(text)]
