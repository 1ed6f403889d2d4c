"""The program and its exact twin agree on thousands of random answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from builders import ScoreResult, score
from callscore.core.scorecard import MetricScore, ModelScore, TaskScore
from exact_twin import ranking, scoring
from exact_twin.framework import GATES, RATINGS
from exact_twin.scoring import Case, Column, Metric, Result, Settings
from random_calls.dataset import Dataset, make_dataset
from random_calls.dice import Json
from random_calls.tasks import TASKS

PER_TASK = 12
SETTINGS = (Settings(), Settings(Fraction(1, 20)), Settings(all_gates=False))

Answers = dict[tuple[str, str], Case]


def close(found: float | None, exact: Fraction | None) -> bool:
    """Both without a value, or within 1e-9."""
    if found is None or exact is None:
        return found is None and exact is None
    return abs(Fraction(found) - exact) <= Fraction(1, 10**9)


def twin_results(data: Dataset, settings: Settings) -> dict[tuple[str, str, int], Result]:
    """Every answer, scored by the twin."""
    cases = {case["id"]: case for case in data.cases}
    words: dict[Any, dict[tuple[str, str], list[Json]]] = {}
    for line in data.verdicts:
        of_answer = words.setdefault((line["case_id"], line["model"], line["run"]), {})
        of_answer.setdefault((line["metric"], line["item"]), []).append(line)
    found = {}
    for line in data.outputs:
        if "error" not in line:
            key = (line["case_id"], line["model"], line["run"])
            case = cases[line["case_id"]]
            found[key] = scoring.case_result(case, line["output"], words.get(key, {}), settings)
    return found


def twin_columns(
    data: Dataset, results: dict[tuple[str, str, int], Result], settings: Settings
) -> dict[str, dict[str, Column]]:
    """The columns of every model, by task."""
    runs: dict[tuple[str, str], list[Result]] = {}
    for (case_id, model, _), result in results.items():
        runs.setdefault((model, case_id), []).append(result)
    errors = {(line["model"], line["case_id"]) for line in data.outputs if "error" in line}
    models = sorted({line["model"] for line in data.outputs})
    return {
        model: {
            task: scoring.column(
                task,
                [
                    Case(c["id"], runs.get((model, c["id"]), []), (model, c["id"]) in errors)
                    for c in data.cases
                    if c["task"] == task
                ],
                settings,
            )
            for task in TASKS
        }
        for model in models
    }


def check_case(line: Json, exact: Result) -> None:
    """One line of the results file."""
    about = f"{line['case_id']} {line['model']} {line['run']}"
    assert line["status"] == exact.status, about
    assert sorted(line["reasons"]) == sorted(exact.reasons), about
    assert close(line["score"], exact.score), about
    assert close(line["ungated_score"], exact.ungated), about
    assert line["metrics"].keys() == exact.values.keys(), about
    for slug, value in line["metrics"].items():
        assert close(value, exact.values[slug].value), f"{about} {slug}"


def check_task(found: TaskScore, exact: Column, about: str) -> None:
    """One task of one model."""
    assert found.status == exact.status, about
    assert sorted(found.reasons) == sorted(exact.reasons), about
    assert (found.n, found.cases, found.blocked_calls) == (exact.n, exact.cases, exact.blocked)
    assert found.official == exact.is_official, about
    assert close(found.score, exact.score), about
    assert close(found.ungated_score, exact.ungated), about
    assert close(found.zeroed_score, exact.zeroed), about
    assert close(found.unblocked_share, exact.unblocked), about
    assert {name: part.score is None for name, part in found.subscores.items()} == {
        name: value is None for name, value in exact.subscores.items()
    }
    for name, value in exact.subscores.items():
        assert close(found.subscores[name].score, value), f"{about} {name}"
    for slug, metric in exact.metrics.items():
        check_metric(found.metrics[slug], metric, f"{about} {slug}")


def check_metric(found: MetricScore, exact: Metric, about: str) -> None:
    """One metric of one model over all its calls."""
    assert close(found.value, exact.value), about
    assert close(found.macro, exact.macro), about
    assert close(found.micro, exact.micro), about
    assert close(found.gate_value, exact.gate_value), about
    assert found.rating == exact.rating, about
    assert found.meets_threshold == exact.meets_threshold, about
    assert found.n == exact.n, about
    assert found.approximate == exact.is_estimate, about


def check_ranking(
    scored: ScoreResult, columns: dict[str, dict[str, Column]], data: Dataset
) -> None:
    """Final scores, costs and places."""
    entries = []
    task_of = {case["id"]: case["task"] for case in data.cases}
    for model in scored.card.models:
        exact = ranking.final(columns[model.model])
        check_final(model, exact)
        spend: dict[str, list[Fraction | None]] = {task: [] for task in TASKS}
        for line in data.outputs:
            if line["model"] == model.model and "error" not in line:
                price = line.get("cost_usd")
                paid = None if price is None else Fraction(str(price))
                spend[task_of[line["case_id"]]].append(paid)
        cost = ranking.cost(spend)
        assert close(model.cost.per_1000_calls, cost), model.model
        if exact.score is not None:
            entry = ranking.Entry(model.model, exact.score, cost, not exact.is_official)
            entries.append(entry)
    ranked = [entry for entry in scored.card.ranking if entry.final_score is not None]
    places = ranking.rank_models(entries)
    for found, place in zip(ranked, places, strict=True):
        assert found.model == place.model
        assert (found.rank, found.quality_rank) == (place.rank, place.quality_rank), found.model
        assert close(found.efficiency, place.efficiency), found.model
        assert found.pareto == place.pareto, found.model
    assert all(entry.rank is None for entry in scored.card.ranking[len(ranked) :])


def check_final(model: ModelScore, exact: ranking.Final) -> None:
    final = model.final
    assert (final.option, final.a) == ("B", None)
    assert (final.status, final.official) == (exact.status, exact.is_official)
    assert sorted(final.reasons) == sorted(exact.reasons)
    assert close(final.score, exact.score)
    assert close(final.b, exact.score)
    assert close(final.floor_score, exact.floor)
    assert close(final.zeroed_final, exact.zeroed)


def agree(seed: int, folder: Path) -> tuple[ScoreResult, Sequence[Result]]:
    """One random evaluation, scored by both; returned so that a test can count what it met.

    The twin has no intervals, and they change no score: they are made for one seed in eight.
    """
    dice = Random(seed)
    data = make_dataset(dice, PER_TASK)
    settings = dice.choice(SETTINGS)
    scored = score(
        data.cases,
        data.outputs,
        folder,
        data.verdicts,
        intervals=seed % 8 == 0,
        settings={
            "call_gate_tolerance": float(settings.tolerance),
            "gates": "all" if settings.all_gates else "formula_only",
        },
    )
    results = twin_results(data, settings)
    lines = {(line["case_id"], line["model"], line["run"]): line for line in scored.results}
    measured = {key for key, line in lines.items() if line["status"] not in ("error", "not_run")}
    assert measured == results.keys()
    for key, result in results.items():
        check_case(lines[key], result)
    columns = twin_columns(data, results, settings)
    for model in scored.card.models:
        for task, column in columns[model.model].items():
            check_task(model.tasks[task], column, f"{model.model} {task}")
    check_ranking(scored, columns, data)
    return scored, list(results.values())


def test_both_agree_on_thousands_of_answers(tmp_path: Path) -> None:
    answers = 0
    met: set[object] = set()
    for seed in range(12):
        scored, results = agree(seed, tmp_path)
        answers += len(results)
        met |= {("case", result.status) for result in results}
        met |= {reason for result in results for reason in result.reasons}
        for model in scored.card.models:
            met |= {("task", task.status) for task in model.tasks.values()}
            met.add(("final", model.final.status))
        met |= {("rank", entry.rank) for entry in scored.card.ranking}
        met.add(("estimate", scored.card.estimate))
    assert answers > 1500
    statuses = ("valid", "invalid", "incomplete")
    wanted: set[object] = {(level, s) for level in ("case", "task", "final") for s in statuses}
    wanted |= {("rank", 1), ("rank", 2), ("rank", None), ("estimate", True), *GATES}
    assert wanted <= met, wanted - met


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_both_agree_on_a_hundred_thousand_answers(seed: int, tmp_path: Path) -> None:
    agree(seed, tmp_path)


def test_the_twin_knows_every_metric(tmp_path: Path) -> None:
    scored, _ = agree(7, tmp_path)
    slugs = [slug for task in scored.model.tasks.values() for slug in task.metrics]
    assert sorted(slugs) == sorted(RATINGS)
