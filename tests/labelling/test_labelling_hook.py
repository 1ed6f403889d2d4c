"""A task of another package says how people label its cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callscore.core.case import JsonObject
from callscore.core.errors import UsageError
from callscore.core.labelling import CallLabels, CallTranscript, Label, LabelItem
from callscore.core.spec import ScoreSettings
from callscore.core.suite import DataNames
from callscore.label_job import make_cases, prepare_labelling
from callscore.scorecard.spec_suite import SpecSuite
from callscore.suites import registry


class QueueLabelling:
    accepts_form = False
    requires = "`queues`"

    def items(self, call: CallTranscript, config: JsonObject) -> Iterator[LabelItem]:
        if config.get("queues"):
            yield LabelItem(call.name, "queue", "queue", "Which queue?", config["queues"])

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> dict[str, Any]:
        return {"queue": labels["queue", "queue"].answer}


class RoutingSuite(SpecSuite):
    name = "routing"
    spec = SimpleNamespace(tasks=("queue", "priority"))  # type: ignore[assignment]

    def settings(self, given: Mapping[str, Any]) -> ScoreSettings:
        return ScoreSettings()

    def task(self, name: str, settings: ScoreSettings, names: DataNames = tuple) -> Any:
        labelling = QueueLabelling() if name == "queue" else None
        return SimpleNamespace(name=name, labelling=lambda: labelling)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "calls.jsonl").write_text('{"id": "c1", "transcript": "Customer: I paid twice."}\n')
    (tmp_path / "config.yaml").write_text("queues: [billing, sales]\n")
    monkeypatch.setattr(registry, "other_suites", lambda: (RoutingSuite(),))
    registry.suite_of.cache_clear()
    registry._default_task.cache_clear()
    yield tmp_path
    registry.suite_of.cache_clear()
    registry._default_task.cache_clear()


def test_its_cases_are_labelled(files: Path) -> None:
    job = prepare_labelling([files / "calls.jsonl"], "queue", files / "config.yaml", None)
    labels = {item.key: Label("BILLING") for item in job.items}

    result = make_cases(job, [labels], {}, files / "cases.jsonl")

    assert result.cases == 1
    case = json.loads((files / "cases.jsonl").read_text())
    assert (case["id"], case["expected_outcome"]) == ("c1/queue", {"queue": "billing"})


def test_a_task_without_labelling_a_form_and_an_empty_config_are_refused(files: Path) -> None:
    calls = [files / "calls.jsonl"]
    with pytest.raises(UsageError, match="'priority' cannot be labelled"):
        prepare_labelling(calls, "priority", None, None)
    with pytest.raises(UsageError, match="a QA form does not configure the task 'queue'"):
        prepare_labelling(calls, "queue", None, files / "config.yaml")
    with pytest.raises(UsageError, match="nothing to label in call 'c1'; expected `queues`"):
        prepare_labelling(calls, "queue", None, None)
