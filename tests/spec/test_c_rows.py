"""Rows of document 003 as the third reading settles them: C-16, C-45, C-129, C-136."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import (
    Json,
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
from callscore.core.errors import ConfigError
from callscore.core.scorecard import Scorecard
from callscore.report.svg.cost_quality import cost_quality_points, models_not_drawn
from callscore.report.terminal import scorecard_lines
from callscore.suites.registry import template_of

FABRICATED = "entity.fabricated_count"


def terminal(card: Scorecard, width: int = 200, *, all_rows: bool = False) -> str:
    """The scorecard as the terminal shows it."""
    lines = scorecard_lines(card, template_of(card), "Sample", width, all_rows=all_rows)
    return "\n".join("".join(part.text for part in line) for line in lines)


def row_of(text: str, label: str) -> str:
    """The first row of a table with this label."""
    return next(line for line in text.splitlines() if line.strip(" [!]").startswith(label))


UNSPOKEN = entity_case(
    ["refund"],
    ["billing"],
    ["refund", "billing", "account_management", "loan"],
    transcript="Customer: a refund of the billing, please. Agent: No loan.",
)


def unspoken(scored: Scorecard) -> float | None:
    metric = scored.models[0].tasks["entity"].metrics[FABRICATED]
    assert metric.secondary is not None
    return metric.secondary["unspoken_entities"]


def test_c45_a_configured_entity_that_is_not_spoken_is_counted_separately(tmp_path: Path) -> None:
    answers = [output("c1", entity_output(["refund"], ["billing", "account_management"]))]
    official = score([UNSPOKEN], answers, tmp_path)
    assert (official.value(FABRICATED), unspoken(official.card)) == (0, 1)
    assert official.value("entity.topic_f1") == pytest.approx(2 / 3)
    literal = score([UNSPOKEN], answers, tmp_path, settings={"entity.fabricated": "formula"})
    assert (literal.value(FABRICATED), unspoken(literal.card)) == (1, 1)
    assert literal.rating(FABRICATED) == "Warning"
    assert "entity.fabricated=formula" in literal.card.signature


def test_c45_what_is_spoken_or_expected_of_either_kind_is_not_counted(tmp_path: Path) -> None:
    answers = [output("c1", entity_output(["loan", "billing"], ["refund", "insurance"]))]
    scored = score([UNSPOKEN], answers, tmp_path)
    assert (scored.value(FABRICATED), unspoken(scored.card)) == (1, 1)


def test_c45_three_of_them_block_a_call_by_the_formula_only(tmp_path: Path) -> None:
    case = entity_case(["refund"], configured=["refund", "x", "y", "z"])
    answers = [output("c1", entity_output(["refund", "x", "y", "z"]))]
    assert score([case], answers, tmp_path).results[0]["status"] == "valid"
    literal = score([case], answers, tmp_path, settings={"entity.fabricated": "formula"})
    assert literal.results[0]["reasons"] == [FABRICATED]


def test_c45_all_rows_show_the_count_under_its_metric(tmp_path: Path) -> None:
    answers = [output("c1", entity_output(["refund"], ["billing", "account_management"]))]
    card = score([UNSPOKEN], answers, tmp_path).card
    assert row_of(terminal(card, all_rows=True), "unspoken_entities").split()[1] == "1"
    assert "unspoken_entities" not in terminal(card)


def padded(supported: int, case_id: str = "c1") -> tuple[Json, Json, Sequence[Json]]:
    """A case of 8 facts, a summary of supported claims and one invention, and the verdicts."""
    expected = text_outcome()
    fields = {f"field_{i}": f"value {i}" for i in range(7)}
    purpose = "Refund of a double charge"
    expected["summary"] = {
        "call_purpose": purpose,
        "highlights": [],
        "call_extracted_info": fields,
    }
    answer = text_outcome()
    answer["summary"] = {
        "call_purpose": purpose,
        "highlights": [*(f"Quote number {i}" for i in range(supported - 1)), "A voucher"],
        "call_extracted_info": {},
    }
    words = ["supported_by_transcript"] * supported + ["not_found"]
    verdicts = [
        {
            "case_id": case_id,
            "model": "m",
            "metric": "text.fabrication_free",
            "item": f"claim:{number}",
            "verdict": word,
        }
        for number, word in enumerate(words, start=1)
    ]
    return text_case(expected, case_id), answer, verdicts


def test_c136_the_plain_rate_and_the_claims_left_out_are_shown(tmp_path: Path) -> None:
    case, answer, verdicts = padded(250)
    scored = score([case], [output("c1", answer)], tmp_path, verdicts, benchmarks=True)
    rate = scored.task("text").metrics["text.hallucination_rate"]
    assert rate.value == pytest.approx(100 / 25)
    assert rate.plain == pytest.approx(100 / 251)
    assert rate.claims_left_out == 226
    free = scored.task("text").metrics["text.fabrication_free"]
    assert free.plain == pytest.approx(250 / 251)
    assert free.claims_left_out == 226
    faithful = scored.model.benchmarks.criteria["bench.faithfulness"]
    assert faithful.value == pytest.approx(24 / 25)
    assert faithful.plain == pytest.approx(250 / 251)
    assert faithful.claims_left_out == 226
    shown = terminal(scored.card, all_rows=True)
    assert "0.996 (226 claims left out)" in row_of(shown, "plain")


def test_c136_the_factor_0_gives_the_plain_rate_and_no_flag(tmp_path: Path) -> None:
    case, answer, verdicts = padded(250)
    plain = {"padding_factor": 0}
    scored = score([case], [output("c1", answer)], tmp_path, verdicts, settings=plain)
    rate = scored.task("text").metrics["text.hallucination_rate"]
    assert rate.value == rate.plain == pytest.approx(100 / 251)
    assert rate.claims_left_out == 0
    assert "padded" not in scored.results[0]["flags"]
    assert "padding_factor=0" in scored.card.signature


def test_c136_a_higher_factor_counts_more(tmp_path: Path) -> None:
    case, answer, verdicts = padded(250)
    scored = score(
        [case], [output("c1", answer)], tmp_path, verdicts, settings={"padding_factor": 4.5}
    )
    assert scored.value("text.hallucination_rate") == pytest.approx(100 / 37)


def test_c136_plain_rates_pool_over_calls_and_runs(tmp_path: Path) -> None:
    long, answer, verdicts = padded(250)
    short, other, more = padded(9, "c2")
    runs = [output("c1", answer, run=1), output("c1", answer, run=2), output("c2", other, run=1)]
    second = [{**line, "run": 2} for line in verdicts]
    scored = score([long, short], runs, tmp_path, [*verdicts, *second, *more])
    rate = scored.task("text").metrics["text.hallucination_rate"]
    assert rate.value == pytest.approx(100 * 2 / (25 + 10))
    assert rate.plain == pytest.approx(100 * 2 / (251 + 10))
    assert rate.claims_left_out == 226


def test_c136_a_factor_below_0_is_refused(tmp_path: Path) -> None:
    case, answer, verdicts = padded(9)
    with pytest.raises(ConfigError, match="padding_factor must be at least 0"):
        score([case], [output("c1", answer)], tmp_path, verdicts, settings={"padding_factor": -1})


def test_c129_no_picture_draws_an_incomplete_model_as_blocked(tmp_path: Path) -> None:
    cases = [qa_case([question()], "c1"), text_case(case_id="c2")]
    answers: dict[str, Json] = {"c1": form(question()), "c2": text_outcome()}
    outputs = [
        *(output(case, answer, "done") for case, answer in answers.items()),
        output("c1", form(question()), "open"),
        output("c1", form(question()), "broken"),
        output("c2", "{", "broken"),
    ]
    price = dict.fromkeys(("done", "open", "broken"), 1.0)
    weights = {"qa": 0.5, "text": 0.5}
    card = score(cases, outputs, tmp_path, weights=weights, cost_per_1000=price).card
    found = {model.model: model.final.status for model in card.models}
    assert found == {"done": "valid", "open": "incomplete", "broken": "invalid"}
    drawn = {point.model: point.blocked for point in cost_quality_points(card)}
    assert drawn == {"done": False, "broken": True}
    assert models_not_drawn(card) == [("open", "Final Score incomplete")]
