"""Intervals of orchestration numbers: resampled scenarios, in both readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from callscore.core.scenarios import Mode, ScenarioScore
from callscore.demo.orchestration import sample_runs
from callscore.evaluate.scenarios import score_outputs
from callscore.report.orchestration_terminal import result_text
from callscore.suites.orchestration import result as outcomes
from callscore.suites.orchestration import result_format
from callscore.suites.orchestration.result import LanguageResult


def results(mode: Mode) -> list[LanguageResult]:
    """The results behind the documents of the bundled sample."""
    found: list[LanguageResult] = []
    model_score = outcomes.model_score

    def noted(scored: Sequence[LanguageResult]) -> ScenarioScore:
        found.extend(scored)
        return model_score(scored)

    with pytest.MonkeyPatch.context() as patch, sample_runs() as jobs:
        patch.setattr(outcomes, "model_score", noted)
        for job in jobs:
            recorded = msgspec.structs.replace(job.recorded, mode=mode)
            score_outputs(msgspec.structs.replace(job, recorded=recorded))
    return found


def at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document[key]
    return document


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_the_sums_of_all_scenarios_give_the_numbers_of_the_document(mode: Mode) -> None:
    compared = 0
    for result in results(mode):
        statistics = result_format.statistics(result.overall)
        digits = 1e-9 if mode == "standard" else 1e-4  # the public evaluator rounds on its way
        for (path,), found in result.resampled.items():
            measure = at(statistics, path)
            if measure.value is not None:
                assert found.estimate == pytest.approx(measure.value, abs=digits), path
                compared += 1
    assert compared >= 30


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_c121_the_document_is_as_before_and_intervals_are_an_extension(mode: Mode) -> None:
    for result in results(mode):
        document = result.document()
        intervals = document["x_extension"]["intervals"]
        assert intervals["about"] == "future scenarios" and intervals["few_scenarios"]
        for path, (low, high) in intervals["ci95"].items():
            value = at(document["overall_statistics"], path)
            assert 0 <= low <= value + 1e-4 and value - 1e-4 <= high <= 1, path
        assert set(document) == {
            "directory",
            "overall_statistics",
            "detailed_results",
            "x_extension",
        }


def test_two_languages_have_an_interval_of_their_mean() -> None:
    one = results("standard")[0]
    other = msgspec.structs.replace(
        one, about=msgspec.structs.replace(one.about, language="KO"), rows=one.rows[:-1]
    )
    document = outcomes.combine_languages([one, other])
    limits = document["x_extension"]["intervals"]["ci95"]["key_metrics.Plan"]
    assert limits[0] <= document["mean"]["Plan"] <= limits[1]
    shown = result_text(document)
    assert "95 %" in shown and "≈[" in shown and "for future scenarios" in shown


def test_a_number_that_is_undefined_has_no_interval() -> None:
    for result in results("standard"):
        extension = result.document()["x_extension"]
        limits = extension["intervals"]["ci95"]
        assert not {path.partition(".")[2] for path in extension["undefined"]} & set(limits)
