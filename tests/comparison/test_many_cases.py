"""Comparisons of many cases hold little of each in memory, to the same numbers."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from callscore.comparison.case_changes import MANY, ChangesOnDisk, count_changes, find_changes
from callscore.comparison.result_files import read_results
from callscore.core.comparison import CaseChange, Comparison, Side
from callscore.core.scorecard import CaseResult
from callscore.report.comparison_text import worst_first
from callscore.report.json import comparison_json
from callscore.stats.matrix import CallLines, ResamplingUnits, SparseMatrix, group_calls


def result(case_id: str, score: float, run: int = 1, model: str = "m") -> CaseResult:
    metrics = {"qa.question_score_accuracy": score}
    return CaseResult(case_id, model, run, "qa", "valid", score, score, (), (), metrics)


def written(path: Path, results: Sequence[CaseResult]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in results))
    return path


def changes(number: int) -> Sequence[CaseChange]:
    """As many changes, of which every size occurs several times."""
    before = {f"case-{n}": [result(f"case-{n}", 0.5)] for n in range(number)}
    after = {name: [result(name, 0.1 * (at % 5) + 0.2)] for at, name in enumerate(before)}
    return find_changes(before, after, {"qa": 0.4}, frozenset())


def test_a_case_that_only_one_side_has_is_no_change() -> None:
    both = {"a": [result("a", 0.5)], "b": [result("b", 0.5)]}
    one = {"a": [result("a", 0.9)], "b": []}
    for first, second in ((both, one), (one, both), (both, {"a": one["a"]})):
        (change,) = find_changes(first, second, {"qa": 1.0}, frozenset())
        assert change.case_id == "a"


def test_sparse_lines_are_the_lines_that_were_added() -> None:
    dense = np.array([[0.0, 2.5, 0.0, 1.0], [0.0] * 4, [1.0, 1.0, 1.0, 0.25]])
    lines = CallLines(4)
    for line in dense:
        lines.add(line)
    units = ResamplingUnits(np.arange(4, dtype=np.uint64), 4)
    matrix = SparseMatrix(units, {("qa", "", name): at for at, name in enumerate("abc")}, lines)
    np.testing.assert_array_equal(matrix.dense().sums, dense)
    np.testing.assert_array_equal(matrix.heaviest(), [2.5, 0.0, 1.0])
    np.testing.assert_array_equal(group_calls(matrix).sums, dense)
    np.testing.assert_array_equal(np.array(lines[1:]), dense[1:])


@pytest.mark.parametrize("distinct", [1, 2, 256, 257, 5000])
def test_lines_of_many_calls_have_the_same_values_however_many_are_distinct(distinct: int) -> None:
    line = np.where(np.arange(10_000) % 2, 1 / 3 + np.arange(10_000) % distinct, 0.0)
    lines = CallLines(len(line))
    for _ in range(3):
        lines.add(line)
    for found in lines:
        np.testing.assert_array_equal(found, line)


def test_results_are_found_in_the_order_of_the_file_whatever_the_order_of_runs(
    tmp_path: Path,
) -> None:
    rows = [result("b", 0.1), result("a", 0.2), result("c", 0.3), result("a", 0.4, run=2)]
    rows += [result("b", 0.5, run=2), result("a", 0.6, model="other")]
    found = read_results(written(tmp_path / "results.jsonl", rows))
    scores: Mapping[str, object] = {
        case: [run.score for run in runs] for case, runs in found["m"].items()
    }
    assert list(scores.items()) == [("b", [0.1, 0.5]), ("a", [0.2, 0.4]), ("c", [0.3])]
    assert list(found["m"]) == ["b", "a", "c"]
    assert [run.score for run in found["m"]["a"]] == [0.2, 0.4]
    assert [run.score for run in found["other"]["a"]] == [0.6]
    assert found["other"].get("b") is None
    assert len(found["m"]) == 3


def test_many_changes_are_on_disk_and_in_the_order_of_few() -> None:
    found = changes(2 * MANY)
    assert isinstance(found, ChangesOnDisk)
    expected = sorted(found, key=lambda c: (-abs(c.weighted), -abs(c.change), c.case_id, c.task))
    assert list(found) == expected
    assert found[7] == expected[7]
    assert found[-1] == expected[-1]
    assert found[100:150] == expected[100:150]
    assert pickle.loads(pickle.dumps(found)) == expected
    assert isinstance(changes(MANY // 2), list)
    better = count_changes(found)["fixed"]
    worse = list(worst_first(found, len(found)))
    assert [one.kinds for one in worse[-better:]] == [["fixed"]] * better
    assert worse[0].kinds == ["broken"]
    assert list(worst_first(found, 3)) == worse[:3]


@pytest.mark.parametrize("number", [0, 2, 2 * MANY])
def test_the_json_of_a_comparison_has_the_bytes_of_one_document(number: int) -> None:
    found = changes(number)
    side = Side('first "cases": []', "\x9bm", "s", None, "valid")
    comparison = Comparison(side, side, "", None, 0, 0, 0, [], {}, found, [], [])
    whole = msgspec.json.encode(comparison, enc_hook=list)
    expected = msgspec.json.format(whole, indent=2) + b"\n"
    assert b"".join(comparison_json(comparison)).replace(b"\\u009b", b"\xc2\x9b") == expected
    assert comparison.to_dict() == msgspec.json.decode(whole)
