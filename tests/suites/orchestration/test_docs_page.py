"""docs/orchestration.md: every path, kind and action it names exists."""

from __future__ import annotations

import re
from pathlib import Path

from callscore.suites.orchestration.call.questions import METRIC, OFFERED
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.result import ResultMetadata, standard_result
from callscore.suites.orchestration.rows import CallRow, PlanRow, ResultRow
from callscore.suites.orchestration.scenario.output_file import OUR_FORM
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation

PAGE = (Path(__file__).parents[3] / "docs" / "orchestration.md").read_text(encoding="utf-8")


def test_the_page_names_every_part_of_the_extension() -> None:
    row = ResultRow("f", PlanRow(), CallRow(), Confusion(), 0, 0)
    metadata = ResultMetadata(
        *("d", "EN", "m", "none", "", ""),
        answered_by=("other",),
        usage={},
        free_running={},
        origin="simulated",
    )
    written = standard_result(
        metadata, [ScenarioEvaluation(row, (), (), True, True)], ()
    ).document()
    ours = set(written["x_extension"])
    named = set(re.findall(r"^- `(\w+)`", PAGE, re.MULTILINE)) | {"undecided", "data_report"}
    assert named <= ours
    assert {"choice", "plan", "runs", "breakdown", "errors", "undefined"} <= named


def test_the_page_gives_the_words_of_files_as_they_are() -> None:
    assert f'"callscore": "{OUR_FORM}"' in PAGE
    assert f"`{METRIC}`" in PAGE
    assert all(f"`{word}`" in PAGE for word in OFFERED)
