"""The decision in words: what each kind of card says first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders import (
    entity_case,
    entity_output,
    form,
    output,
    qa_case,
    question,
    score,
    text_case,
    text_outcome,
)
from callscore.report.decision import Statement, state_decision
from fake_judges import ScriptedJudge

QA_ALONE = {"weights": {"qa": 1.0}}
TWO = [question("Q1", 0), question("Q2")]
RIGHT, HALF = form(*TWO), form(question("Q1", 0), question("Q2", 4))
FALSE_PASS = form(question("Q1"), question("Q2"))


def said(folder: Path, outputs: list[dict[str, Any]], **options: Any) -> dict[str, str]:
    """The statements on answers to one QA case, by their heads."""
    card = score([qa_case(TWO)], outputs, folder, **{**QA_ALONE, **options}).card
    return {statement.keyword: statement.text for statement in state_decision(card)}


def said_on_calls(
    folder: Path, forms: dict[str, list[Any]], costs: dict[str, float | None], **options: Any
) -> list[Statement]:
    """The statements on the answers of some models to as many calls as they have forms."""
    calls = range(len(next(iter(forms.values()))))
    outputs = [
        output(f"c{n}", answers[n], model, cost_usd=costs[model])
        for model, answers in forms.items()
        for n in calls
    ]
    cases = [qa_case(TWO, f"c{n}") for n in calls]
    return state_decision(score(cases, outputs, folder, **{**QA_ALONE, **options}).card)


def test_best_value_and_best_quality_are_named_apart(tmp_path: Path) -> None:
    forms = {"big": [RIGHT] * 20, "small": [HALF] * 10 + [RIGHT] * 10}
    found = said_on_calls(tmp_path, forms, {"big": 0.010, "small": 0.001})
    assert [(statement.keyword, statement.text) for statement in found] == [
        ("CHOOSE", "small: best value. Final 0.815, $1.000 per 1000 calls. 1 row rated Fail."),
        ("OR", "big: best quality. Final 1.000, $10.00 per 1000 calls (10.0 × as much)."),
    ]


def test_one_model_that_is_both_is_named_once(tmp_path: Path) -> None:
    forms = {"good": [RIGHT] * 20, "bad": [HALF] * 10 + [RIGHT] * 10}
    found = said_on_calls(tmp_path, forms, {"good": 0.001, "bad": 0.002})
    assert [statement.keyword for statement in found] == ["CHOOSE"]
    assert found[0].text.startswith("good: best quality and best value. Final 1.000")


def test_models_that_the_calls_do_not_tell_apart_are_a_tie(tmp_path: Path) -> None:
    forms = {"a": [RIGHT] * 5 + [HALF], "b": [HALF, RIGHT, HALF, RIGHT, RIGHT, RIGHT]}
    found = said_on_calls(tmp_path, forms, {"a": 0.001, "b": 0.001})
    assert found[0].keyword == "TIE"
    assert found[0].text.startswith(
        "a and b cannot be distinguished by value with these 6 calls; about "
    )
    assert "would do. Currently first: a, Final 0.938, $1.000 per 1000 calls." in found[0].text
    assert "a and b cannot be distinguished by quality with these 6 calls" in found[1].text


def test_the_cheaper_of_two_equals_is_best_value(tmp_path: Path) -> None:
    forms = {"dear": [RIGHT] * 11 + [HALF], "cheap": [HALF, HALF] + [RIGHT] * 10}
    found = said_on_calls(tmp_path, forms, {"dear": 0.010, "cheap": 0.001})
    assert found[0].keyword == "CHOOSE"
    assert found[0].text.startswith("cheap: best value.")
    assert found[1].text.startswith(
        "dear and cheap cannot be distinguished by quality with these 12"
    )


def test_without_intervals_it_says_that_chance_is_not_known(tmp_path: Path) -> None:
    forms = {"good": [RIGHT] * 2, "bad": [HALF] * 2}
    found = said_on_calls(tmp_path, forms, {"good": 0.001, "bad": 0.002}, intervals=False)
    assert found[0].keyword == "CHOOSE"
    assert found[-1].text == "whether differences are significant with 2 calls per task."


def test_what_keeps_a_model_out_is_said_with_its_limit(tmp_path: Path) -> None:
    outputs = [
        output("c1", RIGHT, "good", cost_usd=0.001),
        output("c1", FALSE_PASS, "bad", cost_usd=0.001),
    ]
    found = said(tmp_path, outputs)
    assert found["OUT"] == (
        "bad ($1.000 per 1000 calls): QA: Compliance False Pass Rate 50 %, above 3."
    )


def test_where_no_model_passes_the_closest_is_named(tmp_path: Path) -> None:
    found = said(tmp_path, [output("c1", FALSE_PASS, "bad", cost_usd=0.001)])
    assert found["NO MODEL"].startswith("passes every blocker. Closest: bad, 0.")
    assert "blocked calls counted as 0 (not official)" in found["NO MODEL"]


def test_the_weights_that_are_offered_give_a_final_score(tmp_path: Path) -> None:
    cases = [
        qa_case([question()], "q"),
        entity_case(["refund"], configured=["refund"], case_id="e"),
        text_case(case_id="t"),
    ]
    outputs = [output("q", form(question())), output("e", entity_output(["refund"]))]
    (entry,) = score(cases, outputs, tmp_path).card.ranking
    offered = (entry.reason or "").partition("--weights ")[2].partition(" ")[0]
    assert offered == "qa=0.54,entity=0.46"
    weights = {
        name: float(share) for name, _, share in (p.partition("=") for p in offered.split(","))
    }
    assert score(cases, outputs, tmp_path, weights=weights).model.final.score == 1.0


def test_an_unknown_cost_is_said(tmp_path: Path) -> None:
    forms = {"a": [RIGHT] * 20, "b": [HALF] * 10 + [RIGHT] * 10}
    found = {s.keyword: s.text for s in said_on_calls(tmp_path, forms, {"a": None, "b": None})}
    assert "a: best quality. Final 1.000; its cost is unknown" in found["CHOOSE"]
    assert "the cost of a, b" in found["UNKNOWN"]


def test_an_estimate_is_called_one_and_its_open_blockers_are_counted(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"] = {**answer["summary"], "call_purpose": "Refund", "highlights": ["A refund"]}
    card = score(
        [text_case()],
        [output("c1", answer, cost_usd=0.001)],
        tmp_path,
        judge=ScriptedJudge(approximate=True),
        weights={"text": 1.0},
    ).card
    found = {statement.keyword: statement.text for statement in state_decision(card)}
    assert found["ESTIMATE"].startswith("m: best quality and best value.")
    assert "2 blocker rows of m not judged" in found["UNKNOWN"]


def test_answers_that_cannot_be_read_come_with_a_remedy(tmp_path: Path) -> None:
    outputs = [{**output(f"c{i}", RIGHT), "finish_reason": "length"} for i in range(2)]
    cases = [qa_case(TWO, f"c{i}") for i in range(3)]
    card = score(cases, [*outputs, output("c2", RIGHT)], tmp_path).card
    assert Statement(
        "MALFORMED",
        "m, qa: 2 of 3 answers were cut off by the token limit: raise max_tokens.",
        "bad",
    ) in state_decision(card)


def test_names_from_files_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    found = said(tmp_path, [output("c1", RIGHT, "\x1b]0;pwn\x07", cost_usd=0.001)])
    assert "\x1b" not in "".join(found.values())
