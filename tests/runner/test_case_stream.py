from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Case, Prompt
from callscore.core.run import Survey
from callscore.runner.cases import MAX_IN_MEMORY, CasePrompt, CaseStream

CASES = 3 * MAX_IN_MEMORY


class Counted:
    """A source that counts how often a case is read."""

    def __init__(self) -> None:
        self.read = 0

    def survey(self) -> Survey:
        return Survey([str(number) for number in range(CASES)], "digest")

    def stream(self) -> Iterator[CasePrompt]:
        for number in range(CASES):
            self.read += 1
            yield CasePrompt(Case(str(number), "qa", "", {}, {}), Prompt(()))


def read_in_turn(order: Sequence[int], readers: Sequence[Iterator[CasePrompt]]) -> list[list[str]]:
    """What each reader gets, when they read in this order and then to their ends."""
    got: list[list[str]] = [[] for _ in readers]
    for number in order:
        got[number] += [asked.case.id for asked in (next(readers[number], None),) if asked]
    for number, reader in enumerate(readers):
        got[number] += [asked.case.id for asked in reader]
    return got


@given(st.lists(st.integers(0, 2), max_size=2 * CASES))
def test_every_model_gets_every_case_once_and_in_order(order: list[int]) -> None:
    shared = CaseStream([Counted()])
    got = read_in_turn(order, [shared.reader() for _ in range(3)])
    assert got == [[str(number) for number in range(CASES)]] * 3


def test_models_that_come_along_together_read_the_data_once() -> None:
    source = Counted()
    shared = CaseStream([source])
    read_in_turn([0, 1] * CASES, [shared.reader(), shared.reader()])
    assert source.read == CASES


def test_a_model_that_falls_far_behind_reads_by_itself() -> None:
    source = Counted()
    shared = CaseStream([source])
    fast, slow = shared.reader(), shared.reader()
    got = read_in_turn([0] * CASES, [fast, slow])
    assert got[0] == got[1]
    assert source.read == 2 * CASES


def test_a_reader_that_is_closed_holds_up_no_other() -> None:
    source = Counted()
    shared = CaseStream([source])
    peeking, reading = shared.reader(), shared.reader()
    assert next(peeking).case.id == "0"
    peeking.close()
    assert len(list(reading)) == CASES
    assert source.read == CASES
