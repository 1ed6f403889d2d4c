"""Lines of many calls are kept without their zeros, to the same values."""

from __future__ import annotations

import numpy as np

from callscore.stats.matrix import CallLines, ResamplingUnits, SparseMatrix, group_calls


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
