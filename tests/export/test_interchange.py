"""Files for other tools: their shape here, and their own readers where these can be installed."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from callscore.report.formats import report_format
from callscore.report.source import ReportOptions, ReportSource

INSTALL_S = 900


def written(name: str, source: ReportSource) -> bytes:
    return b"".join(report_format(name).write(source, ReportOptions()))


def unpacked(name: str, source: ReportSource, folder: Path) -> list[Path]:
    with ZipFile(io.BytesIO(written(name, source))) as archive:
        archive.extractall(folder)
        return [folder / inner for inner in archive.namelist()]


def test_inspect_has_a_log_for_every_model_with_its_scores(
    sample: ReportSource, tmp_path: Path
) -> None:
    logs = [json.loads(path.read_bytes()) for path in unpacked("inspect", sample, tmp_path)]
    assert [log["eval"]["model"] for log in logs] == [model.model for model in sample.card.models]
    for log, model in zip(logs, sample.card.models, strict=True):
        assert len(log["samples"]) == 2 * len(sample.cases)  # each is asked twice
        scores = {
            score["name"]: score["metrics"]["callscore"] for score in log["results"]["scores"]
        }
        if model.final.score is not None:
            assert scores["final"]["value"] == model.final.score
        blocked = [
            s for s in log["samples"] if "blocked" in (s["scores"]["score"].get("metadata") or {})
        ]
        assert all(one["scores"]["score"]["value"] == 0 for one in blocked)


def test_promptfoo_has_a_result_for_every_answer(sample: ReportSource) -> None:
    found = json.loads(written("promptfoo", sample))["results"]
    assert found["version"] == 3
    answers = [answer for view in sample.cases for answer in view.answers]
    assert len(found["results"]) == len(answers)
    assert [result["success"] for result in found["results"]] == [
        answer.result.status == "valid" for answer in answers
    ]
    assert found["stats"]["successes"] == sum(result["success"] for result in found["results"])
    assert {prompt["provider"] for prompt in found["prompts"]} == {a.model for a in answers}


def test_every_eval_ever_names_its_lines_with_their_hash(
    sample: ReportSource, tmp_path: Path
) -> None:
    import hashlib

    files = unpacked("every-eval-ever", sample, tmp_path)
    records = [path for path in files if path.suffix == ".json"]
    assert len(records) == len(sample.card.models)
    for path in records:
        record = json.loads(path.read_bytes())
        detailed = record["detailed_evaluation_results"]
        lines = (tmp_path / detailed["file_path"]).read_bytes()
        assert hashlib.sha256(lines).hexdigest() == detailed["checksum"]
        assert len(lines.splitlines()) == detailed["total_rows"]
        names = {result["evaluation_result_id"] for result in record["evaluation_results"]}
        assert "qa.question_score_accuracy" in names


def test_otel_events_say_what_has_no_value_and_why(sample: ReportSource) -> None:
    events = [
        {a["key"]: next(iter(a["value"].values())) for a in record["attributes"]}
        for line in written("otel", sample).splitlines()
        for record in json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    ]
    assert all("gen_ai.evaluation.name" in event for event in events)
    measures = [m for v in sample.cases for a in v.answers for m in a.measures.values()]
    answers = sum(len(view.answers) for view in sample.cases)
    assert len(events) == len(measures) + answers
    without = [e for e in events if "gen_ai.evaluation.score.value" not in e]
    assert all(e["gen_ai.evaluation.score.label"] for e in without)


def installed(
    packages: Sequence[str], folder: Path, python: str = sys.executable
) -> dict[str, str]:
    """The environment in which packages are found; skips where they cannot be installed."""
    site = folder / "site"
    command = [python, "-m", "pip", "install", "-q", "--target", str(site), *packages]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{', '.join(packages)} cannot be installed: {error}")
    if done.returncode:
        pytest.skip(f"{', '.join(packages)} cannot be installed: {done.stderr[-300:]}")
    return {**os.environ, "PYTHONPATH": str(site)}


def run_in(env: dict[str, str], *command: str, cwd: Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env=env, cwd=cwd, timeout=INSTALL_S, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_inspect_reads_its_logs(sample: ReportSource, tmp_path: Path) -> None:
    logs = unpacked("inspect", sample, tmp_path / "logs")
    env = installed(["inspect_ai"], tmp_path)
    code = (
        "import sys\n"
        "from inspect_ai.log import read_eval_log\n"
        "for path in sys.argv[1:]:\n"
        "    log = read_eval_log(path)\n"
        "    print(log.eval.model, log.status, len(log.samples))\n"
    )
    shown = run_in(env, sys.executable, "-c", code, *map(str, logs), cwd=tmp_path)
    cases = len(sample.cases)
    assert (
        shown.split()
        == " ".join(f"{model.model} success {cases}" for model in sample.card.models).split()
    )


@pytest.mark.slow
def test_every_eval_ever_validates_its_records(sample: ReportSource, tmp_path: Path) -> None:
    python = next(filter(None, map(shutil.which, ("python3.13", "python3.12"))), None)
    if python is None:
        pytest.skip("every-eval-ever needs Python 3.12")
    files = unpacked("every-eval-ever", sample, tmp_path)
    env = installed(["every-eval-ever"], tmp_path / "reader", python)
    names = [str(path.relative_to(tmp_path)) for path in files]
    shown = run_in(env, python, "-m", "every_eval_ever", "validate", *names, cwd=tmp_path)
    assert "All files passed validation" in shown


@pytest.mark.slow
def test_opentelemetry_reads_its_events(sample: ReportSource, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(written("otel", sample))
    env = installed(["opentelemetry-proto"], tmp_path)
    code = (
        "import sys\n"
        "from google.protobuf import json_format\n"
        "from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs\n"
        "for line in open(sys.argv[1], encoding='utf-8'):\n"
        "    json_format.Parse(line, logs.ExportLogsServiceRequest())\n"
    )
    run_in(env, sys.executable, "-c", code, str(path), cwd=tmp_path)


@pytest.mark.slow
def test_promptfoo_imports_its_file(sample: ReportSource, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("promptfoo needs npm")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "promptfoo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"promptfoo cannot be installed: {done.stderr[-300:]}")
    path = tmp_path / "results.json"
    path.write_bytes(written("promptfoo", sample))
    quiet = {"PROMPTFOO_CONFIG_DIR": str(tmp_path / "config"), "PROMPTFOO_DISABLE_TELEMETRY": "1"}
    shown = run_in(
        {**os.environ, **quiet},
        str(tmp_path / "node_modules" / ".bin" / "promptfoo"),
        "import",
        str(path),
        cwd=tmp_path,
    )
    assert "successfully imported" in shown
