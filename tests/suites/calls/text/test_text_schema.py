"""The schema of a Text answer is closed, so that structured output takes it."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.case import Case
from callscore.providers.schemas import fits_output_format
from callscore.suites.calls.spec import settings
from callscore.suites.calls.text.answer_schema import answer_schema
from callscore.suites.calls.text.task import TextTask


def case(**config: Any) -> Case:
    return Case("c", "text", "hello", config, {})


def test_the_fields_and_emotions_of_the_case_are_the_only_ones() -> None:
    schema = (
        TextTask(settings()).prompt(case(required_fields=["name", "name"], emotions=["joy"])).schema
    )
    assert schema is not None
    assert fits_output_format(schema)
    summary = schema["properties"]["summary"]["properties"]
    assert summary["call_extracted_info"]["required"] == ["name"]
    assert list(schema["properties"]["emotion"]["properties"]) == ["joy"]


def test_the_usual_emotions_are_those_of_the_prompt() -> None:
    prompt = TextTask(settings()).prompt(case(required_fields=[], emotions=None))
    assert prompt.schema is not None
    named = prompt.schema["properties"]["emotion"]["required"]
    assert ", ".join(named) in prompt.messages[0].content.replace("\n", " ")
    assert fits_output_format(prompt.schema)


def test_cases_of_one_kind_share_one_schema() -> None:
    one, two = case(required_fields=["a"]), case(required_fields=["a"], other=1)
    assert answer_schema(one) is answer_schema(two)
    assert answer_schema(one) != answer_schema(case(required_fields=["b"]))


@pytest.mark.parametrize(
    "fields", [None, "name", [1], [""], ["x" * 101], [f"f{n}" for n in range(101)], {"a": 1}]
)
def test_what_names_no_fields_leaves_them_open(fields: Any) -> None:
    schema = answer_schema(case(required_fields=fields))
    info = schema["properties"]["summary"]["properties"]["call_extracted_info"]
    assert info["additionalProperties"] is not False
