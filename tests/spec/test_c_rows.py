"""Rows of document 003 as the third reading settles them: C-16, C-45, C-129, C-136."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
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
from callscore.core.scorecard import BenchmarkScore, Scorecard
from callscore.report.layout import display_width
from callscore.report.svg.cost_quality import cost_quality_points, models_not_drawn
from callscore.report.terminal import scorecard_lines
from callscore.scorecard.template import TemplateRow
from callscore.suites.registry import template_of
from report_samples import sample_source

FABRICATED = "entity.fabricated_count"


def terminal(card: Scorecard, width: int = 200, *, all_rows: bool = False) -> str:
    """The scorecard as the terminal shows it."""
    lines = scorecard_lines(card, template_of(card), "Sample", width, all_rows=all_rows)
    return "\n".join("".join(part.text for part in line) for line in lines)


@cache
def sample_card() -> tuple[Scorecard, Sequence[TemplateRow]]:
    """The card of the bundled sample, and its template."""
    with sample_source() as source:
        return source.card, source.template


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
    assert row_of(terminal(card, all_rows=True), "unspoken entities").split()[2] == "1"
    assert "unspoken entities" not in terminal(card)


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


def claims(words: Sequence[str]) -> list[Json]:
    """Verdicts that bring their own claims, with these words."""
    return [
        {
            "case_id": "c1",
            "model": "m",
            "metric": "text.fabrication_free",
            "item": f"claim:{number}",
            "text": f"claim {number}",
            "verdict": word,
        }
        for number, word in enumerate(words, start=1)
    ]


def test_c16_a_row_that_meets_its_threshold_and_rates_fail_has_no_tick(tmp_path: Path) -> None:
    expected = text_outcome()
    expected["summary"]["call_extracted_info"] = {f"field {n}": "known" for n in range(50)}
    verdicts = claims(["not_found"] * 3 + ["supported_by_transcript"] * 97)
    scored = score([text_case(expected)], [output("c1", expected)], tmp_path, verdicts)
    metric = scored.task("text").metrics["text.fabrication_free"]
    assert metric.value == pytest.approx(0.97)
    assert (metric.rating, metric.meets_threshold) == ("Fail", False)
    assert "0.970 ✗ Fail" in row_of(terminal(scored.card), "Fabrication-Free Rate")


def test_c16_an_acceptable_row_that_meets_its_threshold_has_a_tick(tmp_path: Path) -> None:
    configured = [f"e{number}" for number in range(50)]
    case = entity_case(configured[:49], [], configured)
    answer = entity_output([*configured[:48], "refund", "please"])
    scored = score([case], [output("c1", answer)], tmp_path)
    metric = scored.task("entity").metrics["entity.config_adherence"]
    assert (metric.value, metric.rating, metric.meets_threshold) == (0.96, "Acceptable", True)


@pytest.mark.parametrize(("passed", "tick"), [(9, "0.818 ✓"), (8, "0.727 ✗")])
def test_c16_the_benchmark_score_has_a_tick_against_its_recommended_minimum(
    passed: int, tick: str
) -> None:
    card, _ = sample_card()
    model = card.models[0]
    score_of = BenchmarkScore(
        "valid", passed / 11, model.benchmarks.criteria, meets_recommended=passed >= 9
    )
    model = msgspec.structs.replace(model, benchmarks=score_of)
    card = msgspec.structs.replace(card, models=[model, *card.models[1:]])
    assert tick in row_of(terminal(card), "Benchmark Score")


def test_thresholds_are_whole_at_200_columns() -> None:
    card, template = sample_card()
    printed = [row.threshold for row in template if row.threshold]
    for models in (1, 2, 4):
        few = with_models(card, models)
        for all_rows in (True, False):
            lines = terminal(few, 200, all_rows=all_rows).splitlines()
            assert max(map(display_width, lines[:-20])) <= 200
            shown = [
                text for text in printed if any(line.rstrip().endswith(text) for line in lines)
            ]
            assert [text for text in printed if text not in shown] == (
                [] if all_rows else [text for text in printed if not is_usual(text)]
            )


def with_models(card: Scorecard, models: int) -> Scorecard:
    """The card with its first models only."""
    kept = card.models[:models]
    names = {model.model for model in kept}
    ranking = [line for line in card.ranking if line.model in names]
    return msgspec.structs.replace(card, models=kept, ranking=ranking, zeroed_ranking=())


def is_usual(threshold: str) -> bool:
    """Whether the template without details has this threshold."""
    return " % of " not in threshold


def test_all_rows_show_every_row_of_the_template_run_or_not(tmp_path: Path) -> None:
    card = score([qa_case([question()])], [output("c1", form(question()))], tmp_path).card
    labels = [row.label for row in template_of(card) if row.kind != "figure"]
    shown = terminal(card, all_rows=True)
    assert [label for label in labels if label not in shown] == []
    assert "n/a" in row_of(shown, "Target Language Fluency Score")
    assert "Target Language" not in terminal(card)
    assert "Not run: Entity, Text, Translation." in terminal(card)


def test_an_interval_of_one_call_is_not_printed(tmp_path: Path) -> None:
    cases = [qa_case([question()]), text_case(case_id="c2", call_id="c1")]
    cases[0]["call_id"] = "c1"
    outputs = [output("c1", form(question()), cost_usd=1.0), output("c2", "{", cost_usd=1.0)]
    scored = score(cases, outputs, tmp_path, benchmarks=True, intervals=True)
    found = json.loads(msgspec.json.encode(scored.card))
    assert [path for path, limits in intervals(found) if limits is not None] == []
    assert re.search(r"\[[\d.$]+–", terminal(scored.card, all_rows=True)) is None
    two = score(
        [*cases, qa_case([question()], "c3")],
        [*outputs, output("c3", form(question()))],
        tmp_path,
        intervals=True,
    )
    assert two.task("qa").ci95 is not None


def intervals(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every interval in a document, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.endswith("ci95"):
                yield f"{path}.{key}", inner
            yield from intervals(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from intervals(inner, f"{path}[{number}]")
