"""C-101 and C-125: what a verdict on facts reaches, and what an estimate is ranked with."""

from __future__ import annotations

from pathlib import Path

from builders import output, score
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


def test_c125_an_estimate_is_unofficial_and_not_ranked_with_official_results(
    tmp_path: Path,
) -> None:
    expected = translation_outcome(["el agente avisó al supervisor"])
    case = {
        "id": "c1",
        "task": "translation",
        "transcript": "Agent: source 1",
        "config": {"target_language": "es"},
        "expected_outcome": expected,
    }
    reworded = translation_outcome(["el agente informó a su superior"])
    judged = {"case_id": "c1", "model": "guess", "item": "1"}
    scored = score(
        [case],
        [output("c1", expected, "proven"), output("c1", reworded, "guess")],
        tmp_path,
        [
            judged | {"metric": "translation.meaning", "value": 0.9},
            judged | {"metric": "translation.fluency", "verdict": "native"},
        ],
        weights={"translation": 1.0},
        cost_per_1000={"proven": 2.0, "guess": 1.0},
    )
    official = {m.model: m.tasks["translation"].official for m in scored.card.models}
    assert official == {"guess": False, "proven": True}
    assert [(entry.model, entry.rank, entry.estimate) for entry in scored.card.ranking] == [
        ("proven", 1, False),
        ("guess", 1, True),
    ]
