"""Cases are found by their ids, in large data by a hash of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import convert

from builders import Json, qa_case, question
from callscore.config.score import ScoreConfig
from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.evaluate.case_positions import NO_LIMIT, CasePositions
from callscore.evaluate.cases import CaseIndex
from callscore.evaluate.reply_source import RecordedReplies
from callscore.runner.cases import CaseFiles
from callscore.store.files import LinesByKey, lines_of
from scored_calls import write_records

IDS = [f"case {n * 7919 % 101}" for n in range(101)]


def cases(ids: list[str]) -> list[Json]:
    return [qa_case([question()], case_id) for case_id in ids]


def positions_of(ids: list[str], most: int) -> CasePositions:
    found = CasePositions(most)
    for first in range(0, len(ids), 10):
        assert found.add(ids[first : first + 10])
    assert found.finish()
    return found


def test_many_cases_are_found_like_few() -> None:
    few, many = positions_of(IDS, NO_LIMIT), positions_of(IDS, 20)
    assert few.is_exact and not many.is_exact
    assert len(few) == len(many) == len(IDS)
    for place, case_id in enumerate(IDS):
        assert few[case_id] == many[case_id] == place
    assert few.get("another") is many.get("another") is None
    assert "another" not in many and list(many) == []


def test_equal_hashes_are_noticed() -> None:
    found = CasePositions(2, hash_of=len)
    assert found.add(["a", "bb", "ccc", "dd"])
    assert not found.finish()


@pytest.mark.parametrize("most", [5, NO_LIMIT])
def test_the_first_error_in_the_files_is_the_same_for_few_and_many_cases(
    tmp_path: Path, most: int
) -> None:
    file = write_records(tmp_path, "cases", cases([*IDS[:30], IDS[3], *IDS[30:40]]))
    with file.open("a", encoding="utf-8") as more:
        more.write('{"id": 5}\n')
    with pytest.raises(DataError, match=r"cases.jsonl:31: case .*: field id: appears twice"):
        CaseIndex(ScoreConfig(cases=[file]), most=most)


def test_the_index_of_many_cases_is_that_of_few(tmp_path: Path) -> None:
    file = write_records(tmp_path, "cases", cases(IDS))
    few, many = (CaseIndex(ScoreConfig(cases=[file]), most=most) for most in (NO_LIMIT, 5))
    assert {case_id: many.positions[case_id] for case_id in IDS} == dict(few.positions)
    assert (many.tasks, many.plan.selected) == (few.tasks, few.plan.selected)
    assert [*many.plan.blocks(len(IDS))] == [*few.plan.blocks(len(IDS))]


@pytest.mark.parametrize("most", [5, NO_LIMIT])
def test_a_run_has_the_same_cases_whether_they_are_few_or_many(tmp_path: Path, most: int) -> None:
    file = write_records(tmp_path, "cases", cases(IDS))
    files = CaseFiles(ScoreConfig(cases=[file], limit=90), most=most)
    survey = files.survey()
    assert list(survey.ids) == IDS[:90]
    assert survey.ids[80:] == IDS[80:90]
    assert len(files.positions) == len(IDS)
    assert [prompt.indexed.position for prompt in files.stream() if prompt.indexed] == [*range(90)]
    assert files.positions[IDS[100]] == 100


@pytest.mark.parametrize("most", [5, NO_LIMIT])
def test_a_run_reports_the_same_error_whether_cases_are_few_or_many(
    tmp_path: Path, most: int
) -> None:
    again = [*IDS[:30], IDS[3], *IDS[30:40]]
    file = write_records(tmp_path, "cases", cases(again))
    twice = r"cases.jsonl:31: case .*: field id: appears twice"
    with pytest.raises(DataError, match=twice):
        CaseFiles(ScoreConfig(cases=[file]), most=most).survey()
    with file.open("a", encoding="utf-8") as more:
        more.write('{"id": 5}\n')
    with pytest.raises(DataError, match=twice):
        CaseFiles(ScoreConfig(cases=[file]), most=most).survey()


def test_an_unknown_id_with_the_hash_of_a_case_is_refused(tmp_path: Path) -> None:
    path = write_records(tmp_path, "out", [{"case_id": "other", "model": "m", "output": "{}"}])
    lines = LinesByKey([path])
    lines.add(0, next(lines_of([path])))
    replies = RecordedReplies(lines, ["m"])
    with pytest.raises(DataError, match="out.jsonl:1: field case_id: 'other' is not in the case"):
        replies.replies(0, convert(cases(["known"])[0], Case))
    replies.close()
