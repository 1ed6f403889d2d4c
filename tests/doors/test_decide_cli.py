"""Plan, baseline and gates through the command line: what CI sees."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from builders import Json, qa_case, question
from commands import CompletedCommand, run
from eval_files import eval_file, read_json

CALLS = 30


def simulated(name: str, wrong: float, **more: object) -> Json:
    params = {"seed": 5, "wrong_scores": wrong}
    return {"name": name, "provider": "simulated", "params": params, **more}


def folder_of(path: Path, wrong: float, *gates: Json) -> Path:
    """Two models on thirty calls, and the gates of the eval file."""
    asked = [question(f"Q{n}", 5, kind="SCORE") for n in range(4)]
    lines = [json.dumps(qa_case(asked, f"c{n}")) for n in range(CALLS)]
    (path / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    models = [simulated("old", 0.1, price={"input": 1, "output": 2}), simulated("new", wrong)]
    more = {"weights": {"qa": 1}, "judge": "offline", "embedder": "none"}
    return eval_file(path, models, gates=list(gates), **more)


def ran(path: Path, *options: str, env: dict[str, str] | None = None) -> CompletedCommand:
    return run("run", path, *options, cwd=path.parent, env=env)


def test_a_pilot_gives_a_plan_with_calls_and_cost(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.2)
    assert ran(path).returncode == 0
    done = run("plan", path, "--difference", "0.01", "--json", "plan.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NONE PASSES      old (simulated) and new (simulated): ")
    assert "\nCalls needed, from run 1 of eval.yaml, 30 calls (power 80%)" in done.stdout
    plan = read_json(tmp_path / "plan.json")
    by_purpose = {line["purpose"]: line for line in plan["lines"]}
    assert by_purpose["difference"]["calls"] > CALLS
    assert by_purpose["difference"]["cost_usd"] is None  # the price of one is unknown
    widths = {line["models"][0]: line for line in plan["lines"] if line["purpose"] == "width"}
    assert widths["old"]["cost_usd"] > 0
    assert any("price" in note for note in plan["notes"])


@pytest.mark.parametrize("wrong", [0.0, 0.12, 0.6])
def test_stats_2_card_and_comparison_agree_on_the_same_calls(wrong: float, tmp_path: Path) -> None:
    path = folder_of(tmp_path, wrong)
    assert ran(path, "--json", "card.json").returncode == 0
    pair = next(p for p in read_json(tmp_path / "card.json")["contrasts"] if p["of"] == "final")
    names = [f"{path.name}:{pair[side]}" for side in ("first", "second")]
    done = run("compare", *names, "--json", "comparison.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    compared = read_json(tmp_path / "comparison.json")
    final = next(row for row in compared["rows"] if row["kind"] == "final")
    for field in ("difference", "ci95", "significant", "calls", "calls_needed", "deviation"):
        assert final[field] == pair[field], field
    assert compared["distinguishable"] == pair["significant"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "expected a pilot run, or assumptions"),
        (("--limit", "2"), "2.0 is not in the range"),
        (("missing.json",), "missing.json"),
    ],
)
def test_a_plan_without_a_basis_is_refused(
    options: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    done = run("plan", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


REGRESSION = {"of": "final", "no_regression": {"margin": 0.02}, "model": "new"}


def test_a_blessed_run_blocks_what_falls_below_it(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.5, {**REGRESSION, "no_regression": {"margin": 0.02}})
    first = ran(path)
    assert first.returncode == 3
    assert "has no baseline yet: `callscore baseline set` writes" in first.stderr
    blessed = run("baseline", "set", path, "--model", "old", cwd=tmp_path)
    assert blessed.returncode == 0, blessed.stderr
    text = (tmp_path / "callscore-baseline.json").read_text(encoding="utf-8")
    assert "c29" not in text  # no id of a call
    missed = ran(path, "--junit", "junit.xml")
    assert missed.returncode == 1
    assert "new: final (no regression) is " in missed.stderr
    failure = ElementTree.parse(tmp_path / "junit.xml").find(".//failure")
    assert failure is not None
    assert "may lose 0.02" in str(failure.get("message"))


def test_stats_2_a_model_that_is_surely_no_worse_passes_and_too_few_calls_decide_nothing(
    tmp_path: Path,
) -> None:
    path = folder_of(tmp_path, 0.0, {**REGRESSION, "no_regression": {"margin": 0.1}, "sure": True})
    ran(path)
    assert run("baseline", "set", path, "--model", "old", cwd=tmp_path).returncode == 0
    done = ran(path)
    assert done.returncode == 0, done.stderr
    narrow = folder_of(tmp_path, 0.0, {**REGRESSION, "sure": True})
    done = ran(narrow)
    assert done.returncode == 3
    assert "on 30 common calls it surely loses no more than 0.0" in done.stderr
    assert "calls like these 30 would show it" in done.stderr


def test_a_baseline_of_other_settings_decides_nothing(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.0, REGRESSION)
    ran(path)
    run("baseline", "set", path, cwd=tmp_path)
    file = tmp_path / "callscore-baseline.json"
    file.write_text(file.read_text(encoding="utf-8").replace("settings:default", "settings:x=1"))
    done = ran(path)
    assert done.returncode == 3
    assert "cannot be compared with the baseline" in done.stderr


@pytest.mark.parametrize("text", ["{", '{"callscore_baseline": 9}', "[1]"])
def test_a_broken_baseline_is_a_config_error(text: str, tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.0, REGRESSION)
    (tmp_path / "callscore-baseline.json").write_text(text, encoding="utf-8")
    done = ran(path)
    assert done.returncode == 2
    assert "callscore-baseline.json" in done.stderr
    assert not done.stdout  # before anything was asked


def test_missed_gates_annotate_the_job_and_its_summary(tmp_path: Path) -> None:
    gate = {"of": "final", "at_least": 0.99, "model": "old"}
    path = folder_of(tmp_path, 0.0, gate, {"of": "blockers", "at_most": 9})
    summary = tmp_path / "summary.md"
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = ran(path, env=env)
    assert done.returncode == 1
    assert "::error title=Callscore gate failed::old: final is 0." in done.stderr
    assert "1 missed of 3 gates" in summary.read_text(encoding="utf-8")
    outside = ran(path)
    assert "::error" not in outside.stderr


def planned(path: Path, *options: str) -> dict[str, Json]:
    """The lines of a plan by purpose."""
    done = run("plan", path, *options, "--json", "plan.json", cwd=path.parent)
    assert done.returncode == 0, done.stderr
    return {line["purpose"]: line for line in read_json(path.parent / "plan.json")["lines"]}


def test_stats3_a_pilot_whose_difference_may_be_nothing_promises_no_number(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.12)
    ran(path)
    lines = planned(path)
    assert lines["observed_difference"]["calls"] is None
    why = "no number of calls is promised: the models may be equal"
    assert lines["observed_difference"]["why"] == why
    assert lines["difference"]["calls"] > CALLS


def test_stats3_a_plan_for_more_models_takes_more_calls(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.5)
    ran(path)
    two, five = planned(path), planned(path, "--models", "5")
    assert five["difference"]["calls"] > 1.5 * two["difference"]["calls"]
    assert five["width"]["calls"] == two["width"]["calls"]
    assert two["difference"]["shown"] and two["observed_difference"]["calls"] <= CALLS


def test_stats3_models_that_differ_in_a_few_calls_are_not_planned_for(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.6)
    ran(path, "--limit", "5")
    lines = planned(path)
    says = "they differ in 5 calls, and no test can show anything below six"
    assert [lines[of]["why"] for of in ("difference", "observed_difference")] == [says, says]
    done = run("compare", f"{path.name}:old", f"{path.name}:new", cwd=tmp_path)
    assert says in " ".join(done.stdout.split())


def test_c138_compare_refuses_an_unknown_key_of_the_decision(tmp_path: Path) -> None:
    path = folder_of(tmp_path, 0.2)
    ran(path)
    names = (f"{path.name}:old", f"{path.name}:new")
    done = run("compare", *names, "--decide", "margins=1", cwd=tmp_path)
    assert (done.returncode, "did you mean margin?" in done.stderr) == (2, True)
    assert run("compare", *names, "--decide", "by=quality", cwd=tmp_path).returncode == 0
