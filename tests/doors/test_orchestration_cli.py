"""`callscore orchestration` through the door: exit codes, files, clear errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import callscore
import commands
from callscore.core.scenarios import ScenarioData
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.orchestration.scenario.data import ScenarioSet, read_cards
from commands import CompletedCommand, run_in_new_process
from orchestration_data import PARITY, SCENARIOS, load, needs_fixtures

SAMPLES = Path(callscore.__file__).parent / "demo" / "orchestration"
CARDS = SAMPLES / "cards" / "EN"
LARGE = SAMPLES / "outputs" / "sample-large" / "EN"
SMALL = SAMPLES / "outputs" / "sample-small" / "EN"


def run(*args: object, cwd: Path | None = None) -> CompletedCommand:
    return commands.run("orchestration", *args, cwd=cwd)


def result(*args: object, cwd: Path | None = None) -> dict[str, Any]:
    done = run("score", *args, "--json", "-", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_table_goes_to_the_terminal_and_the_result_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run_in_new_process("orchestration", "score", SMALL, "--cards", CARDS, "--json", file)
    assert done.returncode == 0, done.stderr
    assert "expected ↓  decided →" in done.stdout
    assert "1 (1 of another type)" in done.stdout
    written = json.loads(file.read_text(encoding="utf-8"))
    assert list(written) == ["directory", "overall_statistics", "detailed_results", "x_extension"]
    assert written["x_extension"]["mode"] == "standard"
    assert written["x_extension"]["model"] == "sample-small"


def test_both_readings_of_the_sample(tmp_path: Path) -> None:
    standard = result(SMALL, "--cards", CARDS)
    compat = result(SMALL, "--cards", CARDS, "--mode", "compat")
    details = "score_details", "call_rejection_scores", "total_failed_generation"
    assert _at(standard["overall_statistics"], details) == 2
    assert _at(compat["overall_statistics"], details) == 0
    assert compat["x_extension"]["mode"] == "compat"
    assert "data_report" not in compat["x_extension"]


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def test_verdicts_decide_what_was_open(tmp_path: Path) -> None:
    before = result(LARGE, "--cards", CARDS)
    after = result(LARGE, "--cards", CARDS, "--verdicts", SAMPLES / "verdicts.jsonl")
    assert before["x_extension"]["undecided"]["count"] == 2
    assert before["x_extension"]["approximate"]
    assert after["x_extension"]["undecided"]["count"] == 0
    assert not after["x_extension"]["approximate"]
    assert after["overall_statistics"]["key_metrics"]["FC"] == 1.0


def test_an_open_item_can_be_turned_into_a_verdict(tmp_path: Path) -> None:
    items = result(LARGE, "--cards", CARDS)["x_extension"]["undecided"]["items"]
    lines = [json.dumps({**item, "model": "sample-large", "verdict": "same"}) for item in items]
    file = tmp_path / "verdicts.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    after = result(LARGE, "--cards", CARDS, "--verdicts", file)
    assert after["overall_statistics"]["key_metrics"]["FC"] == 1.0
    assert after["x_extension"]["warnings"] == []


def test_a_word_that_was_not_offered_is_a_data_error(tmp_path: Path) -> None:
    line = {"case_id": "EN/1#7", "metric": "orchestration.argument_value", "item": "x"}
    file = tmp_path / "verdicts.jsonl"
    file.write_text(json.dumps({**line, "verdict": "perhaps"}), encoding="utf-8")
    done = run("score", LARGE, "--cards", CARDS, "--verdicts", file)
    assert done.returncode == 2
    assert f"{file}:1" in done.stderr
    assert "expected one of same, different" in done.stderr


def test_verdicts_that_answer_nothing_are_said_so(tmp_path: Path) -> None:
    line = {"case_id": "EN/1#99", "metric": "orchestration.argument_value", "item": "x"}
    file = tmp_path / "verdicts.jsonl"
    file.write_text(json.dumps({**line, "verdict": "same"}), encoding="utf-8")
    warnings = result(LARGE, "--cards", CARDS, "--verdicts", file)["x_extension"]["warnings"]
    assert warnings == ["1 verdicts name no open item of this model and language"]


def test_two_languages_give_each_and_their_mean(tmp_path: Path) -> None:
    korean = tmp_path / "sample" / "KO"
    shutil.copytree(SMALL, korean)
    both = result(LARGE, korean, "--cards", CARDS)
    assert list(both) == ["languages", "mean", "x_extension"]
    assert list(both["languages"]) == ["EN", "KO"]
    averages = [
        both["languages"][lang]["overall_statistics"]["key_metrics"]["Average"]
        for lang in ("EN", "KO")
    ]
    assert both["mean"]["Average"] == pytest.approx(sum(averages) / 2, abs=1e-4)
    done = run("score", LARGE, korean, "--cards", CARDS)
    assert "mean" in done.stdout


def consumed(file: Path) -> dict[str, float]:
    """The numbers that the public repository's reader of results takes from a file."""
    metrics = load(file).get("overall_statistics", {}).get("key_metrics", {})
    names = ("Plan", "Call Rejection Classification Accuracy", "FC", "Average")
    return {name: float(f"{metrics.get(name, 0.0):.4f}") for name in names}


def test_c_121_besides_the_joint_file_there_is_one_per_language(tmp_path: Path) -> None:
    korean = tmp_path / "a b" / "KO"
    shutil.copytree(SMALL, korean)
    file = tmp_path / "both.json"
    done = run("score", LARGE, korean, "--cards", CARDS, "--json", file)
    assert done.returncode == 0, done.stderr
    joint = load(file)
    assert consumed(file) == dict.fromkeys(consumed(file), 0.0)
    for name, lang in (("both.sample-large.EN.json", "EN"), ("both.a_b.KO.json", "KO")):
        single = tmp_path / name
        assert load(single) == joint["languages"][lang]
        assert consumed(single) == joint["languages"][lang]["overall_statistics"]["key_metrics"]


def test_one_language_is_one_file(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    assert run("score", LARGE, "--cards", CARDS, "--json", file).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_a_folder_without_one_readable_file_ends_with_2(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "model" / "EN"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}_out.json").write_text("{", encoding="utf-8")
    file = tmp_path / "result.json"
    done = run("score", folder, "--cards", CARDS, "--mode", mode, "--json", file)
    assert done.returncode == 2
    assert "0_out.json" in done.stderr
    assert "the first of 3" in done.stderr
    assert not file.exists()


def test_q42_compat_leaves_out_what_the_public_evaluator_cannot_load(tmp_path: Path) -> None:
    folder = tmp_path / "model" / "EN"
    shutil.copytree(LARGE, folder)
    for number, content in ((91, b"{}"), (92, b"[]"), (93, b"null"), (94, b"0"), (95, b"{")):
        (folder / f"{number}_out.json").write_bytes(content)
    (folder / "96_out.json").write_bytes(b"\xef\xbb\xbf" + (folder / "1_out.json").read_bytes())
    before = result(LARGE, "--cards", CARDS, "--mode", "compat")["overall_statistics"]
    after = result(folder, "--cards", CARDS, "--mode", "compat")["overall_statistics"]
    assert after["failed_evaluations"] == 6
    assert after["score_details"] == before["score_details"]


def test_q45_hidden_folders_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "model" / "EN"
    shutil.copytree(LARGE, folder)
    shutil.copytree(LARGE, folder / ".ipynb_checkpoints")
    found = result(folder, "--cards", CARDS)
    assert found["overall_statistics"]["total_files"] == 6


def test_the_language_is_that_of_the_cards_or_as_given(tmp_path: Path) -> None:
    folder = tmp_path / "qa" / "my-model"
    shutil.copytree(LARGE, folder)
    assert result(folder, "--cards", CARDS)["x_extension"]["language"] == "EN"
    cards = tmp_path / "cards" / "KO"
    shutil.copytree(CARDS, cards)
    plain = tmp_path / "runs" / "my-model"
    shutil.copytree(LARGE, plain)
    assert result(plain, "--cards", cards)["x_extension"]["language"] == "KO"
    given = result(folder, "--cards", CARDS, "--lang", "pt-BR")
    assert given["x_extension"]["language"] == "pt-BR"
    assert given["x_extension"]["data_report"] == []
    refused = run("score", folder, "--cards", CARDS, "--lang", "Klingon")
    assert refused.returncode == 2
    assert "expected a language tag" in refused.stderr


def test_records_hold_one_line_a_step_run_and_metric(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    done = run("score", SMALL, "--cards", CARDS, "--records", file)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert set(lines[0]) == {
        "case_id",
        "model",
        "run",
        "metric",
        "slug",
        "score",
        "expected_outcome_reference",
        "model_output_observed",
        "reason",
    }
    assert {line["metric"] for line in lines} == {
        f"orchestration.{name}" for name in ("success", "plan", "name", "key", "value")
    }
    assert len({(x["case_id"], x["run"], x["metric"]) for x in lines}) == len(lines)
    wrong = [x for x in lines if x["metric"] == "orchestration.success" and not x["score"]]
    assert wrong
    assert all(line["reason"] for line in wrong)
    compat = run("score", SMALL, "--cards", CARDS, "--mode", "compat", "--records", file)
    assert compat.returncode == 2


def test_c_134_other_tool_call_ids_are_the_same_data(tmp_path: Path) -> None:
    """Two public runs of the same scenarios; only the random ids of their labels differ."""
    hashes = set()
    for number in range(2):
        folder = tmp_path / str(number) / "model" / "EN"
        folder.mkdir(parents=True)
        call = {"id": f"call_{number}", "function": {"name": "getInvoice", "arguments": "{}"}}
        said = "tool: getInvoice\narguments: {}\ntool_call_result: {}"
        label = {
            "1": {"role": "user", "content": "My invoice, please."},
            "2": {"role": "assistant", "agent_id": "billing_agent", "content": said},
            "2-1": {"role": "assistant", "agent_id": "billing_agent", "tool_calls": [call]},
            "2-2": {"role": "tool", "agent_id": "billing_agent", "tool_call_id": call["id"]},
        }
        run_1 = {"main_agent_history": [], "sub_agent_history": [], "label": label}
        text = json.dumps({"history": {"run #1": run_1}}, indent=number or None)
        (folder / "1_out.json").write_text(text, encoding="utf-8")
        hashes |= {result(folder, "--cards", CARDS)["x_extension"]["signature"]}
    assert len(hashes) == 1


def test_a_file_that_is_no_recording_is_listed_and_the_rest_is_scored(tmp_path: Path) -> None:
    folder = tmp_path / "model" / "EN"
    shutil.copytree(LARGE, folder)
    (folder / "1_out.json").write_text("{", encoding="utf-8")
    found = result(folder, "--cards", CARDS)
    assert found["overall_statistics"]["failed_evaluations"] == 1
    assert found["overall_statistics"]["successful_evaluations"] == 5
    assert found["x_extension"]["status"] == "incomplete"
    assert found["detailed_results"][0]["error"].startswith("not JSON")
    strict = run("score", folder, "--cards", CARDS, "--require-complete")
    assert strict.returncode == 3
    assert "not complete" in strict.stderr


def test_an_infrastructure_error_counts_against_no_model(tmp_path: Path) -> None:
    folder = tmp_path / "model" / "EN"
    shutil.copytree(LARGE, folder)
    recording = json.loads((folder / "4_out.json").read_text(encoding="utf-8"))
    recording["runs"][0]["answers"][1] = {"step": 4, "error": "503 after five tries"}
    (folder / "4_out.json").write_text(json.dumps(recording), encoding="utf-8")
    found = result(folder, "--cards", CARDS)
    (failed,) = found["x_extension"]["failed_evaluations"]
    assert Path(failed["file_path"]).name == "4_out.json"
    assert failed["error"] == "error: 503 after five tries"
    confusion = found["overall_statistics"]["score_details"]["raw_confusion_matrix"]
    assert confusion["total_true_positive_reject"] == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere", "--cards", CARDS], "nowhere: no such folder"),
        ([LARGE, "--cards", "nowhere"], "nowhere: no such folder"),
        ([CARDS, "--cards", CARDS], "contains no recorded outputs"),
        ([LARGE, LARGE, "--cards", CARDS], "two folders of the language EN"),
        (
            [LARGE, SMALL, LARGE, "--cards", CARDS, *("--lang", "EN", "KO", "KO")],
            "sample-small has outputs in KO only; expected the same languages of every model",
        ),
        ([LARGE.parents[1], "--cards", CARDS], "expected one folder per model and language"),
        ([LARGE, "--cards", CARDS, CARDS], "2 card folders for 1 output folders"),
        ([LARGE], "Missing option"),
        ([LARGE, "--cards", CARDS, "--mode", "best"], "Invalid value for '--mode'"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(args: list[object], message: str) -> None:
    done = run("score", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_card_is_a_data_error_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"agent_card": {}}', encoding="utf-8")
    done = run("score", LARGE, "--cards", tmp_path)
    assert done.returncode == 2
    assert "a.json" in done.stderr


@pytest.mark.parametrize("without", [{"tool_calls": []}, {"tool_calls": None}, {}])
def test_compat_reads_a_rejection_without_tool_calls(
    tmp_path: Path, without: dict[str, Any]
) -> None:
    due = "tool: getInvoice\narguments:\n  month: '2025-01'\n"
    refusal = "status: AWAITING_USER_INPUT\nrequired_info: the month\n"
    steps = [
        {"step_id": 1, "agent": "user", "content": "My invoice, please"},
        {"step_id": 2, "agent": "billing_agent", "content": due},
        {"step_id": 3, "agent": "billing_agent", "content": refusal},
    ]
    arguments = json.dumps({"month": "2025-01"})
    answers = [
        {"step": 2, "tool_calls": [{"name": "getInvoice", "arguments": arguments}]},
        {"step": 3, "content": "<status>AWAITING_USER_INPUT</status>", **without},
    ]
    recorded = {
        "callscore": "orchestration-1",
        "scenario": {"steps": steps},
        "runs": [{"run": 1, "answers": answers}],
    }
    (tmp_path / "EN").mkdir()
    (tmp_path / "EN" / "1_out.json").write_text(json.dumps(recorded), encoding="utf-8")
    written = result(tmp_path / "EN", "--cards", CARDS, "--mode", "compat")
    metrics = written["overall_statistics"]["key_metrics"]
    assert metrics["FC"] == 1.0
    assert metrics["Call Rejection Classification Accuracy"] == 1.0


def test_c_121_paths_are_relative_and_name_what_exists(tmp_path: Path) -> None:
    found = result(LARGE, "--cards", CARDS, cwd=tmp_path)
    assert not Path(found["directory"]).is_absolute()
    assert (tmp_path / found["directory"]).resolve() == LARGE.resolve()
    for row in found["detailed_results"]:
        assert (tmp_path / row["file_path"]).is_file()
    relative = result("EN", "--cards", CARDS, cwd=LARGE.parent)
    assert relative["directory"] == "EN"
    assert relative["detailed_results"][0]["file_path"] == "EN/1_out.json"


def test_the_same_input_gives_the_same_bytes() -> None:
    command = ("orchestration", "score", SMALL, "--cards", CARDS, "--json", "-")
    first, second = (
        run_in_new_process(*command) for _ in range(2)
    )  # each with a hash seed of its own
    assert first.stdout == second.stdout


def test_escape_sequences_of_a_model_do_not_reach_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "\x1b[31mred" / "EN"
    shutil.copytree(LARGE, folder)
    done = run("score", folder, "--cards", CARDS)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_nan_and_half_characters_in_an_answer_do_no_harm(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "model" / "EN"
    shutil.copytree(LARGE, folder)
    text = (folder / "4_out.json").read_text(encoding="utf-8")
    broken = text.replace('"note": "sample', '"odd": NaN, "note": "sample')
    broken = broken.replace("A refund may not exceed 150.", "\\ud800 <status>")
    broken = broken.replace('"workflow_1\\"', '"workflow_1\\udc80\\"')
    (folder / "4_out.json").write_text(broken, encoding="utf-8")
    file = tmp_path / "result.json"
    done = run("score", folder, "--cards", CARDS, "--mode", mode, "--json", file)
    assert done.returncode == 0, done.stderr
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["overall_statistics"]["failed_evaluations"] == 0


def test_validate_prints_the_data_report_of_the_sample() -> None:
    scenarios = SAMPLES / "scenarios" / "EN"
    done = run_in_new_process("orchestration", "validate", scenarios, "--cards", CARDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("6 scenarios: 7 plan steps and 14 agent steps can be run; 0 findings\n")


def test_validate_reads_the_cards_of_each_folder(tmp_path: Path) -> None:
    scenarios, others = SAMPLES / "scenarios" / "EN", tmp_path / "cards"
    others.mkdir()
    (others / "a.json").write_text('{"agent_card": {"agent_id": "other"}}', encoding="utf-8")
    done = run("validate", scenarios, scenarios, "--cards", CARDS, others)
    assert done.returncode == 0, done.stderr
    assert "has no card" in done.stdout
    assert done.stdout.count("unknown agent") == 14
    refused = run("validate", scenarios, "--cards", CARDS, others)
    assert refused.returncode == 2
    assert "2 card folders for 1 scenario folders" in refused.stderr


def test_validate_names_what_is_no_scenario(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text("steps: [", encoding="utf-8")
    (tmp_path / "2.yaml").write_bytes(b"\xff\xfe")
    done = run("validate", tmp_path, "--cards", CARDS)
    assert done.returncode == 2
    assert "1.yaml" in done.stderr
    assert "2.yaml: byte 0 is not UTF-8" in done.stderr
    assert "2 files cannot be used" in done.stderr


@needs_fixtures
def test_validate_finds_every_irregularity_of_the_public_data(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = run("validate", SCENARIOS / "EN", "--json", file)
    assert done.returncode == 0, done.stderr
    found = {(f["case_id"], f["kind"]) for f in json.loads(file.read_text(encoding="utf-8"))}
    assert {
        ("EN/85#8", "unescaped_quote"),
        ("EN/108#3", "unknown_agent"),
        ("EN/174#4", "list_shaped_call"),
        ("EN/195#6", "unreadable_arguments"),
        ("EN/32#7", "call_without_name"),
        ("EN/123#9", "name_instead_of_tool"),
        ("EN/94#17", "tool_of_another_agent"),
    } <= found


@needs_fixtures
def test_compat_through_the_door_is_the_public_result() -> None:
    found = result(
        "outputs/EN",
        "--cards",
        SCENARIOS / "EN" / "multiagent_cards",
        "--mode",
        "compat",
        cwd=PARITY / "perfect_prompt",
    )
    reference = load(PARITY / "perfect_prompt" / "reference_result.EN.json")
    assert found["directory"] == "outputs/EN"
    assert (
        found["overall_statistics"]["key_metrics"] == reference["overall_statistics"]["key_metrics"]
    )
    theirs = {row["file_path"] for row in reference["detailed_results"]}
    assert {row["file_path"] for row in found["detailed_results"]} == theirs


def _data_hash(signature: str) -> str:
    return dict(part.split(":", 1) for part in signature.split("|")[1:])["data"]


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_c_134_run_and_score_hash_the_same_scenarios_alike(mode: str) -> None:
    asked = _survey_hash(SAMPLES / "scenarios" / "EN", CARDS)
    scored = result(LARGE, "--cards", CARDS, "--mode", mode)["x_extension"]["signature"]
    assert _data_hash(scored) == asked


@needs_fixtures
def test_c_134_the_public_data_has_one_hash_in_every_copy() -> None:
    data = SCENARIOS / "EN"
    asked = _survey_hash(data, data / "multiagent_cards")
    outputs = PARITY / "perfect_label" / "outputs" / "EN"
    scored = result(outputs, "--cards", data / "multiagent_cards", "--mode", "compat")
    assert _data_hash(scored["x_extension"]["signature"]) == asked


def _survey_hash(scenarios: Path, cards: Path) -> str:
    return ScenarioSet(ScenarioData(scenarios, cards), SCENARIO_FILES).survey().digest


def test_c_132_cards_are_hashed_by_content(tmp_path: Path) -> None:
    for path in sorted(CARDS.glob("*.json")):
        text = json.dumps(load(path), indent=3, ensure_ascii=True, sort_keys=True)
        (tmp_path / f"other-{path.name}").write_text(text, encoding="utf-8")
    assert read_cards(tmp_path, SCENARIO_FILES)[1] == read_cards(CARDS, SCENARIO_FILES)[1]
