"""Names in pictures: they fit, and models whose names begin alike can be told apart."""

from __future__ import annotations

import re

from callscore.report.svg.cost_quality import LABEL_HEIGHT, Point, draw_cost_quality
from callscore.report.svg.picture import short_names


def test_names_that_begin_alike_keep_their_ends() -> None:
    names = ["vendor/model-of-a-family-1", "vendor/model-of-a-family-12", "other", "x" * 30]
    assert list(short_names(names, 12).values()) == [
        "…-a-family-1",
        "…a-family-12",
        "other",
        "x" * 11 + "…",
    ]


def test_a_name_does_not_cover_the_heading_of_the_picture() -> None:
    points = [Point("near", 1.0, 1.0, pareto=True), Point("far", 9.0, 0.5, pareto=True)]
    drawn = draw_cost_quality(points, "Final over QA, Entity")
    found = re.search(r'y="([\d.]+)"[^>]*>near</text>', drawn)
    assert found is not None
    assert float(found[1]) - 11.5 >= LABEL_HEIGHT  # the heading is above
