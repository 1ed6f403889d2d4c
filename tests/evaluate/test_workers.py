"""Several processes score blocks of cases, to the same bytes as one process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import msgspec
import pytest

from builders import Json
from callscore.app import OutputPaths, score_files
from callscore.config.score import ScoreConfig
from callscore.core.blocks import BlockSize
from callscore.core.errors import DataError, UsageError
from callscore.evaluate.block_scoring import FEW_CASES, Workers, count_workers
from callscore.report.json import scorecard_json
from callscore.report.source import CaseView
from callscore.store.disk_list import DiskList
from random_calls.dataset import make_dataset
from scored_calls import write_records

SIZE = BlockSize(sub_block=3, sub_blocks=2)
Outputs = Mapping[str, bytes]


class Data(msgspec.Struct):
    """A random data set in files: two of cases, and outputs in another order."""

    config: ScoreConfig
    cases: list[Json]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    folder, dice = tmp_path_factory.mktemp("data"), Random(7)
    found = make_dataset(dice, per_task=12)
    cases = dice.sample(found.cases, len(found.cases))
    files = write_records(folder, "a", cases[:29]), write_records(folder, "b", cases[29:])
    outputs = write_records(folder, "out", dice.sample(found.outputs, len(found.outputs)))
    verdicts = write_records(folder, "said", dice.sample(found.verdicts, len(found.verdicts)))
    return Data(ScoreConfig(cases=files, outputs=[outputs], verdicts=[verdicts]), cases)


def score(config: ScoreConfig, folder: Path, workers: Workers) -> Outputs:
    """Everything that scoring writes."""
    paths = OutputPaths(
        results=folder / "results",
        records=folder / "records",
        save_verdicts=folder / "verdicts",
        open_items=folder / "open.jsonl",
    )
    with DiskList(CaseView) as views:
        card = score_files(config, paths, on_case=views.add, workers=workers)
        files = {path.name: path.read_bytes() for path in paths.files if path is not None}
        return {**files, "card": scorecard_json(card), "views": msgspec.json.encode(list(views))}


def with_embedded(data: Data, folder: Path) -> ScoreConfig:
    """The same cases, each with its expected outcome as the answer."""
    cases = [{**case, "model_output": case["expected_outcome"]} for case in data.cases]
    return ScoreConfig(cases=[write_records(folder, "embedded", cases)])


def with_judge(data: Data, folder: Path) -> ScoreConfig:
    """The same outputs, judged by rule and compared by an encoder in every process."""
    return msgspec.structs.replace(data.config, verdicts=(), judge="offline", embedder="auto")


def with_one_task(data: Data, folder: Path) -> ScoreConfig:
    """The first cases of two of the tasks."""
    return msgspec.structs.replace(data.config, tasks=("qa", "text"), limit=19)


def as_given(data: Data, folder: Path) -> ScoreConfig:
    """Outputs and verdicts of all models, with benchmarks."""
    return msgspec.structs.replace(data.config, benchmarks=True)


Change = Callable[[Data, Path], ScoreConfig]


CHANGES = (as_given, with_judge, with_embedded, with_one_task)
IN_SHORT = [(change, 2, "fork") for change in CHANGES]
IN_SHORT += [
    (as_given, number, method) for number, method in ((3, "fork"), (7, "fork"), (2, "spawn"))
]
IN_FULL = [
    (change, number, method)
    for change in CHANGES
    for number in (2, 3, 7)
    for method in ("fork", "spawn")
    if (change, number, method) not in IN_SHORT
]


@pytest.mark.parametrize(
    ("change", "number", "method"),
    [*IN_SHORT, *(pytest.param(*one, marks=pytest.mark.slow) for one in IN_FULL)],
)
def test_no_number_of_processes_changes_a_byte(
    data: Data, tmp_path: Path, change: Change, number: int, method: str
) -> None:
    config = change(data, tmp_path)
    one = score(config, tmp_path, Workers(1, SIZE))
    assert score(config, tmp_path, Workers(number, SIZE, method)) == one


def test_the_first_error_in_the_files_is_reported_whatever_process_finds_one(
    data: Data, tmp_path: Path
) -> None:
    cases = [dict(case) for case in data.cases]
    for place in (40, 17, 31):
        cases[place]["config"] = "none"
    file = write_records(tmp_path, "cases", cases)
    config = msgspec.structs.replace(data.config, cases=[file])
    told = set()
    for number in (1, 2, 7):
        with pytest.raises(DataError) as caught:
            score(config, tmp_path, Workers(number, SIZE, "fork"))
        told.add(str(caught.value))
    assert len(told) == 1 and f"{file}:18:" in told.pop()
    assert not (tmp_path / "results").exists()


def test_an_error_in_an_output_names_its_line(data: Data, tmp_path: Path) -> None:
    lines = data.config.outputs[0].read_bytes().splitlines()
    broken = json.loads(lines[70]) | {"run": 0}
    lines[70] = msgspec.json.encode(broken)
    file = tmp_path / "out.jsonl"
    file.write_bytes(b"\n".join(lines))
    config = msgspec.structs.replace(data.config, outputs=[file])
    with pytest.raises(DataError, match=rf"{file}:71: .*run"):
        score(config, tmp_path, Workers(3, SIZE, "fork"))


def test_small_data_are_scored_in_one_process_unless_a_number_is_given() -> None:
    config = ScoreConfig(cases=())
    assert count_workers(config, Workers(), FEW_CASES - 1) == 1
    assert count_workers(config, Workers(5, SIZE), 100) == 5
    assert count_workers(config, Workers(5, SIZE), 2 * SIZE.cases) == 2
    with pytest.raises(UsageError, match="workers: 0; expected 1 or more"):
        count_workers(config, Workers(0), 100)


@pytest.mark.parametrize("change", [{"allow_bad_cases": True}, {"judge": ()}])
def test_what_one_process_must_score_refuses_several(change: Json) -> None:
    config = ScoreConfig(**{"cases": (), **change})
    assert count_workers(config, Workers(), 10 * FEW_CASES) == 1
    with pytest.raises(UsageError, match="workers: 2; expected 1"):
        count_workers(config, Workers(2), 10 * FEW_CASES)
