"""YAML from outside: plain meaning, bounded, refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.errors import ConfigError
from callscore.store.strict_yaml import MAX_ALIASES, MAX_BYTES, parse_yaml, read_yaml

NAME = Path("e.yaml")


def parsed(text: str) -> Any:
    return parse_yaml(text.encode(), NAME).value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("True", "True"),
        ("true", True),
        ("false", False),
        ("'true'", "true"),
        ("1:30", "1:30"),
        ("2025-07-16", "2025-07-16"),
        ("0x1f", "0x1f"),
        ("010", "010"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        (".5", ".5"),
        ("12", 12),
        ("-3", -3),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9007199254740993", 2**53 + 1),
        ("'18446744073709551616'", "18446744073709551616"),
        ("2.50", 2.5),
        ("1e3", 1000.0),
        ("~", None),
        ("null", None),
        ("Null", "Null"),
        ("''", ""),
        ("<<: x", {"<<": "x"}),
    ],
)
def test_a_plain_value_means_what_it_says(text: str, value: object) -> None:
    found = parsed(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2\n", "e.yaml:2: the key 'a' appears twice"),
        ("a:\n  - !!python/object/apply:os.system ['id']\n", "e.yaml:2: the tag"),
        ("a: !secret x\n", "e.yaml:1: the tag '!secret'"),
        ("a: b: c\n", "e.yaml:1: a colon that cannot be here; expected a value with a colon"),
        ("a:\n\tb: 1\n", "e.yaml:2: a tab at the beginning of a line; expected spaces"),
        ("a: @x\n", "e.yaml:1: a value begins with a character that YAML reserves"),
        ("a: 1\nb: [1,\n2\nc: 3\n", "e.yaml:2: a list opened with [ is not closed"),
        ("a: {x: 1\n", "e.yaml:1: a mapping opened with { is not closed; expected }"),
        ("a: 1\nb: 'x\nc: 1\n", "e.yaml:2: a quotation mark is not closed"),
        ("a:\n  - 1\n - 2\n", "e.yaml:3: another indent than the lines around it"),
        ("a: 1\nb\n", "e.yaml:2: a key without a colon; expected `key: value`"),
        ('a: "\\q"\n', "e.yaml:1: an unknown escape in double quotes"),
        ("a: ]\n", "e.yaml:1: a bracket or comma where a value is expected"),
        ("a: >x\n b\n", "e.yaml:1: did not find expected comment or line break; expected YAML"),
        ("? [x]\n: y\n", "e.yaml:1: a key that is not plain text"),
        ("a: 1\n---\nb: 2\n", "e.yaml:2: a second document"),
        ("a: &x [*x]\n", "the alias 'x' occurs before its anchor ends"),
        (
            "a:\n  - 1\n  - 18446744073709551616\n",
            "e.yaml:3: a[1]: 18446744073709551616 is too large",
        ),
        ("models: [{params: {seed: -9223372036854775809}}]\n", "e.yaml:1: models[0].params.seed: "),
        ("a: " + "9" * 5000, "e.yaml:1: a: " + "9" * 40 + " is too large a whole number"),
        ("a: 1e999\n", "e.yaml:1: 1e999 is too large"),
        ("[" * 100 + "]" * 100, "nested deeper than 64 levels"),
        ("a: &x 1\nb: [" + "*x, " * (MAX_ALIASES + 1) + "]", "more than 100 aliases"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(text)
    assert words in str(caught.value)


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    lines = ["a0: &a0 [" + "x, " * 9 + "x]"]
    for level in range(1, 9):
        lines.append(f"a{level}: &a{level} [" + f"*a{level - 1}, " * 9 + f"*a{level - 1}]")
    with pytest.raises(ConfigError, match="values"):
        parsed("\n".join(lines))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_bytes(b"a: " + b"x" * (MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than"):
        read_yaml(path)


def test_bytes_that_are_no_text_are_refused_with_their_place() -> None:
    with pytest.raises(ConfigError, match="byte 3 is not UTF-8"):
        parse_yaml(b"a: \xff", NAME)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none.yaml: no such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)


def test_every_part_knows_its_line() -> None:
    document = parse_yaml(b"a: 1\nb:\n  - c: 2\n  - d:\n      e: 3\n", NAME)
    assert [document.line_of(part) for part in ("a", "b[0].c", "b[1].d.e", "b[1].zz", "q")] == [
        1,
        3,
        5,
        4,
        1,
    ]


TEXT = st.text(st.sampled_from("abnoyes019-:.,#&*!?|>'\"%@`{}[] \\/\t\nßé日"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_json_is_yaml_and_means_the_same(value: dict[str, Any]) -> None:
    assert parsed(json.dumps(value, ensure_ascii=False)) == value
