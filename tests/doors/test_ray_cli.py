"""`--engine ray`: the nodes of a cluster score blocks and send requests, to the same bytes as one
process.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

import commands
from builders import Json
from callscore.core.blocks import BLOCK
from command_server import NEVER_S
from eval_files import cases_file, eval_file
from postgres_server import PostgresServer
from random_calls.dataset import make_dataset
from ray_nodes import RayNodes, kill, kill_one, ray_nodes, write_token
from scored_calls import write_records
from shared_runs import SHORT_LEASE_S, SLOTS, SharedTrial, local_results, shared_trial

CASES = 2 * BLOCK.cases + 50
SECRET_WORDS = "I want my money for the purple umbrella."
QUESTION = {"question_id": "Q1", "max_score": 5, "type": "SCORE", "reason": "She says hello."}


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayNodes]:
    with ray_nodes() as nodes:
        yield nodes


def case(number: int) -> Json:
    answers = [{**QUESTION, "score": number % top} for top in (6, 5)]
    return {
        "id": f"case-{number}",
        "task": "qa",
        "transcript": SECRET_WORDS,
        "config": {},
        "expected_outcome": {"questions": answers[:1]},
        "model_output": {"questions": answers[1:]},
    }


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three blocks of the smallest cases, each with its answer."""
    return write_records(tmp_path_factory.mktemp("cases"), "cases", [*map(case, range(CASES))])


def score(*args: object, env: dict[str, str] | None = None) -> commands.CompletedCommand:
    return commands.run("score", *args, env=env)


ALL_FILES = ("--results", "--records", "--json", "--html", "--open-items", "--save-verdicts")


def written(
    folder: Path,
    *args: object,
    names: Sequence[str] = ALL_FILES,
    env: dict[str, str] | None = None,
) -> Sequence[object]:
    """What a command prints, and the bytes of all its files."""
    folder.mkdir()
    files = [part for name in names for part in (name, folder / f"{name[2:]}.jsonl")]
    done = score(*args, *files, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout, {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_the_nodes_write_what_one_process_writes(
    cases: Path, tmp_path: Path, cluster: RayNodes
) -> None:
    names = ("--results", "--json")
    expected = written(tmp_path / "one", cases, "--workers", 1, names=names)
    given = (cases, "--engine", "ray")
    assert written(tmp_path / "ray", *given, names=names, env=cluster.env) == expected


def test_the_nodes_score_all_tasks_from_files_that_they_do_not_have(
    tmp_path: Path, cluster: RayNodes
) -> None:
    """Two case files with empty lines, outputs in any order, verdicts, and a judge for the rest."""
    dice = Random(5)
    data = make_dataset(dice, per_task=6)
    cases = dice.sample(data.cases, len(data.cases))
    first = write_records(tmp_path, "first", cases[:10])
    second = write_records(tmp_path, "second", cases[10:])
    lines = second.read_text(encoding="utf-8")
    second.write_text("\n\n" + lines.replace("\n", "\n\n", 3), encoding="utf-8")
    outputs = write_records(tmp_path, "outputs", dice.sample(data.outputs, len(data.outputs)))
    verdicts = write_records(tmp_path, "verdicts", data.verdicts)
    given = (first, second, "--outputs", outputs, "--verdicts", verdicts)
    judged = (*given, "--judge", "offline", "--embedder", "chrf")
    expected = written(tmp_path / "one", *judged, "--workers", 1)
    found = written(tmp_path / "ray", *judged, "--engine", "ray", env=cluster.env)
    assert found == expected


def test_an_error_of_a_block_is_the_same_as_of_one_process(
    tmp_path: Path, cluster: RayNodes
) -> None:
    """On line 14: two empty lines are before it."""
    records = [*map(case, range(20))]
    records[11]["expected_outcome"] = {"questions": SECRET_WORDS}
    path = write_records(tmp_path, "cases", records)
    path.write_text("\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    expected = score(path, "--workers", 1)
    found = score(path, "--engine", "ray", env=cluster.env)
    assert (found.returncode, found.stderr.splitlines()[-1]) == (
        2,
        expected.stderr.splitlines()[-1],
    )
    assert f"{path}:14: case 'case-11'" in found.stderr


def test_a_wrong_and_a_missing_token_are_refused(
    cases: Path, tmp_path: Path, cluster: RayNodes
) -> None:
    wrong = {**cluster.env, "RAY_AUTH_TOKEN_PATH": str(write_token(tmp_path / "wrong"))}
    open_to_all = write_token(tmp_path / "open")
    open_to_all.chmod(0o644)
    absent = {**cluster.env, "RAY_AUTH_TOKEN_PATH": str(tmp_path / "absent")}
    for env, message in (
        (
            {**wrong, "RAY_NUM_REDIS_GET_RETRIES": "1"},
            "cannot connect: the cluster does not accept",
        ),
        (absent, "absent: no token of the Ray cluster"),
        ({**absent, "RAY_AUTH_TOKEN_PATH": str(open_to_all)}, "(mode 644); expected mode 600"),
        ({**cluster.env, "RAY_AUTH_MODE": ""}, "RAY_AUTH_MODE is ''; expected 'token'"),
    ):
        done = score(cases, "--engine", "ray", "--results", tmp_path / "results", env=env)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_killed_process_of_a_node_changes_nothing(cases: Path, cluster: RayNodes) -> None:
    expected = score(cases, "--workers", 1)
    with commands.start("score", cases, "--engine", "ray", env=cluster.env) as process:
        kill_one(cluster.computing)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, expected.stdout), err
    assert cluster.files_with_a_key() == []


def test_no_key_token_or_word_of_a_call_is_in_a_file_of_ray(
    tmp_path: Path, cluster: RayNodes
) -> None:
    """After a job that has ended well; no block of it failed."""
    few = write_records(tmp_path, "cases", [*map(case, range(9))])
    done = score(few, "--engine", "ray", env=cluster.env)
    assert done.returncode == 0, done.stderr
    assert cluster.files_with_a_key(SECRET_WORDS) == []


@pytest.mark.parametrize(
    ("options", "env", "message"),
    [
        ((), {"RAY_ADDRESS": ""}, "no cluster was given, and Callscore starts none"),
        (("--ray-address", "auto"), {}, "Ray address 'auto'; expected HOST:PORT"),
        (("--ray-address", "ray://head:10001"), {}, "expected HOST:PORT"),
        (("--ray-address", "127.0.0.1:1"), {"RAY_AUTH_TOKEN": "0"}, "nothing answers there"),
        (("--allow-bad-cases", "--ray-address", "a:1"), {"RAY_AUTH_TOKEN": "0"}, "expected local"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_refused(
    cases: Path, options: Sequence[str], env: dict[str, str], message: str
) -> None:
    done = score(cases, "--engine", "ray", *options, env={"RAY_AUTH_MODE": "token", **env})
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_an_address_without_the_engine_is_refused(cases: Path) -> None:
    done = score(cases, "--ray-address", "127.0.0.1:1")
    assert (done.returncode, "expected --engine ray" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_killed_node_changes_nothing(cases: Path, cluster: RayNodes) -> None:
    expected = score(cases, "--workers", 1)
    added = cluster.add_node()
    command = ("score", cases, "--engine", "ray", "--workers", 3)
    with commands.start(*command, env=cluster.env) as process:
        commands.wait_for(lambda: len(cluster.computing()), 1)
        kill(added)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, expected.stdout), err
    assert cluster.files_with_a_key() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_command_leaves_no_file_and_no_work(
    cases: Path, tmp_path: Path, cluster: RayNodes, number: signal.Signals
) -> None:
    command = ("score", cases, "--engine", "ray", "--results", tmp_path / "results")
    with commands.start(*command, env=cluster.env) as process:
        commands.wait_for(lambda: len(cluster.computing()), 1)
        process.send_signal(number)
        process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert list(tmp_path.iterdir()) == []
    commands.wait_for(lambda: -len(cluster.computing()), 0)
    again = commands.run(*command, env=cluster.env)
    assert (again.returncode, (tmp_path / "results").exists()) == (0, True), again.stderr
    assert cluster.files_with_a_key() == []


@pytest.mark.slow
def test_a_cluster_that_demands_no_token_gets_no_data(cases: Path) -> None:
    with ray_nodes(1, mode="disabled") as nodes:
        env = {**nodes.env, "RAY_AUTH_MODE": "token"}
        done = score(cases, "--engine", "ray", env=env)
        assert done.returncode == 2, done.stderr
        assert "the cluster runs without tokens" in done.stderr


@pytest.mark.parametrize(
    ("store", "options", "message"),
    [
        ("runs.db", (), "the nodes need a store that they reach"),
        ("postgresql://u@localhost/evals", ("--race",), "like `callscore work`, only share a full"),
        ("postgresql://u@localhost/evals", ("--rescore", "1"), "--rescore sends nothing"),
    ],
)
def test_a_run_that_nodes_cannot_share_is_refused(
    tmp_path: Path, store: str, options: Sequence[str], message: str
) -> None:
    cases_file(tmp_path, 1)
    models = [{"name": name, "provider": "baseline"} for name in "ab"]
    config = eval_file(tmp_path, models, store=store)
    env = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0"}
    given = ("--engine", "ray", "--ray-address", "a:1", *options)
    done = commands.run("run", config, *given, env=env)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_run_in_batches_is_refused_on_nodes(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    model = {"name": "a", "provider": "openai", "model": "m", "mode": "batch"}
    config = eval_file(tmp_path, [model], store="postgresql://u@localhost/evals")
    env = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0", "OPENAI_API_KEY": "x"}
    done = commands.run("run", config, "--engine", "ray", "--ray-address", "a:1", env=env)
    assert (done.returncode, "`mode: batch`" in done.stderr) == (2, True), done.stderr


REQUESTS = 256
"""Four chunks: one for this machine, and more than one for each of the two nodes."""


def start_on_nodes(
    trial: SharedTrial, cluster: RayNodes, *options: object
) -> subprocess.Popen[str]:
    """Start a run whose nodes all have chunks before anything is answered."""
    trial.gate.hold()
    run = trial.start_run("--engine", "ray", *options, env=cluster.env)
    commands.wait_for(lambda: len(trial.workers()), 3)
    return run


@pytest.mark.slow
def test_the_nodes_send_requests_with_their_own_keys(
    postgres: PostgresServer, tmp_path: Path, cluster: RayNodes
) -> None:
    with shared_trial(tmp_path, postgres, REQUESTS) as trial:
        run = start_on_nodes(trial, cluster)
        trial.gate.open()
        assert "complete" in trial.end(run)
        trial.check(REQUESTS, most_second_sends=0)
        paid = postgres.execute("SELECT count(DISTINCT worker) FROM callscore.payments")
        assert paid == [(3,)]
        assert postgres.execute("SELECT 1 FROM callscore.workers") == []
        assert (tmp_path / "shared.jsonl").read_bytes() == local_results(trial)
    assert cluster.files_with_a_key() == []


@pytest.mark.slow
def test_a_node_that_cannot_send_says_why_and_the_others_send(
    postgres: PostgresServer, tmp_path: Path, cluster: RayNodes
) -> None:
    with shared_trial(tmp_path, postgres, 64, model={"api_key_env": "ONLY_HERE"}) as trial:
        env = {**cluster.env, "ONLY_HERE": commands.KEY}
        out = trial.end(trial.start_run("--engine", "ray", env=env))
        assert out.count("Ray node ") == 2
        assert out.count("ONLY_HERE") >= 2
        trial.check(64, most_second_sends=0)


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["process", "node"])
def test_a_killed_node_or_process_costs_at_most_its_slots(
    postgres: PostgresServer, tmp_path: Path, cluster: RayNodes, lost: str
) -> None:
    added = cluster.add_node() if lost == "node" else None
    number = 3 if added is None else 4
    with shared_trial(tmp_path, postgres, 2 * REQUESTS, lease_s=SHORT_LEASE_S) as trial:
        trial.gate.hold()
        run = trial.start_run("--engine", "ray", env=cluster.env)
        commands.wait_for(lambda: len(trial.workers()), number)
        trial.wait_for_sends(1)
        kill(cluster.working()[0] if added is None else added)
        dead = "SELECT 1 FROM callscore.workers WHERE dead"
        commands.wait_for(lambda: len(trial.rows(dead)), 1)
        trial.gate.open()
        trial.end(run)
        trial.check(2 * REQUESTS, most_second_sends=number * SLOTS)
        sent = {request.headers["authorization"] for request in trial.stub.requests}
        assert sent == {f"Bearer {commands.KEY}"}  # what is looked for in the files
    assert cluster.files_with_a_key() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_driver_is_resumed(
    postgres: PostgresServer, tmp_path: Path, cluster: RayNodes, number: signal.Signals
) -> None:
    with shared_trial(tmp_path, postgres, REQUESTS, lease_s=SHORT_LEASE_S) as trial:
        run = start_on_nodes(trial, cluster)
        run.send_signal(number)
        trial.gate.open()
        _, err = run.communicate(timeout=NEVER_S)
        assert run.returncode == (-9 if number == signal.SIGKILL else 130)
        go_on = f"--resume --engine ray --ray-address {cluster.address}"
        assert number == signal.SIGKILL or go_on in err, err
        commands.wait_for(lambda: -len(cluster.working()), 0)
        trial.end(trial.start_run("--resume"))
        trial.check(REQUESTS, most_second_sends=3 * SLOTS if number == signal.SIGKILL else 0)
    assert cluster.files_with_a_key() == []
