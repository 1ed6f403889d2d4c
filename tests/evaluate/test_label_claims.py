"""What may be claimed about corrected values, and what models are compared by        STATS §5"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import callscore
from builders import Json, form, output, qa_case, question
from callscore.core.scorecard import Scorecard
from callscore.judges.fakes import ScriptedJudge
from callscore.stats.claim_limits import mean_limits
from commands import run

EVIDENCE = "qa.evidence_backed_reasoning"
GOOD, BAD = "as_described", "vague"
Sees = Callable[[bool, random.Random], bool]


def two_models(
    calls: int, rates: tuple[float, float], sees: tuple[Sees, Sees], seed: int = 1
) -> tuple[list[Json], list[Json], dict[tuple[str, str], bool]]:
    """One reason per call and model: whether people find it good, and what the judge sees."""
    dice = random.Random(seed)
    cases = [qa_case([question("Q1", reason="the human's")], f"c{call}") for call in range(calls)]
    outputs: list[Json] = []
    truth: dict[tuple[str, str], bool] = {}
    for call in range(calls):
        for model, rate, seen in zip(("a", "b"), rates, sees, strict=True):
            good = truth[f"c{call}", model] = dice.random() < rate
            word = "good" if seen(good, dice) else "poor"
            answer = form(question("Q1", reason=f"{word} reason {call} of {model}"))
            outputs.append({**output(f"c{call}", answer), "model": model, "cost_usd": 0.01})
    return cases, outputs, truth


def right(good: bool, dice: random.Random) -> bool:
    return good


def lenient(good: bool, dice: random.Random) -> bool:
    return good or dice.random() < 0.6


def reader() -> ScriptedJudge:
    words = {"good": GOOD, "poor": BAD}
    return ScriptedJudge(lambda asked: words[asked.text.split()[0]], name="scripted@1")


def labels(truth: dict[tuple[str, str], bool], calls: int) -> list[Json]:
    return [
        {
            "case_id": case,
            "model": model,
            "metric": EVIDENCE,
            "item": "Q1",
            "verdict": GOOD if good else BAD,
        }
        for (case, model), good in truth.items()
        if int(case[1:]) < calls
    ]


def scored(cases: list[Json], outputs: list[Json], given: list[Json]) -> Scorecard:
    return callscore.score(cases, outputs, labels=given, judge=reader(), embedder="none")


def test_stats_5_a_claim_adds_the_limits_of_judge_and_people_at_half_alpha() -> None:
    cases, outputs, truth = two_models(80, (0.9, 0.9), (lenient, lenient))
    card = scored(cases, outputs, labels(truth, 50))
    metric = card.models[0].tasks["qa"].metrics[EVIDENCE]
    corrected = metric.corrected
    assert corrected is not None and corrected.claim is not None
    assert metric.value is not None and metric.claim95 is not None
    low, high = corrected.claim
    assert low < metric.claim95[0] < metric.value
    assert low < corrected.value < high
    assert corrected.ci95 is not None
    assert low < corrected.ci95[0]  # a claim reckons with failures that no call has shown
    for score in (card.models[0].tasks["qa"], card.models[0].final):
        assert score.corrected is not None and score.corrected.claim is not None
        assert score.corrected.claim[0] < score.corrected.value


def test_stats_5_the_limits_of_the_difference_are_those_of_gaffke() -> None:
    """All calls labelled, none differs: the judged limit, less what n calls may hide."""
    import numpy as np

    cases, outputs, truth = two_models(60, (1.0, 1.0), (right, right))
    card = scored(cases, outputs, labels(truth, 60))
    corrected = card.models[0].tasks["qa"].metrics[EVIDENCE].corrected
    assert corrected is not None and corrected.claim is not None
    hidden = mean_limits(np.zeros(60), np.arange(60, dtype=np.uint64), (-1.0, 1.0), 0.025)
    judged = mean_limits(np.ones(60), np.arange(60, dtype=np.uint64), (0.0, 1.0), 0.025)
    assert hidden is not None and judged is not None
    assert corrected.claim[0] == pytest.approx(judged.low + hidden.low, abs=0.01)


def test_stats_5_models_are_compared_by_what_people_would_give() -> None:
    """The judge is lenient with b only: as judged it seems better, in truth it is worse."""
    cases, outputs, truth = two_models(300, (0.9, 0.6), (right, lenient), seed=3)
    judged = scored(cases, outputs, [])
    told = scored(cases, outputs, labels(truth, 150))
    (plain,), (fair,) = (
        [pair for pair in card.contrasts if pair.of == "final"] for card in (judged, told)
    )
    signs = [pair.difference if pair.second == "b" else -pair.difference for pair in (plain, fair)]
    assert signs[1] < signs[0] - 0.005
    assert fair.significant
    finals = {model.model: model.final.corrected for model in told.models}
    assert finals["a"] is not None and finals["b"] is not None
    expected = finals["b"].value - finals["a"].value
    assert signs[1] == pytest.approx(expected)


def test_stats_5_models_are_compared_as_judged_unless_all_have_labels() -> None:
    cases, outputs, truth = two_models(100, (0.9, 0.6), (right, lenient))
    only_b = [label for label in labels(truth, 60) if label["model"] == "b"]
    (plain,), (partly,) = (
        [pair for pair in scored(cases, outputs, given).contrasts if pair.of == "final"]
        for given in ([], only_b)
    )
    assert plain.difference == partly.difference


def test_stats_5_compare_uses_corrected_values_if_both_have_labels(tmp_path: Path) -> None:
    cases, outputs, truth = two_models(120, (0.9, 0.6), (right, lenient), seed=3)
    for name, lines in (("cases", cases), ("labels", labels(truth, 80))):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    for model in ("a", "b"):
        own = [line for line in outputs if line["model"] == model]
        text = "".join(json.dumps(line) + "\n" for line in own)
        (tmp_path / f"{model}.jsonl").write_text(text, encoding="utf-8")
    callscore.score(
        cases, outputs, judge=reader(), embedder="none", save_verdicts=tmp_path / "judged.jsonl"
    )
    models = [
        {"name": name, "provider": "replay", "outputs": f"{name}.jsonl"} for name in ("a", "b")
    ]
    config = {
        "data": "cases.jsonl",
        "models": models,
        "verdicts": "judged.jsonl",
        "labels": "labels.jsonl",
        "embedder": "none",
    }
    eval_file = tmp_path / "eval.yaml"
    eval_file.write_text(json.dumps(config), encoding="utf-8")
    assert run("run", eval_file).returncode == 0
    found = tmp_path / "comparison.json"
    done = run("compare", f"{eval_file}:a", f"{eval_file}:b", "--json", found)
    assert done.returncode == 0, done.stderr
    assert "(corrected)" in done.stdout
    rows = {row["key"]: row for row in json.loads(found.read_text(encoding="utf-8"))["rows"]}
    assert (rows["final"]["corrected"], rows["final"]["p"]) == (True, None)
    assert rows["final"]["ci95"] is not None
    assert rows["final"]["claim"][0] < rows["final"]["ci95"][0]
    assert not rows["qa.question_score_accuracy"]["corrected"]
    card = scored(cases, outputs, labels(truth, 80))
    finals = [card.model(name).final.corrected for name in ("a", "b")]
    assert finals[0] is not None and finals[1] is not None
    assert rows["final"]["difference"] == pytest.approx(finals[1].value - finals[0].value)
