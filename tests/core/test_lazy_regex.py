"""A late pattern does what a compiled one does."""

from __future__ import annotations

import re

import pytest

from callscore.core.lazy import lazy_regex


def test_a_late_pattern_finds_what_a_compiled_one_finds() -> None:
    source, text = r"(\d+) (?P<unit>days)", "in 3 Days, or 12 days"
    late, compiled = lazy_regex(source, re.IGNORECASE), re.compile(source, re.IGNORECASE)

    for _ in range(2):
        assert late.findall(text) == compiled.findall(text)
        assert late.sub("soon", text) == compiled.sub("soon", text)
    assert late.groupindex == compiled.groupindex
    found = late.match(text, text.index("12"))
    assert found is not None
    assert found["unit"] == "days"


def test_a_late_pattern_is_compiled_at_its_first_use() -> None:
    late = lazy_regex("(")  # no pattern at all, which nobody has noticed so far

    with pytest.raises(re.error, match="missing"):
        late.search("")
