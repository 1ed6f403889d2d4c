"""Whole reports of the bundled sample, byte for byte.

`CALLSCORE_BLESS=1 make test` writes the files anew; the difference is then reviewed like code.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from calls_suite import template
from callscore.app import score_files
from callscore.core.scorecard import Scorecard
from callscore.demo import sample_calls
from callscore.demo.orchestration import sample_runs
from callscore.evaluate.scenarios import score_outputs
from callscore.report.json import scorecard_json
from callscore.report.layout import display_width
from callscore.report.terminal import scorecard_lines

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def card() -> Scorecard:
    with sample_calls() as config:
        return score_files(config)


def compare(name: str, found: bytes) -> None:
    path = HERE / name
    if os.environ.get("CALLSCORE_BLESS"):
        path.write_bytes(found)
    assert path.read_bytes() == found


def shown(card: Scorecard, width: int, **options: bool) -> list[str]:
    lines = scorecard_lines(card, template(), "Sample", width, **options)
    return ["".join(piece.text for piece in line).rstrip() for line in lines]


def fits(line: str, width: int) -> bool:
    return display_width(line) <= width or line.startswith("signature  ")


@pytest.mark.parametrize("width", [200, 120, 80])
def test_the_terminal_shows_the_sample_as_it_did(card: Scorecard, width: int) -> None:
    lines = shown(card, width)
    assert all(fits(line, width) for line in lines)
    compare(f"terminal-{width}.txt", ("\n".join(lines) + "\n").encode())


@pytest.mark.parametrize(("width", "number"), [(200, 8), (120, 12), (80, 14)])
def test_c138_the_first_and_the_last_lines_are_the_decision(
    card: Scorecard, width: int, number: int
) -> None:
    lines = shown(card, width)
    for some in (lines[: number + 1], lines[-number:]):
        said = " ".join(" ".join(some).split())
        assert "TIE sample-large and sample-large-b: cannot be distinguished with these 13" in said
        assert "RANK 1 sample-medium: by cost efficiency, Final 0.770 at $3.535" in said
        assert "OUT sample-medium: QA, Question Score Accuracy: 0.847 [0.809–0.890]" in said
        assert "OUT sample-small: QA, Compliance False Pass Rate: 16.23 % [8.33–26.92]" in said
        assert "HOW SURE 13 calls: up to 21 % of calls could fail unseen" in said


def test_details_are_shown_on_request(card: Scorecard) -> None:
    short, long = "\n".join(shown(card, 200)), "\n".join(shown(card, 200, all_rows=True))
    for row in ("Keyword Detection Recall", "Meaning Drift", "Summary Score"):
        assert row not in short
        assert row in long


def test_benchmarks_that_were_not_run_take_one_line_unless_all_rows_are_asked_for() -> None:
    with sample_calls() as config:
        first_run = msgspec.structs.replace(
            config, outputs=config.outputs[:1], verdicts=config.verdicts[:1], intervals=False
        )
        card = score_files(first_run)
    short, long = "\n".join(shown(card, 200)), "\n".join(shown(card, 200, all_rows=True))
    assert short.count("STANDARD BENCHMARKS") == 1 and "Faithfulness" not in short
    assert "Faithfulness" in long and "Final Score (with benchmarks)" in long


def test_c48_the_terminal_marks_the_definition_as_our_own(card: Scorecard) -> None:
    lines = shown(card, 200)
    assert any("Cross-Language Match Rate [1]" in line for line in lines)
    assert any("[1]" in line and "definition is Callscore's own" in line for line in lines)


@pytest.mark.parametrize("width", [60, 66, 70])
def test_a_narrow_terminal_folds_labels(card: Scorecard, width: int) -> None:
    assert all(fits(line, width) for line in shown(card, width))


def test_the_json_of_the_sample_is_what_it_was(card: Scorecard) -> None:
    compare("scorecard.json", scorecard_json(card))


def test_no_score_depends_on_how_this_python_adds_floats(
    card: Scorecard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since 3.12 `sum` adds floats more exactly; `math.fsum` gives the same in every version."""
    plain = builtins.sum

    def sum_without_floats(values: Iterable[Any], start: Any = 0) -> Any:
        added = list(values)
        assert not any(isinstance(value, float) for value in added), "expected math.fsum"
        return plain(added, start)

    monkeypatch.setattr(builtins, "sum", sum_without_floats)
    with sample_calls() as config:
        again = score_files(config)
    with sample_runs() as jobs:
        assert score_outputs(jobs).documents
    assert scorecard_json(again) == scorecard_json(card)
