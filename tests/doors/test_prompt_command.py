"""Own prompts: files with variables, variants as models, and what would be sent, shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import run
from eval_files import eval_file, read_json
from scenario_runs import PERFECT, SCENARIOS

CASE = {
    "id": "c1",
    "task": "entity",
    "lang": "en",
    "transcript": "Agent: Hello\nCustomer: {{schema}} refund please.",
    "config": {"keywords": ["refund"], "topics": []},
    "expected_outcome": {
        "detected_keywords": ["refund"],
        "detected_topics": [],
        "valid_entity_set": ["refund"],
    },
}
EVAL = """
data: cases.jsonl
models:
  - {name: sim, provider: simulated}
  - {name: gpt, provider: openai, model: gpt-x, api_key_env: OPENAI_API_KEY}
prompts:
  entity: entity.md
  variants:
    B: {entity: b.md}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASE) + "\n")
    (tmp_path / "eval.yaml").write_text(EVAL)
    (tmp_path / "entity.md").write_text("Find what is configured. Answer by {{schema}}.\n")
    (tmp_path / "b.md").write_text(
        "Be brief.\n=== user ===\nThe call:\n{{transcript_text}}\nLook for {{config}}.\n"
    )
    return tmp_path


def shown(folder: Path, *options: str) -> dict[str, list[dict[str, str]]]:
    done = run("prompt", folder / "eval.yaml", "--json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
    return found


def test_the_built_in_prompt_of_a_case_is_shown(folder: Path) -> None:
    done = run("prompt", folder / "cases.jsonl")
    assert done.returncode == 0, done.stderr
    assert "=== system ===" in done.stdout and "=== schema of the answer ===" in done.stdout
    assert '"keywords":["refund"]' in done.stdout


def test_a_prompt_file_replaces_the_instructions_and_leaves_the_call(folder: Path) -> None:
    system, user = shown(folder, "--model", "gpt")["messages"]
    assert system["content"].startswith('Find what is configured. Answer by {"type":"object"')
    assert json.loads(user["content"])["config"]["keywords"] == ["refund"]


def test_a_variant_is_a_model_with_its_own_words(folder: Path) -> None:
    found = shown(folder, "--model", "gpt / prompt B")
    system, user = found["messages"]
    assert system["content"] == "Be brief."
    # what the caller says is never taken for a variable
    assert "2. Customer: {{schema}} refund please." in user["content"]
    assert "The call:" in json.dumps(found["request"])


def test_cases_with_tools_can_be_asked_with_custom_prompts(tmp_path: Path) -> None:
    case = {
        "id": "t1",
        "task": "orchestration",
        "transcript": "user: Where is order 7?",
        "config": {"tools": [{"name": "track", "parameters": {"type": "object"}}]},
        "expected_outcome": {"calls": [{"track": {"order": [7]}}]},
    }
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    (tmp_path / "own.md").write_text("Choose from {{config}}.")
    (tmp_path / "eval.yaml").write_text(
        "data: cases.jsonl\nprompts: {orchestration: own.md}\nmodels:\n"
        "  - {name: gpt, provider: openai, model: gpt-x, api_key_env: OPENAI_API_KEY}\n"
    )
    system, user = shown(tmp_path)["messages"]
    assert system["content"].startswith('Choose from {"tools":[{"name":"track"')
    assert user["content"] == "user: Where is order 7?"


def test_variants_are_columns_of_the_card(folder: Path) -> None:
    text = "\n".join(line for line in EVAL.split("\n") if "gpt" not in line)
    (folder / "eval.yaml").write_text(text)
    done = run("run", folder / "eval.yaml", "--json", folder / "card.json")
    assert done.returncode == 0, done.stderr
    card = json.loads((folder / "card.json").read_text())
    assert [model["model"] for model in card["models"]] == ["sim", "sim / prompt B"]
    assert any("asked with custom prompts" in note for note in card["notes"])


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("entity.md", "Use {{call}}.", "entity.md:1: unknown variable 'call'"),
        ("b.md", "Be brief.\n=== user ===\nNo call.", "does not contain the call"),
        ("b.md", "=== user ===\n{{data}}", "contains no instructions"),
    ],
)
def test_a_bad_prompt_file_is_refused_before_anything_is_sent(
    folder: Path, file: str, text: str, problem: str
) -> None:
    (folder / file).write_text(text)
    done = run("run", folder / "eval.yaml", "--dry-run")
    assert done.returncode == 2
    assert problem in done.stderr
    assert "eval.yaml:" in done.stderr


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    (tmp_path / "step.md").write_text("{{instructions}}\nAnswer in one breath.\n")
    online = {"name": "gpt", "provider": "openai", "model": "gpt-x", "api_key_env": "SOME_KEY"}
    return eval_file(
        tmp_path,
        [PERFECT, online],
        data=SCENARIOS,
        prompts={"variants": {"B": {"scenario": "step.md"}}},
    )


def test_the_steps_of_scenarios_have_own_prompts_and_variants(scenario_file: Path) -> None:
    built_in, own = (
        json.loads(
            run("prompt", scenario_file, "--case", "EN/1#4", "--model", name, "--json").stdout
        )["messages"]
        for name in ("gpt", "gpt / prompt B")
    )
    assert own[0]["content"] == built_in[0]["content"].strip() + "\nAnswer in one breath."
    assert own[1:] == built_in[1:], "the conversation before the step stays as it is"


def test_a_result_says_that_its_steps_were_asked_with_own_prompts(tmp_path: Path) -> None:
    (tmp_path / "step.md").write_text("{{instructions}}\nAnswer in one breath.\n")
    path = eval_file(tmp_path, [PERFECT], data=SCENARIOS, prompts={"scenario": "step.md"})
    done = run("run", path, "--json", tmp_path / "card.json")
    assert done.returncode == 0, done.stderr
    document = read_json(tmp_path / "card.json")
    assert "asked with custom prompts" in document["x_extension"]["warnings"]
    assert document["overall_statistics"]["key_metrics"]["Average"] == 1.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Use {{data}}.", "unknown variable 'data'; expected one of instructions"),
        (
            "Answer.\n=== user ===\n{{instructions}}",
            "a user message would replace the conversation",
        ),
    ],
)
def test_a_prompt_that_would_hide_the_conversation_is_refused(
    scenario_file: Path, text: str, says: str
) -> None:
    scenario_file.with_name("step.md").write_text(text)
    done = run("run", scenario_file, "--dry-run")
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
