"""Small blocks on nodes without files, in this process: only bytes go in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from callscore.app import OutputPaths, score_files
from callscore.config.score import ScoreConfig
from callscore.core.blocks import BlockSize
from callscore.core.errors import DataError, UsageError, WorkerLost
from callscore.evaluate.block_scoring import Workers
from callscore.processes import ray_node
from callscore.report.json import scorecard_json
from callscore.report.source import CaseView
from callscore.store.disk_list import DiskList
from random_calls.dataset import make_dataset
from ray_nodes import require_ray
from scored_calls import write_records

require_ray()
exceptions = import_module("ray.exceptions")
SIZE = BlockSize(sub_block=3, sub_blocks=2)
ON_NODES = Workers(2, SIZE, cluster="127.0.0.1:1")
Get = Callable[[bytes], bytes]


class BytesOnly:
    """In place of the module `ray`: computes at once, and refuses what is not text or bytes."""

    exceptions = exceptions

    def __init__(self, get: Get) -> None:
        self.get = get
        self.sent = 0

    def remote(self, **options: object) -> Callable[[Callable[..., bytes]], Any]:
        assert options["max_retries"] == 3

        def wrap(function: Callable[..., bytes]) -> Any:
            def call(*args: object) -> bytes:
                assert all(isinstance(arg, str | bytes) for arg in args)
                self.sent += 1
                return function(*args)

            call.remote = call  # type: ignore[attr-defined]
            return call

        return wrap

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}


@pytest.fixture
def use_nodes(monkeypatch: pytest.MonkeyPatch) -> Callable[[Get], BytesOnly]:
    def use(get: Get) -> BytesOnly:
        nodes = BytesOnly(get)

        @contextmanager
        def open_cluster(address: str) -> Iterator[BytesOnly]:
            yield nodes

        monkeypatch.setenv("RAY_AUTH_MODE", "token")
        monkeypatch.setattr("callscore.processes.ray_pool.open_cluster", open_cluster)
        ray_node._opened.clear()
        return nodes

    return use


@pytest.fixture
def config(tmp_path: Path) -> ScoreConfig:
    dice = Random(9)
    found = make_dataset(dice, per_task=7)
    cases = dice.sample(found.cases, len(found.cases))
    return ScoreConfig(
        cases=[write_records(tmp_path, "a", cases[:9]), write_records(tmp_path, "b", cases[9:])],
        outputs=[write_records(tmp_path, "out", dice.sample(found.outputs, len(found.outputs)))],
        verdicts=[write_records(tmp_path, "said", found.verdicts)],
        benchmarks=True,
    )


def score(config: ScoreConfig, folder: Path, workers: Workers) -> dict[str, bytes]:
    """Everything that scoring writes."""
    paths = OutputPaths(folder / "results", folder / "records", folder / "verdicts")
    with DiskList(CaseView) as views:
        card = score_files(config, paths, on_case=views.add, workers=workers)
        files = {path.name: path.read_bytes() for path in paths.files if path is not None}
        return {**files, "card": scorecard_json(card), "views": msgspec.json.encode(list(views))}


def one_process(config: ScoreConfig, folder: Path) -> dict[str, bytes]:
    return score(config, folder, Workers(1, SIZE))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"verdicts": (), "judge": "offline", "embedder": "auto"},
        {"tasks": ("qa", "text"), "limit": 11},
    ],
    ids=["verdicts", "judged", "selected"],
)
def test_blocks_without_their_files_are_scored_to_the_same_bytes(
    tmp_path: Path,
    config: ScoreConfig,
    use_nodes: Callable[[Get], BytesOnly],
    changes: dict[str, Any],
) -> None:
    nodes = use_nodes(lambda ref: ref)
    config = msgspec.structs.replace(config, **changes)
    assert score(config, tmp_path, ON_NODES) == one_process(config, tmp_path)
    assert nodes.sent > 1


def test_an_error_that_only_a_node_has_names_it(
    tmp_path: Path,
    config: ScoreConfig,
    use_nodes: Callable[[Get], BytesOnly],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_nodes(lambda ref: ref)
    monkeypatch.setattr(ray_node, "from_bytes", lambda data: data[:0].missing)
    with pytest.raises(UsageError, match=r"a\.jsonl:1 to .*Ray node .*: AttributeError; this mach"):
        score(config, tmp_path, ON_NODES)


def test_a_bad_case_has_the_error_of_one_process(
    tmp_path: Path, config: ScoreConfig, use_nodes: Callable[[Get], BytesOnly]
) -> None:
    path = config.cases[1]
    path.write_text("\n" + path.read_text(encoding="utf-8") + '{"id":"x","task":"qa"}\n', "utf-8")
    use_nodes(lambda ref: ref)
    errors = []
    for workers in (ON_NODES, Workers(1, SIZE)):
        with pytest.raises(DataError) as caught:
            score(config, tmp_path, workers)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.WorkerCrashedError(), WorkerLost),
        (exceptions.NodeDiedError("node 1 is dead"), WorkerLost),
        (exceptions.RayTaskError("f", "t", ModuleNotFoundError("callscore")), UsageError),
    ],
)
def test_what_ray_cannot_compute_ends_the_command_with_a_clear_error(
    tmp_path: Path,
    config: ScoreConfig,
    use_nodes: Callable[[Get], BytesOnly],
    error: Exception,
    expected: type[Exception],
) -> None:
    def get(ref: bytes) -> bytes:
        if nodes.sent > 1:
            raise error
        return ref

    nodes = use_nodes(get)
    with pytest.raises(expected):
        score(config, tmp_path, ON_NODES)
    assert list(tmp_path.glob("results*")) == []
