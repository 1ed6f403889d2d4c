"""A local server that answers one request at a time, through the door."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from commands import run
from eval_files import cases_file, eval_file, read_lines, remote_model, right_answer
from stub_servers import Answer, Behaviour, Request, WaitUntil, chat_completion, serving

CASES = 18
CONCURRENCY = 16
"""The default."""
ANSWER_S = 0.05
TIMEOUT_S = 6
"""So long that 16 answers would not come within the tenth of it that counts as soon."""


class OneAtATime:
    """Requests wait in line; each takes its time, whether or not anybody still waits for it."""

    def __init__(self, answer_s: float) -> None:
        self.asked: Counter[bytes] = Counter()
        self.longest_line = 0.0
        """The most answers that a request had to wait for."""
        self._answer_s = answer_s
        self._free_at = 0.0

    def __call__(self, request: Request) -> Behaviour:
        self.asked[request.body] += 1
        now = time.monotonic()
        ready = self._free_at = max(self._free_at, now) + self._answer_s
        self.longest_line = max(self.longest_line, (ready - now) / self._answer_s)
        answer = Answer(chat_completion(right_answer(request)))
        return WaitUntil(answer, lambda: time.monotonic() >= ready)


def test_r09_every_case_is_answered_and_none_is_asked_twice(tmp_path: Path) -> None:
    """At the default concurrency of 16 the last of a volley would wait for 16 answers."""
    cases_file(tmp_path, CASES)
    server = OneAtATime(ANSWER_S)
    with serving(server) as stub:
        model = {**remote_model(stub.url), "limits": {}}
        attempts = {"timeout_s": TIMEOUT_S, "most": 1}
        path = eval_file(tmp_path, [model], attempts=attempts)
        results = tmp_path / "results.jsonl"
        done = run("run", path, "--results", results, env={"STUB_KEY": "k" * 12})
    assert done.returncode == 0, done.stderr
    assert [line["status"] for line in read_lines(results)] == ["valid"] * CASES
    assert set(server.asked.values()) == {1}
    assert len(server.asked) == CASES + 1  # and the preflight
    assert server.longest_line < CONCURRENCY - 1
