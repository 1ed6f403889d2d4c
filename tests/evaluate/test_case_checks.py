"""`validate` checks blocks of lines in several processes, to the same words as one."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from random import Random

import msgspec
import pytest

from callscore.config.score import ScoreConfig
from callscore.evaluate.case_checks import CaseCheck, check_case_files
from random_calls.dataset import make_dataset
from scored_calls import write_records

ALL = 1 << 20


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> ScoreConfig:
    """Two files of random cases with empty lines, broken ones, and ids that appear twice."""
    folder, dice = tmp_path_factory.mktemp("cases"), Random(5)
    found = make_dataset(dice, per_task=12)
    cases = [dict(case) for case in dice.sample(found.cases, len(found.cases))]
    cases[17]["config"] = "none"
    cases[40]["id"] = cases[3]["id"]
    cases[41]["confg"] = {}
    first = write_records(folder, "a", cases[:29])
    first.write_bytes(first.read_bytes().replace(b"\n", b"\n\n", 5))
    return ScoreConfig(cases=(first, write_records(folder, "b", cases[29:])))


def shown(check: CaseCheck) -> object:
    """Everything that the command prints."""
    told = [list(map(str, part)) for part in (check.problems, check.warnings)]
    return dict(check.tasks), *told, check.notes, check.statistics


@pytest.mark.parametrize(("workers", "lines"), [(1, 4), (2, 4), (7, 9)])
def test_neither_blocks_nor_processes_change_a_word(
    config: ScoreConfig, workers: int, lines: int
) -> None:
    whole = shown(check_case_files(config, 1, ALL))
    assert shown(check_case_files(config, workers, lines)) == whole


def test_a_duplicate_in_a_later_block_is_a_problem_in_the_order_of_the_lines(
    config: ScoreConfig,
) -> None:
    problems = list(map(str, check_case_files(config, 2, 4).problems))
    assert [problem.partition(": ")[0].rpartition("/")[2] for problem in problems] == [
        "a.jsonl:23",
        "b.jsonl:12",
    ]
    assert "appears twice" in problems[1]


def test_a_mark_that_all_blocks_share_is_counted_over_all(tmp_path: Path) -> None:
    """A usual mark of a block is not that of the data: joined counts, not joined scores."""
    question = {"question_id": "Q1", "max_score": 5, "type": "SCORE", "reason": "She says hello."}
    cases = [
        {
            "id": f"case-{number}",
            "task": "qa",
            "transcript": "agent: Hello, how may I help you?",
            "config": {},
            "expected_outcome": {"questions": [{**question, "score": score}]},
        }
        for number, score in enumerate([1, 1, 3, 3, 1, 1, 1, 3])
    ]
    config = ScoreConfig(cases=(write_records(tmp_path, "cases", cases),))
    in_blocks, whole = (check_case_files(config, 1, lines) for lines in (2, ALL))
    assert in_blocks.notes == whole.notes
    assert "the question's usual mark" in whole.notes[0]


def test_a_pipe_is_read_once(config: ScoreConfig, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = b"".join(path.read_bytes() for path in config.cases)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    piped = check_case_files(msgspec.structs.replace(config, cases=(pipe,)), 2, 4)
    writer.join()
    assert piped.tasks == check_case_files(config, 1, ALL).tasks
