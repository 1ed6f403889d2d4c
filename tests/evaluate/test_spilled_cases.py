"""What is kept of single cases is in temporary files if these are many, and no digit changes."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from callscore.app import score_files
from callscore.config.score import ScoreConfig
from callscore.core.blocks import MOST_PARTS, BlockSize
from callscore.core.measure import Measure
from callscore.evaluate import intervals, spilled_cases
from callscore.evaluate.block_scoring import Workers
from callscore.evaluate.spilled_cases import SpilledCases
from callscore.report.json import scorecard_json
from callscore.stats import contributions, matrix
from callscore.stats.contributions import (
    Charge,
    MetricShape,
    ModelShape,
    TaskContributions,
    TaskShape,
    count_distinct,
    taken,
)
from callscore.stats.matrix import call_matrix, call_ranges, make_units
from callscore.store.disk_list import DiskNumbers
from random_calls.dataset import make_dataset
from scored_calls import write_records

SIZE = BlockSize(sub_block=3, sub_blocks=2)
GROUPS = 16
"""Random groups of calls, in place of 2,000."""


def config_of(folder: Path, seed: int) -> ScoreConfig:
    """Calls of several cases that are far from each other, and models with failures."""
    dice = Random(seed)
    found = make_dataset(dice, per_task=15)
    cases = dice.sample(found.cases, len(found.cases))
    for case in cases[10:]:
        case["call_id"] = str(dice.randrange(25))
    return ScoreConfig(
        cases=[write_records(folder, "cases", cases)],
        outputs=[write_records(folder, "out", dice.sample(found.outputs, len(found.outputs)))],
        verdicts=[write_records(folder, "said", found.verdicts)],
        benchmarks=True,
    )


@pytest.mark.parametrize(("seed", "coverage"), [(0, 1.0), (1, 0.5)])
def test_a_scorecard_has_the_same_bytes_with_cases_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, coverage: float
) -> None:
    monkeypatch.setattr(intervals, "make_units", partial(make_units, most=GROUPS))
    config = config_of(tmp_path, seed)
    settings = {"coverage.required": coverage}
    config = msgspec.structs.replace(config, settings=settings)

    def card(number: int) -> bytes:
        return scorecard_json(score_files(config, workers=Workers(number, SIZE)))

    in_memory = card(1)
    monkeypatch.setattr(spilled_cases, "CASES", 5)
    monkeypatch.setattr(contributions, "MAX_CODES", 3)  # columns of many values are doubles
    monkeypatch.setattr(contributions, "KEYS_AT_ONCE", 11)
    monkeypatch.setattr(matrix, "CALLS_AT_ONCE", 7)
    assert card(1) == in_memory
    assert card(2) == in_memory
    assert b'"units": %d,' % GROUPS in in_memory


def filled(keys: range) -> TaskContributions:
    found = TaskContributions()
    for key in keys:
        found.add_cases([Charge(key, key / 3, 1)], [1])
        found.add_column("rate", [Measure(key / 7, key, 7)], pooled=True)
    return found


def test_cases_in_a_file_are_read_in_their_order_and_sent_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spilled_cases, "CASES", 4)
    kept, whole = SpilledCases(filled(range(3))), filled(range(20))
    for first in range(3, 20):
        kept.extend(filled(range(first, first + 1)))
    assert (len(kept), len(list(kept.parts()))) == (20, 4)
    assert [key for part in kept.parts() for key in part.keys] == list(whole.keys)
    for same in (kept.whole(), pickle.loads(pickle.dumps(kept))):
        assert isinstance(same, TaskContributions)
        assert (same.keys, same.spend) == (whole.keys, whole.spend)
        assert same.columns["rate"]._rows() == whole.columns["rate"]._rows()


def test_sums_of_cases_in_a_file_have_every_digit_of_those_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dice, whole = Random(2), TaskContributions()
    for _ in range(400):
        whole.add_cases([Charge(dice.randrange(40), dice.random(), 1)], [1])
        whole.add_column("rate", [Measure(dice.random())])
    monkeypatch.setattr(spilled_cases, "CASES", 30)
    spilled = SpilledCases(TaskContributions())
    for key in range(0, 400, 9):
        part = TaskContributions()
        places = np.arange(key, min(key + 9, 400))
        part.keys, part.flags = taken(whole.keys, places), taken(whole.flags, places)
        part.spend, part.answers = taken(whole.spend, places), taken(whole.answers, places)
        part.columns["rate"] = whole.columns["rate"].taken(places)
        spilled.extend(part)
    shape = ModelShape({"t": TaskShape([MetricShape("rate", "mean")], [])}, {})
    units = make_units([{"t": whole}], most=5)
    in_memory, in_file = (call_matrix({"t": kept}, shape, units) for kept in (whole, spilled))
    assert in_file.place == in_memory.place
    assert in_file.sums.tobytes() == in_memory.sums.tobytes()


def test_a_file_is_not_read_more_often_however_many_calls_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matrix, "CALLS_AT_ONCE", 1)
    whole = filled(range(400))
    ranges = list(call_ranges(whole, make_units([{"t": whole}])))
    assert 1 < len(ranges) <= MOST_PARTS
    assert [key for some in ranges for key in some.keys] == list(range(400))


def test_distinct_calls_are_counted_in_ranges_of_their_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dice = Random(5)
    keys = [dice.randrange(1 << 64) for _ in range(300)] + [0, (1 << 64) - 1]
    some, others = DiskNumbers(keys, 50, "Q"), DiskNumbers(keys[:200] * 2, 50, "Q")
    monkeypatch.setattr(contributions, "KEYS_AT_ONCE", 64)
    assert count_distinct([some, others]) == len(set(keys))
    assert list(pickle.loads(pickle.dumps(some))) == keys
