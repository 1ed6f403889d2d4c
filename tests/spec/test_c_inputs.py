"""C-122 … C-127: inputs, coverage, official results; each test carries its entry's id."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import form, output, qa_case, question, score, text_case, text_outcome
from calls_suite import tasks
from callscore.core.case import Case, spoken_text, turns
from callscore.metrics.text import contains, n2
from callscore.suites.calls import spec


def test_c122_times_and_speakers_are_recognised_and_not_searched() -> None:
    (turn,) = turns("[00:12] Agent: Good morning")
    assert (turn.start, turn.speaker, turn.text) == (12.0, "Agent", "Good morning")
    assert not contains(n2(spoken_text("[00:12] Agent: Good morning")), n2("Agent"))


def test_c122_every_line_of_a_string_is_a_turn() -> None:
    found = turns("[01:02:03] Ana López: hola\n\nप्रिया: नमस्ते\nno prefix here")
    assert [(turn.id, turn.speaker, turn.start) for turn in found] == [
        (1, "Ana López", 3723.0),
        (2, "प्रिया", None),
        (3, None, None),
    ]


def test_c123_the_prompt_holds_the_whole_config_except_the_answers() -> None:
    case = Case(
        id="c1",
        task="translation",
        transcript="Agent: hola",
        config={"critical_facts": ["secret"], "target_language": "en", "own_key": "kept"},
        expected_outcome={},
    )
    for task in tasks(spec.make_settings()).values():
        sent = "\n".join(message.content for message in task.prompt(case).messages)
        assert "own_key" in sent
        assert "secret" not in sent


def test_c123_cases_of_one_call_share_their_call_id(tmp_path: Path) -> None:
    cases = [qa_case([question()], "q", call_id=7), text_case(case_id="t", call_id=7)]
    outputs = [output("q", form(question())), output("t", text_outcome())]
    assert set(score(cases, outputs, tmp_path).model.tasks) == {"qa", "text"}


def test_c124_errors_below_the_required_coverage_leave_the_task_incomplete(tmp_path: Path) -> None:
    cases = [qa_case([question()], f"c{i}") for i in range(100)]
    outputs: list[dict[str, object]] = [
        output(f"c{i}", form(question()))
        if i > 1
        else {"case_id": f"c{i}", "model": "m", "error": "x"}
        for i in range(100)
    ]
    task = score(cases, outputs, tmp_path).task()
    assert (task.status, task.score, task.n, task.cases) == ("incomplete", None, 98, 100)
    assert task.ungated_score == pytest.approx(1.0)
    assert task.coverage == 0.98
    relaxed = score(cases, outputs, tmp_path, settings={"coverage.required": 0.98}).task()
    assert relaxed.status == "valid"
    assert relaxed.score == pytest.approx(1.0)


def test_c127_ten_cases_with_sentiment_only_give_a_sentiment_score(tmp_path: Path) -> None:
    outcome = {"sentiment": text_outcome()["sentiment"]}
    parts = {"summary": "absent", "emotion": "absent", "sentiment": "gold"}
    cases = [text_case(outcome, f"c{i}", expected_parts=parts) for i in range(10)]
    outputs = [output(f"c{i}", outcome if i else text_outcome()) for i in range(10)]
    task = score(cases, outputs, tmp_path).task("text")
    assert task.status == "incomplete"
    assert task.subscores["sentiment"].score == pytest.approx(1.0)
    assert [task.subscores[part].score for part in ("summary", "emotion")] == [None, None]
    assert task.metrics["text.structure"].value == 1


def test_c127_absent_reasons_make_the_qa_task_incomplete(tmp_path: Path) -> None:
    expected = [{key: value for key, value in question().items() if key != "reason"}]
    case = qa_case(expected, expected_parts={"reason": "absent"})
    for given in (form(*expected), form(question())):
        scored = score([case], [output("c1", given)], tmp_path)
        assert scored.value("qa.structure") == 1
        assert scored.value("qa.question_score_accuracy") == 1
        assert scored.task().status == "incomplete"


def test_c127_a_missing_key_without_a_declaration_stays_an_error(tmp_path: Path) -> None:
    from callscore.core.errors import DataError

    with pytest.raises(DataError, match=r"expected_outcome.emotion: missing"):
        outcome = text_outcome()
        del outcome["emotion"]
        score([text_case(outcome)], [output("c1", {})], tmp_path)
