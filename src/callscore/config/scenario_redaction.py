"""Redacts folders of scenarios and agent cards, for `redact` in an eval file and `--redact`.

The texts of a step may be YAML themselves (plans, tool calls). A value in them that contains
personal data is written again in quotes: a placeholder such as `[PHONE_1]` would otherwise be a
list. Everything else stays as it is, to the letter.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from callscore.config.redaction import RedactOptions, counts_of, read_counts, write_counts
from callscore.core import strict_json
from callscore.core.errors import DataError
from callscore.core.languages import UNKNOWN_LANGUAGE, language_of
from callscore.core.scenarios import ScenarioData
from callscore.privacy.redactor import Placeholders, RedactionReport, Redactor
from callscore.store.files import atomic_write, make_private_folder
from callscore.store.scenario_files import card_files, read_text, read_whole, scenario_files

MAX_DEPTH = 64
EXAMPLE = "EXAMPLE_"
"""The prefix of placeholders in cards: their numbers are not those of a scenario."""
FIXED_IN_CARDS = frozenset({"enum", "const", "pattern", "required", "id", "agent_id", "name"})
"""Parts of a card to which tool calls must be equal; personal data in them is refused."""
_BARE = re.compile(r"^([ \t]*(?:- )?[\w-]+:[ \t]+)(\[[A-Z]+_\d+\][^\n]*)$", re.MULTILINE)
"""A value that starts with a placeholder without quotes, in YAML that cannot be parsed."""


def stored_scenarios(
    data: Sequence[ScenarioData], folder: Path, options: RedactOptions, report: RedactionReport
) -> tuple[ScenarioData, ...]:
    """Redacted copies of scenarios and cards in a folder; cached by content and options."""

    def copy_of(
        source: Path, paths: Sequence[Path], redact: Callable[[Redactor, Path], str]
    ) -> Path:
        digest = hashlib.blake2b(options.digest, digest_size=12)
        for path in paths:
            digest.update(repr((str(path.relative_to(source)), read_whole(path))).encode())
        language = language_of(source)
        name = source.name if language == UNKNOWN_LANGUAGE else language
        copy = folder / f"scenarios-{digest.hexdigest()}" / name
        if not copy.exists() or not counts_of(copy).exists():
            redactor = options.redactor()
            texts = [redact(redactor, path) for path in paths]
            _write_folder(copy, [path.relative_to(source) for path in paths], texts)
            write_counts(copy, redactor.report)
        report.add(read_counts(copy))
        return copy

    return tuple(
        ScenarioData(
            copy_of(one.scenarios, scenario_files(one.scenarios), _redact_scenario),
            copy_of(one.cards, card_files(one.cards), _redact_card),
        )
        for one in data
    )


def _write_folder(copy: Path, names: Sequence[Path], texts: Sequence[str]) -> None:
    """Write the files to a folder that appears under its name only when it is complete."""
    making = copy.with_name(f".{copy.name}")
    shutil.rmtree(making, ignore_errors=True)
    for name, text in zip(names, texts, strict=True):
        make_private_folder((making / name).parent)
        with atomic_write(making / name, private=True) as file:
            file.write(text.encode())
    if copy.exists():  # without its counts: a run was killed in between
        shutil.rmtree(copy)
    making.replace(copy)


def _redact_scenario(redactor: Redactor, path: Path) -> str:
    """The text of a scenario file with its values redacted."""
    import yaml

    text, placeholders = read_text(path), Placeholders()
    node = _compose(text)
    if node is None:
        raise DataError("is not YAML, so it cannot be redacted", place=str(path))
    with redactor.one_record():
        for label, scalar in _values(node):
            if label == "content" or "\n" in scalar.value:
                redacted = _redact_content(redactor, placeholders, scalar.value, path)
            else:
                redacted = redactor.redact_text(scalar.value, placeholders, f"{label}: ")
            if redacted != scalar.value:
                scalar.value, scalar.style, scalar.tag = redacted, '"', "tag:yaml.org,2002:str"
        _refuse_keys(redactor, node, path)
    done: str = yaml.serialize(node, Dumper=yaml.CSafeDumper, allow_unicode=True, width=1 << 20)
    return done


def _redact_content(redactor: Redactor, placeholders: Placeholders, text: str, path: Path) -> str:
    """The text of a step, redacted; in YAML, only values change, and those are quoted."""
    node = _compose(text)
    if node is None:
        return _BARE.sub(_quote, redactor.redact_text(text, placeholders))
    if node.id == "scalar":
        return redactor.redact_text(text, placeholders)
    _refuse_keys(redactor, node, path)
    parts: list[str] = []
    at = 0
    for label, scalar in sorted(_values(node), key=lambda one: one[1].start_mark.index):
        start, end = scalar.start_mark.index, scalar.end_mark.index
        if start < at:  # an alias: its value was redacted at its anchor
            continue
        source = text[start:end]
        if scalar.style in ("|", ">"):
            redacted = redactor.redact_text(source, placeholders, f"{label}: ")
        else:
            redacted = redactor.redact_text(scalar.value, placeholders, f"{label}: ")
            same = redacted == scalar.value
            redacted = source if same else json.dumps(redacted, ensure_ascii=False)
        parts += [text[at:start], redacted]
        at = end
    return "".join([*parts, text[at:]])


def _quote(match: re.Match[str]) -> str:
    return f"{match[1]}{json.dumps(match[2], ensure_ascii=False)}"


def _compose(text: str) -> Any:
    """The node tree of a YAML text; None if it is not one document of YAML."""
    import yaml

    try:
        level = 0
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            level += isinstance(event, yaml.CollectionStartEvent)
            level -= isinstance(event, yaml.CollectionEndEvent)
            if level > MAX_DEPTH:
                return None
        return yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None


class _Value(NamedTuple):
    label: str
    scalar: Any


def _values(node: Any, label: str = "") -> Iterator[_Value]:
    """Every scalar that is a value, with the key it belongs to."""
    if node.id == "scalar":
        yield _Value(label, node)
    elif node.id == "sequence":
        for one in node.value:
            yield from _values(one, label)
    else:
        for key, one in node.value:
            yield from _values(one, key.value if key.id == "scalar" else label)


def _refuse_keys(redactor: Redactor, node: Any, path: Path) -> None:
    """Refuse personal data in a key: other texts may refer to it."""
    if node.id == "scalar":
        return
    for entry in node.value:
        key, value = entry if node.id == "mapping" else (None, entry)
        if key is not None and key.id == "scalar" and redactor.finds(key.value):
            line = key.start_mark.line + 1
            raise DataError(
                f"a key in line {line} of a text contains personal data, which cannot be "
                "redacted; expected it as a value",
                place=str(path),
            )
        _refuse_keys(redactor, value, path)


def _redact_card(redactor: Redactor, path: Path) -> str:
    """The text of an agent card with its descriptions and examples redacted."""
    placeholders = Placeholders(EXAMPLE)

    def redact(value: Any, key: str, *, fixed: bool) -> Any:
        if isinstance(value, str):
            if not fixed:
                return redactor.redact_text(value, placeholders, f"{key}: ")
            if redactor.finds(value):
                raise DataError(
                    f"{key} contains personal data, which cannot be redacted: tool calls must "
                    "be equal to it; expected it without",
                    place=str(path),
                )
        if isinstance(value, list):
            return [redact(one, key, fixed=fixed) for one in value]
        if isinstance(value, dict):
            return {
                name: redact(one, name, fixed=fixed or name in FIXED_IN_CARDS)
                for name, one in value.items()
            }
        return value

    try:
        card = strict_json.decode(read_whole(path)).value
    except strict_json.JsonFault as fault:
        raise DataError(f"is not JSON: {fault.detail}", place=str(path)) from None
    return json.dumps(redact(card, "", fixed=False), ensure_ascii=False, indent=1)
