"""Forms in templates of infrastructure: CloudFormation (JSON, YAML) and Terraform (HCL, JSON)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.core.errors import DataError
from callscore.importers.source_file import Source

CLOUDFORMATION = "AWS::Connect::EvaluationForm"
TERRAFORM = {
    "awscc_connect_evaluation_form": "pascal",
    "genesyscloud_quality_forms_evaluation": "camel",
}
"""Terraform's resources with a form, and how the vendor writes the names of its fields."""
MAX_DEPTH = 40
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|[{}\[\]=,:()]|#[^\n]*|//[^\n]*|\n|[^\s{}\[\]=,:()"#]+', re.DOTALL
)
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def template_form(source: Source) -> tuple[Mapping[str, Any], list[str]] | None:
    """The form of a template as its vendor's API has it, with notes; None without a form."""
    found = list(_forms(source))
    if not found:
        return None
    names = ", ".join(name for name, _ in found)
    notes = [f"the file has {len(found)} forms ({names}); the first is read"]
    return found[0][1], notes if len(found) > 1 else []


def _forms(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if source.is_archive:
        return
    value = source.json
    if value is None and CLOUDFORMATION in source.text:
        value = _read_template(source)
    if isinstance(value, dict):
        yield from _from_cloudformation(value)
        yield from _from_terraform_json(value)
    elif any(f'"{name}"' in source.text for name in TERRAFORM):
        yield from _from_hcl(source)


def _read_template(source: Source) -> Any:
    """The value of a YAML template; a function such as `!Sub` stays as its text."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Reads unknown tags as what they are given."""

    def construct(loader: Any, suffix: str, node: Any) -> Any:
        return node.value if isinstance(node, yaml.ScalarNode) else None

    Loader.add_multi_constructor("!", construct)
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(source.text)):
            raise DataError("has YAML aliases, which are not read", place=source.name)
        return Loader(source.text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DataError(f"is not YAML: {error}", place=source.name) from None


def _from_cloudformation(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    resources = value.get("Resources")
    for name, resource in (resources if isinstance(resources, dict) else {}).items():
        if isinstance(resource, dict) and resource.get("Type") == CLOUDFORMATION:
            properties = resource.get("Properties")
            if isinstance(properties, dict):
                yield str(name), properties


def _from_terraform_json(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    resources = value.get("resource")
    for kind, style in TERRAFORM.items():
        named = resources.get(kind) if isinstance(resources, dict) else None
        for name, body in (named if isinstance(named, dict) else {}).items():
            one = body[0] if isinstance(body, list) and body else body
            if isinstance(one, dict):
                yield str(name), _renamed(one, style, 0)


def _renamed(value: Any, style: str, depth: int) -> Any:
    """The value with keys as the vendor's API writes them, instead of `snake_case`."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [_renamed(one, style, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    return {_key(key, style): _renamed(one, style, depth + 1) for key, one in value.items()}


def _key(key: str, style: str) -> str:
    pascal = "".join(part[:1].upper() + part[1:] for part in key.split("_"))
    return pascal if style == "pascal" else pascal[:1].lower() + pascal[1:]


def _from_hcl(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    blocks = HclReader(source).read_body(is_top=True)
    for block in blocks.get("resource", []):
        labels = block.pop("", [])
        if len(labels) == 2 and labels[0] in TERRAFORM:
            yield labels[1], _renamed(block, TERRAFORM[labels[0]], 0)


class HclReader:
    """Reads the blocks and values of HCL; an expression stays as its text.

    A block that is repeated becomes a list, as it is in the API of the vendor.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens: Sequence[str] = [
            token for token in _TOKEN.findall(source.text) if not token.startswith(("#", "//"))
        ]
        self._at = 0
        self._depth = 0

    def read_body(self, *, is_top: bool = False) -> dict[str, Any]:
        """The values and blocks up to the closing brace, or to the end of the file."""
        body: dict[str, Any] = {}
        self._enter()
        while (token := self._next(skip="\n,")) not in ("", "}"):
            name = _unquote(token)
            labels = []
            while self._peek() not in ("=", ":", "{", "", "\n"):
                labels.append(_unquote(self._next()))
            mark = self._next()
            if mark in ("=", ":"):
                body[name] = self._value()
            elif mark == "{":
                block = self.read_body()
                body.setdefault(name, []).append({"": labels, **block} if labels else block)
            else:
                self._fail(mark)
        if is_top != (token == ""):
            self._fail(token)
        self._depth -= 1
        return self._as_objects(body)

    def _as_objects(self, body: dict[str, Any]) -> dict[str, Any]:
        """Conditions are single objects; every other block can be repeated."""
        for key in ("visibility_condition", "enablement", "scoring_strategy"):
            if isinstance(body.get(key), list) and len(body[key]) == 1:
                body[key] = body[key][0]
        return body

    def _value(self) -> Any:
        token = self._next(skip="\n")
        if token == "{":
            return self.read_body()
        if token == "[":
            items = []
            self._enter()
            while self._peek(skip="\n,") not in ("]", ""):
                items.append(self._value())
            self._next(skip="\n,")
            self._depth -= 1
            return items
        if token.startswith('"'):
            return _unquote(token)
        if token in _WORDS:
            return _WORDS[token]
        try:
            return float(token)
        except ValueError:
            return self._expression(token)

    def _expression(self, token: str) -> str:
        """The text of a reference or a call, with everything in its parentheses."""
        text, depth = token, 0
        while self._peek() == "(" or depth:
            part = self._next()
            if not part:
                self._fail(part)
            depth += (part == "(") - (part == ")")
            text += part
        return text

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DataError("is nested too deeply", place=self._source.name)

    def _peek(self, skip: str = "") -> str:
        while self._at < len(self._tokens) and self._tokens[self._at] in [*skip]:
            self._at += 1
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self, skip: str = "") -> str:
        token = self._peek(skip)
        self._at += 1
        return token

    def _fail(self, token: str) -> None:
        shown = repr(token) if token.strip() else "the end of a line or of the file"
        raise DataError(f"is not Terraform that can be read: {shown}", place=self._source.name)


def _unquote(token: str) -> str:
    if not token.startswith('"'):
        return token
    return re.sub(
        r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), token[1:].removesuffix('"')
    )
