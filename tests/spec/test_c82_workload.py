"""C-82: the data declare the workload; the Final Score is over the tasks that have cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import commands
from builders import (
    Json,
    entity_case,
    entity_output,
    form,
    output,
    qa_case,
    question,
    score,
    text_case,
    text_outcome,
)
from calls_suite import final_weights
from callscore.comparison.model_comparison import compare
from callscore.core.errors import ConfigError, UsageError
from callscore.export.verification import verify
from callscore.suites.calls import spec
from eval_files import read_json

QA = qa_case([question()], "q")
ENTITY = entity_case(["refund"], configured=["refund"], case_id="e")
TEXT = text_case(case_id="t")
ANSWERS = {
    "q": form(question()),
    "e": entity_output(["refund"]),
    "t": text_outcome(),
}


def answers(*cases: Json, model: str = "m") -> list[Json]:
    return [output(case["id"], ANSWERS[case["id"]], model, cost_usd=0.001) for case in cases]


def test_c82_data_with_a_qa_form_only_give_a_final_over_qa(tmp_path: Path) -> None:
    cases = [qa_case([question(), question("Q2")], f"c{n}") for n in range(4)]
    wrong = form(question(score=0), question("Q2"))
    outputs = [
        output(f"c{n}", wrong if n == 3 else form(question(), question("Q2")), cost_usd=0.001)
        for n in range(4)
    ]
    scored = score(cases, outputs, tmp_path)
    final = scored.model.final
    assert (final.status, final.official, final.option) == ("valid", True, "B")
    assert (final.over, final.weights) == (["qa"], {"qa": 1.0})
    assert final.score == scored.task().score == pytest.approx(0.8875)
    assert scored.card.final_heading == "Final over QA"
    assert [(line.rank, line.reason) for line in scored.card.ranking] == [(1, None)]
    assert scored.card.to_dict()["models"][0]["final"]["over"] == ["qa"]
    assert "|over:qa|weights:document|" in scored.card.signature


def test_c82_the_weights_of_the_tasks_with_cases_are_scaled_to_sum_1() -> None:
    rule = final_weights(spec.make_settings(), over=["qa", "entity"])
    assert rule.of("b") == pytest.approx({"qa": 0.35 / 0.65, "entity": 0.30 / 0.65})
    with_benchmarks = {"qa": 0.25 / 0.75, "entity": 0.20 / 0.75, "benchmarks": 0.30 / 0.75}
    assert rule.of("a") == pytest.approx(with_benchmarks)
    assert (rule.over, rule.heading) == (["qa", "entity"], "Final over QA, Entity")
    every = final_weights(spec.make_settings())
    assert (every.of("b"), every.heading) == (spec.load_spec().final["b"], "Final Score")


def test_c82_tasks_narrow_the_workload(tmp_path: Path) -> None:
    cases = [QA, ENTITY, TEXT]
    scored = score(cases, answers(*cases), tmp_path, tasks=["qa"])
    assert (scored.model.final.over, scored.model.final.score) == (["qa"], 1.0)


def test_c82_a_task_of_the_workload_without_answers_leaves_the_final_incomplete(
    tmp_path: Path,
) -> None:
    scored = score([QA, ENTITY], answers(QA), tmp_path)
    final = scored.model.final
    assert (final.status, final.score, final.reasons) == ("incomplete", None, ["entity"])
    assert final.over == ["qa", "entity"]
    assert [line.reason for line in scored.card.ranking] == [
        "Final Score incomplete: Entity has no answers; --weights qa=1 gives one over QA"
    ]
    narrowed = score([QA, ENTITY], answers(QA), tmp_path, weights={"qa": 1.0})
    assert narrowed.model.final.score == 1.0


def test_c82_a_task_that_awaits_verdicts_says_so(tmp_path: Path) -> None:
    answer = form(question(reason="The agent greeted the caller"))
    scored = score([QA], [output("q", answer)], tmp_path)
    (line,) = scored.card.ranking
    assert (
        line.reason
        == "Final Score incomplete: QA has 1 row without a value (Evidence-Backed Reasoning)"
    )


def test_c82_the_workload_is_fixed_before_the_limit(tmp_path: Path) -> None:
    limited = score([QA, ENTITY], answers(QA, ENTITY), tmp_path, limit=1)
    assert (limited.model.final.over, limited.model.final.status) == (
        ["qa", "entity"],
        "incomplete",
    )


def test_c82_own_weights_give_the_mean_and_are_printed(tmp_path: Path) -> None:
    half = entity_output(["refund", "parcel"])
    outputs = [*answers(QA), output("e", half, cost_usd=0.001)]
    cases = [QA, entity_case(["refund"], configured=["refund", "parcel"], case_id="e")]
    scored = score(cases, outputs, tmp_path, weights={"qa": 0.5, "entity": 0.5})
    scores = [scored.task(name).score or 0.0 for name in ("qa", "entity")]
    assert scored.model.final.score == pytest.approx(sum(scores) / 2)
    assert scores[1] < 1
    assert "|over:qa+entity|weights:entity=0.5,qa=0.5|" in scored.card.signature
    assert "custom weights of the Final Score: qa 0.5, entity 0.5" in scored.card.notes


def test_c82_blockers_outside_the_workload_are_listed_and_leave_the_final_alone(
    tmp_path: Path,
) -> None:
    outputs = [*answers(QA), output("e", "no JSON", cost_usd=0.001)]
    scored = score([QA, ENTITY], outputs, tmp_path, weights={"qa": 1.0, "entity": 0.0})
    assert (scored.model.final.status, scored.model.final.score) == ("valid", 1.0)
    assert scored.model.final.over == ["qa"]
    assert [blocker.metric for blocker in scored.model.blockers] == ["entity.structure"]
    assert scored.card.ranking[0].rank == 1


def test_c82_a_positive_weight_for_a_task_without_cases_is_refused(tmp_path: Path) -> None:
    message = "weights: text = 0.5, but the data has no case of this task; expected positive"
    with pytest.raises(ConfigError, match=message):
        score([QA], answers(QA), tmp_path, weights={"qa": 0.5, "text": 0.5})
    assert score([QA], answers(QA), tmp_path, weights={"qa": 1, "text": 0}).model.final.score == 1


def test_c82_finals_over_other_tasks_are_not_compared(tmp_path: Path) -> None:
    one = score([QA, ENTITY], answers(QA, ENTITY), tmp_path).card
    other = score([QA, ENTITY], answers(QA, ENTITY), tmp_path, weights={"qa": 1.0}).card
    with pytest.raises(UsageError, match=r"tasks of the Final Score: qa\+entity and qa"):
        compare(one, other)


def test_c82_intervals_are_of_the_same_final(tmp_path: Path) -> None:
    cases = [qa_case([question(), question("Q2")], f"c{n}") for n in range(20)]
    wrong = form(question(score=0), question("Q2"))
    right = form(question(), question("Q2"))
    outputs = [output(f"c{n}", wrong if n % 4 == 0 else right) for n in range(20)]
    scored = score(cases, outputs, tmp_path, intervals=True)
    assert scored.model.final.ci95 == scored.task().ci95 is not None
    assert scored.model.final.score == scored.task().score


def write_eval(folder: Path, cases: list[Json], **extra: Any) -> Path:
    (folder / "cases.jsonl").write_text(
        "".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8"
    )
    path = folder / "eval.yaml"
    models = [{"name": "a", "provider": "simulated", "model": "medium"}]
    value = {"name": "trial", "data": "cases.jsonl", "models": models, **extra}
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_c82_run_takes_weights_and_reports_of_the_run_use_them(tmp_path: Path) -> None:
    path = write_eval(tmp_path, [QA, ENTITY])
    card = tmp_path / "card.json"
    run = commands.run("run", path, "--weights", "entity=1", "--json", card)
    assert run.returncode == 0, run.stderr
    (model,) = read_json(card)["models"]
    assert model["final"]["over"] == ["entity"]
    assert "Final over Entity" in run.stdout
    again = tmp_path / "again.json"
    report = commands.run("report", path, "--format", "json", "-o", again)
    assert report.returncode == 0, report.stderr
    assert read_json(again)["signature"] == read_json(card)["signature"]
    dossier = tmp_path / "run.zip"
    assert commands.run("report", path, "--format", "dossier", "-o", dossier).returncode == 0
    assert verify(dossier).differences == []
    resumed = commands.run("run", path, "--resume", "--weights", "entity=1", "--json", again)
    assert resumed.returncode == 0, resumed.stderr


def test_c82_weights_of_run_that_cannot_be_are_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    path = write_eval(tmp_path, [QA])
    for weights, message in (
        ("text=1", "weights: text = 1, but the data has no case of this task"),
        ("qa=0.5", "weights: the sum is 0.5; expected 1"),
        ("quality=1", "weights: unknown task 'quality'"),
    ):
        refused = commands.run("run", path, "--weights", weights)
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr


def test_c82_a_dossier_of_a_limited_run_knows_the_whole_workload(tmp_path: Path) -> None:
    path = write_eval(tmp_path, [QA, ENTITY])
    assert commands.run("run", path, "--limit", 1).returncode == 0
    for without_text in (False, True):
        dossier = tmp_path / f"run-{without_text}.zip"
        options = ["--without-text"] if without_text else []
        made = commands.run("report", path, "--format", "dossier", "-o", dossier, *options)
        assert made.returncode == 0, made.stderr
        assert verify(dossier).differences == []


def test_c82_a_race_is_over_the_tasks_with_cases(tmp_path: Path) -> None:
    cases = [qa_case([question(), question("Q2")], f"c{n}") for n in range(30)]
    path = write_eval(tmp_path, cases)
    value = read_json(path)
    value["models"] = [
        {"name": name, "provider": "simulated", "model": kind}
        for name, kind in (("good", "perfect"), ("poor", "small"))
    ]
    path.write_text(json.dumps(value), encoding="utf-8")
    raced = commands.run("run", path, "--race")
    assert raced.returncode == 0, raced.stderr
    assert "Final over QA" in raced.stdout
