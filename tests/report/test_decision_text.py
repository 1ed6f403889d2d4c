"""Statements of reports: decisions as they are shown, malformed replies, hostile names."""

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
from callscore.core.scorecard import DecisionLine, Scorecard
from callscore.report.decision_statements import Statement, state_decision
from fake_judges import ScriptedJudge

TWO = [question("Q1", 0), question("Q2")]
RIGHT = form(*TWO)


def said(folder: Path, outputs: list[dict[str, Any]], **options: Any) -> dict[str, str]:
    """The statements on answers to one QA case, by their heads."""
    card = score([qa_case(TWO)], outputs, folder, **options).card
    return {statement.keyword: statement.text for statement in state_decision(card)}


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


def test_the_rows_that_an_estimate_does_not_rate_are_named(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"] = {**answer["summary"], "call_purpose": "Refund", "highlights": ["A refund"]}
    card = score(
        [text_case()],
        [output("c1", answer, cost_usd=0.001)],
        tmp_path,
        judge=ScriptedJudge(approximate=True),
    ).card
    first, *_ = state_decision(card)
    assert first.keyword == "LIKELY"
    assert "Not certain: an estimate, some rows are approximate; only 1 call" in first.text


def test_the_decision_of_a_card_from_a_file_cannot_speak_to_the_terminal() -> None:
    hostile = DecisionLine("OUT\x1b[2J", ["m\x07"], "why\n\x1b]0;pwn\x07")
    card = Scorecard("6.0", "", [], [], decision=[hostile])
    (shown,) = state_decision(card)
    assert not any(ord(char) < 32 for char in shown.keyword + shown.text)


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
