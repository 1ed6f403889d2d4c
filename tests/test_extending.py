"""Extensions from outside the repository: the pages of docs/extending, followed to the letter."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from callscore.core.case import Message
from callscore.judges.fakes import FakeVerdict, LiteralModel, ParsedPrompt, PromptItem
from callscore.judges.rubric import built_in_library, parse_rubric
from commands import CompletedCommand, run
from eval_files import read_json
from extensions import Page, install, install_modules
from judging_stub import judge_entry
from stub_servers import Answer, Request, chat_completion, serving


def test_a_provider_from_another_package_answers_is_priced_and_scored(tmp_path: Path) -> None:
    page = Page("provider.md")
    page.check_size()
    (done,) = page.run(tmp_path)
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "card.json")
    (model,) = card["models"]
    assert (model["model"], model["tasks"]["qa"]["n"]) == ("our-model", 1)
    assert model["tasks"]["qa"]["status"] == "valid"
    assert model["cost"]["status"] == "known"
    again = run("run", "eval.yaml", "--dry-run", env=_site(tmp_path), cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_a_judge_from_another_package_decides_and_is_named_in_the_signature(
    tmp_path: Path,
) -> None:
    page = Page("judge.md")
    page.check_size()
    (done,) = page.run(tmp_path)
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "card.json")
    assert card["judging"]["judge"] == "keywords"
    assert "keywords:1" in card["signature"]
    assert card["models"][0]["tasks"]["qa"]["metrics"]["qa.evidence_backed_reasoning"]["n"] == 1


def test_an_import_format_from_another_package_reads_calls_and_names_what_it_skips(
    tmp_path: Path,
) -> None:
    page = Page("importer.md")
    page.check_size()
    (done,) = page.run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "calls.txt: pipe dialler, 1 call, 2 turns" in done.stdout
    assert "skipped call c7, line 3: has no `seconds|speaker|text`" in done.stdout
    line = json.loads((tmp_path / "transcripts.jsonl").read_text(encoding="utf-8"))
    assert [(turn["speaker"], turn["start"]) for turn in line["transcript"]] == [
        ("agent", 0.5),
        ("customer", 2.0),
    ]
    (tmp_path / "calls.txt").write_text(">>> c8\nsoon|Agent|Hi\n")
    (tmp_path / "b.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    command = ("import", "calls.txt", "b.txt", "-o", "t.jsonl")
    broken = run(*command, env=_site(tmp_path), cwd=tmp_path)
    assert broken.returncode == 2
    assert "calls.txt: NOT IMPORTED: import format 'pipes': read() raised ValueError" in (
        broken.stderr
    )
    assert "callscore_pipes.py, line" in broken.stderr
    assert len((tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_a_metric_from_another_package_is_a_rated_row_outside_the_formula(tmp_path: Path) -> None:
    done, card = _followed("metric.md", tmp_path)
    gold, talkative = (model["tasks"]["qa"] for model in card["models"])
    rows = [task["metrics"]["qa.short_reasons"] for task in (gold, talkative)]
    assert [(row["value"], row["rating"]) for row in rows] == [(1.0, "Good"), (0.0, "Fail")]
    assert gold["score"] == 1.0
    assert "(qa.short_reasons@1)|" in card["signature"]
    assert "Short Reasons" in done.stdout
    unnamed = run(
        "run", "eval.yaml", "--json", "-", env=_without(tmp_path, "metrics:"), cwd=tmp_path
    )
    assert "short_reasons" not in unnamed.stdout


def test_processes_of_their_own_measure_a_metric_from_another_package(tmp_path: Path) -> None:
    page = Page("metric.md")
    env = install_modules(page.package, tmp_path)
    page.write_files(tmp_path)
    assert run("run", "eval.yaml", env=env, cwd=tmp_path).returncode == 0
    written = []
    for number in (1, 2, 3):
        files = ("--results", f"results-{number}", "--json", f"card-{number}")
        words = ("run", "eval.yaml", "--rescore", 1, *files, "--workers", number)
        done = run(*words, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        written.append([(tmp_path / name).read_bytes() for name in (files[1], files[3])])
    assert b"qa.short_reasons" in written[0][0]
    assert written[1] == written[2] == written[0]


def test_a_task_from_another_package_is_a_suite_of_its_own(tmp_path: Path) -> None:
    done, card = _followed("task.md", tmp_path)
    assert (card["suite"], card["title"], card["framework"]) == ("reason", "Contact Reason", "1")
    assert card["signature"].startswith("suite:reason|framework:1|spec:")
    assert "|weights:reason=1|" in card["signature"]
    assert [model["final"]["score"] for model in card["models"]] == [1.0, 0.0]
    assert "CONTACT REASON TASK METRICS" in done.stdout
    assert "QA TASK METRICS" not in done.stdout


def test_a_task_from_another_package_is_judged_by_people_and_by_a_judge(tmp_path: Path) -> None:
    page, judge = Page("task.md"), Page("judge.md")
    module, task = _judged_task(page)
    entries = page.package["pyproject.toml"].replace(":ReasonTask", ":JudgedReasonTask")
    entries += judge.package["pyproject.toml"][judge.package["pyproject.toml"].rindex("[project") :]
    words = judge.package["callscore_keywords.py"]
    package = {"pyproject.toml": entries, module: task, "callscore_keywords.py": words}
    package["same_reason.toml"] = page.additions["same_reason.toml"]
    env = install_modules(package, tmp_path)
    page.write_files(tmp_path)
    answers = {"call-1": "billing", "call-2": "the line is dead"}
    lines = [
        json.dumps({"case_id": case, "model": "m", "output": {"reason": reason}})
        for case, reason in answers.items()
    ]
    (tmp_path / "outputs.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def scored(*options: str) -> Any:
        score = ("score", "cases.jsonl", "--outputs", "outputs.jsonl", "--json", "card.json")
        done = run(*score, *options, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return read_json(tmp_path / "card.json")["models"][0]["tasks"]["reason"]

    waiting = scored("--open-items", "open.jsonl")
    assert (waiting["status"], waiting["score"]) == ("incomplete", None)
    (item,) = map(json.loads, (tmp_path / "open.jsonl").read_text(encoding="utf-8").splitlines())
    assert (item["case_id"], item["words"]) == ("call-2", ["same", "different"])
    item["verdict"] = "same"
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(item), encoding="utf-8")
    assert scored("--verdicts", "verdicts.jsonl")["score"] == 1.0
    judged = scored("--judge", "keywords", "--save-verdicts", "saved.jsonl")
    assert judged["metrics"]["reason.accuracy"]["approximate"]
    assert scored("--verdicts", "saved.jsonl")["score"] == judged["score"]
    assert scored("--judge", "offline")["status"] == "incomplete"


def _judged_task(page: Page) -> tuple[str, str]:
    """The module of the page with the task that a judge decides, and its text."""
    module = next(name for name in page.package if name.endswith(".py"))
    return module, page.package[module] + page.additions[module]


def test_a_task_from_another_package_is_judged_by_models_with_its_own_rubric(
    tmp_path: Path,
) -> None:
    page = Page("task.md")
    module, task = _judged_task(page)
    entries = page.package["pyproject.toml"].replace(":ReasonTask", ":JudgedReasonTask")
    rubric = page.additions["same_reason.toml"]
    package = {"pyproject.toml": entries, module: task, "same_reason.toml": rubric}
    env = install_modules(package, tmp_path)
    page.write_files(tmp_path)
    lines = [
        json.dumps({"case_id": f"call-{case}", "model": "m", "output": {"reason": reason}})
        for case, reason in ((1, "billing"), (2, "the line is dead"))
    ]
    (tmp_path / "outputs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    model = ReasonJudge(library=built_in_library().with_rubrics([parse_rubric(rubric.encode())]))

    def answer(request: Request) -> Answer:
        messages = [Message(each["role"], each["content"]) for each in request.json["messages"]]
        return Answer(chat_completion(model.answer(messages)))

    score = ("score", "cases.jsonl", "--outputs", "outputs.jsonl", "--judge", "judge.yaml")
    signatures = []
    with serving(answer) as stub:
        (tmp_path / "judge.yaml").write_text(json.dumps(judge_entry(stub.url)), encoding="utf-8")
        for _ in range(2):
            done = run(*score, "--json", "card.json", env=env, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            card = read_json(tmp_path / "card.json")
            assert card["models"][0]["tasks"]["reason"]["score"] == 1.0
            signatures.append(card["signature"])
            changed = rubric.replace("perhaps in other words", "in any words")
            (tmp_path / "site" / "same_reason.toml").write_text(changed, encoding="utf-8")
    assert "Is it the expected reason?" in stub.requests[0].body.decode()
    assert signatures[0] != signatures[1]  # the rubric is part of it


class ReasonJudge(LiteralModel):
    """A judging model that knows one reason in other words."""

    def entry(self, item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        same = item.text == item.against or "line is dead" in item.text
        return FakeVerdict("", "none", "same" if same else "different")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "same_reason"', 'name = "evidence"', "a rubric 'evidence' is built in"),
        (
            "reason.accuracy",
            "reason.other",
            "'reason.other' is not a metric; expected one of",
        ),
        ("vain =", "vein =", "same_reason.toml: Object contains unknown field `vein`"),
        ("[words]", "[words", "same_reason.toml: "),
    ],
)
def test_a_mistake_in_a_rubric(old: str, new: str, message: str, tmp_path: Path) -> None:
    page = Page("task.md")
    module, task = _judged_task(page)
    entries = page.package["pyproject.toml"].replace(":ReasonTask", ":JudgedReasonTask")
    rubric = page.additions["same_reason.toml"].replace(old, new)
    package = {"pyproject.toml": entries, module: task, "same_reason.toml": rubric}
    env = install_modules(package, tmp_path)
    page.write_files(tmp_path)
    judge = json.dumps(judge_entry("http://127.0.0.1:1/v1"))
    (tmp_path / "judge.yaml").write_text(judge, encoding="utf-8")
    done = run("score", "cases.jsonl", "--judge", "judge.yaml", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_suite_from_another_package_is_titled_signed_weighted_and_reported(
    tmp_path: Path,
) -> None:
    done, card = _followed("suite.md", tmp_path)
    assert (card["suite"], card["title"]) == ("routing", "Call Routing")
    assert card["models"][0]["final"]["weights"] == {"queue": 0.75, "priority": 0.25}
    assert [model["final"]["score"] for model in card["models"]] == [1.0, 0.0]
    assert "Call Routing" in done.stdout
    assert "Queue Accuracy" in done.stdout
    spec = tmp_path / "site" / "callscore_routing" / "spec.toml"
    spec.write_text(spec.read_text().replace("0.85", "0.80"))
    again = run(
        *("run", "eval.yaml", "--json", "again.json", "--resume"), env=_site(tmp_path), cwd=tmp_path
    )
    assert again.returncode == 0, again.stderr
    signed = [card["signature"], read_json(tmp_path / "again.json")["signature"]]
    assert signed[0] != signed[1]  # the digest of spec.toml is part of it


def test_verdict_files_may_use_the_words_that_a_task_of_a_suite_allows(tmp_path: Path) -> None:
    page, module = Page("suite.md"), "callscore_routing/__init__.py"
    added = '\nFieldTask.verdict_words = {"queue.accuracy": ("same", "different")}\n'
    env = install_modules({**page.package, module: page.package[module] + added}, tmp_path)
    page.write_files(tmp_path)
    named = {"case_id": "call-1/queue", "model": "m"}
    (tmp_path / "outputs.jsonl").write_text(json.dumps({**named, "output": {"queue": "bills"}}))
    score = ("score", "cases.jsonl", "--outputs", "outputs.jsonl", "--verdicts", "verdicts.jsonl")
    for word, code in (("same", 0), ("alike", 2)):
        verdict = {**named, "metric": "queue.accuracy", "item": "queue", "verdict": word}
        (tmp_path / "verdicts.jsonl").write_text(json.dumps(verdict))
        done = run(*score, env=env, cwd=tmp_path)
        assert done.returncode == code, done.stderr


def test_custom_prompts_work_with_a_suite_of_another_package(tmp_path: Path) -> None:
    page = Page("suite.md")
    env = install_modules(page.package, tmp_path)
    page.write_files(tmp_path)
    prompt = _prompt_of_online_model(tmp_path)
    done = run(*prompt, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    system, user = json.loads(done.stdout)["messages"]
    assert system["content"] == 'Name the queue of a  call as {"queue": …}.'
    assert user["content"] == "1. Customer: I was charged twice."
    (tmp_path / "queue.md").write_text("Choose one of {{queues}}.", encoding="utf-8")
    done = run(*prompt, env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "queue.md:1: unknown variable 'queues'; expected one of data, config" in done.stderr


def _prompt_of_online_model(folder: Path) -> tuple[str, ...]:
    """The command that shows what a model would be sent; nothing is."""
    path = folder / "prompted.yaml"
    online = "provider: openai, model: gpt-x, api_key_env: OPENAI_API_KEY"
    text = path.read_text(encoding="utf-8").replace("provider: simulated", online)
    path.write_text(text, encoding="utf-8")
    return ("prompt", "prompted.yaml", "--case", "call-1/queue", "--json")


def test_a_task_of_another_package_can_add_variables_to_custom_prompts(tmp_path: Path) -> None:
    page = Page("suite.md")
    module = "callscore_routing/__init__.py"
    added = """
FieldTask.prompt_variables = {**Task.prompt_variables, "queues": False}
FieldTask.prompt_values = lambda self, case, prompt: {
    **Task.prompt_values(self, case, prompt), "queues": "billing, technical"
}
"""
    env = install_modules({**page.package, module: page.package[module] + added}, tmp_path)
    page.write_files(tmp_path)
    (tmp_path / "queue.md").write_text("Choose one of {{queues}}.", encoding="utf-8")
    prompt = _prompt_of_online_model(tmp_path)
    done = run(*prompt, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    system, user = json.loads(done.stdout)["messages"]
    assert system["content"] == "Choose one of billing, technical."
    assert user["content"] == "Customer: I was charged twice."
    prompts = "=== user ===\n{{queues}}"
    (tmp_path / "queue.md").write_text(f"Choose.\n{prompts}", encoding="utf-8")
    done = run(*prompt, env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "does not contain the call" in done.stderr


def test_a_report_format_from_another_package_writes_a_stored_run(tmp_path: Path) -> None:
    page = Page("report.md")
    page.check_size()
    for done in page.run(tmp_path):
        assert done.returncode == 0, done.stderr
    lines = (tmp_path / "report.txt").read_text(encoding="utf-8").splitlines()
    assert "scorecard" in lines[0]
    assert lines[-1] == "1.000 greeting-1 gold"
    unknown = run("report", "eval.yaml", "--format", "ascii", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "'ascii' is not a report format" in unknown.stderr


def test_weights_may_name_tasks_of_other_packages_and_no_others(tmp_path: Path) -> None:
    page = Page("suite.md")
    env = install(page.package, tmp_path)
    (tmp_path / "cases.jsonl").write_text(page.files["cases.jsonl"], encoding="utf-8")
    output = '{"case_id": "call-1/queue", "model": "m", "output": {"queue": "billing"}}'
    (tmp_path / "outputs.jsonl").write_text(output, encoding="utf-8")
    score = ("score", "cases.jsonl", "--outputs", "outputs.jsonl", "--json", "card.json")
    done = run(*score, "--weights", "queue=1", env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "card.json")["models"][0]["final"]["score"] == 1.0
    done = run(*score, "--weights", "queue=0.5,cue=0.5", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "weights: unknown task 'cue'; expected one of queue, priority" in done.stderr


def test_a_suite_of_another_package_has_settings(tmp_path: Path) -> None:
    page = Page("suite.md")
    module = "callscore_routing/__init__.py"
    settings = """
from callscore.extension import ScoreSettings

class RoutingSettings(ScoreSettings, frozen=True):
    patience: float = 0.5

RoutingSuite.settings_type = RoutingSettings
"""
    env = install_modules({**page.package, module: page.package[module] + settings}, tmp_path)
    page.write_files(tmp_path)
    output = '{"case_id": "call-1/queue", "model": "m", "output": {"queue": "billing"}}'
    (tmp_path / "outputs.jsonl").write_text(output, encoding="utf-8")
    score = ("score", "cases.jsonl", "--outputs", "outputs.jsonl", "--json", "card.json")
    done = run(*score, "--set", "patience=0.7", env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "|settings:patience=0.7|" in read_json(tmp_path / "card.json")["signature"]
    done = run(*score, "--set", "pateince=0.7", env=env, cwd=tmp_path)
    assert done.returncode == 2
    known = done.stderr.partition("unknown setting 'pateince'; expected one of: ")[2]
    assert {"gates", "patience"} <= set(known.strip().split(", "))


def test_simulated_refuses_a_task_that_it_cannot_degrade(tmp_path: Path) -> None:
    page = Page("task.md")
    (module,) = (name for name in page.package if name.endswith(".py"))
    body, _, _ = page.package[module].partition("    def degrade")
    env = install({**page.package, module: body}, tmp_path)
    for name, text in page.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = run("run", "eval.yaml", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "simulated cannot degrade the task 'reason'" in done.stderr


def test_baseline_refuses_a_task_without_rules_before_anything_is_sent(tmp_path: Path) -> None:
    page = Page("task.md")
    env = install(page.package, tmp_path)
    for name, text in page.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    models = "[{name: a, provider: simulated}, {name: b, provider: baseline}]"
    config = f"data: cases.jsonl\nmodels: {models}\n"
    (tmp_path / "eval.yaml").write_text(config, encoding="utf-8")
    done = run("run", "eval.yaml", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "baseline has no rules for the task 'reason'" in done.stderr
    assert not (tmp_path / ".callscore").exists()


def test_without_the_package_its_names_are_unknown(tmp_path: Path) -> None:
    page = Page("provider.md")
    for name, body in page.files.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    done = run("run", "eval.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "eval.yaml:3: models[0].provider: unknown provider; expected one of" in done.stderr
    done = run("score", "cases.jsonl", "--judge", "keywords", cwd=tmp_path)
    assert done.returncode == 2
    assert "judge 'keywords'; expected none, offline, or a YAML file" in done.stderr


def test_a_package_that_cannot_be_imported_is_an_error_of_the_config(tmp_path: Path) -> None:
    page = Page("provider.md")
    broken = {**page.package, "callscore_inhouse.py": "import no_such_module\n"}
    env = install(broken, tmp_path)
    for name, body in page.files.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    done = run("run", "eval.yaml", env=env, cwd=tmp_path)
    assert done.returncode == 2
    wanted = "'inhouse': callscore_inhouse:InhouseProvider cannot be imported: ModuleNotFoundError"
    assert wanted in done.stderr


def _followed(name: str, folder: Path) -> tuple[CompletedCommand, Any]:
    """What the first command of a page printed, and the card that it wrote."""
    page = Page(name)
    page.check_size()
    ran = page.run(folder)
    assert [done.stderr for done in ran if done.returncode != 0] == []
    return ran[0], read_json(folder / "card.json")


def _without(folder: Path, key: str) -> dict[str, str]:
    """The same eval file without a line."""
    path = folder / "eval.yaml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(key)), encoding="utf-8")
    return _site(folder)


def _site(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(folder / "site")}


def test_cases_of_several_suites_share_a_scorecard_and_weights(tmp_path: Path) -> None:
    page, metric = Page("suite.md"), Page("metric.md")
    env = install_modules(page.package, tmp_path)
    cases = page.files["cases.jsonl"] + metric.files["cases.jsonl"]
    (tmp_path / "cases.jsonl").write_text(cases, encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(page.files["eval.yaml"], encoding="utf-8")
    done = run("run", "eval.yaml", "--json", "card.json", env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "card.json")
    assert (card["suite"], card["title"]) == ("calls+routing", "Call Intelligence + Call Routing")
    assert card["models"][0]["final"]["over"] == ["qa"]
    with (tmp_path / "eval.yaml").open("a", encoding="utf-8") as file:
        file.write("weights: {qa: 0.5, queue: 0.5}\n")
    done = run("run", "eval.yaml", "--json", "card.json", env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "card.json")["models"][0]["final"]["score"] == 1.0


def test_every_report_and_command_knows_a_suite_of_another_package(tmp_path: Path) -> None:
    page = Page("suite.md")
    env = install_modules(page.package, tmp_path)
    page.write_files(tmp_path)
    run("run", "eval.yaml", env=env, cwd=tmp_path)
    formats = {"html": "Call Routing", "md": "Queue Accuracy", "csv": "queue.accuracy", "json": ""}
    for name, wanted in {**formats, "junit": "queue", "otel": "queue.accuracy"}.items():
        done = run("report", "eval.yaml", "--format", name, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert wanted in done.stdout
    for command in (
        "report eval.yaml --format xlsx -o report.xlsx",
        "report eval.yaml --format dossier -o run.zip",
        "verify run.zip",
        "validate cases.jsonl",
        "prompt cases.jsonl --case call-1/queue",
        "compare eval.yaml:gold eval.yaml:noisy",
        "baseline set eval.yaml --model gold",
        "run eval.yaml --race",
    ):
        done = run(*command.split(), env=env, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    sheet = ("annotate", "cases.jsonl", "--task", "queue", "--sheet", "labels.xlsx")
    done = run(*sheet, env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "cases of the task 'queue' cannot be labelled" in done.stderr


def test_a_folder_of_scenarios_of_another_package_goes_through_every_command(
    tmp_path: Path,
) -> None:
    page = Page("scenarios.md")
    page.check_size(most=70)
    done = dict(zip(page.commands, page.run(tmp_path), strict=True))
    assert [ran.stderr for ran in done.values() if ran.returncode != 0] == []
    ran, *_ = done.values()
    assert "gold        5/5" in ran.stderr
    assert (
        "HOW SURE         2 scenarios: up to 78 %" in ran.stdout
    )  # five steps are no sample of five
    card = read_json(tmp_path / "card.json")
    gold, noisy = (model["tasks"]["step"] for model in card["models"])
    assert (gold["score"], gold["n"]) == (1.0, 5)
    assert noisy["score"] < 1.0
    assert card["intervals"]["about"] == "future scenarios"
    assert "5 cases can be scored: step 5" in done["validate booking:scenarios"].stdout
    (recorded,) = read_json(tmp_path / "recorded.json")["models"]
    assert recorded["tasks"]["step"]["metrics"]["step.accuracy"]["value"] == 0.5
    assert "A table, please." in done["prompt booking:scenarios --case table/1"].stdout


def _installed_scenarios(folder: Path) -> Mapping[str, str]:
    page = Page("scenarios.md")
    page.write_files(folder)
    return install_modules(page.package, folder)


def test_folders_of_scenarios_case_files_and_calls_share_an_eval_file(tmp_path: Path) -> None:
    env = _installed_scenarios(tmp_path)
    (tmp_path / "calls.jsonl").write_text(Page("metric.md").files["cases.jsonl"], encoding="utf-8")
    more = tmp_path / "more" / "deep"
    more.mkdir(parents=True)
    (more / "hours.json").write_text('[{"customer": "Until when?", "action": "tell_hours"}]')
    text = (tmp_path / "eval.yaml").read_text(encoding="utf-8")
    data = "data: [calls.jsonl, {booking: [scenarios, more]}]"
    (tmp_path / "eval.yaml").write_text(text.replace("data: {booking: scenarios}", data))
    command = ("run", "eval.yaml", "--results", "results.jsonl", "--redact", "--json", "card.json")
    done = run(*command, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    gold = [json.loads(line) for line in lines if '"gold"' in line]
    assert [result["case_id"] for result in gold] == [
        "greeting-1",
        *("cancel/1", "cancel/2", "table/1", "table/2", "table/3"),
        "deep/hours/1",
    ]
    done = run("run", "eval.yaml", "--race", "--store", "race.db", env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("scenario", "data", "problem"),
    [
        ("[{]", "{booking: scenarios}", "scenarios/table.json: suite 'booking': read_scenario() "),
        ('[{"action": "book"}]', "{booking: scenarios}", "raised KeyError: 'customer'"),
        (
            '[{"customer": "Hi", "action": "a"}, {"customer": 7, "action": "b"}]',
            "{booking: scenarios}",
            "scenarios/table.json:2: case 'table/2': field transcript",
        ),
        ("[]", "{booking: none}", "eval.yaml:1: data.booking: none: no such folder; expected"),
        ("[]", "{bookings: scenarios}", "data.bookings: unknown key; did you mean booking?"),
        (
            "[]",
            "{booking: {scenarios: x}}",
            "data.booking: expected a folder of scenarios, or a list",
        ),
    ],
)
def test_a_scenario_that_cannot_be_read_is_named(
    tmp_path: Path, scenario: str, data: str, problem: str
) -> None:
    env = _installed_scenarios(tmp_path)
    (tmp_path / "scenarios" / "table.json").write_text(scenario, encoding="utf-8")
    text = (tmp_path / "eval.yaml").read_text(encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(text.replace("{booking: scenarios}", data))
    done = run("run", "eval.yaml", env=env, cwd=tmp_path)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


def test_a_dossier_has_the_prompt_of_every_step_with_the_replies_before_it(tmp_path: Path) -> None:
    env = _installed_scenarios(tmp_path)
    for command in (
        "run eval.yaml --json card.json",
        "report eval.yaml --format dossier -o run.zip",
        "verify run.zip",
    ):
        done = run(*command.split(), env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "8 prompts" in done.stdout, "two first steps, and three later ones of two models"
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    lines = [json.loads(line) for line in files["prompts.jsonl"].splitlines()]
    assert [(line["case_id"], line.get("model")) for line in lines] == [
        ("cancel/1", None),
        *(("cancel/2", model) for model in ("gold", "noisy")),
        ("table/1", None),
        *((f"table/{step}", model) for step in (2, 3) for model in ("gold", "noisy")),
    ]
    outputs = files["outputs.jsonl"].replace(b"ask_date", b"ask_data")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        for name, content in {**files, "outputs.jsonl": outputs}.items():
            archive.writestr(name, content)
    done = run("verify", "other.zip", env=env, cwd=tmp_path)
    assert done.returncode == 1
    assert "prompts.jsonl: case 'table/2': is not the prompt that is sent for it" in done.stdout


def test_scenarios_of_another_package_are_replayed_gated_and_not_overwritten(
    tmp_path: Path,
) -> None:
    env = _installed_scenarios(tmp_path)
    config = {
        "data": {"booking": "scenarios"},
        "models": [{"name": "recorded", "provider": "replay", "outputs": "outputs.jsonl"}],
        "gates": [{"of": "step.accuracy", "at_least": 0.9}],
    }
    (tmp_path / "eval.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = run("run", "eval.yaml", env=env, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "step.accuracy" in done.stderr
    done = run("run", "eval.yaml", "--json", "scenarios/table.json", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "scenarios/table.json: is read by this command" in done.stderr


def _scenario_stub(
    folder: Path, behave: Any, names: Sequence[str] = ("m",), runs: Sequence[str] = ("",)
) -> tuple[list[list[dict[str, str]]], Any]:
    """Run the eval file of the page with models behind HTTP; returns what they were sent.

    `runs`: the options of every run of the file, one after the other.
    """
    page = Page("scenarios.md")
    env = install_modules(page.package, folder)
    page.write_files(folder)
    with serving(behave) as server:
        models = json.dumps(
            [{**judge_entry(server.url), "name": name, "model": name} for name in names]
        )
        text = (folder / "eval.yaml").read_text(encoding="utf-8")
        start, end = text.index("models:"), text.index("prompts:")
        (folder / "eval.yaml").write_text(
            f"{text[:start]}models: {models}\n{text[end:]}repeats: 2\n", encoding="utf-8"
        )
        env = {**env, "JUDGE_KEY": "k"}
        for options in runs:
            done = run(
                *("run", "eval.yaml", "--no-preflight", "--yes", *options.split()),
                *("--json", "card.json", "--results", "results.jsonl"),
                env=env,
                cwd=folder,
            )
        sent = [request.json["messages"] for request in server.requests]
    return sent, done


def test_a_model_of_a_scenario_sees_its_own_earlier_replies(tmp_path: Path) -> None:
    def behave(request: Request) -> Answer:
        steps = sum(message["role"] == "user" for message in request.json["messages"])
        return Answer(chat_completion(json.dumps({"action": f"step_{steps}"})))

    sent, done = _scenario_stub(tmp_path, behave)
    assert done.returncode == 0, done.stderr
    assert len(sent) == 10, "five steps, asked twice"
    (first, *_, last) = sorted(sent, key=len)
    assert first[0]["content"].startswith("You book tables.")
    assert [message["role"] for message in last] == ["system", *["user", "assistant"] * 2, "user"]
    assert [message["content"] for message in last[1:]] == [
        "A table, please.",
        '{"action": "step_1"}',
        "For Friday.",
        '{"action": "step_2"}',
        "Four of us.",
    ]


def test_a_race_of_scenarios_asks_step_by_step_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    actions = {
        "A table, please.": "ask_date",
        "For Friday.": "ask_people",
        "Four of us.": "book",
        "I want to cancel.": "ask_name",
        "Ana Ruiz.": "cancel",
    }

    def behave(request: Request) -> Answer:
        action = actions[request.json["messages"][-1]["content"]]
        given = action if request.json["model"] == "good" else "give_up"
        return Answer(chat_completion(json.dumps({"action": given})))

    sent, done = _scenario_stub(tmp_path, behave, ("good", "poor"), ("--race", "", "--resume"))
    assert done.returncode == 0, done.stderr
    assert len(sent) == 20, "five steps, two models, asked twice; the later runs send nothing"
    third = [messages for messages in sent if messages[-1]["content"] == "Four of us."]
    own = [[m["content"] for m in messages if m["role"] == "assistant"] for messages in third]
    good = ['{"action": "ask_date"}', '{"action": "ask_people"}']
    poor = ['{"action": "give_up"}', '{"action": "give_up"}']
    assert sorted(own) == [good, good, poor, poor]
    models = read_json(tmp_path / "card.json")["models"]
    assert [model["tasks"]["step"]["score"] for model in models] == [1.0, 0.0]


def test_a_step_after_a_failed_one_is_not_run(tmp_path: Path) -> None:
    def behave(request: Request) -> Answer:
        if request.json["messages"][-1]["content"] == "For Friday.":
            return Answer(b"{}", status=400)
        return Answer(chat_completion('{"action": "ask_date"}'))

    sent, done = _scenario_stub(tmp_path, behave)
    assert not any(messages[-1]["content"] == "Four of us." for messages in sent)
    task = read_json(tmp_path / "card.json")["models"][0]["tasks"]["step"]
    assert task["status"] == "incomplete", done.stderr
