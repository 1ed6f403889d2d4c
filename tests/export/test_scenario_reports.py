"""Reports of runs with scenarios: alone, and beside calls, in every format."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import msgspec
import pytest
from openpyxl import load_workbook

from callscore.core.scenarios import ScenarioSinks, StepView
from callscore.demo.orchestration import sample_runs
from callscore.evaluate.scenarios import score_outputs
from callscore.export.sources import run_source
from callscore.export.step_cases import StepCases
from callscore.export.verification import verify
from callscore.report.formats import BUILT_IN, report_format
from callscore.report.source import ReportOptions, ReportSource
from callscore.suites.orchestration.step_views import to_json_value
from commands import run
from eval_files import cases_file, eval_file
from export.hostile import PAYLOADS, hostile_source
from scenario_runs import PERFECT, SAMPLES, SCENARIOS, STEPS

RULES = {"name": "rules", "provider": "baseline"}


@pytest.fixture(scope="module", params=["alone", "beside calls"])
def source(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReportSource]:
    """A stored run of two models, opened for a report."""
    folder = tmp_path_factory.mktemp("scenarios")
    data: Any = SCENARIOS if request.param == "alone" else [cases_file(folder, 2).name, SCENARIOS]
    config = eval_file(folder, [PERFECT, RULES], data=data)
    store = folder / "runs.db"
    done = run("run", config, "--store", store)
    assert done.returncode == 0, done.stderr
    with run_source(1, store, config) as found:
        yield found


def written(source: ReportSource, name: str, **options: Any) -> bytes:
    return b"".join(report_format(name).write(source, ReportOptions(**options)))


def test_every_step_is_a_case_with_the_answers_of_all_models(source: ReportSource) -> None:
    steps = [view for view in source.cases if view.case.task == "scenario"]
    assert len(steps) == STEPS
    for view in steps:
        assert [answer.model for answer in view.answers] == ["p", "rules"]
        assert view.case.transcript and view.case.expected_outcome
    perfect = [view.answers[0] for view in steps]
    assert {answer.result.score for answer in perfect} == {1.0}
    assert all(answer.given is not None and not answer.differences for answer in perfect)
    assert any(view.answers[1].differences for view in steps)


def test_the_card_has_the_rows_of_scenarios_with_intervals(source: ReportSource) -> None:
    card = json.loads(written(source, "json"))
    for model in card["models"]:
        task = model["tasks"]["scenario"]
        assert task["ci95"] is not None
        assert task["metrics"]["scenario.plan"]["ci95"] is not None
    assert set(card["orchestration"]) == {"p", "rules"}


def test_the_reason_of_an_estimate_is_the_same_in_every_report(tmp_path: Path) -> None:
    config = eval_file(tmp_path, [PERFECT, RULES], data=SCENARIOS)
    done = run("run", config, "--store", tmp_path / "runs.db")
    assert done.returncode == 0, done.stderr
    with run_source(1, tmp_path / "runs.db", config) as source:
        assert source.card.estimate and source.card.judging is None
        for name in ("html", "md"):
            page = written(source, name).decode()
            assert "Estimate: argument values without a verdict count as different." in page
            assert "ffline estimate" not in page


def test_tables_and_texts_show_scenarios(source: ReportSource) -> None:
    lines = list(csv.DictReader(io.StringIO(written(source, "csv").decode("utf-8-sig"))))
    steps = [line for line in lines if line["task"] == "scenario"]
    assert {line["metric"] for line in steps} >= {"orchestration.success", "orchestration.plan"}
    assert len({line["case_id"] for line in steps}) == STEPS
    markdown = written(source, "md").decode()
    assert "SCENARIOS" in markdown and "Function Calling" in markdown
    found = ElementTree.fromstring(written(source, "junit"))
    assert len(found.findall(".//testcase[@name='scenario']")) == 2
    book = load_workbook(io.BytesIO(written(source, "xlsx")), read_only=True)
    cells = {cell for row in book.worksheets[0].iter_rows(values_only=True) for cell in row}
    assert "Function Calling" in cells


def test_the_page_shows_decisions_and_plans(source: ReportSource) -> None:
    page = written(source, "html").decode()
    for heading in ("Call or reject", "Plans", "Plan of p", "Expected plan", "Scenario Score"):
        assert heading in page
    for part in ("Plan", "Function Calling", "Call / Rejection"):
        assert f"<b>{part}</b></figcaption>" in page  # a picture of its own
    assert page.count("wrong value: ") > 1
    without = written(source, "html", without_text=True).decode()
    assert "wrong value: " not in without and "Shall I refund" not in without


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_format_can_be_written_twice_alike(name: str, source: ReportSource) -> None:
    form = report_format(name)
    first, second = (list((form.files or form.write)(source, ReportOptions())) for _ in range(2))
    assert first == second


def test_a_dossier_has_scenarios_and_calls_and_verifies(
    source: ReportSource, tmp_path: Path
) -> None:
    file = tmp_path / "dossier.zip"
    file.write_bytes(written(source, "dossier"))
    found = verify(file)
    assert found.differences == []
    assert "42 results of 21 steps of scenarios, and document 001" in found.checked
    with ZipFile(file) as archive:
        card = json.loads(archive.read("card.json"))
    assert set(card["orchestration"]) == {"p", "rules"}
    assert card["signature"] == source.card.signature
    file.write_bytes(written(source, "dossier", without_text=True))
    short = verify(file)
    assert short.differences == []
    assert any(what.startswith("scenarios: ") for what in short.not_checked)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("step_outputs.jsonl", b"billing_agent", b"selling_agent", "card.json: models"),
        ("step_outputs.jsonl", b"billing_agent", b"selling_agent", "step_results.jsonl: case"),
        ("scenarios.jsonl", b"billing_agent", b"selling_agent", "step_results.jsonl: case"),
        ("card.json", b'"Average": 1.0', b'"Average": 0.9', "Average: 0.9 is stored"),
    ],
)
def test_a_changed_scenario_reply_or_document_is_found(
    source: ReportSource, tmp_path: Path, name: str, old: bytes, new: bytes, says: str
) -> None:
    file = tmp_path / "dossier.zip"
    with ZipFile(io.BytesIO(written(source, "dossier"))) as archive:
        content = {info.filename: archive.read(info) for info in archive.infolist()}
    assert old in content[name]
    content[name] = content[name].replace(old, new)
    with ZipFile(file, "w") as archive:
        for member, raw in content.items():
            archive.writestr(member, raw)
    found = [str(difference) for difference in verify(file).differences]
    assert any(says in difference for difference in found), found


@pytest.fixture(scope="module")
def recorded() -> list[StepView]:
    """Every step of the bundled recordings, of both models."""
    found: list[StepView] = []
    with sample_runs() as jobs:
        score_outputs(jobs, ScenarioSinks(on_step=found.append))
    return found


def test_recorded_steps_are_cases_too(recorded: list[StepView]) -> None:
    with StepCases() as steps:
        for view in recorded:
            steps.add(view)
        assert len(steps) == len({view.case.id for view in recorded}) == STEPS
        views = list(steps)
        assert [view.case.id for view in views] == [view.case.id for view in steps]
    kinds = {tuple(view.case.tags)[0] for view in views}
    assert kinds == {"plan", "call", "rejection"}


def test_a_model_that_was_not_asked_a_step_is_said_not_to_have_run(
    recorded: list[StepView],
) -> None:
    with StepCases() as steps:
        for view in recorded:
            if view.model == "sample-large" or view.case.id != recorded[0].case.id:
                steps.add(view)
        first = next(iter(steps))
    assert [answer.result.status for answer in first.answers] == ["valid", "not_run"]


def test_hostile_steps_stay_text(source: ReportSource) -> None:
    steps = [view for view in source.cases if view.case.task == "scenario"][:3]
    few = msgspec.structs.replace(source, cases=steps)
    for payload in PAYLOADS[:-1]:
        page = written(hostile_source(few, payload), "html").decode()
        assert "<script>alert" not in page and "<x/>" not in page
        assert not {"\x1b", "\u202e", "\x9b"} & set(page)


def test_what_json_cannot_hold_becomes_text() -> None:
    found = to_json_value({"half \ud800": [2**70, 1, True, None, 0.5, {"d": Path("x")}]})
    assert found == {"half ?": [str(2**70), 1, True, None, 0.5, {"d": "x"}]}
    msgspec.json.encode(found)


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_recorded_scenarios_have_a_page(mode: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with sample_runs() as (job, *_):
        recorded = job.recorded
        options = ("--cards", recorded.cards[0], "--verdicts", job.verdicts[0], "--mode", mode)
        command = ("orchestration", "score", recorded.outputs[0], *options, "--html", page)
        done = run(*command)
    assert done.returncode == 0, done.stderr
    written = page.read_text(encoding="utf-8")
    assert "Call or reject" in written and "Function Calling" in written
    steps = "All 21 cases, worst first." if mode == "standard" else "does not record them"
    assert steps in written


def test_a_judge_of_scenarios_is_named_and_what_it_left_open_is_counted(tmp_path: Path) -> None:
    page, data = tmp_path / "report.html", SCENARIOS
    config = eval_file(tmp_path, [PERFECT, RULES], data=data, judge="offline", embedder="none")
    done = run("run", config, "--html", page)
    assert done.returncode == 0, done.stderr
    written = page.read_text(encoding="utf-8")
    assert "no judge was used" not in written
    assert "Undecided in scenarios" in written
    assert "Offline estimate" in written


def test_scenarios_named_twice_are_refused(tmp_path: Path) -> None:
    config = eval_file(tmp_path, [PERFECT], data=[SCENARIOS, SCENARIOS])
    done = run("run", config)
    assert done.returncode == 2
    assert "data[1]: a second {orchestration" in done.stderr


def _dossier_of_outputs(folder: Path, *options: object) -> Path:
    """Recorded outputs in two languages, scored with a judge, as a dossier."""
    sample = SAMPLES / "orchestration"
    for lang in ("EN", "KO"):
        shutil.copytree(sample / "outputs" / "sample-small", folder / "outputs" / lang)
        shutil.copytree(sample / "cards" / "EN", folder / "cards" / lang)
    outputs, cards = folder / "outputs", folder / "cards"
    done = run(
        *("orchestration", "score", outputs / "EN", outputs / "KO", "--model", "small"),
        *("--cards", cards / "EN", cards / "KO", "--dossier", folder / "run.zip", *options),
    )
    assert done.returncode == 0, done.stderr
    return folder / "run.zip"


@pytest.mark.parametrize("judge", ["none", "offline"])
def test_a_dossier_of_recorded_outputs_verifies_without_their_folders(
    tmp_path: Path, judge: str
) -> None:
    made = _dossier_of_outputs(tmp_path, "--judge", judge)
    shutil.rmtree(tmp_path / "outputs")
    shutil.rmtree(tmp_path / "cards")
    done = run("verify", made)
    assert done.returncode == 0, done.stdout
    assert "42 results of 42 steps of scenarios, and document 001" in done.stdout


def test_a_changed_output_in_a_dossier_is_found(tmp_path: Path) -> None:
    verdicts = SAMPLES / "orchestration" / "verdicts.jsonl"
    made = _dossier_of_outputs(tmp_path, "--verdicts", verdicts)
    with ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert files["step_verdicts.jsonl"]
    lines = [json.loads(line) for line in files["scenarios.jsonl"].splitlines()]
    (output, *_) = [line for line in lines if line["kind"] == "outputs"]
    recording = json.loads(output["text"])
    recording["runs"][0]["answers"][-1]["tool_calls"] = []
    output["text"] = json.dumps(recording)
    changed = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with ZipFile(made, "w") as archive:
        for name, content in {**files, "scenarios.jsonl": changed}.items():
            archive.writestr(name, content)
    done = run("verify", made)
    assert done.returncode == 1
    assert "step_results.jsonl: case 'EN/" in done.stdout


def test_a_dossier_of_recorded_outputs_needs_their_steps(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="mode `compat` does not record them"):
        _dossier_of_outputs(tmp_path, "--mode", "compat")
    assert not (tmp_path / "run.zip").exists()
