"""Parses untrusted YAML: safe tags only, limited in size, with two rules for plain scalars.

`read_strict` reads `no`, `1:30` and `2025-07-16` as strings; `read_public` reads YAML 1.1 like
the public evaluator and runner, for `compat` and the public protocol.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from callscore.suites.orchestration.spec import TextLimits, spec


class YamlFault(ValueError):
    """The text is not accepted as YAML, and why."""


PUBLIC_ERRORS = (ValueError, LookupError, AttributeError, TypeError, RecursionError)
"""What `read_public` raises: YamlFault, and errors that PyYAML does not wrap."""
_CORE_TAGS = ("map", "seq", "str", "null", "bool", "int", "float")


class _StrictLoader(yaml.CSafeLoader):
    """YAML 1.2 core scalars: null, true, false, integers, floats; all else is a string.

    Other tags are refused, even if a text states them: their values are not JSON.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012
    yaml_constructors = {  # noqa: RUF012
        tag: yaml.CSafeLoader.yaml_constructors[tag]
        for tag in (None, *(f"tag:yaml.org,2002:{name}" for name in _CORE_TAGS))
    }


for _tag, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,4000})$", list("-+0123456789")),
    (
        "float",
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
):
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)

_DEEP_LINE = re.compile(r"^[ \-?]{64}", re.MULTILINE)


def read_strict(text: str) -> Any:
    """The one YAML value in `text`; raises YamlFault."""
    try:
        _check_limits(text)
        return _load(text, _StrictLoader)
    except YamlFault:
        raise
    except yaml.YAMLError as error:
        raise YamlFault(_first_line(error)) from None
    except (ValueError, LookupError) as error:  # not wrapped by PyYAML: `!!int abc`, `!!bool x`
        raise YamlFault(f"a value is not of its tag: {error}") from None


def read_document(text: str) -> Any:
    """The value of a file that a person wrote: like `read_strict`, but no key may be repeated."""
    value = read_strict(text)
    try:
        _refuse_repeated_keys(yaml.compose(text, Loader=_StrictLoader))
    except yaml.YAMLError as error:
        raise YamlFault(_first_line(error)) from None
    return value


def _refuse_repeated_keys(root: Any) -> None:
    """Raise if a mapping has a key twice, of which YAML would keep the last."""
    seen: set[int] = set()  # a node with an alias is visited once
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            names = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in names:
                    line = key.start_mark.line + 1
                    raise YamlFault(f"line {line}: the key {key.value!r} is repeated")
                names.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
                waiting += (key, value)
        else:
            waiting += node.value


_FIELD_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def line_of(text: str, field: str) -> int | None:
    """The line of a field such as `steps[1].content`, or of the part of it that exists."""
    try:
        node = yaml.compose(text, Loader=_StrictLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    for index, name in _FIELD_PART.findall(field):
        found = None
        if index and isinstance(node, yaml.SequenceNode):
            found = next(iter(node.value[int(index) :]), None)
        elif name and isinstance(node, yaml.MappingNode):
            found = next((value for key, value in node.value if key.value == name), None)
        if found is None:
            break
        node = found
    return None if node is None else node.start_mark.line + 1


_CHARACTER = r"[ -~\xa1-\u2027\u202a-\ud7ff\uf900-\ufaff\uff00-\uffef]"
_PLAIN = rf"(?=\w)(?:(?![:#]){_CHARACTER})++"
_QUOTED = rf"\"(?:(?![\"\\]){_CHARACTER})*+\"|'(?:(?!'){_CHARACTER})*+'"
_NAMES = r'\["[A-Za-z0-9_-]+"(?:, "[A-Za-z0-9_-]+")*+\]'
_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_LINE = re.compile(rf" *+(?:- )?{_KEY}:(?: ++(?:{_PLAIN}|(?:{_QUOTED}|{_NAMES}) *+)?)?")
"""A line that libyaml and PyYAML cannot read differently: one key, and a value on the same line."""


def read_public(text: str) -> Any:
    """The value as PyYAML reads it        Q41

    Raises one of PUBLIC_ERRORS: ValueError for an invalid date, RecursionError for deep nesting.
    libyaml is seven times faster, but reads tabs, flow collections and more differently, so it is
    used only for texts of simple lines. Long texts and merges of many aliases, which would take
    PyYAML minutes, are refused.
    """
    if all(_LINE.fullmatch(line) or not line.strip(" ") for line in text.split("\n")):
        return _load(text, yaml.CSafeLoader)
    limits = spec().compat
    if len(text) > limits.text_characters:
        raise YamlFault(f"longer than {limits.text_characters} characters")
    if "<<" in text and text.count("*") > limits.merged_aliases:
        raise YamlFault(f"more than {limits.merged_aliases} aliases that may be merged")
    return _load(text, yaml.SafeLoader)


def _load(text: str, kind: type[yaml.CSafeLoader | yaml.SafeLoader]) -> Any:
    try:
        loader = kind(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise YamlFault(_first_line(error)) from None


def _check_limits(text: str) -> None:
    """Refuse deep nesting and large expansions of aliases, for which libyaml has no limit.

    Deep nesting needs many brackets or a long indentation; only a text that has these, or may have
    aliases, is checked event by event.
    """
    limits = spec().limits
    if len(text) > limits.text_bytes:
        raise YamlFault(f"longer than {limits.text_bytes} characters")
    brackets = text.count("[") + text.count("{")
    if "*" not in text and brackets <= limits.nesting and not _DEEP_LINE.search(text):
        return
    _check_events(text, limits)


def _check_events(text: str, limits: TextLimits) -> None:
    """Count the values, each alias as its anchor; an alias never contains itself."""
    known: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, 1))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_nodes.pop()
            _count(open_nodes, known, anchor, size)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                raise YamlFault(f"the alias {event.anchor!r} occurs before its anchor ends")
            _count(open_nodes, known, None, known[event.anchor])
        elif isinstance(event, yaml.ScalarEvent):
            _count(open_nodes, known, event.anchor, 1)
        if len(open_nodes) > limits.nesting + 1:
            raise YamlFault(f"nested deeper than {limits.nesting} levels")
        if known and open_nodes[-1][1] > limits.alias_values:
            raise YamlFault(f"more than {limits.alias_values} values, with aliases")


def _count(
    open_nodes: list[tuple[str | None, int]], known: dict[str, int], anchor: str | None, size: int
) -> None:
    """Add a node of this size, with the anchors of its aliases, to the node around it."""
    outer, total = open_nodes[-1]
    open_nodes[-1] = (outer, total + size)
    if anchor is not None:
        known[anchor] = size


def _first_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
    return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
