"""What is normative and not testable yet: the one list that later steps empty.

Every other C-entry, worked example and test vector has a test (see test_every_entry.py).
"""

from __future__ import annotations

from collections.abc import Mapping

PENDING: Mapping[str, str] = {}
