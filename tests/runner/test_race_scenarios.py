"""A race over scenarios: drawn, scored and decided as over calls, a scenario being a call."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import Json
from callscore.core.errors import UsageError
from callscore.core.race import RaceCard
from commands import run
from eval_files import cases_file, eval_file, read_json
from scenario_runs import PERFECT, SAMPLES, SCENARIOS, scenario_data

WORSE: Json = {
    "name": "w",
    "provider": "simulated",
    "params": {"seed": 1, "refusals": 0.6, "wrong_scores": 0.5},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """Sixty scenarios: the bundled ones, ten times each."""
    folder = tmp_path_factory.mktemp("many")
    for path in (SAMPLES / "orchestration" / "scenarios" / "EN").iterdir():
        for copy in range(10):
            shutil.copy(path, folder / f"{copy}{path.name}")
    return scenario_data(scenarios=str(folder))


def test_a_race_over_scenarios_drops_the_worse_model_early(tmp_path: Path, data: Json) -> None:
    config = eval_file(tmp_path, [PERFECT, WORSE], data=data)
    file = tmp_path / "card.json"
    done = run("run", config, "--race", "--json", file)
    assert done.returncode == 0, done.stderr
    card = read_json(file)
    race = card["race"]
    assert (race["decision"], race["of_blocks"]) == ("p", 60)
    assert race["requests"] < race["of_requests"] / 2
    assert "by the mean score of its scenarios" in race["guarantee"]
    assert "blocks" in done.stderr and "w is out after" in done.stderr
    tasks = {model["model"]: model["tasks"]["scenario"] for model in card["models"]}
    assert tasks["w"]["status"] == "incomplete" and 0 < tasks["w"]["n"] < 60
    assert tasks["w"]["cases"] == 60
    again = callscore.run(config, race=True)  # nothing is paid twice, and the result is the same
    assert isinstance(again.race, RaceCard)
    assert (again.race.decision, again.race.blocks) == (race["decision"], race["blocks"])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (["cases.jsonl", SCENARIOS], "either case files or scenarios"),
        (scenario_data(history="own"), "expected history: gold"),
    ],
)
def test_a_race_that_cannot_be_fair_is_refused(tmp_path: Path, data: Any, says: str) -> None:
    cases_file(tmp_path, 1)
    with pytest.raises(UsageError, match=says):
        callscore.run(eval_file(tmp_path, [PERFECT, WORSE], data=data), race=True)
