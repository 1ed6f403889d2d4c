"""The sources of reports: a stored run, a scorecard file, files that are scored now."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

import callscore
from callscore.app import OutputPaths
from callscore.core.case import Case
from callscore.core.errors import UsageError
from callscore.core.scorecard import CaseResult
from callscore.demo import sample_calls
from callscore.export.sources import SourceRequest, card_source, open_source, scored_source
from callscore.report.json import scorecard_json
from callscore.report.source import CaseView
from callscore.store.disk_list import DiskList


def store(project: Path) -> Path:
    return project / ".callscore" / "runs.db"


def test_a_stored_run_gives_card_and_cases_by_its_id_alone(project: Path) -> None:
    with open_source(SourceRequest("1", store(project))) as source:
        assert scorecard_json(source.card) == (project / "card.json").read_bytes()
        views = list(source.cases)
        facts = source.provenance.run
    assert [view.case.id for view in views] == [
        msgspec.json.decode(line)["id"]
        for line in (project / "cases.jsonl").read_bytes().splitlines()
    ]
    assert {answer.model for view in views for answer in view.answers} == {"careful", "rules"}
    assert all(answer.text for view in views for answer in view.answers)
    assert any(answer.verdicts for view in views for answer in view.answers)
    assert facts is not None
    assert (facts.id, facts.name, facts.status) == (1, "tiny", "complete")
    prices = {spec.name: spec.price for spec in source.provenance.models}
    assert prices["careful"] is not None
    assert prices["careful"].output == 15


def test_an_eval_file_means_its_newest_run(project: Path) -> None:
    with open_source(SourceRequest(str(project / "eval.yaml"))) as source:
        assert source.provenance.run is not None
        assert source.provenance.run.id == 1
        assert source.absent == []


def test_a_scorecard_file_names_what_it_lacks(project: Path) -> None:
    source = card_source(project / "card.json")
    assert len(source.cases) == 0
    assert "cases" in source.absent[0]
    assert source.card.to_dict() == msgspec.json.decode((project / "card.json").read_bytes())


def test_a_run_whose_data_have_changed_is_refused(project: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(project, moved)
    (moved / "cases.jsonl").write_bytes((moved / "cases.jsonl").read_bytes().replace(b"a", b"e", 1))
    with (
        pytest.raises(UsageError, match="other data"),
        open_source(SourceRequest("1", store(moved))),
    ):
        pass


def test_a_changed_eval_file_is_reported(project: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(project, moved)
    text = (moved / "eval.yaml").read_text(encoding="utf-8").replace("input: 3", "input: 4")
    (moved / "eval.yaml").write_text(text, encoding="utf-8")
    with open_source(SourceRequest("1", store(moved))) as source:
        assert "has changed since the run" in source.absent[0]


def test_a_run_without_its_eval_file_asks_for_it(project: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(project, moved)
    (moved / "eval.yaml").rename(moved / "other.yaml")
    with pytest.raises(UsageError, match="--eval"), open_source(SourceRequest("1", store(moved))):
        pass
    request = SourceRequest("1", store(moved), eval_file=moved / "other.yaml")
    with open_source(request) as source:
        assert len(source.cases) == 4


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("9", "has no run 9"),
        ("nothing.json", "no such file"),
        ("cases.jsonl", "expected the id of a run"),
    ],
)
def test_an_unknown_source_is_refused(project: Path, target: str, message: str) -> None:
    named = target if target.isdecimal() else str(project / target)
    with (
        pytest.raises(UsageError, match=message),
        open_source(SourceRequest(named, store(project))),
    ):
        pass


def test_case_views_agree_with_the_results_file(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    with sample_calls() as config, scored_source(config, OutputPaths(results)) as source:
        card = callscore.score(config.cases, config.outputs, verdicts=config.verdicts)
        assert scorecard_json(source.card) == scorecard_json(card)
        shown = [answer.result for view in source.cases for answer in view.answers]
        again = [answer.result for view in source.cases for answer in view.answers]
    written = [
        msgspec.json.decode(line, type=CaseResult) for line in results.read_bytes().splitlines()
    ]
    assert shown == written
    assert again == written


def test_undocumented_keys_of_a_case_are_kept(tmp_path: Path) -> None:
    with sample_calls() as config:
        case = msgspec.json.decode(config.cases[0].read_bytes().splitlines()[0])
        case = {**case, "desk": "north", "transcript": [{"text": "Hello.", "mood": 3}]}
        path = tmp_path / "cases.jsonl"
        path.write_bytes(msgspec.json.encode(case))
        job = msgspec.structs.replace(config, cases=[path], outputs=(), verdicts=())
        case["model_output"] = {}
        path.write_bytes(msgspec.json.encode(case))
        with scored_source(job) as source:
            (view,) = source.cases
    assert view.other_keys == [(0, "desk", "north"), (1, "mood", 3)]
    assert view.case.id == case["id"]


def test_a_disk_list_is_read_twice_at_the_same_time() -> None:
    with sample_calls() as config:
        lines = config.cases[0].read_bytes().splitlines()[:3]
        views = [CaseView(msgspec.json.decode(line, type=Case)) for line in lines]
    with DiskList(CaseView) as cases:
        for view in views:
            cases.add(view)
        assert len(cases) == 3
        assert [one == other for one, other in zip(cases, cases, strict=True)] == [True] * 3
