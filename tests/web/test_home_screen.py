"""Runs: the way of the leader's Final over runs, and how a running run and its race stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import commands
from callscore.report.svg.sparkline import draw_sparkline
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import Answer, Gate, Request, chat_completion, openai_error, serving
from web_server import Served, serve


def test_a_sparkline_is_said_in_words_and_ends_in_a_dot() -> None:
    drawn = draw_sparkline([0.5, 0.9, 0.7], "Final of 3 runs", "run 1 0.5, run 2 0.9, run 3 0.7")
    assert 'role="img" aria-label="Final of 3 runs. run 1 0.5, run 2 0.9, run 3 0.7"' in drawn
    assert 'points="4,18 48,4 92,11"' in drawn
    assert '<circle cx="92" cy="11"' in drawn
    assert 'points="4,11 92,11"' in draw_sparkline([0.5, 0.5], "", "")


def rows(served: Served) -> list[str]:
    """The rows of the list, newest first."""
    return served.ask("/").text.partition("<tbody>")[2].split("</tr>")[:-1]


def test_runs_of_one_eval_file_draw_the_final_of_their_leader(tmp_path: Path) -> None:
    cases_file(tmp_path, 20)
    for wrong in (0.02, 0.01, 0.0):
        params = {"seed": 3, "wrong_scores": wrong}
        path = eval_file(tmp_path, [{"name": "m", "provider": "simulated", "params": params}])
        done = commands.run("run", path, "--store", tmp_path / "runs.db")
        assert done.returncode == 0, done.stderr
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps({**json.loads(path.read_text()), "name": "another"}))
    assert commands.run("run", other, "--store", tmp_path / "runs.db").returncode == 0
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        another, third, second, first = rows(served)
    assert "polyline" not in another + first
    assert 'data-label="Cost">unknown</td>' in third, "the model has no price"
    assert re.search(r"in 2 runs of trial. run 1 \d.\d+ \(m\), run 2 \d.\d+ \(m\)\"", second)
    assert re.search(r"in 3 runs of trial. run 1 .+, run 2 .+, run 3 \d.\d+ \(m\)\"", third)


def test_a_running_race_says_who_is_in_it_and_why_requests_fail(tmp_path: Path) -> None:
    def answer(request: Request) -> Answer:
        if request.json["model"] == "stub-broken":
            return Answer(openai_error("the deployment is gone"), status=404)
        return Answer(chat_completion(right_answer(request)))

    gate = Gate(answer, 60)
    with serving(gate) as stub:
        cases_file(tmp_path, 100)
        models = [remote_model(stub.url, name) for name in ("broken", "other", "third")]
        path, store = eval_file(tmp_path, models), tmp_path / "runs.db"
        run = commands.start("run", path, "--store", store, "--race", "--no-preflight")
        commands.wait_for(lambda: len(stub.requests), 61)
        with serve(store) as served:
            served.enter()
            commands.wait_for(lambda: served.ask("/").text.count("deployment is gone"), 1)
            listed = served.ask("/").text
            assert "not decided after" in listed
            assert "still in the race: " in listed
            assert "deployment is gone" in listed
            gate.open()
            run.communicate()
            ended = served.ask("/").text
    assert "race" in ended
    assert "still in the race" not in ended
    assert "deployment is gone" not in ended


def test_a_run_in_which_no_model_has_a_final_has_no_leader_and_no_cost_of_zero(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 3)
    path = eval_file(
        tmp_path, [{"name": "m", "provider": "simulated", "params": {"broken_json": 1.0}}]
    )
    done = commands.run("run", path, "--store", tmp_path / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        (row,) = rows(served)
    assert '<td data-label="Leader"><span class="quiet">—</span></td>' in row
    assert '<td data-label="Cost">unknown</td>' in row
