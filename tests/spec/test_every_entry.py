"""Every normative id has a test, or stands in the list of what is pending; none is in both.

A C-entry is tested by a function named after it (`test_c48_…`, `test_c_104_…`), a worked example
by its id in a test (`W-EN-1`) or by a function named after it (`test_w_ob_1_…`).
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from spec.pending import PENDING

TESTS = Path(__file__).parents[1]
SPEC = TESTS.parents[1] / "shared" / "spec"
NOT_SCANNED = {"test_every_entry.py", "pending.py"}

ENTRIES = [f"C-{number:02}" for number in range(1, 143)]
EXAMPLES = [
    *("W-QA-1", "W-QA-2a", "W-QA-2b", "W-QA-3a", "W-QA-3b", "W-QA-4"),
    *("W-QA-5a", "W-QA-5b", "W-QA-5c", "W-QA-5d", "W-QA-6"),
    *(f"W-EN-{number}" for number in range(1, 10)),
    *("W-TX-1", "W-TX-2a", "W-TX-2b", "W-TX-2c", "W-TX-3", "W-TX-4a", "W-TX-4b"),
    *(f"W-TX-{number}" for number in range(5, 10)),
    *("W-TX-10a", "W-TX-10b", "W-TX-10c"),
    *(f"W-TR-{number}" for number in range(1, 8)),
    *(f"W-BM-{number}" for number in range(1, 7)),
    *("W-WT-Full-QA", "W-WT-Entity", "W-WT-Sentiment", "W-WT-Summary", "W-WT-Text"),
    *("W-WT-Translation", "W-WT-Option-A", "W-WT-Option-B", "W-FS-1", "W-OB-1", "W-OB-2"),
]

_OF_ENTRY = re.compile(r"def test_c_?(\d{2,3})_")
_OF_EXAMPLE = re.compile(r"def test_w_([a-z]{2})_(\d+[a-z]?)_")
_EXAMPLE = re.compile(r"W-[A-Z]{2}-\w+(?:-\w+)*")
_RANGE = re.compile(r"C-(\d+)\.\.(\d+)")

needs_spec = pytest.mark.skipif(not SPEC.is_dir(), reason="the shared specification is not here")


def ids_in(source: str) -> set[str]:
    """The normative ids that a test file proves."""
    found = {f"C-{int(number):02}" for number in _OF_ENTRY.findall(source)}
    found |= {f"W-{chapter.upper()}-{number}" for chapter, number in _OF_EXAMPLE.findall(source)}
    return found | set(_EXAMPLE.findall(source))


@cache
def proven_ids() -> frozenset[str]:
    """The normative ids that all test files prove."""
    files = [path for path in TESTS.rglob("test_*.py") if path.name not in NOT_SCANNED]
    return frozenset(entry for path in files for entry in ids_in(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("entry", [*ENTRIES, *EXAMPLES])
def test_every_normative_id_is_tested_or_pending_and_not_both(entry: str) -> None:
    assert (entry in proven_ids()) != (entry in PENDING), PENDING.get(entry, "neither")


def test_nothing_unknown_is_pending_and_all_pending_says_what_it_needs() -> None:
    assert PENDING.keys() <= {*ENTRIES, *EXAMPLES}
    assert all(re.match(r"step \d+: \w", needs) for needs in PENDING.values())


def test_no_test_claims_an_id_that_does_not_exist() -> None:
    assert proven_ids() <= {*ENTRIES, *EXAMPLES}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def test_c48_share() -> None:", {"C-48"}),
        ("def test_c_104_f1() -> None:", {"C-104"}),
        ("def test_c122_turns() -> None:", {"C-122"}),
        ("def test_w_ob_1_headline() -> None:", {"W-OB-1"}),
        ('id="W-TX-10b"', {"W-TX-10b"}),
        ('"W-WT-Option-A": 1', {"W-WT-Option-A"}),
        ("def test_cases_are_read() -> None:  # C-48", set()),
    ],
)
def test_ids_are_found_in_names_and_literals(source: str, found: set[str]) -> None:
    assert ids_in(source) == found


@needs_spec
def test_the_list_holds_every_worked_example_of_the_specification() -> None:
    listed = json.loads((SPEC / "worked_examples.json").read_text(encoding="utf-8"))
    assert sorted(example["id"] for example in listed["examples"]) == sorted(EXAMPLES)


@needs_spec
def test_the_entries_are_those_of_the_clarifications() -> None:
    text = (SPEC / "CLARIFICATIONS.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (C-\d+) ", text, re.MULTILINE) == ENTRIES


@needs_spec
def test_every_test_vector_belongs_to_an_entry_that_is_tested_or_pending() -> None:
    vectors = json.loads((SPEC / "test_vectors.json").read_text(encoding="utf-8"))
    for vector in vectors:
        name = vector["clarification"]
        ends = _RANGE.fullmatch(name)
        numbers = range(int(ends[1]), int(ends[2]) + 1) if ends else [int(name[2:])]
        for number in numbers:
            assert f"C-{number:02}" in proven_ids() or f"C-{number:02}" in PENDING, name
