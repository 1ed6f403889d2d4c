"""`callscore run` over scenarios: protocols, both readings, exported files, trajectories."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from callscore.suites.orchestration.call.questions import METRIC, OFFERED
from callscore.suites.orchestration.scenario.protocol import bundled_protocol
from commands import run
from eval_files import cases_file, eval_file, read_json, read_lines, remote_model
from real_model_faults import PLAN_AGAIN
from scenario_runs import PERFECT, SAMPLES, SCENARIOS, STEPS, call_first_tool, scenario_data
from stub_servers import Answer, Behaviour, Request, chat, chat_completion, serving

CARDS = str(SAMPLES / "orchestration" / "cards" / "EN")
HASTY = {
    "name": "lab/hasty",
    "provider": "simulated",
    "params": {"seed": 5, "wrong_scores": 0.3, "missing_labels": 0.2, "fabricated_facts": 0.2},
}


def told(*words: object) -> str:
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*words: object) -> str:
    done = run(*words)
    assert done.returncode == 2, done.stdout
    return done.stderr


def test_c_133_the_public_protocol_asks_three_times_at_its_temperature(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=scenario_data(protocol="public"))
        told("run", path, "--no-preflight", "--json", tmp_path / "r.json")
        asked = [request.json for request in stub.requests]
    assert len(asked) == 3 * STEPS
    assert {request["temperature"] for request in asked} == {0.2}
    extension = read_json(tmp_path / "r.json")["x_extension"]
    assert "|protocol:public|" in extension["signature"]
    assert "|repeats:3|" in extension["signature"]
    assert not any("public protocol" in warning for warning in extension["warnings"])


def test_what_departs_from_the_public_protocol_is_said(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        models = [remote_model(stub.url, params={"temperature": 0.9}), remote_model(stub.url, "n")]
        path = eval_file(tmp_path, models, data=scenario_data(protocol="public"), repeats=1)
        shown = told("run", path, "--no-preflight", "--json", tmp_path / "r.json")
        assert {request.json["temperature"] for request in stub.requests} == {0.9, 0.2}
    warnings = {
        model: [w for w in document["x_extension"]["warnings"] if "public protocol" in w]
        for model, document in read_json(tmp_path / "r.json")["orchestration"].items()
    }
    repeats = "repeats: 1, where the public protocol has 3"
    temperature = "m: temperature 0.9, where the public protocol has 0.2"
    assert warnings == {"m": [repeats, temperature], "n": [repeats]}
    assert temperature in shown


def test_a_model_without_temperatures_is_asked_as_the_public_runner_asks_it(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        model = {**remote_model(stub.url), "model": "gpt-5-mini"}
        path = eval_file(tmp_path, [model], data=scenario_data(protocol="public"), repeats=1)
        told("run", path, "--no-preflight")
        asked = stub.requests[0].json
    assert "temperature" not in asked
    assert asked["reasoning_effort"] == "medium"


def test_the_default_protocol_leaves_parameters_alone_and_is_signed(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS)
        told("run", path, "--no-preflight", "--json", tmp_path / "r.json")
        assert all("temperature" not in request.json for request in stub.requests)
        assert len(stub.requests) == STEPS
    signature = read_json(tmp_path / "r.json")["x_extension"]["signature"]
    assert f"|protocol:{bundled_protocol('callscore').signature}|" in signature


def test_prompts_of_the_public_runner_can_be_sent_to_the_letter(tmp_path: Path) -> None:
    config = {"prompts": {"general": {"prompt": "PLAN IT"}, "select_tools": {"prompt": "DO IT"}}}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    with serving(call_first_tool) as stub:
        data = scenario_data(protocol="public", prompts="config.yaml")
        path = eval_file(tmp_path, [remote_model(stub.url)], data=data, repeats=1)
        told("run", path, "--no-preflight")
        systems = [request.json["messages"][0]["content"] for request in stub.requests]
    assert all(system == "PLAN IT" or system.endswith("\n\nDO IT") for system in systems)
    (tmp_path / "config.yaml").write_text("prompts: {}")
    assert "prompts.general.prompt" in refused("run", path, "--no-preflight")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"protocol": "private"}, "data.orchestration.protocol: 'private'; expected callscore or"),
        ({"mode": "lenient"}, "data.orchestration.mode: 'lenient'; expected standard or compat"),
        ({"history": "none"}, "data.orchestration.history: 'none'; expected gold or own"),
        ({"prompts": "eval.yaml"}, "needs `protocol: public`"),
        ({"protocol": "public", "prompts": "nowhere.yaml"}, "no such file"),
    ],
)
def test_settings_that_are_none_are_refused(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    path = eval_file(tmp_path, [PERFECT], data=scenario_data(**settings))
    assert words in refused("run", path)


def test_the_public_protocol_is_refused_with_calls(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    data = {"calls": "cases.jsonl", **scenario_data(protocol="public")}
    assert "expected only scenarios" in refused("run", eval_file(tmp_path, [PERFECT], data=data))


def test_options_of_scenarios_are_refused_where_there_are_none(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    path = eval_file(tmp_path, [PERFECT])
    for option, value in (("--mode", "compat"), ("--export", "x"), ("--trajectories", "x.md")):
        assert f"{option} is for scenarios only" in refused("run", path, option, value)


def test_a_step_outside_its_scenario_is_refused(tmp_path: Path) -> None:
    case = {"id": "c", "task": "scenario", "transcript": "x", "config": {}, "expected_outcome": {}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    said = refused("run", eval_file(tmp_path, [PERFECT]))
    assert "cases.jsonl:1: case 'c': field task: is a step of a scenario; expected `data." in said


def test_compat_takes_no_labels(tmp_path: Path) -> None:
    label = {"case_id": "EN/1#4", "model": "p", "run": 1, "metric": METRIC, "item": "a"}
    (tmp_path / "labels.jsonl").write_text(json.dumps({**label, "verdict": OFFERED[0]}))
    path = eval_file(tmp_path, [PERFECT], data=scenario_data(mode="compat"))
    said = refused("run", path, "--labels", tmp_path / "labels.jsonl")
    assert "expected no labels" in said


def test_compat_takes_no_judge(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data=scenario_data(mode="compat"), judge="offline")
    assert "expected verdicts, not a judge" in refused("run", path)


@pytest.mark.parametrize("protocol", ["callscore", "public"])
@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_c_133_an_exported_run_scores_as_the_run_itself_in_either_reading(
    tmp_path: Path, protocol: str, mode: str
) -> None:
    data = scenario_data(protocol=protocol, mode=mode)
    path = eval_file(tmp_path, [HASTY], data=data, repeats=2)
    told("run", path, "--json", tmp_path / "run.json", "--export", tmp_path / "out")
    folder = tmp_path / "out" / "lab_hasty" / "EN"
    assert len(list(folder.glob("*_out.json"))) == 6
    told(
        *("orchestration", "score", folder, "--cards", CARDS, "--mode", mode),
        *("--json", tmp_path / "score.json"),
    )
    ran, scored = read_json(tmp_path / "run.json"), read_json(tmp_path / "score.json")
    assert ran["overall_statistics"] == scored["overall_statistics"]
    assert ran["x_extension"]["mode"] == mode
    assert 0.1 < ran["overall_statistics"]["key_metrics"]["Average"] < 0.99


def test_the_command_line_chooses_the_reading_of_a_stored_run(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [HASTY], data=SCENARIOS)
    told("run", path, "--results", tmp_path / "standard.jsonl")
    told(
        *("run", path, "--rescore", 1, "--mode", "compat", "--json", tmp_path / "compat.json"),
        *("--export", tmp_path / "out", "--results", tmp_path / "compat.jsonl"),
    )
    assert read_json(tmp_path / "compat.json")["x_extension"]["mode"] == "compat"
    assert (tmp_path / "out" / "lab_hasty" / "EN" / "1_out.json").is_file()
    flags = [line["flags"] for line in read_lines(tmp_path / "compat.jsonl")]
    assert len(flags) == STEPS
    assert all("standard_reading" in each for each in flags)
    flags = [line["flags"] for line in read_lines(tmp_path / "standard.jsonl")]
    assert not any("standard_reading" in each for each in flags)


def test_exported_files_have_the_public_form(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data=SCENARIOS, repeats=2)
    told("run", path, "--export", tmp_path / "out")
    output = read_json(tmp_path / "out" / "p" / "EN" / "1_out.json")
    assert list(output) == ["scenario_id", "generated_at", "history", "usage"]
    assert list(output["history"]) == ["run #1", "run #2"]
    recorded = output["history"]["run #1"]
    plan, called = recorded["main_agent_history"][0], recorded["sub_agent_history"][0]
    assert (plan["step_id"], plan["role"], plan["tool_calls"]) == (3, "assistant", [])
    assert (called["step_id"], called["agent_id"]) == ("4", "billing_agent")
    (call,) = called["tool_calls"]
    assert call["type"] == "function"
    assert json.loads(call["function"]["arguments"])
    assert (
        recorded["label"]["4-2"]["tool_call_id"] == recorded["label"]["4-1"]["tool_calls"][0]["id"]
    )
    assert output["usage"]["total_calls"] == 2 * (
        len(recorded["main_agent_history"]) + len(recorded["sub_agent_history"])
    )


def test_names_that_are_no_part_of_a_path_are_exported_safely_or_not_at_all(tmp_path: Path) -> None:
    for name in ("a b.yaml", "a_b.yaml"):
        text = (SAMPLES / "orchestration" / "scenarios" / "EN" / "1.yaml").read_bytes()
        (tmp_path / "EN").mkdir(exist_ok=True)
        (tmp_path / "EN" / name).write_bytes(text)
    data = scenario_data(scenarios="EN")
    path = eval_file(tmp_path, [{**PERFECT, "name": "../.."}], data=data)
    assert "two scenarios would be exported to" in refused("run", path, "--export", tmp_path / "x")
    told("run", path, "--limit", 1, "--export", tmp_path / "out")
    (file,) = (tmp_path / "out").rglob("*_out.json")
    assert file.relative_to(tmp_path / "out") == Path("_..", "EN", "a_b_out.json")
    twins = [{**PERFECT, "name": name} for name in ("a/b", "a_b")]
    path = eval_file(tmp_path, twins, data=data)
    assert "two models would be" in refused("run", path, "--export", tmp_path / "y")


def test_a_folder_with_something_in_it_is_not_exported_to(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data=SCENARIOS)
    assert "expected a new or an empty folder" in refused("run", path, "--export", tmp_path)


def test_a_scenario_that_lacks_an_answer_is_not_exported_and_named(tmp_path: Path) -> None:
    def failing(request: Request) -> Behaviour:
        if b"HT-20418" in request.body and "tools" in request.json:
            return Answer({"error": {"message": "gone"}}, 400)
        return call_first_tool(request)

    with serving(failing) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=scenario_data(mode="compat"))
        shown = told("run", path, "--export", tmp_path / "out", "--json", tmp_path / "r.json")
    document = read_json(tmp_path / "r.json")
    failed = document["x_extension"]["failed_evaluations"]
    exported = list((tmp_path / "out" / "m" / "EN").glob("*_out.json"))
    assert failed
    assert len(exported) == 6 - len(failed)
    assert "not exported: m EN/" in shown


def test_answers_to_one_protocol_are_not_scored_as_those_to_another(tmp_path: Path) -> None:
    told("run", eval_file(tmp_path, [PERFECT], data=SCENARIOS))
    path = eval_file(tmp_path, [PERFECT], data=scenario_data(protocol="public"), repeats=1)
    assert "was made with other data" in refused("run", path, "--rescore", 1)


def test_a_report_after_a_change_of_a_scenario_file_is_refused_not_read_from_the_index(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "own"
    shutil.copytree(SAMPLES / "orchestration" / "scenarios" / "EN", folder)
    data = {"orchestration": {"scenarios": str(folder), "cards": CARDS}}
    path = eval_file(tmp_path, [PERFECT], data=data)
    told("run", path)
    told("report", path, "-o", tmp_path / "before.json")
    changed = folder / "1.yaml"
    text = changed.read_text(encoding="utf-8")
    assert "HT-20418" in text
    changed.write_text(text.replace("HT-20418", "HT-20419"), encoding="utf-8")
    assert "was made with other data" in refused("report", path, "-o", tmp_path / "after.json")


def test_tokens_and_cost_are_by_step_and_scenario_and_repeat_to_the_byte(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS)
        log, results = tmp_path / "log.jsonl", tmp_path / "results.jsonl"
        told("run", path, "--json", tmp_path / "a.json", "--results", results, "--log", log)
    told("run", path, "--rescore", 1, "--json", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    usage = read_json(tmp_path / "a.json")["x_extension"]["usage"]
    assert usage["answers"] == STEPS
    assert list(usage["by_scenario"]) == ["1", "2", "3", "4", "5", "6"]
    lines = read_lines(results)
    assert sum(line["metrics"]["orchestration.cost_usd"] for line in lines) == pytest.approx(
        usage["cost_usd"]
    )
    tokens = [line["metrics"]["orchestration.input_tokens"] for line in lines]
    assert sum(tokens) == usage["input_tokens"] > 0
    answered = [line for line in read_lines(log) if line["event"] == "answered"]
    measured = {(line["case_id"], line["run"]): line["latency_ms"] for line in answered}
    assert measured == {
        (line["case_id"], line["run"]): line["metrics"]["orchestration.latency_ms"]
        for line in lines
    }
    assert all(isinstance(latency, float) for latency in measured.values())
    assert "latency" not in (tmp_path / "a.json").read_text()


def test_several_models_are_side_by_side(tmp_path: Path) -> None:
    shown = told("run", eval_file(tmp_path, [HASTY, PERFECT], data=SCENARIOS))
    table = shown[shown.index("Models side by side, standard mode") :].splitlines()
    assert table[1].split()[:3] == ["model", "Average", "Plan"]
    assert table[2].split()[:2] == ["p", "1.0000"]
    assert table[3].startswith("lab/hasty")
    assert "side by side" not in told("run", eval_file(tmp_path, [PERFECT], data=SCENARIOS))


def test_tokens_that_were_not_counted_are_unknown_not_none(tmp_path: Path) -> None:
    folder = SAMPLES / "orchestration" / "outputs" / "sample-small"
    model = {"name": "old", "provider": "replay", "outputs": str(folder)}
    path = eval_file(tmp_path, [model, PERFECT], data=SCENARIOS)
    row = told("run", path, "--json", tmp_path / "r.json").split("\nold ")[1].splitlines()[0]
    assert row.split()[-2:] == ["unknown", "unknown"]
    usage = read_json(tmp_path / "r.json")["orchestration"]["old"]["x_extension"]["usage"]
    assert (usage["answers"], usage["input_tokens"], usage["cost_usd"]) == (STEPS, None, None)


HOSTILE = "```\n# not a heading\n<script>alert(1)</script>\n````\n[x](javascript:1)"


def hostile(request: Request) -> Behaviour:
    return Answer(chat_completion(HOSTILE))


def test_trajectories_tell_what_was_sent_answered_due_and_decided(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [HASTY], data=SCENARIOS, repeats=2)
    told("run", path, "--trajectories", tmp_path / "t.jsonl")
    lines = read_lines(tmp_path / "t.jsonl")
    assert len(lines) == 2 * STEPS
    first = lines[0]
    assert (first["case_id"], first["model"], first["run"]) == ("EN/1#3", "lab/hasty", 1)
    assert first["history"] == "gold"
    assert first["request"]["messages"][0]["role"] == "system"
    assert "workflow_1" in first["gold"]["plan"]
    assert isinstance(first["reply"]["latency_ms"], float)
    called = next(line for line in lines if line["kind"] == "call")
    assert called["request"]["tools"]
    assert {"name", "key", "value"} >= set(called["verdict"].get("metrics", {}))
    wrong = [line for line in lines if line["verdict"]["success"] is False]
    assert all(line["verdict"]["differences"] for line in wrong)


def test_nothing_in_a_markdown_trajectory_is_markup(tmp_path: Path) -> None:
    with serving(hostile) as stub:
        model = {**remote_model(stub.url), "name": "m* <b>|[x](y)"}
        path = eval_file(tmp_path, [model], data=SCENARIOS)
        told("run", path, "--trajectories", tmp_path / "t.md")
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "## m\\* \\<b\\>\\|\\[x\\]\\(y\\)" in text
    outside = text_outside_fences(text)
    assert "script" not in outside
    assert "not a heading" not in outside
    assert "javascript" not in outside
    assert text.count("# not a heading") == STEPS


@pytest.mark.parametrize("name", ["t.md", "t.jsonl"])
def test_s19_a_trajectory_speaks_to_no_terminal(tmp_path: Path, name: str) -> None:
    said = "\x1b[2J\x9b31m\u202eend"
    with serving(chat(said)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS)
        told("run", path, "--trajectories", tmp_path / name)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.count("end") >= STEPS
    assert not set(said[:-3]) - set("[2J31m") & set(text)
    if name == "t.jsonl":
        assert json.loads(text.splitlines()[0])["reply"]["text"] == said


def text_outside_fences(text: str) -> str:
    """What a reader of Markdown takes for markup: a fence ends with one at least as long."""
    outside, fence = [], ""
    for line in text.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            if line == ticks and len(ticks) >= len(fence):
                fence = ""
        elif len(ticks) >= 3:
            fence = ticks
        else:
            outside.append(line)
    assert not fence
    return "\n".join(outside)


def replayed(folder: Path, outputs: str | list[str], **extra: Any) -> dict[str, Any]:
    """The result of replaying what is recorded in some files."""
    model = {"name": "again", "provider": "replay", "outputs": outputs}
    path = eval_file(folder, [model], data=SCENARIOS, **extra)
    told("run", path, "--json", folder / "again.json", "--require-complete")
    document: dict[str, Any] = read_json(folder / "again.json")
    return document


def in_wrapping(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": call}


def as_text(call: dict[str, Any]) -> dict[str, Any]:
    return {"name": call["name"], "arguments": json.dumps(call["arguments"])}


@pytest.mark.parametrize(
    "written",
    [
        lambda calls: {"output": "", "tool_calls": calls},
        lambda calls: {"output": None, "tool_calls": [as_text(call) for call in calls]},
        lambda calls: {"tool_calls": [in_wrapping(as_text(call)) for call in calls]},
        lambda calls: {"output": {"calls": calls}},
        lambda calls: {"output": calls if len(calls) > 1 else calls[0]},
        lambda calls: {"output": {"content": None, "tool_calls": list(map(in_wrapping, calls))}},
    ],
)
def test_c_133_a_recording_of_perfect_answers_replayed_is_perfect(
    tmp_path: Path, written: Any
) -> None:
    told("run", eval_file(tmp_path, [PERFECT], data=SCENARIOS), "--trajectories", tmp_path / "t")
    lines = []
    for step in read_lines(tmp_path / "t"):
        gold = step["gold"]
        said = written(gold["calls"]) if "calls" in gold else {"output": gold.get("text")}
        said = {"output": gold["plan"]} if "plan" in gold else said
        lines.append({"case_id": step["case_id"], "model": "best", **said})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "recorded.jsonl").write_text(text, encoding="utf-8")
    document = replayed(tmp_path, "recorded.jsonl")
    assert set(document["overall_statistics"]["key_metrics"].values()) == {1.0}


def test_c_133_exported_runs_are_replayed_with_their_calls(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [HASTY, PERFECT], data=SCENARIOS, repeats=2)
    told("run", path, "--json", tmp_path / "run.json", "--export", tmp_path / "out")
    ran = read_json(tmp_path / "run.json")["orchestration"]
    for name, folder in (("p", "out/p"), ("lab/hasty", "out/lab_hasty/EN")):
        again = replayed(tmp_path, folder, repeats=2)
        assert again["overall_statistics"] == ran[name]["overall_statistics"]
    assert ran["p"]["overall_statistics"]["key_metrics"]["FC"] == 1.0
    one = replayed(tmp_path, "out/p/EN/*_out.json")
    assert one["overall_statistics"]["key_metrics"]["FC"] == 1.0


def test_bundled_recordings_replay_as_they_are_scored(tmp_path: Path) -> None:
    """In our own form, too."""
    folder = SAMPLES / "orchestration" / "outputs" / "sample-small" / "EN"
    told(
        *("orchestration", "score", folder, "--cards", CARDS),
        *("--json", tmp_path / "score.json"),
    )
    again = replayed(tmp_path, str(folder))
    assert again["overall_statistics"] == read_json(tmp_path / "score.json")["overall_statistics"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("o.jsonl", '{"case_id": "EN/1#4", "model": "a", "tool_calls": 1}', "o.jsonl:1"),
        ("1_out.json", "nothing", "1_out.json: not JSON"),
        ("1_out.json", '{"history": 1}', "1_out.json: field history: no runs"),
    ],
)
def test_a_recording_that_is_none_is_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    model = {"name": "again", "provider": "replay", "outputs": name}
    assert words in refused("run", eval_file(tmp_path, [model], data=SCENARIOS))


def test_two_folders_of_one_language_are_refused_and_not_scored_as_one_of_them(
    tmp_path: Path,
) -> None:
    source = Path(SCENARIOS["orchestration"]["scenarios"])
    for folder, scenario in (("a", "1.yaml"), ("b", "2.yaml")):
        (tmp_path / folder / "EN").mkdir(parents=True)
        shutil.copy(source / scenario, tmp_path / folder / "EN")
    path = eval_file(tmp_path, [PERFECT], data=scenario_data(scenarios=["a/EN", "b/EN"]))
    assert "are both of the language EN; expected one folder" in refused("run", path)


def test_two_recordings_of_one_scenario_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1_out.json").write_text("{}")
    model = {"name": "again", "provider": "replay", "outputs": ["a", "b"]}
    path = eval_file(tmp_path, [model], data=SCENARIOS)
    assert "are outputs of one scenario" in refused("run", path)


def test_free_runs_are_next_to_the_score_and_never_in_it(tmp_path: Path) -> None:
    told("run", eval_file(tmp_path, [HASTY], data=SCENARIOS), "--json", tmp_path / "gold.json")
    path = eval_file(tmp_path, [HASTY], data=scenario_data(history="own"))
    shown = told(
        *("run", path, "--json", tmp_path / "own.json", "--results", tmp_path / "r.jsonl"),
        *("--trajectories", tmp_path / "t.jsonl"),
    )
    gold, own = read_json(tmp_path / "gold.json"), read_json(tmp_path / "own.json")
    assert own["overall_statistics"] == gold["overall_statistics"]
    assert own["x_extension"]["usage"] == gold["x_extension"]["usage"]
    free = own["x_extension"]["free_running"]
    assert free["scenarios"] == 6
    assert free["forced"]["Plan"] == gold["overall_statistics"]["key_metrics"]["Plan"]
    assert free["free"]["step_success"] < free["forced"]["step_success"] < 1
    assert free["not_reached"] > 0
    assert sum(each["steps"] for each in free["by_position"]) == free["steps"] == STEPS
    assert "Free-running · lab/hasty · EN · 6 scenarios" in shown
    assert len(read_lines(tmp_path / "r.jsonl")) == STEPS
    histories = [line["history"] for line in read_lines(tmp_path / "t.jsonl")]
    assert histories.count("gold") == STEPS
    assert histories.count("own") == STEPS - free["not_reached"]


def test_a_perfect_model_loses_nothing_by_its_own_history(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data=scenario_data(history="own"), repeats=2)
    told("run", path, "--json", tmp_path / "own.json")
    free = read_json(tmp_path / "own.json")["x_extension"]["free_running"]
    assert free["free"] == free["forced"]
    assert (free["propagated"], free["not_reached"]) == (0, 0)
    assert "42/42" not in told("runs", path)
    assert "84/84" in told("runs", path)


def test_free_runs_go_on_where_a_budget_ended_them_and_pay_nothing_twice(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=scenario_data(history="own"))
        told("run", path, "--no-preflight", "--store", tmp_path / "a.db", "--json", tmp_path / "a")
        whole = len(stub.requests)
    assert STEPS < whole < 2 * STEPS, "a first plan sees the same history, and is asked once"
    with serving(call_first_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=scenario_data(history="own"))
        go_on = ("run", path, "--no-preflight", "--store", tmp_path / "b.db", "--resume")
        spent = read_json(tmp_path / "a")["x_extension"]["usage"]["cost_usd"]
        for budget in (spent / 2, spent + 0.005, 10):
            told(*go_on, "--budget", f"{budget:.6f}", "--json", tmp_path / "b")
        assert len(stub.requests) == whole
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_outage_leaves_a_free_run_out_and_says_where(tmp_path: Path) -> None:
    def failing(request: Request) -> Behaviour:
        if b"NO_RECORDED_RESULT" in request.body:
            return Answer({"error": {"message": "gone"}}, 400)
        return call_first_tool(request)

    with serving(failing) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=scenario_data(history="own"))
        shown = told("run", path, "--json", tmp_path / "r.json", "--require-complete")
    free = read_json(tmp_path / "r.json")["x_extension"]["free_running"]
    assert 0 < len(free["left_out"]) == 6 - free["scenarios"]
    assert "left out: EN/" in shown


def test_recorded_answers_to_gold_history_are_no_free_run(tmp_path: Path) -> None:
    told("run", eval_file(tmp_path, [PERFECT], data=SCENARIOS), "--export", tmp_path / "out")
    model = {"name": "again", "provider": "replay", "outputs": "out/p"}
    path = eval_file(tmp_path, [model], data=scenario_data(history="own"))
    told("run", path, "--json", tmp_path / "r.json")
    document = read_json(tmp_path / "r.json")
    assert document["overall_statistics"]["key_metrics"]["Average"] == 1.0
    assert document["x_extension"]["free_running"]["scenarios"] == 0


def test_the_public_protocol_has_no_free_runs(tmp_path: Path) -> None:
    data = scenario_data(protocol="public", history="own")
    assert "gold history only" in refused("run", eval_file(tmp_path, [PERFECT], data=data))


def test_c121_the_directory_of_a_run_is_its_output_folder_and_the_model(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [{**PERFECT, "name": "org/model"}], data=SCENARIOS)
    (tmp_path / "results").mkdir()
    for json_file, export, directory in (
        ("results/run.json", None, "results/org_model"),
        ("run.json", None, "org_model"),
        (f"{tmp_path}/results/run.json", None, "results/org_model"),
        ("run.json", "out/new", "out/new/org_model"),
        ("run.json", f"{tmp_path}/exported", "exported/org_model"),
    ):
        exporting = [] if export is None else ["--export", export]
        done = run("run", path, "--json", json_file, *exporting, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert read_json(tmp_path / json_file)["directory"] == directory
    assert (tmp_path / "out" / "new" / "org_model" / "EN" / "1_out.json").is_file()


def repeat_the_plan(request: Request) -> Behaviour:
    """Reply as small models do: with a plan, to a sub-agent too."""
    return Answer(chat_completion(PLAN_AGAIN))


def test_a_model_that_repeats_the_plan_is_named_as_one(tmp_path: Path) -> None:
    with serving(repeat_the_plan) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS)
        shown = told("run", path, "--no-preflight", "--json", tmp_path / "r.json")
    extension = read_json(tmp_path / "r.json")["x_extension"]
    repeated = extension["errors"]["repeats_plan"]
    words = "m, EN: repeats the plan in 14 of 14 steps of sub-agents, instead of calling a tool"
    assert repeated["count"] == 14
    assert repeated["evidence"][0]["detail"] == "a plan where getInvoice was due"
    assert any(warning.startswith(words) for warning in extension["warnings"])
    assert "EN errors       repeats plan 14" in shown
    assert words in " ".join(shown.split())


def test_c138_a_run_of_scenarios_prints_its_decision_first_and_last(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data=scenario_data())
    shown = told("run", path, "--json", tmp_path / "r.json").splitlines()
    decided = [line for line in shown if line.startswith(("LIKELY  ", "HOW SURE  "))]
    assert len(decided) == 4 and decided[:2] == decided[2:]
    assert shown[1].startswith("LIKELY  "), "below the title"
    rows = {line.strip().partition("  ")[0] for line in shown}
    assert {"Scenario Success", "Latency of a scenario, p50 / p95"} <= rows
