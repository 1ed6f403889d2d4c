"""A race over scenarios: drawn, scored and decided as over calls, a scenario being a call."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

import callscore
from builders import Json
from callscore.core.race import RaceCard
from callscore.core.scenarios import ScenarioData, ScenarioSettings
from callscore.report.race_text import describe_guarantee
from callscore.runner.cases import ScenarioSteps
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.registry import scenario_suite
from commands import run
from eval_files import cases_file, eval_file, read_json
from orchestration_data import SCENARIOS as PUBLIC
from orchestration_data import needs_fixtures
from scenario_runs import PERFECT, SAMPLES, scenario_data

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
    assert race["unit"] == "scenario"
    assert "blocks" in done.stderr and "w is out after" in done.stderr
    tasks = {model["model"]: model["tasks"]["scenario"] for model in card["models"]}
    assert tasks["w"]["status"] == "incomplete" and 0 < tasks["w"]["n"] < 60
    assert tasks["w"]["cases"] == 60
    again = callscore.run(config, race=True)  # nothing is paid twice, and the result is the same
    assert isinstance(again.race, RaceCard)
    assert "about future scenarios" in describe_guarantee(
        msgspec.structs.replace(again.race, about="future")
    )
    assert (again.race.decision, again.race.blocks) == (race["decision"], race["blocks"])


def test_calls_and_scenarios_are_raced_together_each_as_alone(tmp_path: Path, data: Json) -> None:
    cases_file(tmp_path, 40)
    models = [PERFECT, WORSE]
    cards = {
        name: callscore.run(
            eval_file(tmp_path, models, data=part, name=f"{name}.yaml", store=f"{name}.db"),
            race=True,
        )
        for name, part in {
            "calls": "cases.jsonl",
            "scenarios": data,
            "both": ["cases.jsonl", data],
        }.items()
    }
    races = {name: card.race for name, card in cards.items()}
    calls, scenarios, both = races["calls"], races["scenarios"], races["both"]
    assert isinstance(calls, RaceCard) and isinstance(scenarios, RaceCard)
    assert isinstance(both, RaceCard) and isinstance(both.also, list)
    assert msgspec.structs.replace(both, also=msgspec.UNSET) == calls
    assert both.also == [scenarios]
    assert scenarios.requests < scenarios.of_requests / 2
    notes = cards["both"].notes
    assert any(note.startswith("race of scenarios: p has the best quality") for note in notes)
    said = [line for line in cards["both"].decision if line.why.startswith("race of scenarios")]
    assert [(line.word, line.models) for line in said] == [("BEST QUALITY", ["p"])]
    tasks = {model.model: model.tasks for model in cards["both"].models}
    assert set(tasks["w"]) == {"qa", "scenario"}
    assert tasks["w"]["scenario"].n == cards["scenarios"].model("w").tasks["scenario"].n


def test_a_stored_race_of_both_is_shown_again(tmp_path: Path, data: Json) -> None:
    cases_file(tmp_path, 20)
    config = eval_file(tmp_path, [PERFECT, WORSE], data=["cases.jsonl", data])
    first = run("run", config, "--race", "--json", tmp_path / "card.json")
    assert first.returncode == 0, first.stderr
    assert "race of scenarios: " in first.stderr and "race: " in first.stderr
    done = run("report", config, "--format", "json", "-o", tmp_path / "report.json")
    assert done.returncode == 0, done.stderr
    race = read_json(tmp_path / "card.json")["race"]
    assert race == read_json(tmp_path / "report.json")["race"]
    assert race["also"][0]["unit"] == "scenario"


def test_the_pass_with_own_history_follows_a_race_for_models_that_are_left(
    tmp_path: Path, data: Json
) -> None:
    own = {"orchestration": {**data["orchestration"], "history": "own"}}
    forced = eval_file(tmp_path, [PERFECT, WORSE], data=data, name="forced.yaml", store="a.db")
    config = eval_file(tmp_path, [PERFECT, WORSE], data=own, store="b.db")
    card = callscore.run(config, race=True)
    assert card.race == callscore.run(forced, race=True).race, "it decides nothing"
    free = {model: card.document(model)["x_extension"]["free_running"] for model in ("p", "w")}
    read = {model.model: model.tasks["scenario"].n for model in card.models}
    assert 0 < read["p"] < 60
    assert (free["p"]["scenarios"], free["p"]["free"]["step_success"]) == (read["p"], 1.0)
    assert len(free["p"]["left_out"]) == 60 - read["p"]
    assert free["w"]["scenarios"] == 0, "it was dropped"
    finished = callscore.run(config, race=True, finish_invalid=True)
    assert finished.race == card.race, "no model is invalid here"
    assert finished.documents == card.documents


def test_a_race_of_calls_and_scenarios_with_own_history_is_shown_in_the_terminal(
    tmp_path: Path, data: Json
) -> None:
    cases_file(tmp_path, 20)
    own = {"orchestration": {**data["orchestration"], "history": "own"}}
    config = eval_file(tmp_path, [PERFECT, WORSE], data=["cases.jsonl", own])
    done = run("run", config, "--race", "--json", tmp_path / "card.json")
    assert done.returncode == 0, done.stderr
    documents = read_json(tmp_path / "card.json")["orchestration"]
    assert documents["p"]["x_extension"]["free_running"]["scenarios"] > 0


def scenarios_by_call(folders: Sequence[ScenarioData]) -> list[set[str]]:
    """The scenarios of every call from which a race draws, as `LANG/ID`."""
    steps = ScenarioSteps(
        scenario_suite().open_cases(folders, ScenarioSettings(), None, SCENARIO_FILES)
    )
    steps.survey()
    calls = steps.index_calls(lambda call, loaded: None)
    found = []
    for call, tasks in calls.tasks.items():
        found.append({step.case.id.rpartition("#")[0] for step in calls.cases(call)})
        assert len(tasks) == len(found[-1]), "one score per scenario"
    return found


def test_a_block_has_the_scenarios_of_equal_steps_whatever_their_files_are_called(
    tmp_path: Path,
) -> None:
    sample = SAMPLES / "orchestration"
    names = sorted(path.name for path in (sample / "scenarios" / "EN").iterdir())
    for lang in ("EN", "KO"):
        (tmp_path / lang).mkdir()
    for name, other in zip(names, [*names[1:], "new.yaml"], strict=True):
        for lang, to in (("EN", name), ("KO", other)):
            shutil.copy(sample / "scenarios" / "EN" / name, tmp_path / lang / to)
    (tmp_path / "KO" / names[1]).unlink()  # the twin of the first one
    cards = sample / "cards" / "EN"
    found = scenarios_by_call([ScenarioData(tmp_path / lang, cards) for lang in ("EN", "KO")])
    ids = [Path(name).stem for name in [*names, "new.yaml"]]
    pairs = [{f"EN/{ids[at]}", f"KO/{ids[at + 1]}"} for at in range(1, len(names))]
    assert sorted(map(sorted, found)) == sorted(map(sorted, [{f"EN/{ids[0]}"}, *pairs]))


@needs_fixtures
def test_the_public_scenarios_of_two_languages_are_190_pairs() -> None:
    folders = [
        ScenarioData(PUBLIC / lang / "scenario_data", PUBLIC / lang / "multiagent_cards")
        for lang in ("EN", "KO")
    ]
    found = scenarios_by_call(folders)
    pairs = [scenarios for scenarios in found if len(scenarios) == 2]
    same = [pair for pair in pairs if len({place.partition("/")[2] for place in pair}) == 1]
    assert (len(found), len(pairs), len(same)) == (251, 190, 19)


def test_a_race_over_two_languages_draws_twins_together(tmp_path: Path, data: Json) -> None:
    english = Path(data["orchestration"]["scenarios"])
    names = sorted(path.stem for path in english.iterdir())
    korean = tmp_path / "KO"
    korean.mkdir()
    for name, twin in zip(names, reversed(names), strict=True):  # no file has its twin's name
        text = (english / f"{twin}.yaml").read_text(encoding="utf-8")
        (korean / f"{name}.yaml").write_text(f"twin: {twin}\n{text}", encoding="utf-8")
    cards = data["orchestration"]["cards"]
    shutil.copytree(english, tmp_path / "EN")
    scenarios = [str(tmp_path / "EN"), str(korean)]
    both = scenario_data(scenarios=scenarios, cards=[cards, cards])
    config = eval_file(tmp_path, [PERFECT, WORSE], data=both)
    card = callscore.run(config, race=True)
    race, winner = card.race, card.model("p").tasks["scenario"]
    assert isinstance(race, RaceCard)
    assert (race.decision, race.of_blocks) == ("p", 60)
    assert winner.calls == race.models[0].blocks and winner.n == 2 * winner.calls
    assert race.models[1].requests < race.models[1].of_requests / 2
