"""`--open-items`: the list of what awaits a verdict; filled in, it is a verdict file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import callscore
from builders import Json, form, output, qa_case, question, text_case, text_outcome
from callscore.judges.rubric import CANNOT_TELL
from callscore.store.worklists import COLUMNS
from callscore.suites.calls.verdict_rules import RULES
from commands import run
from eval_files import eval_file, read_json, read_lines
from fake_judges import ScriptedJudge

SAMPLE = Path(callscore.__file__).parent / "demo" / "calls"
FOUR_CALLS = slice(16, 32)
"""Of the sample: those in which every judged metric has something to judge."""
ORCHESTRATION = Path(callscore.__file__).parent / "demo" / "orchestration"
FORMATS = ("list.csv", "list.jsonl")
EVIDENCE = "qa.evidence_backed_reasoning"
SHARE_A_LIST = {"text.hallucination_rate", "bench.faithfulness", "bench.hallucination_rate"}
"""They count over the claims of Fabrication-Free Rate (C-60)."""
Fill = Callable[[Json], str | None]


def rows_of(path: Path) -> list[Json]:
    if path.suffix == ".jsonl":
        return read_lines(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def kindest(row: Json) -> str:
    words = row["words"].split(" | ") if isinstance(row["words"], str) else row["words"]
    return next(word for word in words if word != CANNOT_TELL)


def fill(path: Path, into: Path, how: Fill = kindest) -> Path:
    """The list as somebody sends it back."""
    rows = [row | {"verdict": how(row)} for row in rows_of(path)]
    if into.suffix == ".jsonl":
        into.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with into.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    return into


def score(*args: object) -> str:
    done = run("score", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def small(folder: Path, reasons: Sequence[str] = ("Agent said hello",)) -> tuple[object, ...]:
    """A QA case with reasons that only a judge can decide."""
    cases, outputs = folder / "cases.jsonl", folder / "outputs.jsonl"
    human = [question(f"Q{n}") for n, _ in enumerate(reasons)]
    given = [question(f"Q{n}", reason=reason) for n, reason in enumerate(reasons)]
    cases.write_text(json.dumps(qa_case(human)) + "\n", encoding="utf-8")
    outputs.write_text(json.dumps(output("c1", form(*given))) + "\n", encoding="utf-8")
    return cases, "--outputs", outputs


@pytest.mark.parametrize("name", FORMATS)
def test_filled_in_by_a_script_it_makes_a_complete_card_of_every_judged_metric(
    tmp_path: Path, name: str
) -> None:
    cases = read_lines(SAMPLE / "cases.jsonl")[FOUR_CALLS]
    for case in cases:
        case["config"]["instructions"] = ["Write in whole sentences."]
    ids, outputs = {case["id"] for case in cases}, tmp_path / "outputs.jsonl"
    answers = [line for line in read_lines(SAMPLE / "outputs.jsonl") if line["case_id"] in ids]
    outputs.write_text("".join(json.dumps(line) + "\n" for line in answers), encoding="utf-8")
    asked, listed, left = tmp_path / "cases.jsonl", tmp_path / name, tmp_path / f"left-{name}"
    asked.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    job = (asked, "--outputs", outputs, "--benchmarks", "--embedder", "chrf")
    score(*job, "--open-items", listed)
    judged = {metric for metric, words in RULES.words.items() if words}
    assert {row["metric"] for row in rows_of(listed)} == judged - SHARE_A_LIST
    card = tmp_path / "card.json"
    filled = fill(listed, tmp_path / f"filled-{name}")
    score(*job, "--verdicts", filled, "--open-items", left, "--json", card, "--require-complete")
    assert rows_of(left) == []
    found = read_json(card)
    for model in found["models"]:
        assert {task["status"] for task in model["tasks"].values()} <= {"valid", "invalid"}
        for task in model["tasks"].values():
            assert all(metric["value"] is not None for metric in task["metrics"].values())
        waiting = {s for s, c in model["benchmarks"]["criteria"].items() if c["value"] is None}
        assert waiting == {"bench.answer_relevancy", "bench.consistency"}
    assert not any("not used" in note for note in found["notes"])


@pytest.mark.parametrize("name", FORMATS)
def test_an_item_says_what_is_asked_and_how_to_answer(tmp_path: Path, name: str) -> None:
    score(*small(tmp_path), "--open-items", tmp_path / name)
    (row,) = rows_of(tmp_path / name)
    assert tuple(row) == COLUMNS
    assert (row["case_id"], row["model"], int(row["run"])) == ("c1", "m", 1)
    assert (row["metric"], row["item"], row["text"]) == (EVIDENCE, "Q0", "Agent said hello")
    assert "Does it reference a specific moment" in row["question"]
    assert "Agent said 'Good morning'" in row["compare_with"]
    assert "as_described" in row["words"] and "specific" not in row["words"]
    assert "as_described: a turn of the transcript" in row["quote_from"]
    assert not row["verdict"]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_not_filled_in_stays_open(tmp_path: Path, name: str) -> None:
    job = small(tmp_path, ["Agent said hello", "Agent said goodbye"])
    score(*job, "--open-items", tmp_path / name)
    half = fill(
        tmp_path / name,
        tmp_path / f"half-{name}",
        lambda row: "as_described" if row["item"] == "Q1" else None,
    )
    score(*job, "--verdicts", half, "--open-items", tmp_path / f"rest-{name}")
    assert [row["item"] for row in rows_of(tmp_path / f"rest-{name}")] == ["Q0"]


FORMULAS = ["=1+1", "+1", "-1 greeting", "@SUM(A1)", "\t=x", "'quoted'", "＝1"]


def test_no_cell_is_a_formula_and_every_text_comes_back_as_it_was(tmp_path: Path) -> None:
    job, listed = small(tmp_path, FORMULAS), tmp_path / "list.csv"
    score(*job, "--open-items", listed)
    rows = rows_of(listed)
    assert [row["text"][1:] for row in rows] == FORMULAS
    assert not any(cell.startswith(tuple("=+-@\t＝")) for row in rows for cell in row.values())
    saved = tmp_path / "card.json"
    score(*job, "--verdicts", fill(listed, tmp_path / "filled.csv"), "--json", saved)
    metric = read_json(saved)["models"][0]["tasks"]["qa"]["metrics"][EVIDENCE]
    assert metric["value"] == 1.0


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_spreadsheet_may_separate_cells_as_its_country_does(
    tmp_path: Path, separator: str
) -> None:
    verdicts = tmp_path / "v.csv"
    rows = [["case_id", "metric", "item", "verdict"], ["c1", EVIDENCE, "Q0", "vague"]]
    text = "\r\n".join(separator.join(row) for row in rows)
    verdicts.write_text(f"\ufeff{text}\r\n", encoding="utf-8")
    card = tmp_path / "card.json"
    score(*small(tmp_path), "--verdicts", verdicts, "--json", card)
    assert read_json(card)["models"][0]["tasks"]["qa"]["metrics"][EVIDENCE]["value"] == 0.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("case_id,metric,item\nc1,x,y\n", "v.csv:1: has no column verdict"),
        ("a,b\n1,2\n", "has no column case_id, metric, item"),
        (f"case_id,metric,item,verdict\nc1,{EVIDENCE},Q0,splendid\n", "v.csv:2"),
        (f"case_id,metric,item,verdict\nc9,{EVIDENCE},Q0,vague\n", "'c9' is not in the case files"),
        (f"case_id,metric,item,verdict,run\nc1,{EVIDENCE},Q0,vague,two\n", "v.csv:2"),
        (f'case_id,metric,item,verdict\nc1,{EVIDENCE},Q0,"va"gue\n', "is not valid CSV"),
        ("\x00\xff", "v.csv"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    verdicts = tmp_path / "v.csv"
    verdicts.write_bytes(text.encode("latin-1"))
    done = run("score", *small(tmp_path), "--verdicts", verdicts)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_list_of_another_form_is_refused_before_any_work(tmp_path: Path) -> None:
    done = run("score", *small(tmp_path), "--open-items", tmp_path / "list.xlsx")
    assert done.returncode == 2
    assert "ends in .jsonl or .csv" in done.stderr
    assert not (tmp_path / "list.xlsx").exists()


def test_a_judge_leaves_open_only_what_it_could_not_decide(tmp_path: Path) -> None:
    listed = tmp_path / "list.jsonl"
    cases, _, outputs = small(tmp_path)
    callscore.score(
        str(cases), str(outputs), judge=ScriptedJudge(), embedder="none", open_items=listed
    )
    assert rows_of(listed) == []


def test_an_estimate_is_no_verdict_and_stays_on_the_list(tmp_path: Path) -> None:
    cases, outputs = tmp_path / "cases.jsonl", tmp_path / "outputs.jsonl"
    answer = text_outcome()
    answer["summary"] = {**answer["summary"], "call_purpose": "Refund of a double charge"}
    cases.write_text(json.dumps(text_case()), encoding="utf-8")
    outputs.write_text(json.dumps(output("c1", answer)), encoding="utf-8")
    args = ("score", cases, "--outputs", outputs, "--embedder", "none", "--open-items")
    alone, estimated = tmp_path / "alone.jsonl", tmp_path / "estimated.jsonl"
    assert run(*args, alone).returncode == 0
    assert run(*args, estimated, "--judge", "offline").returncode == 0
    assert read_lines(estimated) == read_lines(alone) != []
    assert all(line["words"][-1] == "cannot_tell" for line in read_lines(alone))


def test_a_run_lists_what_is_open_in_both_suites(tmp_path: Path) -> None:
    cases, _, outputs = small(tmp_path)
    scenarios = {
        "scenarios": str(ORCHESTRATION / "scenarios" / "EN"),
        "cards": str(ORCHESTRATION / "cards" / "EN"),
    }
    replay = {"name": "m", "provider": "replay", "outputs": str(outputs)}
    config = eval_file(tmp_path, [replay], data=[str(cases), {"orchestration": scenarios}])
    listed = tmp_path / "list.csv"
    done = run("run", config, "--open-items", listed, "--no-preflight")
    assert done.returncode == 0, done.stderr
    assert [row["metric"] for row in rows_of(listed)] == [EVIDENCE]
