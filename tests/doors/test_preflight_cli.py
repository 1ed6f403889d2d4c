"""The small request before a run: what it sends to a local server, and what it waits for."""

from __future__ import annotations

from pathlib import Path

from commands import run
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import Answer, Behaviour, Request, chat_completion, serving

LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}


class LoadingServer:
    """Refuses the first requests, as a server does that loads its model."""

    def __init__(self, refusals: int) -> None:
        self.left = refusals

    def __call__(self, request: Request) -> Behaviour:
        if self.left:
            self.left -= 1
            return Answer(LOADING, status=503)
        return Answer(chat_completion(right_answer(request)))


def test_it_waits_while_a_server_loads_its_model(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    with serving(LoadingServer(refusals=5)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        done = run("run", path, env={"STUB_KEY": "k" * 12})
    assert done.returncode == 0, done.stderr
    assert "testing m: loads its model" in done.stderr


def test_it_gives_up_when_loading_takes_longer_than_a_request_may(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    with serving(LoadingServer(refusals=1_000)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], attempts={"timeout_s": 1})
        done = run("run", path, env={"STUB_KEY": "k" * 12})
    assert done.returncode == 2
    assert "answered 503: Loading model" in done.stderr


def test_a_local_server_is_asked_for_a_short_reply(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    with serving(LoadingServer(refusals=0)) as stub:
        done = run("run", eval_file(tmp_path, [remote_model(stub.url)]), env={"STUB_KEY": "k" * 12})
    assert done.returncode == 0, done.stderr
    preflight, case = (request.json for request in stub.requests)
    assert preflight["max_tokens"] == 64
    assert "max_tokens" not in case
