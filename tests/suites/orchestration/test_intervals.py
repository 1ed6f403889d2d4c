"""Intervals of orchestration numbers: resampled scenarios, in both readings."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from callscore.core.scenarios import Mode
from callscore.core.scorecard import MetricScore, Scorecard, SubScore
from callscore.demo.orchestration import sample_runs
from callscore.evaluate.scenarios import read_documents, score_outputs
from callscore.report.orchestration_terminal import result_text
from callscore.suites.orchestration.intervals import PARTS, ROWS


def score_sample(mode: Mode) -> Scorecard:
    """Score the bundled sample, which has two models."""
    with sample_runs() as jobs:
        recorded = [msgspec.structs.replace(job.recorded, mode=mode) for job in jobs]
        return score_outputs(
            [
                msgspec.structs.replace(job, recorded=of_job)
                for job, of_job in zip(jobs, recorded, strict=True)
            ]
        )


def value_at(document: Any, path: str) -> Any:
    """The value at a path of keys, separated by dots."""
    for key in path.split("."):
        document = document[key]
    return document


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_the_rows_of_the_card_are_the_numbers_of_the_document(mode: Mode) -> None:
    compared = 0
    card = score_sample(mode)
    digits = 5.1e-5 if mode == "standard" else 1.5e-4  # the public evaluator rounds on its way
    for model in card.models:
        statistics = card.document(model.model)["overall_statistics"]
        task = model.tasks["scenario"]
        for path, name in ROWS.items():
            value = task.metrics[f"scenario.{name}"].value
            assert (value or 0.0) == pytest.approx(value_at(statistics, path), abs=digits), path
            compared += 1
        for path, name in PARTS.items():
            part = task.subscores[name].score
            assert part == pytest.approx(value_at(statistics, path), abs=digits), path
        average = statistics["key_metrics"]["Average"]
        assert task.ungated_score == pytest.approx(average, abs=digits)
    assert compared >= 30


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_c121_the_document_is_as_before_and_intervals_are_an_extension(mode: Mode) -> None:
    card = score_sample(mode)
    for model in card.models:
        document = card.document(model.model)
        intervals = document["x_extension"]["intervals"]
        assert intervals["about"] == "future scenarios" and intervals["few_scenarios"]
        assert len(intervals["ci95"]) >= 15
        for path, (low, high) in intervals["ci95"].items():
            value = value_at(document["overall_statistics"], path)
            assert 0 <= low <= value + 1e-4 and value - 1e-4 <= high <= 1, path
        assert set(document) == {
            "directory",
            "overall_statistics",
            "detailed_results",
            "x_extension",
        }


def test_several_languages_have_the_mean_of_each_row_and_its_interval() -> None:
    with sample_runs() as jobs:
        recorded = jobs[0].recorded
        both = msgspec.structs.replace(
            recorded, outputs=[*recorded.outputs] * 2, languages=["EN", "KO"]
        )
        card = score_outputs([msgspec.structs.replace(jobs[0], recorded=both)])
        alone = score_outputs([jobs[0]])
    document, task = card.document(), card.models[0].tasks["scenario"]
    one = alone.models[0].tasks["scenario"]
    assert (task.n, task.calls) == (2 * one.n, one.n)  # translations are one unit
    english, korean = (part["overall_statistics"] for part in document["languages"].values())
    for path, name in PARTS.items():
        mean = (value_at(english, path) + value_at(korean, path)) / 2
        assert task.subscores[name].score == pytest.approx(mean, abs=1e-4)
    limits = document["x_extension"]["intervals"]["ci95"]["key_metrics.Plan"]
    assert limits[0] <= document["mean"]["Plan"] <= limits[1]
    assert english["key_metrics"] == alone.document()["overall_statistics"]["key_metrics"]
    shown = result_text(document)
    assert "95 %" in shown and "≈[" in shown and "for future scenarios" in shown


def test_twins_are_found_by_their_steps_whatever_their_files_are_called(tmp_path: Path) -> None:
    with sample_runs() as jobs:
        recorded = jobs[0].recorded
        korean = tmp_path / "KO"
        shutil.copytree(recorded.outputs[0], korean)
        first, *_, last = sorted(path.name for path in korean.iterdir())
        (korean / first).rename(korean / "new_out.json")
        (korean / last).rename(korean / first)
        both = msgspec.structs.replace(
            recorded, outputs=[*recorded.outputs, korean], languages=["EN", "KO"]
        )
        card = score_outputs([msgspec.structs.replace(jobs[0], recorded=both)])
    document, task = card.document(), card.models[0].tasks["scenario"]
    twins = document["x_extension"]["twins"]
    assert twins["KO/new"] == f"EN/{first.removesuffix('_out.json')}"
    assert twins[f"KO/{first.removesuffix('_out.json')}"] == f"EN/{last.removesuffix('_out.json')}"
    assert (task.n, task.calls) == (12, 6) and len(twins) == 6
    (again,) = read_documents([document]).tallies.values()
    assert len(set(again["scenario"].call_keys)) == 6
    document["x_extension"].pop("twins")
    (alone,) = read_documents([document]).tallies.values()
    assert len(set(alone["scenario"].call_keys)) == 12  # equal names are no twins


def test_a_number_that_is_undefined_has_no_interval() -> None:
    card = score_sample("standard")
    for model in card.models:
        extension = card.document(model.model)["x_extension"]
        limits = extension["intervals"]["ci95"]
        assert not {path.partition(".")[2] for path in extension["undefined"]} & set(limits)


def _number(row: MetricScore | SubScore) -> tuple[float | None, int]:
    return (row.value if isinstance(row, MetricScore) else row.score), row.n


def test_a_scenario_that_failed_is_left_out_of_every_row(tmp_path: Path) -> None:
    with sample_runs() as jobs:
        recorded = jobs[1].recorded
        five, six = tmp_path / "five", tmp_path / "six"
        for folder in (five, six):
            shutil.copytree(recorded.outputs[0], folder)
        next(iter(sorted(five.iterdir()))).unlink()
        next(iter(sorted(six.iterdir()))).write_text("{", encoding="utf-8")
        cards = [
            score_outputs(
                [
                    msgspec.structs.replace(
                        jobs[1],
                        recorded=msgspec.structs.replace(
                            recorded, outputs=[folder], languages=["EN"]
                        ),
                    )
                ]
            )
            for folder in (five, six)
        ]
    whole, partial = (card.models[0].tasks["scenario"] for card in cards)
    assert (whole.cases, whole.n, whole.status) == (5, 5, "valid")
    assert (partial.cases, partial.n, partial.status, partial.score) == (6, 5, "incomplete", None)
    for rows, of in ((partial.metrics, whole.metrics), (partial.subscores, whole.subscores)):
        assert [_number(row) for row in rows.values()] == [_number(row) for row in of.values()]
    assert partial.ungated_score == whole.score
