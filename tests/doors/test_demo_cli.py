"""`callscore demo`: the bundled sample shows every kind of result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callscore.report.layout import display_width
from commands import run, run_in_new_process


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    path = tmp_path_factory.mktemp("demo") / "card.json"
    done = run_in_new_process("demo", "--json", path, "--html", path.with_name("report.html"))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(path.read_text(encoding="utf-8"))


def test_it_says_that_the_data_is_made_up(demo: tuple[str, dict[str, Any]]) -> None:
    assert "SAMPLE DATA" in demo[0]


def test_the_large_model_leads_in_quality_and_the_medium_one_in_value(
    demo: tuple[str, dict[str, Any]],
) -> None:
    ranking = {entry["model"]: entry for entry in demo[1]["ranking"]}
    assert ranking["sample-medium"]["rank"] == 1
    assert ranking["sample-large"]["quality_rank"] == 1
    assert ranking["sample-large"]["rank"] == ranking["sample-large-b"]["rank"] == 2


def test_the_final_scores_stay_what_they_are(
    demo: tuple[str, dict[str, Any]],
) -> None:
    finals = {model["model"]: model["final"] for model in demo[1]["models"]}
    assert finals["sample-large"]["score"] == pytest.approx(0.986, abs=5e-4)
    assert finals["sample-medium"]["score"] == pytest.approx(0.770, abs=5e-4)
    assert (finals["sample-small"]["status"], finals["sample-small"]["score"]) == ("invalid", None)


def test_blockers_name_their_calls(demo: tuple[str, dict[str, Any]]) -> None:
    blockers = {model["model"]: model["blockers"] for model in demo[1]["models"]}
    assert blockers["sample-large"] == blockers["sample-medium"] == []
    by_metric = {blocker["metric"]: blocker for blocker in blockers["sample-small"]}
    assert by_metric["text.structure"]["cases"] == ["hotel-es/text"]
    assert by_metric["text.call_intent"]["cases"] == [
        "loan-hi/text",
        "clinic-ko/text",
        "returns-en/text",
    ]
    assert by_metric["entity.fabricated_count"]["value"] == 3


def test_every_kind_of_cell_appears(demo: tuple[str, dict[str, Any]]) -> None:
    for part in ("— [3]", "[3] Final Score invalid", "✗ Blocker", "(n = 6)", "✓ Pass", "n/a [2]"):
        assert part in demo[0]


def test_c79_the_benchmarks_of_the_sample_make_option_a_official(
    demo: tuple[str, dict[str, Any]],
) -> None:
    for model in demo[1]["models"]:
        assert (model["benchmarks"]["status"], model["benchmarks"]["ran"]) == ("valid", 11)
    scores = {model["model"]: model["benchmarks"]["score"] for model in demo[1]["models"]}
    assert scores["sample-large"] == 1.0
    assert scores["sample-small"] < scores["sample-medium"] < scores["sample-large"]
    assert "Final Score (with benchmarks)             0.986 (official)" in demo[0]


def test_the_first_and_the_last_screen_are_the_decision(demo: tuple[str, dict[str, Any]]) -> None:
    lines = demo[0].splitlines()
    for some in (lines[:8], lines[-12:]):
        assert any(line.startswith("TIE              sample-large and sample") for line in some)
        assert any(line.startswith("OUT              sample-medium: ") for line in some)
        assert not any(line.startswith(("RECOMMENDED", "LIKELY")) for line in some)
    assert any(line.startswith("AGENTS           ") for line in lines[-5:])


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_columns_is_honoured_where_the_output_is_no_terminal(width: int, tmp_path: Path) -> None:
    done = run("demo", env={"COLUMNS": str(width)}, cwd=tmp_path)
    card = done.stdout.partition("signature  ")[0].splitlines()
    assert width - 10 <= max(map(display_width, card)) <= width


def test_results_are_written_on_request(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert run("demo", "--results", path, cwd=tmp_path).returncode == 0
    assert (
        len(path.read_text(encoding="utf-8").splitlines()) == 52 * 4 * 2
    )  # each case is asked twice


def test_a_report_is_written_by_default_and_it_is_said_where(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    assert "its verdicts: callscore-demo.html" in done.stdout
    page = (tmp_path / "callscore-demo.html").read_text(encoding="utf-8")
    assert "SAMPLE DATA" in page
    assert "sample-medium" in page
