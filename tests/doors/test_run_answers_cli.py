"""`callscore run`: whose answers count, who gave them, and what all of it cost."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from eval_files import cases_file, eval_file, remote, right_answer, run, start
from stub_servers import FaultyChat, Request, serving


def test_two_runs_that_pay_for_the_same_request_score_the_answer_that_was_kept(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 60)
    number = count()

    def answer(request: Request) -> str:
        return right_answer(request) if next(number) % 2 else "I would rather not say."

    names, store = ("one", "two"), tmp_path / "runs.db"
    with serving(FaultyChat(answer, delay_s=0.02)) as stub:
        paths = []
        for name in names:
            (tmp_path / name).mkdir()
            cases_file(tmp_path / name, 60)
            paths.append(eval_file(tmp_path / name, [remote(stub.url)], name=name))
        processes = [
            start("run", path, "--store", store, "--results", tmp_path / f"{name}.jsonl")
            for name, path in zip(names, paths, strict=True)
        ]
        said = [process.communicate(timeout=60)[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
        assert len(stub.requests) > 62, "some requests were paid for by both"
    for number_of_run in ("1", "2"):
        path = next(
            p for p, told in zip(paths, said, strict=True) if f"run {number_of_run}:" in told
        )
        again = tmp_path / "again.jsonl"
        done = run("run", path, "--store", store, "--rescore", number_of_run, "--results", again)
        assert done.returncode == 0, done.stderr
        assert again.read_bytes() == (tmp_path / f"{path.parent.name}.jsonl").read_bytes()
