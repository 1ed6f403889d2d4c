"""Every threat and fault of the specification has a test, or the step that brings one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spec.threats import PROOFS

TESTS = Path(__file__).parents[1]
SPEC = TESTS.parents[1] / "shared" / "spec" / "SECURITY_RELIABILITY.md"
ENTRIES = [
    *(f"S-{number:02}" for number in range(1, 26)),
    *(f"R-{number:02}" for number in range(1, 29)),
]


def test_the_table_holds_every_entry_once_and_in_order() -> None:
    assert list(PROOFS) == ENTRIES


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_is_proven_or_says_what_it_waits_for(entry: str) -> None:
    proof = PROOFS[entry]
    assert proof.tests or proof.later
    assert not proof.later or re.match(r"step \d: \w", proof.later)
    for name, functions in proof.tests.items():
        source = (TESTS / name).read_text(encoding="utf-8")
        missing = [f for f in functions if not re.search(rf"^def {f}\(", source, re.MULTILINE)]
        assert functions and missing == []


def test_a_test_that_is_named_after_an_entry_is_in_the_table() -> None:
    for path in sorted(TESTS.rglob("test_*.py")):
        name = path.relative_to(TESTS).as_posix()
        source = path.read_text(encoding="utf-8")
        for claim in re.finditer(r"^def (test_([sr])(\d{2})_\w+)\(", source, re.MULTILINE):
            entry = f"{claim[2].upper()}-{claim[3]}"
            listed = {f for proof in PROOFS.values() for f in proof.tests.get(name, ())}
            helps = claim[1] in listed or PROOFS[entry].tests.get(name)
            assert helps, f"{name}: {claim[1]} is not in the table"


@pytest.mark.skipif(not SPEC.is_file(), reason="the shared specification is not here")
def test_the_entries_are_those_of_the_specification() -> None:
    text = SPEC.read_text(encoding="utf-8")
    assert re.findall(r"^\| ([SR]-\d{2}) \|", text, re.MULTILINE) == ENTRIES
