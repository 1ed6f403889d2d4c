"""What is normative and not testable yet: the one list that later steps empty.

Every other C-entry, worked example and test vector has a test (see test_every_entry.py).
"""

from __future__ import annotations

from collections.abc import Mapping

_BENCHMARK = "step 4: the eleven benchmarks"
_JUDGE = "step 4: a judge"

PENDING: Mapping[str, str] = {
    "C-68": "step 4: embedders; step 5: comparison of runs",
    **{f"C-{number}": _BENCHMARK for number in range(88, 100)},
    "C-100": _JUDGE,
    "C-102": _JUDGE,
    "C-103": _JUDGE,
    "C-126": "step 5: comparison of runs",
    **{f"W-BM-{number}": _BENCHMARK for number in range(1, 7)},
}
