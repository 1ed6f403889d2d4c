"""A scorecard in a notebook: its first screen, its pictures, its rows as Arrow."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import polars
import pytest

from callscore.core.errors import MissingExtra, UsageError
from callscore.core.scorecard import Scorecard
from report_samples import hostile_source, sample_source
from xss_payloads import OTHERS, PAYLOADS


@pytest.fixture(scope="module")
def cards() -> tuple[Scorecard, Scorecard]:
    with sample_source(limit=4) as source:
        return source.card, hostile_source(source, [*PAYLOADS, *OTHERS]).card


def test_a_notebook_shows_the_first_screen_without_a_script(
    cards: tuple[Scorecard, Scorecard],
) -> None:
    for card in cards:
        shown = card._repr_html_()
        assert shown.startswith("<style>") and '</style><div class="callscore">' in shown
        assert "Decision" in shown and '<svg class="picture"' in shown
        tags = re.sub(r'"[^"]*"', '""', shown)
        assert "<script" not in shown and not re.search(r"<[^>]*\son\w+=", tags)
    assert len(cards[0]._repr_html_()) < 60_000


def test_the_style_reaches_nothing_outside_of_the_card(cards: tuple[Scorecard, Scorecard]) -> None:
    style = cards[0]._repr_html_().partition("<style>")[2].partition("</style>")[0]
    depth, rules = 0, []
    for line in style.splitlines():
        if depth == 0 and "{" in line:
            rules.append(line.partition("{")[0].strip())
        depth += line.count("{") - line.count("}")
    assert depth == 0
    assert {rule for rule in rules if ".callscore" not in rule and ".picture" not in rule} == {
        "@media print"
    }


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("cost_quality", None),
        ("metric", "qa.question_score_accuracy"),
        ("metric", "qa.false_pass_rate"),
        ("metric", "qa"),
    ],
)
def test_a_picture_is_self_contained_svg(
    cards: tuple[Scorecard, Scorecard], kind: str, metric: str | None, tmp_path: Path
) -> None:
    for card in cards:
        picture = card.plot(kind, metric)
        assert picture._repr_svg_() == picture
        root = ET.fromstring(picture.save(tmp_path / "picture.svg").read_text(encoding="utf-8"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in picture
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "style", "g", "line", "text", "circle", "path"}


def test_ranks_are_drawn_where_they_are_known(cards: tuple[Scorecard, Scorecard]) -> None:
    if any(entry.quality_band for entry in cards[0].ranking):
        assert "Rank bands" in cards[0].plot("ranks")
    else:
        with pytest.raises(UsageError, match="no rank bands"):
            cards[0].plot("ranks")


def test_an_unknown_picture_or_metric_is_named(cards: tuple[Scorecard, Scorecard]) -> None:
    with pytest.raises(UsageError, match="expected one of cost_quality, ranks, metric"):
        cards[0].plot("pie")
    with pytest.raises(UsageError, match="did you mean qa.score_gap_accuracy"):
        cards[0].plot("metric", "qa.score_gap_acuracy")


def test_rows_are_an_arrow_stream(cards: tuple[Scorecard, Scorecard]) -> None:
    frame = polars.DataFrame(cards[0])
    rows = cards[0].to_rows()
    assert frame.height == len(rows) and frame.columns == list(rows[0])
    assert frame["value"].dtype == polars.Float64 and frame["n"].dtype == polars.Int64
    assert frame.to_dicts() == [
        {**row, "value": None if row["value"] is None else float(row["value"])} for row in rows
    ]


def test_without_the_package_it_says_what_to_install(
    cards: tuple[Scorecard, Scorecard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'callscore\[arrow\]'.*to_rows"):
        cards[0].__arrow_c_stream__()
