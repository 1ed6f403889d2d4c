"""Own scenarios: the short form, content as values, and what is refused instead of misread."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import callscore
from callscore.core.case import Tool
from callscore.core.errors import DataError
from callscore.core.scenarios import ScenarioData, ScenarioSettings
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.orchestration.plan.model import PlannedStep
from callscore.suites.orchestration.scenario.cards import Card, index_cards
from callscore.suites.orchestration.scenario.cases import step_cases
from callscore.suites.orchestration.scenario.data import check_scenarios
from callscore.suites.orchestration.scenario.model import CallsDue, DecodedCall, RejectionDue
from callscore.suites.orchestration.scenario.parse import ScenarioKey, read_scenario
from callscore.suites.orchestration.scenario.protocol import bundled_protocol, with_own_prompts
from callscore.suites.orchestration.scenario.public_label import label_of
from callscore.suites.orchestration.twins import Outline, find_twins
from callscore.suites.registry import scenario_suite
from commands import run
from eval_files import eval_file, read_json
from scenario_runs import PERFECT

jsonschema = pytest.importorskip("jsonschema")  # of the notebook tests
KEY = ScenarioKey("EN", "book")
CARDS = index_cards(
    [
        Card("desk", "Desk", tools=(Tool("book", "Books.", {}), Tool("cancel", "Cancels.", {}))),
        Card("till", tools=(Tool("pay", "Pays.", {"required": ["sum"]}),)),
    ]
)
BOOK: dict[str, Any] = {
    "tool": "book",
    "arguments": {"day": "2026-11-20", "note": 'a "no"\ntool: x'},
}
PLAN = {"workflow_1": {"status": "pending", "steps": [{"name": "desk", "refined_query": "Book"}]}}


def read(*steps: Any) -> Any:
    return read_scenario(json.dumps({"steps": steps}), KEY, CARDS)


@pytest.mark.parametrize(
    ("content", "due"),
    [
        (BOOK, CallsDue((DecodedCall("book", BOOK["arguments"]),), "book")),
        ({**BOOK, "tool_call_result": {"status": "AWAITING_USER_INPUT"}}, None),
        ([BOOK, {"tool": "cancel"}], None),
        ({"tool_call": [BOOK, {"tool": "cancel"}], "tool_call_result": "ok"}, None),
        ({"status": "AWAITING_USER_INPUT", "message": "When?\ntool: book"}, None),
    ],
)
def test_content_as_values_is_what_is_due(content: Any, due: Any) -> None:
    scenario = read({"user": "Book"}, {"agent": "desk", "content": content})
    (step,) = scenario.agent_steps
    assert scenario.findings == ()
    if due is not None:
        assert step.due == due
    elif isinstance(content, dict) and "status" in content:
        assert step.due == RejectionDue("AWAITING_USER_INPUT")
    else:
        first = content[0] if isinstance(content, list) else content.get("tool_call", [content])[0]
        assert step.due.calls[0] == DecodedCall(first["tool"], first["arguments"])


def test_a_plan_as_values_is_a_plan_for_us_and_for_the_public_runner() -> None:
    scenario = read({"user": "Book"}, {"main": PLAN}, {"desk": BOOK})
    (plan,) = scenario.plans
    assert plan.gold.workflows[0].steps == (PlannedStep("desk", "UNK", "Book"),)
    label = label_of(scenario.raw)
    assert label["2"]["content"].startswith("workflow_1")
    called = label["3-1"]["tool_calls"][0]["function"]
    assert json.loads(called["arguments"]) == BOOK["arguments"]


def test_the_history_has_results_and_what_a_rejection_says() -> None:
    scenario = read(
        {"user": "Book"},
        {"desk": {"status": "AWAITING_USER_INPUT", "message": "When?"}},
        {"user": "Friday"},
        {"desk": [{**BOOK, "tool_call_result": 1}, {"tool": "cancel", "tool_call_result": 2}]},
        {"desk": {"tool": "cancel"}},
    )
    last = step_cases(scenario, CARDS)[-1].prompt
    said = [(message.role, message.content) for message in last.messages[1:]]
    assert said == [
        ("user", "Book"),
        ("assistant", "When?"),
        ("user", "Friday"),
        ("assistant", "[1, 2]"),
        ("user", "Friday"),
    ]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"agent": "desk", "content": '{"tool": "book", "arguments": {}}'}, "contains a call, but"),
        ({"desk": '```json\n{"tool": "book"}\n```'}, "contains a call, but"),
        ({"desk": "tool: book\nstatus: AWAITING_USER_INPUT"}, "a call and states the status"),
        ({"main": "Here is the plan:\n" + json.dumps(PLAN)}, "counts as chat"),
        ({"main": json.dumps(PLAN)}, "counts as chat"),
        ({"main": "Sure. workflow_1: {steps: [{name: desk}]}"}, "counts as chat"),
        ({"main": {"workflow_1": {"steps": "desk"}}}, "is not a plan (steps_not_a_list"),
        ({"main": {"plan": {}}}, "the key 'plan'; expected workflows by name"),
        ({"user": {"tool": "book"}}, "expected text"),
        (
            {"main": {"workflow_1": {"steps": [{"name": "dekk", "status": "pending"}]}}},
            "plans the agent 'dekk', which has no card; expected desk, till",
        ),
        ({"user": "Hi", "desk": BOOK}, "has the keys 'user', 'desk'; expected one agent"),
        ({"dekk": BOOK}, "'dekk'; expected one of system, user, main, desk, till"),
        ({"desk": {"name": "book"}}, "expected text, a call {tool, arguments"),
        ({"desk": {**BOOK, "result": 1}}, "unknown key 'result'"),
        ({"desk": {"tool": "book", "arguments": []}}, "arguments of book: expected an object"),
        ({"desk": {"status": "WAITING"}}, "status 'WAITING'; expected AWAITING_USER_INPUT"),
        ({"desk": []}, "a list without a call"),
        ({"agent": "desk", "contents": ""}, "unknown key 'contents'"),
        ({"agent": "desk", "step_id": 2}, "steps[1].content: missing"),
        ({"agent": "desk", "content": BOOK, "step_id": 1}, "the step 1 is also steps[0]"),
        ({"step_id": "x"}, "expected the number of the step"),
        ({"desk": {"tool": "bok"}}, "no card has the tool 'bok'; expected one such as book"),
    ],
)
def test_what_would_be_misread_is_refused_with_its_place(step: Any, says: str) -> None:
    with pytest.raises(DataError) as error:
        read({"user": "Book"}, step)
    assert says in str(error.value) and "steps[1]" in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("step: []", "field steps: expected a scenario"),
        ("steps: []\nexpects: []", "unknown key 'expects'; expected $schema, expect, metadata"),
        ("steps: []\nsteps: []", "line 2: the key 'steps' is repeated"),
        ("steps:\n- desk: {tool: book, arguments: {a: 1, a: 2}}", "line 2: the key 'a' is rep"),
        ("steps: []\nexpect:\n- {said: x}\n- {not_called: bok}", "x.yaml:4: field expect[1].not_c"),
        (
            "steps:\n- user: Hi\n- desk: {tool: bok}",
            "x.yaml:3: field steps[1].content: step 2: no c",
        ),
        ("user: {goal: 1}\nsteps: []", "x.yaml:1: field user.goal: expected the goal"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    card = {"agent_card": {"agent_id": "desk"}, "tools": [{"name": "book"}]}
    for name, content in (("x.yaml", text), ("cards/desk.json", json.dumps(card))):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (problem,) = check_scenarios([tmp_path], [tmp_path / "cards"], SCENARIO_FILES).problems
    assert says in str(problem)


def test_an_expected_call_that_its_own_schema_refuses_is_a_finding() -> None:
    (finding,) = read({"user": "The bill"}, {"till": {"tool": "pay"}}).findings
    assert (finding.kind, finding.action) == ("schema_violation", "noted")
    assert finding.detail == "calls[0].sum: required, and missing"


@pytest.mark.parametrize(
    "step",
    [
        {"user": "Book"},
        {"main": PLAN},
        {"agent": "desk", "content": BOOK, "workflow": "workflow_1", "step_id": 9},
        {"desk": [BOOK, BOOK]},
        {"desk": {"status": "TOOL_CONSTRAINT_VIOLATION", "violation": "closed"}},
        {"step_id": 1, "agent": "x", "agent_type": "user", "data": {"content": "Book"}},
    ],
)
def test_the_schema_accepts_what_is_read(step: Any) -> None:
    read(step)
    jsonschema.validate({"steps": [step]}, scenario_suite().scenario_schema())


@pytest.mark.parametrize(
    "step",
    [
        {"desk": {"name": "book"}},
        {"desk": {"status": "WAITING"}},
        {"agent": "desk"},
        {"agent": "desk", "content": "x", "contents": ""},
        {"main": {"plan": {}}},
    ],
)
def test_the_schema_refuses_what_is_refused(step: Any) -> None:
    with pytest.raises(DataError):
        read(step)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"steps": [step]}, scenario_suite().scenario_schema())


@pytest.mark.parametrize("name", ["callscore", "public"])
def test_every_protocol_takes_own_system_prompts(name: Any) -> None:
    own = {"planner": "Plan for {{agent_cards}}", "sub_agent": "Act.", "till": "{{agent}}: pay!"}
    protocol = with_own_prompts(bundled_protocol(name), own)
    pay = "tool: pay\narguments: {}"
    scenario = read({"system": "Open."}, {"main": PLAN}, {"desk": BOOK}, {"till": pay})
    plan, desk, till = [case.prompt.messages[0] for case in step_cases(scenario, CARDS, protocol)]
    assert plan.content.startswith("Plan for **Desk (desk)**")
    assert desk.content == "What is known:\nOpen.\n\nAct."
    assert till.content.endswith("\n\ntill: pay!")
    assert protocol.signature != bundled_protocol(name).signature


def test_an_own_prompt_with_an_unknown_variable_is_refused() -> None:
    with pytest.raises(DataError, match=r"unknown variable 'date'; expected one of system_info"):
        with_own_prompts(bundled_protocol("callscore"), {"planner": "{{date}}"})


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """An eval file with a scenario in JSON and a card."""
    (tmp_path / "EN").mkdir()
    steps = [{"user": "Book"}, {"desk": {"tool": "book"}}]
    (tmp_path / "EN" / "book.json").write_text(json.dumps({"steps": steps}))
    (tmp_path / "cards").mkdir()
    card = {"agent_card": {"agent_id": "desk"}, "tools": [{"name": "book"}]}
    (tmp_path / "cards" / "desk.json").write_text(json.dumps(card))
    data = {"orchestration": {"scenarios": "EN", "cards": "cards", "prompts": {"desk": "desk.md"}}}
    (tmp_path / "desk.md").write_text("You book.")
    models = [{"name": "p", "provider": "simulated"}]
    (tmp_path / "eval.yaml").write_text(json.dumps({"data": data, "models": models}))
    return tmp_path


def test_a_scenario_in_json_runs_with_an_own_prompt(desk: Path) -> None:
    done = run("run", desk / "eval.yaml", "--json", desk / "card.json")
    assert done.returncode == 0, done.stderr
    signature = read_json(desk / "card.json")["x_extension"]["signature"]
    shown = run("prompt", desk / "eval.yaml", "--case", "EN/book#2")
    assert "=== system ===\nYou book.\n" in shown.stdout
    assert "=== tool book ===" in shown.stdout and "schema of the answer" not in shown.stdout
    (desk / "desk.md").write_text("You do not book.")
    run("run", desk / "eval.yaml", "--json", desk / "other.json")
    assert read_json(desk / "other.json")["x_extension"]["signature"] != signature


def test_the_prompt_of_an_agent_speaks_of_a_plan_only_if_there_is_one(desk: Path) -> None:
    config = json.loads((desk / "eval.yaml").read_text())
    del config["data"]["orchestration"]["prompts"]
    (desk / "eval.yaml").write_text(json.dumps(config))
    shown = run("prompt", desk / "eval.yaml", "--case", "EN/book#2").stdout
    assert "You serve a user: desk." in shown and "workflows" not in shown
    planned = [{"user": "Book"}, {"main": PLAN}, {"desk": {"tool": "book"}}]
    plan = json.dumps({"steps": planned})
    (desk / "EN" / "book.json").write_text(plan)
    shown = run("prompt", desk / "eval.yaml", "--case", "EN/book#3").stdout
    assert "The plan is made already" in shown


@pytest.mark.parametrize(
    ("chosen", "right"),
    [({}, True), ({"asking_back": "text"}, True), ({"asking_back": "status"}, False)],
)
def test_c_142_a_question_in_words_counts_with_own_prompts(
    desk: Path, chosen: dict[str, str], right: bool
) -> None:
    steps = [{"user": "Book"}, {"desk": {"status": "AWAITING_USER_INPUT", "message": "When?"}}]
    (desk / "EN" / "book.json").write_text(json.dumps({"steps": steps}))
    said = {"case_id": "EN/book#2", "model": "p", "output": "For what time?"}
    (desk / "outputs.jsonl").write_text(json.dumps(said))
    config = json.loads((desk / "eval.yaml").read_text())
    config["data"]["orchestration"] |= chosen
    config["models"] = [{"name": "p", "provider": "replay", "outputs": "outputs.jsonl"}]
    (desk / "eval.yaml").write_text(json.dumps(config))
    done = run(
        "run", desk / "eval.yaml", "--json", desk / "card.json", "--results", desk / "r.jsonl"
    )
    assert done.returncode == 0, done.stderr
    extension = read_json(desk / "card.json")["x_extension"]
    assert extension["runs"]["scenario_success"] == float(right)
    assert ("asking_back:text" in extension["signature"]) is right
    assert ("asked_in_words" in (desk / "r.jsonl").read_text()) is right


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"asking_back": "words"}, "data.orchestration.asking_back: 'words'; expected text or"),
        ({"asking_back": "text", "mode": "compat"}, "know the status only"),
    ],
)
def test_c_142_unusable_values_of_asking_back_are_refused(
    desk: Path, chosen: dict[str, str], says: str
) -> None:
    config = json.loads((desk / "eval.yaml").read_text())
    config["data"]["orchestration"] |= chosen
    (desk / "eval.yaml").write_text(json.dumps(config))
    done = run("run", desk / "eval.yaml")
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("eval.yaml", "planer", "prompts.planer: expected one of planner, sub_agent, desk"),
        ("EN/book.yaml", "steps: []", "has the same name as"),
        ("EN/two.yaml", "steps: [{main: 'So: {workflow_1: {steps: [{name: desk}]}}'}]", "as chat"),
    ],
)
def test_a_run_refuses_what_validate_refuses(desk: Path, file: str, text: str, says: str) -> None:
    path = desk / file
    path.write_text(
        path.read_text().replace('"desk": "desk.md"', f'"{text}": "desk.md"')
        if file == "eval.yaml"
        else text
    )
    done = run("run", desk / "eval.yaml", "--dry-run")
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    if file != "eval.yaml":
        checked = run("orchestration", "validate", desk / "EN", "--cards", desk / "cards")
        assert (checked.returncode, says in checked.stderr) == (2, True), checked.stderr


def outline(*tools: str, twin: str = "") -> Outline:
    return Outline(tuple(("desk", tool) for tool in tools), twin)


def test_twins_are_named_or_have_equal_steps_that_are_rare() -> None:
    english = {
        "1": outline("book"),
        "2": outline("book", "cancel"),
        "3": outline("pay"),
        "4": outline("pay"),
    }
    korean = {
        "1": outline("pay"),
        "7": outline("book"),
        "8": outline("find", twin="2"),
        "9": outline("book", "cancel"),
        "10": outline(),
    }
    assert find_twins({"EN": english, "KO": korean}) == {"KO/7": "EN/1", "KO/8": "EN/2"}
    german = {"1": outline("drop", twin="KO/1")}
    found = find_twins({"EN": english, "KO": korean, "DE": german})
    assert found == {"KO/1": "DE/1", "KO/7": "EN/1", "KO/8": "EN/2"}
    assert find_twins({"KO": korean}) == {}


@pytest.mark.parametrize(
    ("twin", "says"),
    [
        ("book", None),
        ("EN/book", None),
        ("boook", "'boook' is in no other language; expected the id of a scenario in another"),
        ("KO/reserve", "is in no other language"),
        (True, "expected the id of a scenario in another language"),
    ],
)
def test_a_twin_is_a_scenario_of_another_language(
    tmp_path: Path, twin: Any, says: str | None
) -> None:
    card = {"agent_card": {"agent_id": "desk"}, "tools": [{"name": "book"}]}
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards/desk.json").write_text(json.dumps(card))
    steps = [{"user": "Book"}, {"desk": {"tool": "book"}}]
    files = {
        "EN/book": {"steps": steps},
        "KO/reserve": {"steps": [*steps, steps[1]], "twin": twin},  # no twin by its steps
    }
    for name, value in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    folders = [tmp_path / "EN", tmp_path / "KO"]
    problems = check_scenarios(folders, [tmp_path / "cards"], SCENARIO_FILES).problems
    cases = scenario_suite().open_cases(
        [ScenarioData(folder, tmp_path / "cards") for folder in folders],
        ScenarioSettings(),
        None,
        SCENARIO_FILES,
    )
    if says is None:
        assert not problems and len(cases.survey().ids) == 3
        data = {"scenarios": [*map(str, folders)], "cards": [str(tmp_path / "cards")] * 2}
        ran = callscore.run(eval_file(tmp_path, [PERFECT], data={"orchestration": data}))
        assert ran.document()["x_extension"]["twins"] == {"KO/reserve": "EN/book"}
        assert (ran.models[0].tasks["scenario"].n, ran.models[0].tasks["scenario"].calls) == (
            2,
            1,
        )
        return
    (problem,) = problems
    assert says in str(problem) and "twin" in str(problem) and "reserve.json" in str(problem)
    with pytest.raises(DataError, match=re.escape(says)):
        cases.survey()
