"""Parses replies: one JSON object each, in the structure of the expected outcome (C-23).

Most expected outcomes, and most replies to them, have exactly the keys of the task's answer schema:
a typed decoder reads these and checks their structure. Everything else goes to the full parser,
which says what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar

import msgspec

from callscore.core.case import Case, JsonObject, Malformed, Reply
from callscore.core.strict_json import (
    MAX_BYTES,
    Parsed,
    body_of,
    decode_body,
    is_finished,
    keys_preserved,
)
from callscore.suites.calls.items import absent_parts
from callscore.suites.calls.structure import (
    CONTAINERS,
    Shape,
    ShapeSources,
    compile_shape,
    fault,
    is_like,
    names_at,
    outline_of,
)

BLANKS = ("...", "…")
"""What examples in prompts have instead of a text."""
_DOTS, _ELLIPSIS = (f'"{blank}"' for blank in BLANKS)
COPIED_EXAMPLE = "copied_example"
MOST_OUTLINES = 256
T = TypeVar("T")
Scalar = str | int | float | bool | None

_ENCODE = msgspec.json.Encoder().encode

Allows = Callable[[str, JsonObject, JsonObject], bool]
"""Whether an object at a path may have other names than the expected one there."""


def allows_nothing(path: str, expected: JsonObject, given: JsonObject) -> bool:
    """Only the names of the expected outcome are allowed."""
    return False


class ReplyPart(NamedTuple):
    """A part of the reply: an object, a list or an open map, and how to get it."""

    path: str
    get: Callable[[Any], Any]
    width: int = 0
    """Keys of the object, or of every object in the list; 0 in a list of scalars."""


class ReplyLayout(NamedTuple):
    """The parts of a reply by kind, and the number of keys that every reply has."""

    keys: int
    objects: tuple[ReplyPart, ...]
    lists: tuple[ReplyPart, ...]
    maps: tuple[ReplyPart, ...]
    part_keys: frozenset[str]
    """The keys whose value is another part."""


class ReplyForm(msgspec.Struct, frozen=True):
    """The documented form of a task's replies."""

    decode: Callable[[bytes], Any]
    """Refuses a missing key or a value of another type; ignores unknown keys."""
    layout: ReplyLayout
    by_outline: dict[Hashable, Any] = {}
    """What was worked out for an outline; most cases of a task have the same."""

    def fits(self, expected: Mapping[str, Any]) -> bool:
        """Whether an expected outcome has the documented keys and no others."""
        _, objects, lists, maps, part_keys = self.layout
        try:
            for part in objects:
                value = part.get(expected)
                if type(value) is not dict or len(value) != part.width:
                    return False
                for key, inner in value.items():
                    if type(inner) in CONTAINERS and key not in part_keys:
                        return False
            for part in lists:
                if not _are_flat(part.get(expected), part.width):
                    return False
            return all([_has_scalars(part.get(expected)) for part in maps])
        except (KeyError, TypeError, AttributeError):
            return False

    def count_keys(self, expected: Mapping[str, Any], answer: Any, allows: Allows) -> int:
        """Keys of a decoded reply in all its objects; 0 if an open map has other names."""
        keys, _, lists, maps, _ = self.layout
        for _, get, width in lists:
            keys += width * len(get(answer))
        for path, get, _ in maps:
            given, expected_map = get(answer), get(expected)
            if given.keys() != expected_map.keys() and not allows(path, expected_map, given):
                return 0
            keys += len(given)
        return keys


def form_from_schema(schema: Mapping[str, Any]) -> ReplyForm:
    """The form that an answer schema describes.

    An object may contain scalars, lists of scalars or flat objects, open maps, and objects.
    """
    objects: list[ReplyPart] = []
    lists: list[ReplyPart] = []
    maps: list[ReplyPart] = []
    make_type: Any = TypedDict  # its fields are known only at run time

    def type_of(inner: Mapping[str, Any], path: tuple[str, ...]) -> Any:
        part = ReplyPart(".".join(path), _getter(path))
        if inner.get("type") == "array":
            items = inner["items"].get("properties")
            lists.append(part._replace(width=len(items or ())))
            if items is None:
                return list[Scalar]
            item: Any = make_type("Item", dict.fromkeys(items, Scalar))
            return list[item]
        if inner.get("type") != "object":
            return Scalar
        keys = inner.get("properties")
        if keys is None:
            maps.append(part)
            return dict[str, Scalar]
        objects.append(part._replace(width=len(keys)))
        return make_type("Object", {key: type_of(keys[key], (*path, key)) for key in keys})

    kind = type_of(schema, ())
    fixed = sum(part.width for part in objects)
    parts = (*objects, *lists, *maps)
    part_keys = frozenset(part.path.rpartition(".")[2] for part in parts)
    layout = ReplyLayout(fixed, tuple(objects), tuple(lists), tuple(maps), part_keys)
    return ReplyForm(msgspec.json.Decoder(kind).decode, layout)


def _getter(path: tuple[str, ...]) -> Callable[[Any], Any]:
    if len(path) == 1:
        return itemgetter(path[0])

    def get(value: Any) -> Any:
        for key in path:
            value = value[key]
        return value

    return get


def _are_flat(value: Any, width: int) -> bool:
    if type(value) is not list:
        return False
    if not width:
        return CONTAINERS.isdisjoint(map(type, value))
    for item in value:
        if (
            type(item) is not dict
            or len(item) != width
            or not CONTAINERS.isdisjoint(map(type, item.values()))
        ):
            return False
    return True


def _has_scalars(value: Any) -> bool:
    return type(value) is dict and CONTAINERS.isdisjoint(map(type, value.values()))


def decode_documented(
    text: str | bytes,
    expected: Mapping[str, Any],
    form: ReplyForm,
    allows: Allows = allows_nothing,
) -> dict[str, Any] | None:
    """The reply, decoded by its documented form; None if only the full parser can decide.

    Every key has a colon: as many colons as keys prove that no key appears twice and that none
    was ignored.
    """
    try:
        raw = text.encode() if isinstance(text, str) else text
        if len(raw) > MAX_BYTES:
            return None
        answer: dict[str, Any] = form.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    keys = form.count_keys(expected, answer, allows)
    if keys and (
        raw.count(b":") == keys
        or _colons_follow_keys(text if isinstance(text, str) else _decode_leniently(raw), keys)
        or keys_preserved(raw, _ENCODE(answer))
    ):
        return answer
    return None


def _decode_leniently(raw: bytes) -> str:
    """The text of a reply; the decoder ignores parts that are not UTF-8."""
    return raw.decode(errors="replace")


def _colons_follow_keys(text: str, keys: int) -> bool:
    """Whether colons follow as many quotation marks as there are keys, and never white space.

    This also holds if texts contain colons. It takes half the time of encoding the reply again.
    """
    return (
        text.count('":') == keys
        and " :" not in text
        and ("\n" not in text or "\n:" not in text)
        and "\t" not in text
        and "\r" not in text
    )


class StructureSources(ShapeSources, frozen=True):
    """What the structure of replies depends on besides the expected outcome."""

    form: ReplyForm | None = None
    """The documented form; None if every reply needs the full parser."""


AskedNames = Callable[[], Mapping[str, Sequence[str]]]


def no_asked_names() -> Mapping[str, Sequence[str]]:
    """No names are content."""
    return {}


class Structure(msgspec.Struct, frozen=True, dict=True):
    """The structure that every reply to one case must have."""

    expected: Mapping[str, Any]
    sources: StructureSources
    asked_names: AskedNames = no_asked_names
    """A function, because most replies have exactly the names of the expected outcome."""

    @cached_property
    def shape(self) -> Shape:
        """How a reply may differ from the expected outcome."""
        return self.once("shape", self._compile)

    def _compile(self) -> Shape:
        sources = msgspec.structs.replace(self.sources, asked=self.asked)
        return compile_shape(self.expected, sources)

    def once(self, name: str, work_out: Callable[[], T]) -> T:
        """What `work_out` finds, once for all cases with the same keys and requested names."""
        form, outline = self.sources.form, self._outline
        if form is None or outline is None:
            return work_out()
        known = form.by_outline
        found: T | None = known.get((name, outline))
        if found is None:
            if len(known) >= MOST_OUTLINES:
                known.clear()
            found = known[name, outline] = work_out()
        return found

    @cached_property
    def _outline(self) -> Hashable | None:
        """What the shape depends on; None if items of a list differ, which then need their ids."""
        keys = outline_of(self.expected)
        if keys is None:
            return None
        asked = tuple([(path, *names) for path, names in self.asked.items()])
        return keys, asked, self.sources.absent, tuple(self.sources.open_maps)

    @cached_property
    def is_documented(self) -> bool:
        """Whether replies may be decoded by the documented form: nothing is absent or added."""
        form = self.sources.form
        return form is not None and not self.sources.absent and form.fits(self.expected)

    @cached_property
    def asked(self) -> Mapping[str, Sequence[str]]:
        """By path, the requested names where names are content."""
        return self.asked_names()

    def allows(self, path: str, expected: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
        """Whether scalars are allowed at a path under these names        C-25, C-130"""
        asked = self.asked.get(path)
        if asked is None or not CONTAINERS.isdisjoint(map(type, expected.values())):
            return False
        required, allowed = names_at(frozenset(expected), path, self.sources, asked)
        return required <= given.keys() <= allowed

    def fault(self, value: Any) -> str | None:
        """Where and how a reply differs; None if it complies."""
        if not self.sources.absent and is_like(self.expected, value):
            return None
        return fault(value, self.shape)


def structure_of(
    case: Case, sources: StructureSources, asked_names: AskedNames = no_asked_names
) -> Structure:
    """The structure of replies to this case; `sources` are those of its task."""
    if case.expected_parts:
        sources = msgspec.structs.replace(sources, absent=absent_parts(case))
    return Structure(case.expected_outcome, sources, asked_names)


def parse_reply(
    reply: Reply, structure: Structure, parse: Literal["fenced", "strict"]
) -> Parsed | Malformed:
    """The one JSON object of a reply, in the structure that the expected outcome has (C-23)."""
    found = _parse(reply, structure, parse)
    text = reply.text
    if isinstance(text, str):
        may_copy = _DOTS in text or _ELLIPSIS in text
    else:
        may_copy = _DOTS.encode() in text or _ELLIPSIS.encode() in text
    return _mark_copied_example(found, structure) if may_copy else found


def _mark_copied_example(found: Parsed | Malformed, structure: Structure) -> Parsed | Malformed:
    """The reply with the flag `copied_example` if it has blanks that are not in the reference."""
    if _has_blank(structure.expected):
        return found
    if isinstance(found, Parsed):
        flags = (*found.flags, COPIED_EXAMPLE) if _has_blank(found.value) else found.flags
        return Parsed(found.value, flags)
    return Malformed(COPIED_EXAMPLE, found.detail) if found.cause == "structure" else found


def _has_blank(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(key in BLANKS or _has_blank(inner) for key, inner in value.items())
    if isinstance(value, list):
        return any(map(_has_blank, value))
    return isinstance(value, str) and value.strip() in BLANKS


def _parse(
    reply: Reply, structure: Structure, parse: Literal["fenced", "strict"]
) -> Parsed | Malformed:
    form = structure.sources.form if structure.is_documented and is_finished(reply) else None
    if form is not None:
        documented = decode_documented(reply.text, structure.expected, form, structure.allows)
        if documented is not None:
            return Parsed(documented)
    body = body_of(reply, parse)
    if isinstance(body, Malformed):
        return body
    if form is not None and body.flags:
        documented = decode_documented(body.raw, structure.expected, form, structure.allows)
        if documented is not None:
            return Parsed(documented, body.flags)
    parsed = decode_body(body)
    if isinstance(parsed, Malformed):
        return parsed
    fault = structure.fault(parsed.value)
    return Malformed("structure", fault) if fault else parsed
