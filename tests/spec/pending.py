"""What is normative and not testable yet: the one list that later steps empty.

Every other C-entry, worked example and test vector has a test (see test_every_entry.py).
"""

from __future__ import annotations

from collections.abc import Mapping

_COMPARISON = "step 8: comparison of runs"

PENDING: Mapping[str, str] = {
    "C-68": _COMPARISON,
    "C-126": _COMPARISON,
}
