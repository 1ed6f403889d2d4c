"""Three scripted judges on one labelled set: what the card says        STATS §5"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.judge_errors import Line, lines, make_world, table

DOCS = Path(__file__).parents[2] / "docs" / "judge.md"


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], Line]:
    return {(line.judge, line.checked): line for line in lines(make_world())}


def test_the_table_of_three_judges_in_the_docs_is_fresh() -> None:
    assert table() in DOCS.read_text(encoding="utf-8"), "python -m bench judge_errors"


def test_stats_5_a_lenient_judge_alone_hides_a_blocker(found: dict[tuple[str, str], Line]) -> None:
    alone = found["lenient", "not at all"]
    assert "uncalibrated" in alone.values[1]
    assert "OUT" not in alone.says and "JUDGES" not in alone.says


def test_stats_5_labels_or_a_second_judge_show_what_a_lenient_judge_hides(
    found: dict[tuple[str, str], Line],
) -> None:
    labelled = found["lenient", "100 labels per model"]
    assert labelled.values[1].endswith("Blocker")
    assert "OUT: careless" in labelled.says
    checked = found["lenient", "a second judge"]
    assert "JUDGES: careless: if the second judge is right" in checked.says


def test_stats_5_labels_leave_the_values_of_a_perfect_judge(
    found: dict[tuple[str, str], Line],
) -> None:
    for model in (0, 1):
        judged, corrected = found["perfect", "100 labels per model"].values[model].split("; ")
        assert judged.split()[0] == corrected.split()[1]


def test_stats_5_labels_show_that_a_noisy_judge_is_too_strict(
    found: dict[tuple[str, str], Line],
) -> None:
    judged, corrected = found["80 % right", "100 labels per model"].values[0].split("; ")
    assert judged.endswith("Blocker") and not corrected.endswith("Blocker")
    assert "the first judge is strict" in found["80 % right", "a second judge"].says
