"""Cases are loaded with errors that name the right cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.evaluate.cases import load_case
from callscore.store.files import Line


class BuggyTask:
    """A task of another package whose `reference` has a bug."""

    name = "qa"

    def reference(self, case: Case) -> Any:
        return case.config["missing"]


def line(task: str) -> Line:
    case = {"id": "c1", "task": task, "transcript": "a", "config": {}, "expected_outcome": {}}
    return Line(Path("cases.jsonl"), 7, 0, msgspec.json.encode(case))


def test_a_bug_of_a_task_is_not_reported_as_an_unknown_task() -> None:
    with pytest.raises(KeyError, match="missing"):
        load_case(line("qa"), {"qa": BuggyTask()})  # type: ignore[dict-item]


def test_an_unknown_task_is_reported_with_its_place_and_the_nearest_name() -> None:
    with pytest.raises(DataError) as caught:
        load_case(line("qaa"), {"qa": BuggyTask()})  # type: ignore[dict-item]
    assert str(caught.value) == (
        "cases.jsonl:7: case 'c1': field task: 'qaa' is not a task; did you mean qa? "
        "expected one of qa"
    )
