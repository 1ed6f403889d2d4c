"""`validate` says what a data set is like."""

from __future__ import annotations

from callscore.core.case import Case
from callscore.evaluate.data_statistics import DataStatistics


def case(number: int, text: str, score: int | None, lang: str = "en") -> Case:
    expected = {
        "questions": [
            {
                "question_id": "Q1",
                "score": score,
                "max_score": 5,
                "type": "PASS_FAIL",
                "reason": "as heard" if score else "",
            },
            {"question_id": "Q2", "score": 5, "max_score": 5, "type": "PASS_FAIL"},
        ]
    }
    return Case(f"c{number}", "qa", text, {}, expected, call_id=f"call-{number}", lang=lang)


def lines(*cases: Case) -> list[str]:
    found = DataStatistics()
    for one in cases:
        found.add(one)
    return list(found.lines())


def test_languages_lengths_labels_and_doubles_are_counted() -> None:
    said = lines(
        case(1, "Agent: one two three", 5),
        case(2, "Agent: One  two three", 0, "ko"),
        case(3, "Agent: something else entirely here", None),
    )
    assert "calls 3; languages: en 2, ko 1; words per call: 3 to 4, median 3" in said
    assert "labels of qa.questions.score: 5 4, 0 1, N/A 1" in said
    assert (
        "questions with one answer only: qa Q2 (always 5); they hardly distinguish models" in said
    )
    assert "calls with the same words: call-1 = call-2" in said
    assert not any("reason" in line for line in said)


def test_a_call_with_several_cases_is_counted_once() -> None:
    assert lines(case(1, "Agent: a", 5), case(1, "Agent: a", 5))[0].startswith("calls 1;")


def test_more_calls_show_smaller_differences() -> None:
    few = lines(*(case(number, f"Agent: {number}", 5) for number in range(10)))[-1]
    many = lines(*(case(number, f"Agent: {number}", 5) for number in range(200)))[-1]
    assert "10 calls can show a difference of about 0.20" in few
    assert "200 calls can show a difference of about 0.04" in many
    assert "cannot show" in lines(case(1, "Agent: a", 5))[-1]


def test_yes_and_no_are_labels_in_words() -> None:
    def decided(number: int, value: bool) -> Case:
        expected = {"decisions": [{"decision_id": "D1", "met": value}]}
        return Case(f"c{number}", "mine", f"Agent: {number}", {}, expected)

    said = lines(decided(1, True), decided(2, False), decided(3, False))
    assert "labels of mine.decisions.met: False 2, True 1" in said
