"""A stored run read with other weights, workload or rule is the run that had them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import commands
from callscore.core.errors import ConfigError
from callscore.core.scorecard import AS_RECOMMENDED, Decide, Scorecard
from callscore.results import open_results
from callscore.results.port import QueryError, Reading
from callscore.results.stored_results import StoredResults

WEIGHTS = {"qa": 0.1, "entity": 0.2, "text": 0.3, "translation": 0.4}
WORKLOAD = {"translation": 0.25}
STRICT = Decide(by="quality", margin=0.05)


def write_sample(folder: Path, name: str, **settings: Any) -> Path:
    """An eval file of simulated models on the sample calls."""
    models = [
        {"name": f"m{seed}", "provider": "simulated", "params": {"seed": seed, "wrong_scores": 0.1},
         "price": {"input": seed, "output": 2 * seed}}
        for seed in (1, 2, 3)
    ]  # fmt: skip
    value = {"name": name, "data": "sample", "judge": "offline", "models": models, **settings}
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredResults]:
    folder = tmp_path_factory.mktemp("reading")
    own, other = (
        write_sample(folder, "own"),
        write_sample(folder, "other", weights=WEIGHTS, workload=WORKLOAD),
    )
    for eval_file in (own, other):
        done = commands.run("run", eval_file, "--store", folder / "runs.db")
        assert done.returncode == 0, done.stderr
    with closing(open_results(folder / "runs.db")) as found:
        yield found


def numbers(card: Scorecard) -> object:
    """Everything that weights, workload or the rule could change."""
    return (card.models, card.ranking, card.zeroed_ranking, card.contrasts, card.intervals,
            card.final_heading, card.judging, card.decision)  # fmt: skip


def test_a_run_read_with_other_weights_is_the_run_that_has_them(results: StoredResults) -> None:
    reading = Reading(weights=WEIGHTS, workload=WORKLOAD)
    read = results.read_with(1, reading).card
    assert numbers(read) == numbers(results.source(2).card)
    assert read.models[0].final != results.source(1).card.models[0].final
    assert read.models[0].cost != results.source(1).card.models[0].cost


def test_the_rule_of_the_decision_is_that_of_a_report(results: StoredResults) -> None:
    plain = results.read_with(1, Reading(decide=STRICT))
    assert plain.provenance.decide == STRICT
    assert plain.card.models == results.source(1).card.models
    weighed = results.read_with(1, Reading(weights=WEIGHTS, workload=WORKLOAD, decide=STRICT)).card
    assert weighed.decision == results.read_with(2, Reading(decide=STRICT)).card.decision
    assert results.read_with(1, Reading(decide=AS_RECOMMENDED)).card == results.source(1).card


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        ({"weights": {"qa": 0.5}}, "the sum is 0.5; expected 1"),
        ({"weights": {"luck": 1.0}}, "unknown task 'luck'; expected one of"),
        ({"workload": {"qa": -1.0}}, "expected a number of at least 0"),
        ({"workload": {"luck": 1.0}}, "unknown task 'luck'; expected one of"),
    ],
)
def test_impossible_weights_are_refused_with_what_is_allowed(
    results: StoredResults, reading: dict[str, dict[str, float]], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        results.read_with(1, msgspec.convert(reading, Reading))


def test_a_race_is_not_weighed_again(tmp_path: Path) -> None:
    eval_file = write_sample(tmp_path, "race")
    done = commands.run("run", eval_file, "--store", tmp_path / "runs.db", "--race")
    assert done.returncode in (0, 3), done.stderr
    with (
        closing(open_results(tmp_path / "runs.db")) as found,
        pytest.raises(QueryError, match="the run is a race"),
    ):
        found.read_with(1, Reading(weights=WEIGHTS))
