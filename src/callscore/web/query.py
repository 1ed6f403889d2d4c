"""Queries of addresses: `?show=different&task=qa` as a struct, and back.

A screen declares its query as a frozen struct whose fields have defaults. Empty values are dropped,
the order is that of the fields, and an unknown name or value is an error that names the allowed
ones. A field of type `Sequence[str]` may be given several times; one of type `Mapping[str, float]`
has a number per key: `weights.qa=0.5`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin
from urllib.parse import quote_plus

import msgspec

from callscore.report.safe_text import plain
from callscore.results.port import QueryError

MAX_VALUE_LENGTH = 2_000
Query = TypeVar("Query", bound=msgspec.Struct)


class NoQuery(msgspec.Struct, frozen=True):
    """The query of a page that has none."""


@cache  # it evaluates every annotation, and a page has hundreds of addresses
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def parse_query(kind: type[Query], pairs: Iterable[tuple[str, str]]) -> Query:
    """Return the query as a struct; raises QueryError naming what is allowed."""
    fields = {field.encode_name: field for field in _fields(kind)}
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if _type_of(fields, name) is None:
            raise QueryError(f"{plain(name, 60)!r}: unknown; {_expected_names(fields)}")
        if len(value) > MAX_VALUE_LENGTH:
            raise QueryError(f"{name}: expected at most {MAX_VALUE_LENGTH} characters")
        if value.strip():
            given.setdefault(name, []).append(value.strip())
    found: dict[str, Any] = {}
    for name, values in given.items():
        of, dot, key = name.partition(".")
        converted = _convert(name, values, _type_of(fields, name))
        if dot:
            found.setdefault(fields[of].name, {})[key] = converted
        else:
            found[fields[of].name] = converted
    return kind(**found)


def _type_of(fields: Mapping[str, msgspec.structs.FieldInfo], name: str) -> Any:
    """The type of a parameter; None if there is no such one."""
    of, dot, key = name.partition(".")
    kind = None if of not in fields else fields[of].type
    if get_origin(kind) is Mapping:
        return get_args(kind)[1] if key else None
    return None if dot else kind


def encode_query(query: msgspec.Struct) -> str:
    """Return the query as text, with the question mark; empty if every value is the default."""
    pairs = []
    for field in _fields(type(query)):
        value = getattr(query, field.name)
        if isinstance(value, Mapping):
            name = field.encode_name
            pairs += [f"{name}.{_quote(key)}={_quote(of)}" for key, of in sorted(value.items())]
            continue
        if value == field.default:
            continue
        values = [value] if isinstance(value, (str, int, float)) else value
        pairs += [f"{field.encode_name}={_quote(one)}" for one in values or ()]
    return "?" + "&".join(pairs) if pairs else ""


def _quote(value: str | int | float) -> str:
    content = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, float):
        content = content.removesuffix(".0")
    return quote_plus(content, safe="~:,/@", errors="replace")


def _convert(name: str, values: list[str], kind: Any) -> Any:
    if get_origin(kind) not in (None, Literal, Union, UnionType):
        return tuple(values)
    if len(values) > 1:
        raise QueryError(f"{name}: given {len(values)} times; expected once")
    try:
        found = msgspec.convert(values[0], kind, strict=False)
    except msgspec.ValidationError:
        found = None
    if found is None or (isinstance(found, float) and not isfinite(found)):
        raise QueryError(f"{name}={plain(values[0], 60)!r}: expected {_describe(kind)}")
    return found


def _describe(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return _describe(next(one for one in get_args(kind) if one is not type(None)))
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "a text")


def _expected_names(fields: Mapping[str, msgspec.structs.FieldInfo]) -> str:
    names = [
        f"{name}.NAME" if get_origin(field.type) is Mapping else name
        for name, field in fields.items()
    ]
    return f"expected one of {', '.join(names)}" if names else "this page has no parameters"
