"""What is normative and not testable yet: the one list that later steps empty.

Every other C-entry, worked example and test vector has a test (see test_every_entry.py).
"""

from __future__ import annotations

from collections.abc import Mapping

_COMPARISON = "step 5: comparison of runs"

_SECOND_READING = "step 5: second reading"

PENDING: Mapping[str, str] = {
    "C-68": _COMPARISON,
    "C-126": _COMPARISON,
    **dict.fromkeys(
        ("C-129", "C-131", "C-132", "C-133", "C-134", "C-135", "C-137"), _SECOND_READING
    ),
}
