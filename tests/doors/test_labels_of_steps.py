"""Labels of people on argument values of steps correct the judged rows of scenarios (STATS §5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import callscore
from builders import Json
from callscore.core.scorecard import MetricScore, Scorecard
from callscore.stats.label_corrections import RowLabels, mean_of_labels
from commands import run
from eval_files import cases_file, eval_file, read_json, read_lines

MODEL = {"name": "w", "provider": "simulated", "params": {"seed": 2, "wrong_scores": 0.6}}
SCENARIOS = 30
ROWS = ("scenario.value", "scenario.success")
Say = Callable[[int], str | None]


@pytest.fixture
def data(tmp_path: Path) -> Json:
    """Scenarios of two languages with one call each, whose only argument is free text."""
    properties = {"text": {"type": "string"}}
    card = {
        "agent_card": {"agent_id": "desk"},
        "tools": [{"name": "note", "parameters": {"type": "object", "properties": properties}}],
    }
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards/desk.json").write_text(json.dumps(card))
    for lang in ("EN", "KO"):
        (tmp_path / lang).mkdir()
        for number in range(SCENARIOS):
            wish = f"the guest wants a quiet room number {number} please"
            due = {"tool": "note", "arguments": {"text": wish}}
            steps = [{"user": f"Note the wish {number} {lang}"}, {"desk": due}]
            (tmp_path / lang / f"s{number}.json").write_text(json.dumps({"steps": steps}))
    return {"scenarios": [str(tmp_path / "EN")], "cards": str(tmp_path / "cards")}


def words_on(folder: Path, config: Path, name: str, by: str, say: Say) -> tuple[Path, int]:
    """A file of verdicts on the open values of a run, as `say` decides; and how many there are."""
    listed = folder / "open.jsonl"
    done = run("run", config, "--open-items", listed)
    assert done.returncode == 0, done.stderr
    items = [item for item in read_lines(listed) if item["metric"].startswith("orchestration")]
    kept = ("case_id", "model", "run", "metric", "item")
    lines = [
        json.dumps({**{key: item[key] for key in kept}, "verdict": word, "by": by})
        for number, item in enumerate(items)
        if (word := say(number)) is not None
    ]
    (folder / name).write_text("\n".join(lines))
    return folder / name, len(items)


def people(number: int) -> str | None:
    """Two thirds of the values are wrong; a quarter has no label."""
    if number % 4 == 0:
        return None
    return "different" if number % 3 else "same"


def rows_of(card: Scorecard) -> Sequence[MetricScore]:
    return [card.model("w").tasks["scenario"].metrics[slug] for slug in ROWS]


def test_a_lenient_judge_of_values_is_corrected_by_labels(tmp_path: Path, data: Json) -> None:
    config = eval_file(tmp_path, [MODEL], data={"orchestration": data})
    judged, items = words_on(tmp_path, config, "judged.jsonl", "judge@1", lambda number: "same")
    labels, _ = words_on(tmp_path, config, "labels.jsonl", "Kim", people)
    words = [line["verdict"] for line in read_lines(labels)]
    judged_only = callscore.run(
        eval_file(tmp_path, [MODEL], data={"orchestration": data}, verdicts=str(judged))
    )
    assert all(row.uncalibrated and row.value == 1.0 for row in rows_of(judged_only))
    both = eval_file(
        tmp_path,
        [MODEL],
        data={"orchestration": data},
        verdicts=str(judged),
        labels=str(labels),
    )
    card = callscore.run(both)
    wrong = words.count("different") / len(words)
    for row in rows_of(card):
        corrected = row.corrected
        assert corrected is not None and not row.uncalibrated and row.value == 1.0
        assert corrected.value == pytest.approx(1 - items / SCENARIOS * wrong)
        assert (corrected.labels, corrected.calls) == (len(words), len(words))
    assert "human labels" in card.notes[0] and "|labels:" in card.signature
    before, after = (one.document("w")["overall_statistics"] for one in (judged_only, card))
    assert before == after, "document 001 is as judged"
    done = run("report", both, "--format", "dossier", "-o", tmp_path / "a.zip")
    assert done.returncode == 0, done.stderr
    checked = run("verify", tmp_path / "a.zip")
    assert checked.returncode == 0, checked.stdout


def test_each_language_is_corrected_by_its_own_labels(tmp_path: Path, data: Json) -> None:
    both = {
        "scenarios": [str(tmp_path / "EN"), str(tmp_path / "KO")],
        "cards": data["cards"],
    }
    config = eval_file(tmp_path, [MODEL], data={"orchestration": both})
    judged, _ = words_on(tmp_path, config, "judged.jsonl", "judge@1", lambda number: "same")
    labels, _ = words_on(tmp_path, config, "labels.jsonl", "Kim", people)
    given = {"verdicts": str(judged), "labels": str(labels)}
    card = callscore.run(eval_file(tmp_path, [MODEL], data={"orchestration": both}, **given))
    by_language = []
    for lang in ("EN", "KO"):
        alone = {"scenarios": [str(tmp_path / lang)], "cards": data["cards"]}
        mine = [line for line in read_lines(labels) if line["case_id"].startswith(lang)]
        (tmp_path / f"{lang}.jsonl").write_text("\n".join(map(json.dumps, mine)))
        own = {**given, "labels": str(tmp_path / f"{lang}.jsonl")}
        config = eval_file(tmp_path, [MODEL], data={"orchestration": alone}, **own)
        by_language.append(callscore.run(config))
    for row, *of in zip(rows_of(card), *map(rows_of, by_language), strict=True):
        values = [one.corrected.value for one in of if one.corrected is not None]
        assert row.corrected is not None and len(values) == 2
        assert row.corrected.value == pytest.approx(sum(values) / 2)
        assert values[0] != values[1]
    few = [line for line in read_lines(labels) if line["case_id"].startswith("EN")]
    labels.write_text("\n".join(map(json.dumps, few)))
    config = eval_file(tmp_path, [MODEL], data={"orchestration": both}, **given)
    card = callscore.run(config)
    assert all(row.corrected is None and row.uncalibrated for row in rows_of(card))


def test_labels_of_calls_and_steps_are_in_one_file(tmp_path: Path, data: Json) -> None:
    cases_file(tmp_path, 2)
    mixed = ["cases.jsonl", {"orchestration": data}]
    config = eval_file(tmp_path, [MODEL], data=mixed)
    judged, items = words_on(tmp_path, config, "judged.jsonl", "judge@1", lambda number: "same")
    labels, _ = words_on(tmp_path, config, "labels.jsonl", "Kim", people)
    stray = {**read_lines(labels)[0], "item": "calls[7].text"}
    labels.write_text(labels.read_text() + "\n" + json.dumps(stray))
    given = {"verdicts": str(judged), "labels": str(labels)}
    done = run(
        "run", eval_file(tmp_path, [MODEL], data=mixed, **given), "--json", tmp_path / "c.json"
    )
    assert done.returncode == 0, done.stderr
    card = read_json(tmp_path / "c.json")
    (model,) = card["models"]
    assert model["tasks"]["scenario"]["metrics"]["scenario.value"]["corrected"]["labels"] > 0
    assert model["tasks"]["qa"]["metrics"]
    assert any(note.startswith("labels that were not used: 1;") for note in card["notes"])
    assert not any("correct no row" in note for note in card["notes"])
    estimate = {**stray, "approximate": True}
    labels.write_text(json.dumps(estimate))
    refused = run("run", eval_file(tmp_path, [MODEL], data=mixed, **given))
    assert refused.returncode == 2
    assert "labels.jsonl:1" in refused.stderr and "is an estimate" in refused.stderr


def test_labels_of_steps_are_drawn_from_what_a_judge_decided(tmp_path: Path, data: Json) -> None:
    config = eval_file(tmp_path, [MODEL], data={"orchestration": data})
    judged, items = words_on(tmp_path, config, "judged.jsonl", "judge@1", lambda number: "same")
    drawn = run("sample", judged, "-n", 12, "-o", tmp_path / "labels.csv")
    assert (drawn.returncode, "12 of" in drawn.stdout) == (0, True), drawn.stderr


def test_the_mean_of_strata_weighs_each_stratum_alike() -> None:
    few = RowLabels(2, 2, 0.5, False, [(1, 0.0), (2, 0.0)], 1.0)
    many = RowLabels(6, 6, 0.7, True, [(key, -0.5) for key in range(3, 9)], 1.0)
    found = mean_of_labels([few, many], 2)
    assert (found.items, found.calls, found.differ, found.correlation) == (8, 8, True, 0.5)
    assert sum(d for _, d in found.differences) / 8 == pytest.approx(-0.25)
    assert found.reach == 2.0
    assert sum(d for _, d in mean_of_labels([many], 2).differences) / 6 == pytest.approx(-0.25)
