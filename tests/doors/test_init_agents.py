"""`callscore init --agents`: tools in any usual form become an evaluation that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import run
from eval_files import read_json

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "kind": {"enum": ["a", "b"]}},
    "required": ["id", "kind"],
}
OPENAPI = {
    "openapi": "3.1.0",
    "paths": {
        "/orders/{id}": {
            "parameters": [{"$ref": "#/components/parameters/id"}],
            "put": {
                "operationId": "look",
                "summary": "Looks.",
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/O"}}}
                },
            },
        }
    },
    "components": {
        "parameters": {
            "id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
        },
        "schemas": {"O": {"properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"]}},
    },
}
FORMS: dict[str, Any] = {
    "openai": [
        {
            "type": "function",
            "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA},
        }
    ],
    "mcp": {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"tools": [{"name": "look", "description": "Looks.", "inputSchema": SCHEMA}]},
    },
    "openapi": OPENAPI,
}


@pytest.mark.parametrize("form", FORMS)
def test_tools_become_a_card_a_scenario_and_an_eval_file_that_runs(
    form: str, tmp_path: Path
) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(FORMS[form]))
    path = tmp_path / "eval.yaml"
    done = run("init", "--agents", "--tools", tmp_path / "tools.json", "--yes", "--file", path)
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "cards" / "assistant.json")
    assert card["tools"] == [{"name": "look", "description": "Looks.", "parameters": SCHEMA}]
    shown = run("prompt", path, "--case", "und/first#2")
    assert "=== tool look ===" in shown.stdout, shown.stderr
    assert '{"id":1,"kind":"a"}' in (tmp_path / "scenarios" / "first.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("{}", [], "defines no tool; expected OpenAI tool schemas"),
        ('[{"name": "a"}, {"name": "a"}]', [], "the tool 'a' is defined twice"),
        ('[{"name": "a"}]', ["--agent", "../x"], "expected letters, digits and _"),
    ],
)
def test_tools_that_cannot_be_used_are_refused_and_nothing_is_written(
    tmp_path: Path, text: str, options: list[str], says: str
) -> None:
    (tmp_path / "t.json").write_text(text)
    done = run(
        "init", "--agents", "--tools", tmp_path / "t.json", "--yes",
        "--file", tmp_path / "eval.yaml", *options,
    )  # fmt: skip
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
