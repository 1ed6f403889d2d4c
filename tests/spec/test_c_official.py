"""C-101 and C-125: what a verdict on facts reaches, and what an estimate is ranked with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from builders import Json, ScoreResult, output, score
from callscore.report.terminal import scorecard_lines
from callscore.suites.registry import template_of
from text_cases import outcome, summary, text_case, values, verdict, verdicts
from translation_cases import outcome as translation_outcome


def test_c101_a_fabricated_highlight_leaves_the_counts_alone() -> None:
    answer = outcome(summary=summary(highlights=["Agent offered a discount of 10 %"]))
    given = verdicts(
        verdict("highlight_correctness", "highlights[0]", "not_found"),
        verdict("fabrication_free", "claim:2", "not_found"),
        verdict("highlight_recall", "expected_highlights[0]", "not_stated"),
        verdict("highlight_recall", "expected_highlights[1]", "not_stated"),
    )
    honest, found = values(text_case(), outcome()), values(text_case(), answer, given)
    untouched = ("sentiment_accuracy", "sentiment_macro_f1", "missing_labels", "field_presence")
    assert [found[name] for name in untouched] == [honest[name] for name in untouched]
    assert found["highlight_correctness"] == 0
    assert found["fabrication_free"] == 3 / 4


def translation(case_id: str, expected: Sequence[str], target: str = "es", **extra: Any) -> Json:
    return {
        "id": case_id,
        "task": "translation",
        "transcript": "Agent: source 1",
        "config": {"target_language": target},
        "expected_outcome": translation_outcome(expected),
        **extra,
    }


def text_case_json() -> Json:
    found: Json = msgspec.to_builtins(text_case())
    return {key: value for key, value in found.items() if value is not None}


LISTED: Json = {"annotations": {"critical_facts": []}}
"""No facts, which is a list: nothing is left to rules."""
PRICES = {"proven": 2.0, "guess": 1.0}


def estimates(scored: ScoreResult, slug: str) -> dict[str, bool]:
    """Whether a metric is an estimate, by model."""
    task = slug.partition(".")[0]
    return {m.model: m.tasks[task].metrics[slug].approximate for m in scored.card.models}


@pytest.mark.parametrize("models", [("proven",), ("proven", "guess")])
def test_c125_facts_found_by_rule_are_an_estimate_for_every_model_in_one_ranking(
    tmp_path: Path, models: Sequence[str]
) -> None:
    case = translation("c1", ["el agente avisó al supervisor"])
    answers = {
        "proven": case["expected_outcome"],
        "guess": translation_outcome(["el agente informó a su superior"]),
    }
    judged: Json = {"case_id": "c1", "model": "guess", "item": "1"}
    verdicts: list[Json] = [
        judged | {"metric": "translation.meaning", "value": 0.9},
        judged | {"metric": "translation.fluency", "verdict": "native"},
    ]
    scored = score(
        [case],
        [output("c1", answers[model], model) for model in models],
        tmp_path,
        verdicts if "guess" in models else (),
        cost_per_1000={model: PRICES[model] for model in models},
    )
    assert estimates(scored, "translation.critical_facts") == dict.fromkeys(models, True)
    assert not any(m.tasks["translation"].official for m in scored.card.models)
    assert all(entry.estimate for entry in scored.card.ranking)
    assert sorted(entry.rank or 0 for entry in scored.card.ranking) == [1, 2][: len(models)]


def test_c125_listed_facts_are_official_without_a_judge(tmp_path: Path) -> None:
    case = translation("c1", ["paga 49 dólares"], **LISTED)
    scored = score([case], [output("c1", case["expected_outcome"])], tmp_path)
    assert scored.task("translation").official
    assert not scored.card.estimate


def test_c125_outcomes_that_people_found_make_facts_official_for_every_model(
    tmp_path: Path,
) -> None:
    case = translation("c1", ["el agente avisó al supervisor"])
    found = {"case_id": "c1", "metric": "translation.critical_facts", "item": "outcome:1"}
    verdicts = [found | {"verdict": "no_outcome"}]
    scored = score([case], [output("c1", case["expected_outcome"])], tmp_path, verdicts)
    assert estimates(scored, "translation.critical_facts") == {"m": False}


def test_c125_the_offline_judge_makes_judged_rows_estimates_for_a_perfect_model_too(
    tmp_path: Path,
) -> None:
    answers = [outcome(), outcome(summary=summary(highlights=["A refund was made"]))]
    scored = score(
        [text_case_json()],
        [output("c1", answer, model) for model, answer in zip("AB", answers, strict=True)],
        tmp_path,
        judge="offline",
    )
    assert estimates(scored, "text.highlight_recall") == {"A": True, "B": True}
    assert estimates(scored, "text.sentiment_accuracy") == {"A": False, "B": False}
    perfect = scored.card.models[0].tasks["text"]
    assert perfect.metrics["text.call_intent"].value == 1
    assert (perfect.metrics["text.call_intent"].rating, perfect.official) == (None, False)


def test_c125_facts_in_words_are_unrated_for_every_model_with_the_offline_judge(
    tmp_path: Path,
) -> None:
    facts: Json = {"annotations": {"critical_facts": ["el supervisor fue avisado"]}}
    case = translation("c1", ["el supervisor fue avisado"], **facts)
    answers = [
        output("c1", case["expected_outcome"], "A"),
        output("c1", translation_outcome(["nadie fue avisado"]), "B"),
    ]
    scored = score([case], answers, tmp_path, judge="offline", embedder="none")
    for model in scored.card.models:
        facts_row = model.tasks["translation"].metrics["translation.critical_facts"]
        assert (facts_row.rating, facts_row.meets_threshold) == (None, None), model.model


def test_c125_with_no_judge_what_code_decides_is_official(tmp_path: Path) -> None:
    scored = score([text_case_json()], [output("c1", outcome())], tmp_path)
    assert scored.task("text").official
    assert scored.rating("text.call_intent") == "Good"


KYC = "कृपया KYC पूरा करें।"


def test_c68_a_value_by_chrf_has_its_name_and_no_rating(tmp_path: Path) -> None:
    case = translation("c1", [KYC], "hi", **LISTED)
    reworded = translation_outcome(["कृपया अपना KYC पूर्ण कीजिए।"])
    answers = [output("c1", reworded, "B"), output("c1", case["expected_outcome"], "A")]
    scored = score([case], answers, tmp_path, embedder="muse")
    for model in scored.card.models:
        metric = model.tasks["translation"].metrics["translation.meaning"]
        assert metric.value is not None
        assert (metric.rating, metric.meets_threshold, metric.approximate) == (None, None, True)
        assert metric.measured_by == "chrF"
    (note,) = [note for note in scored.card.notes if "comparisons" in note]
    assert note.startswith("chrF made 1 of 1 comparisons of texts (100 %)")
    assert "callscore[labse]" in note
    lines = list(scorecard_lines(scored.card, template_of(scored.card), "T", 120))
    shown = "\n".join("".join(part.text for part in line) for line in lines)
    row = next(line for line in shown.splitlines() if "Sentence-Level Meaning Accuracy  " in line)
    assert "chrF" in row
    assert not {"✓", "✗"} & set(row)
    assert "chrF: limits hold for LaBSE or mUSE only" in shown


def test_c68_mixed_measures_say_how_many_calls_each_has(tmp_path: Path) -> None:
    cases = [
        translation("c1", [KYC], "hi", **LISTED),
        translation("c2", ["El reembolso está aprobado."], "es", **LISTED),
    ]
    answers = [output(case["id"], case["expected_outcome"]) for case in cases]
    scored = score(cases, answers, tmp_path, embedder="muse")
    metric = scored.task("translation").metrics["translation.meaning"]
    assert (metric.value, metric.measured_by) == (1, "chrF in 1 of 2 calls")
    assert metric.rating is None


def test_c68_muse_is_official_and_rated(tmp_path: Path) -> None:
    case = translation("c1", ["El reembolso está aprobado."], "es", **LISTED)
    answer = translation_outcome(["La devolución está aprobada."])
    scored = score([case], [output("c1", answer)], tmp_path, embedder="muse")
    metric = scored.task("translation").metrics["translation.meaning"]
    assert (metric.approximate, metric.measured_by) == (False, None)
    assert metric.rating is not None


def test_c68_stored_similarities_by_chrf_stay_unrated(tmp_path: Path) -> None:
    case = translation("c1", [KYC], "hi", **LISTED)
    answers = [output("c1", translation_outcome(["कृपया अपना KYC पूर्ण कीजिए।"]))]
    saved = tmp_path / "saved.jsonl"
    callscore.score([case], answers, embedder="muse", save_verdicts=saved)
    lines = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    metric = score([case], answers, tmp_path, lines).task("translation").metrics
    found = metric["translation.meaning"]
    assert (found.rating, found.measured_by) == (None, "chrF")
