"""YAML from outside: strict scalars, safe tags, bounded."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from callscore.suites.orchestration.yaml_text import YamlFault, read_public, read_strict


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("1:30", "1:30"),
        ("2025-07-16", "2025-07-16"),
        ("007", "007"),
        ("0x1F", "0x1F"),
        ("-12", -12),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("'1'", "1"),
        ("1_000", "1_000"),
    ],
)
def test_only_what_looks_like_json_is_more_than_text(text: str, value: Any) -> None:
    found = read_strict(text)
    assert found == value
    assert type(found) is type(value)


def test_the_public_reading_is_yaml_1_1() -> None:
    assert read_public("[no, 1:30, 2025-07-16]") == [False, 90, date(2025, 7, 16)]


BOMB = "a: &a [x,x,x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("read", [read_strict, read_public])
@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "[" * 100_000,
        "{" * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        "!!python/object/apply:os.system [true]",
        "!<tag:yaml.org,2002:python/name:os.system> x",
        "a: [1",
        "x" * 10_000_001,
    ],
    ids=["bomb", "lists", "maps", "dashes", "keys", "object", "name", "open", "large"],
)
def test_bombs_and_tags_are_refused(read: Any, text: str) -> None:
    with pytest.raises(YamlFault):
        read(text)


def test_a_fault_names_the_line() -> None:
    with pytest.raises(YamlFault, match="line 2"):
        read_strict("a: 1\nb: 'x' y\n")
