"""The built-in prompts have nothing to copy; `schema: form` binds QA answers to the form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from builders import Json, output, qa_case, question, text_case, text_outcome
from calls_suite import all_tasks
from callscore.core.case import Case, Prompt
from callscore.core.prompt_template import parse_template
from callscore.providers.wire_format import fits_strict_mode
from callscore.suites.calls.prompt import prompt_file
from callscore.suites.calls.qa.task import QATask
from callscore.suites.calls.spec import make_settings
from perfect_answers import document, perfect_answer
from shared_cases import BUNDLED

jsonschema = pytest.importorskip("jsonschema")  # of the notebook tests

TASKS = ["qa", "entity", "text", "translation"]
TALK = "[00:02] Agent: Good morning.\n[01:07] Customer: My bill is wrong."


def prompt_of(case: Json, **settings: Any) -> Prompt:
    read = msgspec.convert(case, Case)
    if settings:
        return QATask(make_settings(settings)).prompt(read)
    return all_tasks()[read.task].prompt(read)


@pytest.mark.parametrize("has_form", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_a_built_in_prompt_has_no_number_and_no_blank_to_copy(task: str, has_form: bool) -> None:
    system = prompt_file(task).system(has_form=has_form)
    assert not re.search(r"\d", system)
    assert "..." not in system and "…" not in system
    assert '"' not in system


def test_the_reason_comes_before_the_score_in_prompt_and_schema() -> None:
    prompt = prompt_of(qa_case([question()]))
    assert prompt.schema is not None
    names = ["question_id", "max_score", "type", "reason", "score"]
    items = prompt.schema["properties"]["questions"]["items"]
    assert list(items["properties"]) == items["required"] == names
    answer = prompt.messages[0].content.split("## Answer")[1]
    assert re.findall(r"`(\w+)`", answer)[1:] == names


def test_the_order_of_keys_in_an_answer_is_free() -> None:
    case = qa_case([question()])
    answer = {"questions": [dict(reversed(list(question().items())))]}
    card = callscore.score([case], [output("c1", answer)])
    assert card.models[0].tasks["qa"].metrics["qa.structure"].value == 1


def test_the_words_on_a_form_are_there_only_with_a_form() -> None:
    plain = prompt_of(text_case())
    assert "form" not in document(plain)
    assert "`form`" not in plain.messages[0].content
    outcome = text_outcome()
    del outcome["emotion"]
    partial = prompt_of(text_case(outcome, expected_parts={"emotion": "absent"}))
    assert "`form`" in partial.messages[0].content
    assert "one number for every emotion" not in partial.messages[0].content
    assert "sentiment[].label" in document(partial)["form"]


def test_times_are_sent_as_reasons_cite_them() -> None:
    case = qa_case([question()], transcript=TALK)
    prompt, task = prompt_of(case), all_tasks()["qa"]
    assert [turn["start"] for turn in document(prompt)["transcript"]] == ["00:02", "01:07"]
    text = "Judge.\n=== user ===\n{{transcript_text}}"
    template = parse_template(text, "own.md", task.prompt_variables)
    values = task.prompt_values(msgspec.convert(case, Case), prompt)
    assert template.apply(prompt, values).messages[1].content == (
        "1. [00:02] Agent: Good morning.\n2. [01:07] Customer: My bill is wrong."
    )


FORM = [
    question("Q1", 0, max_score=5),
    question("Q2", 3, kind="SCORE", max_score=10),
    question("Q3", None, max_score=2),
]


def bound_schema(*questions: Json) -> Json:
    schema = prompt_of(qa_case(list(questions)), schema="form").schema
    assert schema is not None
    return dict(schema)


def answer_with(**changed: Any) -> Json:
    return {"questions": [{**FORM[0], **changed}, *FORM[1:]]}


def test_schema_form_accepts_the_answer_of_the_person() -> None:
    schema = bound_schema(*FORM)
    jsonschema.validate({"questions": FORM}, schema)
    assert fits_strict_mode(schema)


@pytest.mark.parametrize(
    "answer",
    [
        answer_with(question_id="Q9"),
        answer_with(max_score=0),
        answer_with(type="SCORE"),
        answer_with(score=3),
        answer_with(score=-1),
        {"questions": FORM[:2]},
        {"questions": [*FORM, FORM[0]]},
        {"questions": [FORM[0], {**FORM[1], "score": 11}, FORM[2]]},
    ],
)
def test_schema_form_refuses_what_the_form_does_not_have(answer: Json) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(answer, bound_schema(*FORM))
    plain = prompt_of(qa_case(FORM)).schema
    jsonschema.validate(answer, plain)


def test_schema_form_of_one_question_needs_no_alternatives() -> None:
    items = bound_schema(FORM[0])["properties"]["questions"]["items"]
    assert items["properties"]["question_id"] == {"type": "string", "enum": ["Q1"]}
    assert items["properties"]["score"]["enum"] == [0, 5, None]


def test_c130_with_schema_form_a_perfect_answer_still_scores_one() -> None:
    lines = BUNDLED.read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["task"] == "qa"]
    outputs = []
    for case in cases:
        prompt = prompt_of(case, schema="form")
        answer = perfect_answer(msgspec.convert(case, Case), prompt)
        jsonschema.validate(answer, prompt.schema)
        outputs.append(output(case["id"], answer))
    card = callscore.score(cases, outputs, settings={"schema": "form"})
    rows = card.models[0].tasks["qa"].metrics
    assert rows["qa.question_score_accuracy"].value == rows["qa.structure"].value == 1


def test_schema_form_is_part_of_the_signature_and_noted(tmp_path: Path) -> None:
    case, answer = qa_case(FORM), [output("c1", {"questions": FORM})]
    plain = callscore.score([case], answer)
    bound = callscore.score([case], answer, settings={"schema": "form"})
    words = "schema: form binds ids, maximum scores, types and marks of QA answers to the form"
    assert "settings:schema=form" in bound.signature
    assert any(note.startswith(words) for note in bound.notes)
    assert not any(note.startswith("schema: form") for note in plain.notes)
    assert bound.models[0].tasks["qa"].metrics == plain.models[0].tasks["qa"].metrics
