"""YAML from outside: strict scalars, safe tags, bounded."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Malformed
from callscore.core.errors import DataError
from callscore.suites.orchestration.plan.parse import read_plan
from callscore.suites.orchestration.scenario.model import RawStep, Scenario
from callscore.suites.orchestration.scenario.protocol import with_public_prompts
from callscore.suites.orchestration.scenario.queries import planned_queries
from callscore.suites.orchestration.yaml_text import (
    PUBLIC_ERRORS,
    YamlFault,
    read_public,
    read_strict,
)


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


DEEP = ["[" * 100_000, "{" * 100_000, "- " * 100_000, "? " * 100_000]
DEEP_KINDS = ["lists", "maps", "dashes", "keys"]


@pytest.mark.parametrize("text", DEEP, ids=DEEP_KINDS)
def test_q41_the_public_reading_runs_out_of_depth_as_pyyaml_does(text: str) -> None:
    with pytest.raises(RecursionError):
        read_public(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("[" * 100 + "]" * 100, None),
        ("{steps:[{agent_id:'x'}]}", None),
        ('{"a": 1,\n\t"b": 2,\n}', None),
    ],
    ids=["alias", "100 levels", "no space after a colon", "tabs"],
)
def test_q41_the_public_reading_is_pyyaml_s_where_libyaml_differs(text: str, value: Any) -> None:
    try:
        expected = yaml.load(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        with pytest.raises(YamlFault):
            read_public(text)
        return
    assert read_public(text) == expected
    assert value is None or expected == value


def test_many_merged_aliases_are_refused_before_they_double() -> None:
    levels = [f"m{n}: &m{n}\n  <<: [*m{n - 1}, *m{n - 1}]\n" for n in range(1, 40)]
    with pytest.raises(YamlFault, match="aliases"):
        read_public("m0: &m0 {a: 1}\n" + "".join(levels))


def test_the_standard_reading_resolves_aliases() -> None:
    assert read_strict("a: &x {b: 1}\nc: [*x, *x]") == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}


def test_the_standard_reading_refuses_aliases_that_multiply() -> None:
    levels = [f"m{n}: &m{n} [{', '.join([f'*m{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(YamlFault, match="with aliases"):
        read_strict("\n".join(["m0: &m0 [1]", *levels]))


def test_the_standard_reading_refuses_an_alias_inside_its_own_anchor() -> None:
    with pytest.raises(YamlFault, match="before its anchor ends"):
        read_strict("a: &x [*x]")


SIMPLE_LINES = st.builds(
    "{}{}{}:{}".format,
    st.sampled_from(["", "  ", "    ", "      ", " "]),
    st.sampled_from(["", "- "]),
    st.sampled_from(["workflow_1", "a", "b", "steps", "status", "yes"]),
    st.sampled_from(
        ["", " ", " x", "  x y", " 1", " no", " 2025-07-16", " a - b", ' "q: r # s"', " 'it'"]
        + [' ["a", "b-1"]', " 낱말", ' say "so"', " x, y", " [x", " a: b"]
    ),
)


@given(st.lists(SIMPLE_LINES, max_size=7))
def test_q41_lines_that_libyaml_may_read_mean_the_same_to_pyyaml(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        expected = yaml.load(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        with pytest.raises(YamlFault):
            read_public(text)
    else:
        assert read_public(text) == expected


def test_the_public_reading_is_yaml_1_1() -> None:
    assert read_public("[no, 1:30, 2025-07-16]") == [False, 90, date(2025, 7, 16)]


BOMB = "a: &a [x,x,x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("text", [BOMB, *DEEP], ids=["bomb", *DEEP_KINDS])
def test_bombs_are_refused(text: str) -> None:
    with pytest.raises(YamlFault):
        read_strict(text)


@pytest.mark.parametrize("read", [read_strict, read_public])
@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system [true]",
        "!<tag:yaml.org,2002:python/name:os.system> x",
        "a: [1",
        "x" * 10_000_001,
    ],
    ids=["object", "name", "open", "large"],
)
def test_tags_and_too_much_text_are_refused(read: Any, text: str) -> None:
    with pytest.raises(YamlFault):
        read(text)


def test_a_fault_names_the_line() -> None:
    with pytest.raises(YamlFault, match="line 2"):
        read_strict("a: 1\nb: 'x' y\n")


UNFIT = ["!!int abc", "!!int ''", "!!float x", "!!bool maybe", "!!timestamp foo", "!!int 0x"]


@pytest.mark.parametrize("scalar", UNFIT)
def test_a_value_that_is_not_of_its_tag_is_a_fault_and_no_crash(scalar: str) -> None:
    with pytest.raises(YamlFault):
        read_strict(f"a: {scalar}")
    with pytest.raises(PUBLIC_ERRORS):
        read_public(f"a: {scalar}")


@pytest.mark.parametrize("text", ["!!timestamp 2025-07-16", "!!binary aGk=", "!!set {a}", "\ud800"])
def test_what_is_not_json_is_refused_even_with_its_tag(text: str) -> None:
    with pytest.raises(YamlFault):
        read_strict(f"a: {text}")


@pytest.mark.parametrize("scalar", UNFIT)
def test_a_plan_with_such_a_value_is_malformed(scalar: str) -> None:
    assert isinstance(read_plan(f"workflow_1:\n  status: {scalar}"), Malformed)


@pytest.mark.parametrize("scalar", UNFIT)
def test_a_public_config_with_such_a_value_is_refused(scalar: str) -> None:
    with pytest.raises(DataError, match="expected a config file of the public runner"):
        with_public_prompts(f"prompts: {scalar}")


@pytest.mark.parametrize("scalar", UNFIT)
def test_a_plan_with_such_a_value_has_no_public_query(scalar: str) -> None:
    plan = RawStep(2, "main", f"workflow_1:\n  status: {scalar}")
    scenario = Scenario("1", "EN", (plan,), (), ())
    assert planned_queries(scenario, "public") == {}
