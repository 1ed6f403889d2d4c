"""`callscore run --race` through the door: decided early, resumed to the byte, completed later."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from builders import Json, entity_case, form, qa_case, question
from command_server import NEVER_S
from commands import CompletedCommand, line_of, run, start, wait_for
from eval_files import eval_file, read_json, read_lines, remote_model
from judging_stub import answer_as_judge, judge_entry
from stub_servers import Answer, Behaviour, Gate, Request, chat_completion, openai_error, serving

CALLS = 120


def entity_calls(folder: Path, number: int = CALLS) -> None:
    """Calls with four of eight entities: neither the whole list nor what is said gives them"""
    words, others = ["refund", "account", "card", "loan"], ["fee", "visa", "branch", "pension"]
    said = "no fee, no visa; refund my account, card"
    cases = [
        entity_case(words, (), [*words, *others], f"c{n}", transcript=f"Customer {n}: {said}")
        for n in range(number)
    ]
    write(folder, cases)


def write(folder: Path, cases: list[Json]) -> None:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    (folder / "cases.jsonl").write_text(text, encoding="utf-8")


def simulated(name: str, wrong: float, **params: Any) -> Json:
    own = {"seed": len(name), "missing_labels": wrong, "wrong_scores": wrong, **params}
    price = {"input": 1.0, "output": 2.0}
    return {"name": name, "provider": "simulated", "params": own, "price": price}


def three(folder: Path, **more: Any) -> Path:
    entity_calls(folder)
    models = [simulated("good", 0.02), simulated("middle", 0.3), simulated("weak", 0.7)]
    return eval_file(folder, models, **more)


def raced(path: Path, *options: object) -> tuple[CompletedCommand, Json]:
    card = path.parent / "race.json"
    done = run("run", path, "--race", "--json", card, *options)
    assert done.returncode == 0, done.stderr
    return done, read_json(card)["race"]


def test_a_race_decides_early_and_says_what_was_saved_and_guaranteed(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done, race = raced(three(tmp_path), "--log", log)
    assert (race["status"], race["decision"], race["tie_band"]) == ("decided", "good", [])
    assert race["requests"] < race["of_requests"] == 3 * CALLS
    assert race["saved_requests"] == pytest.approx(1 - race["requests"] / (3 * CALLS))
    by_name = {model["model"]: model for model in race["models"]}
    assert by_name["weak"]["out"]["by"] in ("good", "middle")
    assert by_name["weak"]["requests"] <= by_name["middle"]["requests"]
    assert by_name["good"]["out"] is None
    paid = sum(model["paid_usd"] for model in race["models"])
    saved = sum(model["saved_usd"] for model in race["models"])
    assert race["saved_cost"] == pytest.approx(saved / (paid + saved))
    share = f"{100 * race['saved_cost']:.0f} % of the cost saved"
    decided = f"decided after {race['requests']} of 360 requests, {share}"
    assert decided in done.stdout
    assert "the guarantee is about this data set (pool)" in done.stdout
    assert "weak is out after" in done.stderr
    assert re.search(r"still in the race: good.*requests sent, \d+ saved so far", done.stderr)
    rounds = [line for line in read_lines(log) if line["event"] == "race_round"]
    assert rounds[-1]["racing"] == ["good"]


def test_a_stored_race_is_scored_again_and_reported_with_the_result_it_recorded(
    tmp_path: Path,
) -> None:
    path = three(tmp_path)
    _, race = raced(path)
    again, reported = tmp_path / "again.json", tmp_path / "reported.json"
    done = run("run", path, "--rescore", "1", "--json", again)
    assert done.returncode == 0, done.stderr
    assert read_json(again)["race"] == race
    assert "scoring again does not decide it again" in done.stdout
    done = run("report", path, "--format", "json", "--output", reported)
    assert done.returncode == 0, done.stderr
    assert read_json(reported) == read_json(again)
    done = run("report", path, "--format", "md")
    assert "- **Recommended** good (simulated)" in done.stdout


def test_a_finished_race_is_completed_without_paying_twice(tmp_path: Path) -> None:
    path = three(tmp_path)
    _, race = raced(path)
    full = tmp_path / "full.json"
    done = run("run", path, "--json", full)
    attempts = [int(n) for n in re.findall(r"120/120 +\d+ +0 +0 +(\d+) ", done.stderr)]
    assert sum(attempts) == 3 * CALLS - race["requests"]
    fresh = tmp_path / "fresh.json"
    run("run", path, "--json", fresh, "--store", tmp_path / "fresh.db")
    assert full.read_bytes() == fresh.read_bytes()
    assert "race" not in read_json(full)


def test_about_future_calls_the_card_says_so(tmp_path: Path) -> None:
    path = three(tmp_path, race={"about": "future", "alpha": 0.1, "seed": 3})
    done, race = raced(path)
    assert (race["about"], race["alpha"], race["seed"]) == ("future", 0.1, 3)
    assert race["decision"] == "good"
    assert "future calls (future)" in done.stdout
    assert "a probability of at most 10 %" in done.stdout


def test_equal_models_are_a_tie_and_an_estimate_is_called_one(tmp_path: Path) -> None:
    entity_calls(tmp_path)
    models = [simulated("one", 0.0), simulated("other", 0.0)]
    done, race = raced(eval_file(tmp_path, models))
    assert (race["status"], race["tie_band"]) == ("tie", ["one", "other"])
    assert race["estimate"]
    assert "one and other cannot be distinguished" in done.stdout
    assert "(an estimate)" in done.stdout


def test_an_invalid_model_is_out_at_once_and_finished_only_on_request(tmp_path: Path) -> None:
    entity_calls(tmp_path)
    models = [simulated("good", 0.02), simulated("broken", 0.0, broken_json=0.5)]
    path = eval_file(tmp_path, models)
    done, race = raced(path)
    broken = next(model for model in race["models"] if model["model"] == "broken")
    assert broken["out"] == {"why": "call_gate", "after_blocks": 10, "gate": "entity.structure"}
    assert broken["requests"] == 10
    assert "broken is out after 10 blocks: invalid for certain, entity.structure" in done.stderr
    _, finished = raced(path, "--finish-invalid", "--store", tmp_path / "finished.db")
    asked = {model["model"]: model["requests"] for model in finished["models"]}
    assert asked == {"broken": CALLS, "good": CALLS}
    rows = {model["model"]: model for model in finished["models"]}
    assert (rows["good"]["finished"], rows["broken"]["finished"]) == (True, False)


def test_stats47_what_is_clearly_worse_depends_on_the_margin_of_the_decision(
    tmp_path: Path,
) -> None:
    """The width of a tie is `race.margin`, whatever `decide.margin` is"""
    found = {}
    for margin in (0.0, 0.5):
        path = three(tmp_path, decide={"margin": margin})
        _, race = raced(path, "--store", tmp_path / f"{margin}.db")
        assert (race["margin"], race["clear_margin"], race["decision"]) == (0.01, margin, "good")
        found[margin] = {model["model"] for model in race["models"] if model["clearly_worse"]}
    assert found == {0.0: {"middle", "weak"}, 0.5: set()}


def test_stats47_a_budget_that_ends_before_the_winner_is_finished_leaves_a_risk(
    tmp_path: Path,
) -> None:
    path = three(tmp_path)
    _, whole = raced(path, "--store", tmp_path / "whole.db")
    assert whole["risk"] is None
    paid = sum(model["paid_usd"] for model in whole["models"])
    done, race = raced(path, "--budget", 0.8 * paid)
    winner = next(model for model in race["models"] if model["model"] == "good")
    assert (race["status"], race["decision"]) == ("decided", "good")
    assert race["stopped"] == "the budget is spent"
    read = winner["blocks"]
    assert 10 <= read < CALLS
    assert race["risk"] == {
        "open_calls": CALLS - read,
        "breach_share": pytest.approx(1 - 0.05 ** (1 / read)),
        "tolerated": 0,
        "open_gates": ["entity.config_adherence"],
    }
    assert "good is best so far: its other calls follow" in done.stderr


@pytest.mark.parametrize(
    ("race", "told"),
    [
        ({"alpha": 2}, "race.alpha: 2.0; expected a number from 1e-06 to 0.5"),
        ({"margin": -1}, "race.margin: -1.0; expected a number from 0 to 0.5"),
        ({"about": "past"}, "race.about: 'past'; expected pool or future"),
        ({"alhpa": 0.1}, "alhpa"),
        ({"finish_invalid": "perhaps"}, "race.finish_invalid"),
    ],
)
def test_bad_keys_are_refused_before_anything_is_asked(
    tmp_path: Path, race: Json, told: str
) -> None:
    done = run("run", three(tmp_path, race=race), "--race")
    assert done.returncode == 2
    assert told in done.stderr
    assert not (tmp_path / ".callscore").exists()


def test_what_cannot_be_raced_is_refused(tmp_path: Path) -> None:
    entity_calls(tmp_path)
    alone = run("run", eval_file(tmp_path, [simulated("only", 0.0)]), "--race")
    assert (alone.returncode, "at least two models" in alone.stderr) == (2, True)
    rescored = run("run", three(tmp_path), "--race", "--rescore", "1")
    assert (rescored.returncode, "without --race" in rescored.stderr) == (2, True)
    assert "at most these requests" in run("run", three(tmp_path), "--race", "--dry-run").stdout
    no_race = run("run", three(tmp_path), "--finish-invalid")
    assert (no_race.returncode, "--finish-invalid needs --race" in no_race.stderr) == (2, True)


def said(number: int) -> str:
    return f"Good morning, this is Marcus, how may I help you with matter {number}"


def answering(request: Request) -> Behaviour:
    """One model answers as the human did, one marks wrongly, and a judge reads the reasons."""
    model = request.json["model"]
    if model == "judge-1":
        return answer_as_judge(request)
    matter = re.search(r"matter (\d+)", request.body.decode())
    reason = f"Marcus opens with {said(int(matter[1]))}" if matter else ""
    score = 5 if model == "stub-good" else 0
    answer = json.dumps(form(question(score=score, reason=reason)))
    return Answer(chat_completion(answer))


def judged_race(folder: Path, url: str, **more: Any) -> Path:
    cases = [
        qa_case(
            [question(reason="Marcus greets")],
            f"c{number}",
            transcript=[{"id": 1, "speaker": "agent", "text": said(number)}],
        )
        for number in range(60)
    ]
    write(folder, cases)
    models = [remote_model(url, "good", limits={"concurrency": 4}), remote_model(url, "poor")]
    return eval_file(folder, models, judge=judge_entry(url), embedder="none", **more)


def test_a_race_killed_twice_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    """With a judge and repeats; what was paid for is never asked again"""
    files = [tmp_path / name for name in ("whole.json", "whole.jsonl", "again.json", "again.jsonl")]
    gate = Gate(answering)
    with serving(gate) as stub:
        path = judged_race(tmp_path, stub.url, repeats=2)
        stores = tmp_path / "whole.db", tmp_path / "killed.db"
        words = ("run", path, "--race", "--no-preflight")
        whole = run(*words, "--store", stores[0], "--json", files[0], "--results", files[1])
        assert whole.returncode == 0, whole.stderr
        paid = len(stub.requests)
        for enough in (15, 15):
            gate.hold(enough)
            before = len(stub.requests)
            process = start(*words, "--store", stores[1], "--resume")
            wait_for(lambda: len(stub.requests), before + enough + 1)
            process.kill()
            process.communicate()
        gate.open()
        again = ("--store", stores[1], "--resume", "--json", files[2], "--results", files[3])
        done = run(*words, *again)
        assert done.returncode == 0, done.stderr
        in_flight = 2 * (4 + 8 + 16)
        assert len(stub.requests) - 2 * paid <= in_flight
    assert files[0].read_bytes() == files[2].read_bytes()
    assert files[1].read_bytes() == files[3].read_bytes()
    assert read_json(files[0])["race"]["decision"] == "good"


def test_a_race_without_scores_ends_after_its_first_round(tmp_path: Path) -> None:
    """Nobody judges the reasons: nothing could ever be decided, so nothing more is spent"""
    with serving(answering) as stub:
        judged_race(tmp_path, stub.url)
        models = [remote_model(stub.url, "good"), remote_model(stub.url, "poor")]
        done = run("run", eval_file(tmp_path, models), "--race", "--no-preflight")
        assert len(stub.requests) == 20
    assert done.returncode == 2
    assert "no reply of qa has a score" in done.stderr
    assert "20/120" in run("runs", tmp_path / "eval.yaml").stdout


def test_ctrl_c_in_a_race_keeps_everything_and_names_the_command(tmp_path: Path) -> None:
    gate = Gate(answering)
    gate.hold(11)
    with serving(gate) as stub:
        path = judged_race(tmp_path, stub.url)
        process = start("run", path, "--race", "--no-preflight")
        wait_for(lambda: len(stub.requests), 12)
        process.send_signal(signal.SIGINT)
        assert line_of(process, "stopping")
        gate.open()
        _, err = process.communicate(timeout=NEVER_S)
        assert process.returncode == 130
        assert "--resume --race" in err


def test_a_model_that_refuses_every_call_decides_nothing(tmp_path: Path) -> None:
    """Nobody was compared with the one that is left, so it has not won"""

    def respond(request: Request) -> Behaviour:
        if request.json["model"] == "stub-poor":
            return Answer(openai_error("no such key", "invalid_api_key"), 401)
        return answering(request)

    with serving(respond) as stub:
        done, race = raced(judged_race(tmp_path, stub.url), "--no-preflight")
    assert (race["status"], race["decision"], race["tie_band"]) == ("open", None, ["good"])
    assert "poor is out after 0 blocks: it cannot be asked any more" in done.stderr


def test_a_budget_ends_a_race_undecided(tmp_path: Path) -> None:
    path = three(tmp_path)
    _, race = raced(path, "--budget", "0.002")
    assert (race["status"], race["stopped"]) == ("open", "the budget is spent")
    assert race["decision"] is None
    assert len(race["tie_band"]) == 3
