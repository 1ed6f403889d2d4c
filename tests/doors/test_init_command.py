"""`callscore init` and `callscore schema`: a first eval file that works and that editors check."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from callscore.config.file import EvalFile
from commands import environment, run


def test_a_start_without_questions_is_tried_and_runs(tmp_path: Path) -> None:
    done = run("init", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tried 2 cases with simulated models: it works" in done.stdout
    text = (tmp_path / "eval.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=eval.schema.json\n")
    assert json.loads((tmp_path / "eval.schema.json").read_text())["title"] == "Callscore eval file"
    assert not (tmp_path / ".callscore").exists()
    again = run("init", "--yes", cwd=tmp_path)
    assert again.returncode == 2 and "exists" in again.stderr
    assert (tmp_path / "eval.yaml").read_text() == text
    assert run("run", "eval.yaml", "--limit", 2, cwd=tmp_path).returncode == 0


def test_a_schema_that_is_there_is_kept_and_not_named_as_written(tmp_path: Path) -> None:
    (tmp_path / "eval.schema.json").write_text("mine")
    done = run("init", "--yes", "--no-try", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote eval.yaml\n" in done.stdout
    assert "wrote eval.schema.json" not in done.stdout
    assert (tmp_path / "eval.schema.json").read_text() == "mine"


def test_keys_in_the_environment_are_named_and_never_written(tmp_path: Path) -> None:
    secret = "sk-secret-0123456789abcdef"
    done = run("init", "--yes", cwd=tmp_path, env={"OPENAI_API_KEY": secret})
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "eval.yaml").read_text()
    assert "api_key_env: OPENAI_API_KEY" in text
    assert secret not in text + done.stdout + done.stderr
    planned = run("run", "eval.yaml", "--dry-run", cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr


def test_answers_at_the_terminal_are_written(tmp_path: Path) -> None:
    case = {
        "id": "c1", "task": "entity", "transcript": "Agent: refund",
        "config": {"keywords": ["refund"]},
        "expected_outcome": {
            "detected_keywords": ["refund"], "detected_topics": [], "valid_entity_set": ["refund"],
        },
    }  # fmt: skip
    (tmp_path / "mine.jsonl").write_text(json.dumps(case) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "callscore", "init"], input="\nentity\n\nnone\n", text=True,
        capture_output=True, cwd=tmp_path, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "eval.yaml").read_text()
    assert 'data: "mine.jsonl"' in text and "tasks: [entity]" in text and "judge: none" in text


def test_a_local_server_is_an_entry_or_a_comment(tmp_path: Path) -> None:
    done = run("init", "--yes", "--local", "http://127.0.0.1:8080/v1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "eval.yaml").read_text()
    assert '\n    base_url: "http://127.0.0.1:8080/v1"\n' in text and "allow_http" not in text
    planned = run("run", "eval.yaml", "--dry-run", cwd=tmp_path)
    assert planned.returncode == 0 and "local" in planned.stdout, planned.stderr
    done = run("init", "--yes", "--no-try", "--file", "b.yaml", cwd=tmp_path)
    assert '\n  #   base_url: "http://127.0.0.1:8080/v1"\n' in (tmp_path / "b.yaml").read_text()
    there = ("--local", "http://gpu.lan:8000/v1")
    done = run("init", "--yes", "--no-try", "--file", "c.yaml", *there, cwd=tmp_path)
    assert "allow_http: true" in (tmp_path / "c.yaml").read_text()
    wrong = run("init", "--yes", "--file", "d.yaml", "--local", "localhost", cwd=tmp_path)
    assert wrong.returncode == 2 and "expected https://host/path" in wrong.stderr


def test_the_schema_has_every_key_and_forbids_others() -> None:
    done = run("schema")
    schema = json.loads(done.stdout)
    assert set(schema["properties"]) == set(EvalFile.__struct_fields__)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["data", "models"]


def test_a_start_that_does_not_work_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run("init", "--yes", "--data", "missing.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "'missing.jsonl': no such file" in done.stderr
    assert list(tmp_path.iterdir()) == []
