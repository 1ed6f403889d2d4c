"""What is deleted is gone, and what is redacted stays so: replies, copies, modes, killed runs."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import form, qa_case, question
from commands import run, run_in_new_process, start, wait_for
from eval_files import eval_file, remote_model
from scenario_runs import SCENARIOS
from stub_servers import Answer, Behaviour, Hang, Request, chat_completion, serving

LEAKED = "+1 201-555-0134"
SAID = "Call me on (415) 555-0132, please."


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def cases(folder: Path, number: int = 2, said: str = SAID) -> None:
    turns = [[{"id": 1, "speaker": "customer", "text": f"{said} {n}"}] for n in range(number)]
    lines = [json.dumps(qa_case([question()], f"c{n}", transcript=t)) for n, t in enumerate(turns)]
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n")


def leaking_answer(_request: Request) -> Behaviour:
    """A right form, with a telephone number that was in no request."""
    value = {**form(question()), "note": f"phone {LEAKED}"}
    return Answer(chat_completion(json.dumps(value)))


def everything_below(folder: Path) -> bytes:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "cases.jsonl")
    return b"".join(path.read_bytes() for path in files)


def run_redacted(folder: Path, *words: object, **extra: Any) -> None:
    with serving(leaking_answer) as stub:
        path = eval_file(folder, [remote_model(stub.url)], store="kept/deep/runs.db", **extra)
        done = run("run", path, "--no-preflight", *words)
        assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize("words", [("--redact",), ()])
def test_27_11_replies_are_redacted_before_they_are_stored(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    cases(tmp_path)
    extra = {} if words else {"redact": True}
    run_redacted(tmp_path, *words, "--results", tmp_path / "r.jsonl", **extra)
    kept = everything_below(tmp_path)
    assert LEAKED.encode() not in kept and b"555-0132" not in kept
    assert b"[REPLY_PHONE_1]" in kept


def test_27_11_arguments_of_tools_are_redacted_before_they_are_stored(tmp_path: Path) -> None:
    def call_tool(request: Request) -> Behaviour:
        tools = request.json.get("tools") or [{"function": {"name": "none"}}]
        function = {"name": tools[0]["function"]["name"], "arguments": json.dumps({"to": LEAKED})}
        call = {"id": "1", "type": "function", "function": function}
        return Answer(chat_completion(None, "tool_calls", tool_calls=[call]))

    with serving(call_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS, store="kept/runs.db")
        assert run("run", path, "--no-preflight", "--redact").returncode == 0
    assert LEAKED.encode() not in everything_below(tmp_path / "kept")


def test_27_11_purge_all_deletes_the_redacted_copies_and_nothing_else(tmp_path: Path) -> None:
    cases(tmp_path)
    run_redacted(tmp_path, "--redact")
    folder = tmp_path / "kept" / "deep" / "redacted"
    (folder / "mine.txt").write_text("a file of the user")
    assert len(list(folder.iterdir())) == 3
    done = run("purge", "--all", "--store", tmp_path / "kept/deep/runs.db", "--yes")
    assert done.returncode == 0, done.stderr
    assert "1 redacted copy" in done.stdout
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_27_11_the_copies_are_deleted_with_the_last_run(tmp_path: Path) -> None:
    cases(tmp_path)
    run_redacted(tmp_path, "--redact")
    assert run("purge", 1, "--store", tmp_path / "kept/deep/runs.db", "--yes").returncode == 0
    assert not (tmp_path / "kept" / "deep" / "redacted").exists()


def test_27_11_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    cases(tmp_path)
    data = {"calls": "cases.jsonl", **SCENARIOS}
    run_redacted(tmp_path, "--redact", data=data)
    for path in (tmp_path / "kept").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


def test_27_11_a_report_can_be_made_after_a_redacted_run(tmp_path: Path) -> None:
    cases(tmp_path, said=f"I am Priya. {SAID}")
    (tmp_path / "names.txt").write_text("Priya\n")
    run_redacted(tmp_path, "--redact", "--names", tmp_path / "names.txt")
    store = tmp_path / "kept/deep/runs.db"
    for target in ("1", tmp_path / "eval.yaml"):
        page = tmp_path / "page.html"
        done = run("report", target, "--store", store, "-o", page)
        assert done.returncode == 0, done.stderr
        assert "[PHONE_1]" in page.read_text() and "Priya" not in page.read_text()
    assert b"Priya" not in store.read_bytes()


def test_27_11_what_a_killed_run_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    cases(tmp_path, 3, said="Zanzibarine")
    answered: list[Request] = []

    def answer_then_wait(request: Request) -> Behaviour:
        answered.append(request)
        if len(answered) > 2:
            return Hang()
        return Answer(chat_completion(json.dumps({**form(question()), "note": "Zanzibarine"})))

    store = tmp_path / "kept" / "runs.db"
    with serving(answer_then_wait) as stub:
        model = remote_model(stub.url, limits={"concurrency": 1})
        path = eval_file(tmp_path, [model], store="kept/runs.db")
        child = start("run", path, "--no-preflight", "--no-store-text")
        wait_for(lambda: len(stub.requests), 3)
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert b"Zanzibarine" in everything_below(tmp_path / "kept")
    with serving(leaking_answer) as stub:
        eval_file(tmp_path, [remote_model(stub.url)], store="kept/runs.db")
        done = run_in_new_process("run", path, "--no-preflight", "--no-store-text")
        assert done.returncode == 0, done.stderr
    assert b"Zanzibarine" not in everything_below(tmp_path / "kept")
    assert run("runs", "--store", store).stdout.count("trial") == 0


def test_27_11_a_run_that_stays_is_not_cleared(tmp_path: Path) -> None:
    cases(tmp_path)
    run_redacted(tmp_path)
    run_redacted(tmp_path, "--no-store-text")
    shown = run("runs", "--store", tmp_path / "kept/deep/runs.db").stdout
    assert shown.count("trial") == 1
