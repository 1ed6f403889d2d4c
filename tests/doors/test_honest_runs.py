"""What `run` says about changes, failures and stored runs before anybody has to find out."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

import callscore
from builders import form, output, qa_case, question
from callscore.config.config import load_eval
from callscore.core.errors import ConfigError
from commands import run, run_python, start, wait_for
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import Answer, FaultyChat, Gate, Stub, always, openai_error, serving


def broken_off(path: Path, stub: Stub, gate: Gate, requests: int) -> None:
    """A run that was killed at this request, which was never answered."""
    gate.hold(requests - 1)
    process = start("run", path, "--no-preflight")
    wait_for(lambda: len(stub.requests), requests)
    process.kill()
    process.communicate()
    gate.open()


def test_r18_resuming_a_changed_file_says_what_would_be_paid_again(tmp_path: Path) -> None:
    cases_file(tmp_path, 12)
    gate = Gate(FaultyChat(right_answer))
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url, limits={"concurrency": 2})])
        broken_off(path, stub, gate, 7)
        listed = json.loads(run("runs", path, "--json").stdout)
        eval_file(tmp_path, [remote_model(stub.url, params={"temperature": 0.5})])
        before = len(stub.requests)
        done = run("run", path, "--resume", "--no-preflight")
        assert done.returncode == 2
        again, new = listed["answered"], 12 - listed["answered"]
        assert again > 2
        assert f"{path} has changed since it began" in done.stderr
        assert f"{again} answers would be paid for again for up to $" in done.stderr
        assert f"{new} requests asked for the first time; --yes" in done.stderr
        assert len(stub.requests) == before
        assert run("run", path, "--resume", "--no-preflight", "--yes").returncode == 0
        assert len(stub.requests) == before + 12


def test_r18_an_unknown_price_of_one_model_leaves_the_cost_of_asking_again_unknown(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 6)
    gate = Gate(FaultyChat(right_answer))
    with serving(gate) as stub:

        def changed(**params: float) -> Path:
            priced = remote_model(stub.url, "priced", limits={"concurrency": 1}, params=params)
            unpriced = remote_model(stub.url, "free", limits={"concurrency": 1}, params=params)
            del unpriced["price"]
            return eval_file(tmp_path, [unpriced, priced])

        path = changed()
        broken_off(path, stub, gate, 7)
        changed(temperature=0.5)
        done = run("run", path, "--resume", "--no-preflight")
    assert done.returncode == 2
    assert "would be paid for again at an unknown price" in done.stderr
    assert "$" not in done.stderr


def test_a_new_run_of_a_changed_file_needs_no_yes(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    gate = Gate(FaultyChat(right_answer))
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        broken_off(path, stub, gate, 2)
        eval_file(tmp_path, [remote_model(stub.url, params={"temperature": 0.5})])
        assert run("run", path, "--no-preflight").returncode == 0


def test_an_interrupted_run_that_is_scored_again_says_how_much_of_it_there_is(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 12)
    gate = Gate(FaultyChat(right_answer))
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url, limits={"concurrency": 2})])
        broken_off(path, stub, gate, 7)
    listed = json.loads(run("runs", path, "--json").stdout)
    done = run("run", path, "--rescore", "1")
    assert done.returncode == 0
    assert f"run 1 (broken off, {listed['answered']}/12 answered) scored again" in done.stderr


def test_a_failed_preflight_leaves_no_run_behind(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    with serving(always(Answer(openai_error("no such key"), 401))) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", path).returncode == 2
    assert len(run("runs", path).stdout.splitlines()) == 1, "the heading alone"


def test_a_judge_that_refuses_the_key_is_said_to_refuse_it(tmp_path: Path) -> None:
    with serving(always(Answer(openai_error("no such key"), 401))) as stub:
        judge = tmp_path / "judge.yaml"
        judge.write_text(json.dumps(remote_model(stub.url)))
        done = run("judge", "check", judge, "--store", tmp_path / "kept.db")
    assert done.returncode == 3
    assert "401" in done.stderr
    assert "no such key" in done.stderr


FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
sys.argv = ["callscore", *sys.argv[1:]]
from callscore.__main__ import main
main()
"""


def test_too_many_open_files_are_called_that(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(qa_case([question()], "c0")) + "\n")
    paths = [tmp_path / f"outputs-{number}.jsonl" for number in range(40)]
    for number, path in enumerate(paths):
        answer = output("c0", form(question()), f"m{number}")
        path.write_text(json.dumps(answer) + "\n")
    done = run_python(FEW_FILES, "score", cases, "--outputs", *paths)
    assert done.returncode in (2, 4)
    assert "oo many" in done.stderr
    assert "cannot be written" not in done.stderr


def test_s08_half_characters_in_records_given_from_python_become_whole_ones() -> None:
    case = qa_case([question()], "c\ud800", transcript="a \udfff word")
    answer = output("c\ud800", form(question()), "m\ud800")
    card = callscore.score([case], [answer])
    assert [model.model for model in card.models] == ["m\ufffd"]
    assert card.models[0].tasks["qa"].n == 1


@pytest.mark.parametrize("part", ["data", "verdicts"])
def test_a_name_that_no_file_can_have_is_an_error_of_the_file(tmp_path: Path, part: str) -> None:
    cases_file(tmp_path, 1)
    path = eval_file(tmp_path, [{"name": "m", "provider": "simulated"}], **{part: "x" * 300 + "*"})
    done = run("run", path, "--dry-run")
    assert done.returncode == 2, done.stderr
    assert "eval.yaml:" in done.stderr


def test_every_missing_variable_is_named_at_once_before_a_run_begins(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    url = "http://127.0.0.1:9/v1"
    models = [remote_model(url, name, api_key_env=f"KEY_OF_{name.upper()}") for name in ("a", "b")]
    judge = remote_model(url, "judge", api_key_env="KEY_OF_JUDGE")
    path = eval_file(tmp_path, models, judge=judge)
    done = run("run", path)
    assert done.returncode == 2
    for name in ("A", "B", "JUDGE"):
        assert f"KEY_OF_{name} is not set or empty" in done.stderr
    assert not (tmp_path / ".callscore").exists()


def test_a_folder_that_may_not_be_looked_into_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases_file(tmp_path, 1)
    path = eval_file(tmp_path, [{"name": "m", "provider": "simulated"}], data="locked/*.jsonl")

    def locked(self: Path, pattern: str) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(self / "locked"))

    monkeypatch.setattr(Path, "glob", locked)
    with pytest.raises(ConfigError, match="locked: cannot be read: Permission denied"):
        load_eval(path)
