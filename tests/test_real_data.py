"""Real calls: they validate, their own outcome is a perfect answer, real outputs score as counted.

The files stand beside the repository; where they do not, these tests are skipped and say so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import Json, ScoreResult
from callscore.app import check_cases
from callscore.suites.calls import spec
from shared_cases import CASES, shared_cases, shared_file

FILES: dict[str, int] = {
    "qa_abcd_sample": 5,
    "qa_harper_record": 165,
    "qa_star_flow": 191,
    "qa_star_questionnaire": 296,
    "qa_tau_airline": 116,
    "entity_harper": 300,
    "entity_harper_asr_output": 60,
    "entity_xrisawoz": 212,
    "text_goemotions_sentiment_emotion": 106,
    "text_harper": 250,
    "translation_xrisawoz": 212,
}
"""The files, and how many cases each holds."""
CHAPTERS = ("qa_*", "entity_*", "text_*", "translation_*")
ASR = "entity_harper_asr_output"

for_every_file = pytest.mark.parametrize("name", FILES)


def path_of(name: str) -> Path:
    return shared_file(f"{name}.jsonl")


@cache
def cases_of(name: str) -> list[Json]:
    return shared_cases(f"{name}.jsonl")


def outputs_of(name: str) -> list[Json]:
    """Every expected outcome, as if a model had given it."""
    return [
        {"case_id": case["id"], "model": "human", "output": case["expected_outcome"]}
        for case in cases_of(name)
    ]


def scored_file(name: str, folder: Path, outputs: Sequence[Json] = ()) -> ScoreResult:
    """A file scored with these outputs, or with those that its cases carry."""
    results = folder / "results.jsonl"
    card = callscore.score(path_of(name), outputs, results=results)
    lines = results.read_text(encoding="utf-8").splitlines()
    return ScoreResult(card, [json.loads(line) for line in lines])


def test_no_real_file_is_left_out() -> None:
    found = {path.stem for chapter in CHAPTERS for path in CASES.glob(f"{chapter}.jsonl")}
    if not found:
        pytest.skip("the real calls are not here: ../shared/data/cases")
    assert found == set(FILES)


@for_every_file
def test_real_cases_validate(name: str) -> None:
    checked = check_cases([path_of(name)])
    assert not checked.problems
    assert checked.tasks == {name.partition("_")[0]: FILES[name]}


@for_every_file
def test_the_human_outcome_is_a_perfect_answer(name: str, tmp_path: Path) -> None:
    scored = scored_file(name, tmp_path, outputs_of(name))
    (task,) = scored.model.tasks.values()
    assert not scored.model.blockers
    assert task.n == FILES[name]
    assert task.blocked_calls == 0
    for slug, metric in task.metrics.items():
        if spec.load_spec().metrics[slug].needs == "code" and metric.value is not None:
            is_share = metric.unit == "fraction"
            assert metric.value == (1 if is_share else 0), slug
            assert metric.rating == "Good", slug
    assert {line["status"] for line in scored.results} <= {"valid", "incomplete"}
    assert all(value == 1 for line in scored.results for value in _decided(line))


def _decided(line: Json) -> list[float]:
    """The values that code decides, turned so that 1 is the best."""
    metrics = spec.load_spec().metrics
    return [
        value if metrics[slug].unit == "fraction" else 1 - value
        for slug, value in line["metrics"].items()
        if value is not None and metrics[slug].needs == "code"
    ]


def test_what_a_recogniser_heard_scores_as_counted_by_hand(tmp_path: Path) -> None:
    """Counted with plain sets of words: 309 keywords right, 13 invented, 6 missed; 4 topics wrong.

    60 calls with one topic each make the topic shares 56/60. All that was reported is configured.
    """
    task = scored_file(ASR, tmp_path).task("entity")
    values = {slug.partition(".")[2]: metric.value for slug, metric in task.metrics.items()}
    micros = {slug.partition(".")[2]: metric.micro for slug, metric in task.metrics.items()}
    assert values["keyword_precision"] == pytest.approx(16223 / 16800, abs=1e-12)
    assert values["keyword_recall"] == pytest.approx(6187 / 6300, abs=1e-12)
    assert values["keyword_f1"] == pytest.approx(1312379 / 1351350, abs=1e-12)
    assert micros["keyword_precision"] == pytest.approx(309 / 322, abs=1e-12)
    assert micros["keyword_recall"] == pytest.approx(309 / 315, abs=1e-12)
    assert micros["keyword_f1"] == pytest.approx(618 / 637, abs=1e-12)
    for name in ("topic_precision", "topic_recall", "topic_f1"):
        assert values[name] == pytest.approx(56 / 60, abs=1e-12), name
    assert (values["config_adherence"], values["fabricated_count"]) == (1, 0)
    exact = 0.47 * 1312379 / 1351350 + 0.29 * 56 / 60 + 0.24
    assert task.status == "valid"
    assert task.score == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(1, (1, 5 / 6, 10 / 11, 1), id="one of six keywords not heard"),
        pytest.param(2, (5 / 6, 1, 10 / 11, 1), id="one keyword too many beside five"),
        pytest.param(3, (1, 1, 1, 0), id="all five keywords, but another topic"),
    ],
)
def test_single_calls_read_by_eye(line: int, expected: tuple[float, ...], tmp_path: Path) -> None:
    metrics = scored_file(ASR, tmp_path).results[line - 1]["metrics"]
    slugs = ("keyword_precision", "keyword_recall", "keyword_f1", "topic_f1")
    assert [metrics[f"entity.{slug}"] for slug in slugs] == pytest.approx(expected)


def test_every_call_agrees_with_the_figures_that_came_with_the_data(tmp_path: Path) -> None:
    for case, line in zip(cases_of(ASR), scored_file(ASR, tmp_path).results, strict=True):
        given: Any = case["human"]
        metrics = line["metrics"]
        assert round(metrics["entity.keyword_precision"], 4) == given["keyword_precision"]
        assert round(metrics["entity.keyword_recall"], 4) == given["keyword_recall"]
        assert (metrics["entity.topic_f1"] == 1) is given["topic_correct"]


def test_real_machine_translations_score_without_a_judge(tmp_path: Path) -> None:
    scored = scored_file("mt_mlqe_da", tmp_path)
    task = scored.task("translation")
    assert (task.n, task.cases) == (236, 236)
    assert task.metrics["translation.structure"].value == 1
    assert task.metrics["translation.completeness"].value == pytest.approx(1, abs=0.05)
    assert task.metrics["translation.meaning"].value is None
    assert {line["status"] for line in scored.results} <= {"incomplete", "invalid", "valid"}
