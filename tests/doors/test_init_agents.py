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


def test_the_example_of_a_tool_keeps_its_schema_behind_references(tmp_path: Path) -> None:
    """As the official SDK for Python describes a tool of an MCP server."""
    schema = {
        "properties": {
            "guest": {"$ref": "#/$defs/Guest"},
            "size": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "default": None},
        },
        "required": ["guest", "size"],
        "$defs": {
            "Guest": {"type": "object", "properties": {"name": {"type": "string"}}},
            "Size": {"enum": ["small", "large"], "type": "string"},
        },
    }
    tools = {"tools": [{"name": "book", "inputSchema": schema}]}
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    path = tmp_path / "eval.yaml"
    done = run("init", "--agents", "--tools", tmp_path / "tools.json", "--yes", "--file", path)
    assert done.returncode == 0, done.stderr
    example = (tmp_path / "scenarios" / "first.yaml").read_text()
    assert '{"guest":{"name":"text"},"size":"small"}' in example
    folders = (tmp_path / "scenarios", "--cards", tmp_path / "cards")
    assert "0 findings" in run("orchestration", "validate", *folders).stdout


PET = {"$ref": "#/components/schemas/Pet"}
PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/pets": {
            "post": {
                "operationId": "add",
                "parameters": [{"name": "X-Trace", "in": "header", "schema": {}}],
                "requestBody": {"content": {"application/json": {"schema": PET}}},
            },
            "put": {
                "operationId": "replace",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"type": "array", "items": PET}}},
                },
            },
            "patch": {
                "operationId": "photo",
                "requestBody": {"content": {"image/png": {"schema": {"type": "string"}}}},
            },
        }
    },
    "components": {
        "schemas": {
            "Id": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            "Pet": {
                "allOf": [
                    {"$ref": "#/components/schemas/Id"},
                    {"properties": {"friend": PET, "tags": {"type": "array", "items": PET}}},
                ]
            },
        }
    },
}
FIELDS = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "friend": {},
        "tags": {"type": "array", "items": {}},
    },
    "required": ["id"],
}
VERSION_2 = {
    "swagger": "2.0",
    "paths": {
        "/pets/{id}": {
            "put": {
                "operationId": "replace",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "type": "integer"},
                    {"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}},
                ],
            }
        }
    },
    "definitions": {"Pet": {"properties": {"kind": {"enum": ["a"]}}, "required": ["kind"]}},
}


def started(folder: Path, tools: Any) -> tuple[str, dict[str, Any]]:
    (folder / "tools.json").write_text(json.dumps(tools))
    path = folder / "eval.yaml"
    done = run("init", "--agents", "--tools", folder / "tools.json", "--yes", "--file", path)
    assert done.returncode == 0, done.stderr
    card = read_json(folder / "cards" / "assistant.json")
    return done.stdout, {tool["name"]: tool["parameters"] for tool in card["tools"]}


def test_schemas_of_openapi_have_no_references_and_every_field(tmp_path: Path) -> None:
    said, found = started(tmp_path, PETS)
    assert found["add"] == FIELDS, "allOf is one object, a circle accepts any value"
    body = found["replace"]["properties"]["body"]
    assert (body["type"], body["items"], found["replace"]["required"]) == (
        "array",
        FIELDS,
        ["body"],
    )
    assert "left out add: the header parameter X-Trace" in said
    assert "left out photo: a body of the type image/png" in said


def test_operations_of_openapi_2_keep_their_body_and_types(tmp_path: Path) -> None:
    _, found = started(tmp_path, VERSION_2)
    assert found["replace"] == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "kind": {"enum": ["a"]}},
        "required": ["id", "kind"],
    }


def test_tools_that_an_api_carries_out_and_further_pages_are_named(tmp_path: Path) -> None:
    (tmp_path / "openai").mkdir()
    either = {"anyOf": [{"type": "null"}, {"type": "integer"}]}
    look = {"name": "look", "parameters": {"type": "object", "properties": {"id": either}}}
    said, _ = started(tmp_path / "openai", {"tools": [look, {"type": "web_search"}]})
    assert "left out a tool of the type web_search" in said
    assert '{"id":1}' in (tmp_path / "openai" / "scenarios" / "first.yaml").read_text()
    said, _ = started(tmp_path, {"result": {"tools": [look], "nextCursor": "2"}})
    assert "left out further pages of tools/list" in said


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
