from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Case, Prompt
from callscore.runner.prompts import Asked, Survey
from callscore.runner.tee import MOST_KEPT, SharedStream

CASES = 3 * MOST_KEPT


class Counted:
    """Subjects that count how often a case is read."""

    def __init__(self) -> None:
        self.read = 0

    def survey(self) -> Survey:
        return Survey(CASES, "digest")

    def stream(self) -> Iterator[Asked]:
        for number in range(CASES):
            self.read += 1
            yield Asked(Case(str(number), "qa", "", {}, {}), Prompt(()))


def read_in_turn(order: Sequence[int], readers: Sequence[Iterator[Asked]]) -> list[list[str]]:
    """What each reader gets, when they read in this order and then to their ends."""
    got: list[list[str]] = [[] for _ in readers]
    for number in order:
        got[number] += [asked.case.id for asked in (next(readers[number], None),) if asked]
    for number, reader in enumerate(readers):
        got[number] += [asked.case.id for asked in reader]
    return got


@given(st.lists(st.integers(0, 2), max_size=2 * CASES))
def test_every_model_gets_every_case_once_and_in_order(order: list[int]) -> None:
    shared = SharedStream(Counted())
    got = read_in_turn(order, [shared.reader() for _ in range(3)])
    assert got == [[str(number) for number in range(CASES)]] * 3


def test_models_that_come_along_together_read_the_data_once() -> None:
    subjects = Counted()
    shared = SharedStream(subjects)
    read_in_turn([0, 1] * CASES, [shared.reader(), shared.reader()])
    assert subjects.read == CASES


def test_a_model_that_falls_far_behind_reads_by_itself() -> None:
    subjects = Counted()
    shared = SharedStream(subjects)
    fast, slow = shared.reader(), shared.reader()
    got = read_in_turn([0] * CASES, [fast, slow])
    assert got[0] == got[1]
    assert subjects.read == 2 * CASES
