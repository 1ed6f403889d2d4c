"""The words of the card for the faults that small real models make, with their counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import Json, output, qa_case, question
from callscore.core.case import Reply
from callscore.core.scorecard import Scorecard
from callscore.core.strict_json import ends_in_loop, read_object
from callscore.report.decision_statements import state_decision
from callscore.report.terminal import scorecard_lines
from callscore.suites.registry import template_of
from commands import run
from eval_files import cases_file, eval_file, read_json, remote_model
from real_model_faults import (
    COPIED_FORM,
    COPIED_TEXTS,
    CUT_OFF,
    ENTITY_CASE,
    FULL_MARKS,
    LOOPS,
    NULL_MARKS,
    PATH_AS_NAME,
    QA_CASE,
    WHOLE_LIST,
    ZERO_SCALE,
)
from stub_servers import Answer, Request, chat_completion, serving


def card_of(case: Json, answers: Sequence[Any], **fields: Any) -> Scorecard:
    """The card of one model that gave these answers, each to a copy of the case."""
    cases = [{**case, "id": f"c{n}", "call_id": f"c{n}"} for n in range(len(answers))]
    outputs = [{**output(f"c{n}", answer), **fields} for n, answer in enumerate(answers)]
    return callscore.score(cases, outputs, intervals=False)


def causes_on(card: Scorecard) -> list[str]:
    return [
        f"{line.keyword} {line.text}"
        for line in state_decision(card)
        if line.keyword in ("CAUSE", "MALFORMED")
    ]


def shown(card: Scorecard) -> str:
    lines = scorecard_lines(card, template_of(card), "Trial", 200)
    return "\n".join("".join(part.text for part in line) for line in lines)


RIGHT = QA_CASE["expected_outcome"]


@pytest.mark.parametrize(
    ("case", "answers", "words"),
    [
        (
            QA_CASE,
            [ZERO_SCALE, ZERO_SCALE, RIGHT],
            "CAUSE m, qa: 2 of 3 answers change the scale of a question (max_score)",
        ),
        (
            QA_CASE,
            [COPIED_TEXTS, COPIED_TEXTS, RIGHT],
            'CAUSE m, qa: 2 of 3 answers copy an example of the prompt ("...") instead of a text.',
        ),
        (
            QA_CASE,
            [COPIED_FORM, COPIED_FORM, RIGHT],
            'MALFORMED m, qa: 2 of 3 answers copy an example ("...") and do not have the requested '
            "keys.",
        ),
        (
            QA_CASE,
            [FULL_MARKS, FULL_MARKS, RIGHT],
            "CAUSE m, qa: 2 of 3 answers give every question the same mark, where people did not.",
        ),
        (
            QA_CASE,
            [NULL_MARKS, NULL_MARKS, RIGHT],
            "CAUSE m, qa: 2 of 3 answers leave a mark null that people gave.",
        ),
        (
            ENTITY_CASE,
            [WHOLE_LIST, WHOLE_LIST, ENTITY_CASE["expected_outcome"]],
            "CAUSE m, entity: 2 of 3 answers report the whole configured list as detected.",
        ),
    ],
)
def test_a_fault_that_answers_have_in_common_is_named_with_its_count(
    case: Json, answers: list[Json], words: str
) -> None:
    card = card_of(case, answers)
    found = causes_on(card)
    assert len(found) == 1
    assert found[0].startswith(words)
    assert words.partition(" ")[2] in shown(card)


def test_several_faults_of_a_task_are_one_line() -> None:
    (words,) = causes_on(card_of(QA_CASE, [ZERO_SCALE, ZERO_SCALE, NULL_MARKS, NULL_MARKS]))
    assert words == (
        "CAUSE m, qa: 2 of 4 answers change the scale of a question (max_score); 2 give every "
        "question the same mark, where people did not; 2 leave a mark null that people gave."
    )


def test_one_such_answer_is_in_the_json_and_no_cause() -> None:
    card = card_of(QA_CASE, [NULL_MARKS, RIGHT, RIGHT])
    assert causes_on(card) == []
    assert card.models[0].tasks["qa"].flags["null_marks"] == 1


@pytest.mark.parametrize(
    ("name", "finish"),
    [*((name, "length") for name in LOOPS), *((name, "stop") for name in list(LOOPS)[:2])],
)
def test_a_loop_is_not_a_reason_to_raise_max_tokens(name: str, finish: str) -> None:
    card = card_of(QA_CASE, [LOOPS[name], LOOPS[name], RIGHT], finish_reason=finish)
    assert card.models[0].tasks["qa"].malformed["repetition"] == 2
    (words,) = causes_on(card_of(QA_CASE, [LOOPS[name]] * 2, finish_reason=finish))
    assert words == (
        "MALFORMED m, qa: 2 of 2 answers repeat themselves until they are cut off; a higher "
        "max_tokens does not help."
    )


def test_an_answer_that_is_only_too_long_still_needs_a_higher_limit() -> None:
    (words,) = causes_on(card_of(QA_CASE, [CUT_OFF] * 2, finish_reason="length"))
    assert words.endswith("were cut off by the token limit: raise max_tokens.")
    assert read_object(Reply(CUT_OFF, "stop")).cause == "truncated_json"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    ["", "word " * 5, "-" * 80, "the end of a normal answer, as long as it may be: " + "abc " * 20],
)
def test_a_text_without_a_long_row_of_one_passage_is_no_loop(text: str) -> None:
    assert not ends_in_loop(text)


def test_marks_that_people_gave_equally_too_are_no_fault() -> None:
    form = [question(f"Q{n}", 5) for n in range(4)]
    card = card_of(qa_case(form), [{"questions": form}] * 3)
    assert "equal_marks" not in card.models[0].tasks["qa"].flags


def test_blanks_that_are_in_the_reference_are_no_copy() -> None:
    form = [question("Q1", reason="...")]
    card = card_of(qa_case(form), [{"questions": form}] * 3)
    assert "copied_example" not in card.models[0].tasks["qa"].flags


def test_no_failure_is_shown_as_none_of_all_questions() -> None:
    form = [question(f"Q{n}", 0 if n == 0 else 5) for n in range(4)]
    right = {"questions": form}
    passed = {"questions": [{**each, "score": 5} for each in form]}
    assert "0.00 % ✓ Good (0 of 8)" in shown(card_of(qa_case(form), [right, right]))
    assert "(1 of 8)" in shown(card_of(qa_case(form), [right, passed]))


def test_the_path_of_a_local_model_is_in_neither_card_nor_signature(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)

    def answer(request: Request) -> Answer:
        return Answer({**chat_completion("{}"), "model": PATH_AS_NAME})

    with serving(answer) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        done = run("run", path, "--no-preflight", "--json", tmp_path / "card.json")
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "card.json")
    assert "anna" not in json.dumps(card)
    assert any("answered from the file small-1.5b-instruct" in note for note in card["notes"])
    assert "anna" not in done.stdout
