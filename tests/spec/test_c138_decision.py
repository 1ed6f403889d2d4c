"""C-138: the decision in words, one rule for every place that states one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
import commands
from builders import Json, form, output, qa_case, question, score
from callscore.config.score import read_decide
from callscore.core.errors import ConfigError
from callscore.core.scorecard import Decide
from callscore.report.decision_statements import state_decision
from callscore.report.html.first_screen import models_table
from callscore.scorecard.decision import choose, failing_rows, is_kept_out, models_in_question
from callscore.suites.calls.spec import load_spec
from decision_cards import broken, card, failing, gap, model, printed, row
from decision_situations import SITUATIONS, Situation

WORDS = {
    *("RECOMMENDED", "LIKELY", "TIE", "ONLY ONE PASSES", "PASSES", "NONE PASSES", "NOT DECIDED"),
    *("BEST QUALITY", "RANK 1", "OUT", "HOW SURE"),
}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.title)
def test_c138_a_situation_is_decided_in_these_words(situation: Situation) -> None:
    shown = printed(situation.card, situation.decide)
    assert shown == situation.expected
    assert max(map(len, shown.splitlines())) <= 80


def test_c138_the_table_has_every_word() -> None:
    assert len(SITUATIONS) >= 40
    assert len({situation.title for situation in SITUATIONS}) == len(SITUATIONS)
    first = {line[:17].strip() for s in SITUATIONS for line in s.expected.splitlines()}
    assert first - {""} == WORDS


def marks(number: int) -> list[Json]:
    """The form of a call as people filled it in: no trivial answer is near it."""
    return [question("Q1", 5 * (number % 2)), question("Q2", 5 * (1 - number % 2))]


def calls(number: int) -> list[Json]:
    return [qa_case(marks(n), f"c{n}", call_id=str(n)) for n in range(number)]


def answers(name: str, number: int, cost: float, wrong: int = 0) -> list[Json]:
    """Right answers; in the first ones, nothing passes."""
    none = form(question("Q1", 0), question("Q2", 0))
    return [
        output(f"c{n}", none if n < wrong else form(*marks(n)), name, cost_usd=cost / 1000)
        for n in range(number)
    ]


def words(made: callscore.Scorecard) -> list[str]:
    return [f"{line.word} {' '.join(line.models)}".strip() for line in made.decision]


def test_c138_identical_answers_at_a_tenth_of_the_price_are_likely_with_50_calls(
    tmp_path: Path,
) -> None:
    outputs = answers("big", 50, 10.0) + answers("small", 50, 1.0)
    made = score(calls(50), outputs, tmp_path, intervals=True).card
    assert words(made)[0] == "LIKELY small"
    assert "about 149 calls would show it if they are equal" in made.decision[0].why


def test_c138_identical_answers_at_a_tenth_of_the_price_are_recommended_with_200_calls(
    tmp_path: Path,
) -> None:
    outputs = answers("big", 200, 10.0) + answers("small", 200, 1.0)
    assert (
        words(score(calls(200), outputs, tmp_path, intervals=True).card)[0] == "RECOMMENDED small"
    )


def test_c138_a_better_model_with_one_broken_reply_of_300_leaves_one_that_passes(
    tmp_path: Path,
) -> None:
    outputs = answers("a", 300, 1.0, wrong=24) + answers("b", 300, 1.0)
    outputs[300] = output("c0", "no JSON", "b", cost_usd=0.001)
    made = score(calls(300), outputs, tmp_path, intervals=True).card
    assert words(made)[0] == "ONLY ONE PASSES a"
    (out,) = [line for line in made.decision if line.word == "OUT"]
    assert out.models == ["b"] and "1 of 300 calls, 0.33 % [0.0–1.8], limit 0 %" in out.why


def test_c138_two_free_models_that_cannot_be_distinguished_tie(tmp_path: Path) -> None:
    outputs = answers("a", 30, 0.0) + answers("b", 30, 0.0)
    assert words(score(calls(30), outputs, tmp_path, intervals=True).card)[0] == "TIE a b"


def test_c138_where_all_models_are_incomplete_nothing_is_decided(tmp_path: Path) -> None:
    outputs = answers("a", 10, 1.0) + answers("b", 8, 1.0)
    made = score(calls(20), outputs, tmp_path, intervals=True).card
    assert words(made)[:2] == ["NOT DECIDED a", "NOT DECIDED b"]
    assert not any("passes" in line.why.lower() or "block" in line.why for line in made.decision)


def test_c138_a_final_below_its_floor_is_never_recommended() -> None:
    made = card(model("a", 0.5, floor=0.6), model("b", 0.4, floor=0.3))
    assert models_in_question(made) == ["b"]
    assert choose(made).models == ["b"]


def test_c138_a_final_that_equals_its_floor_is_in_question() -> None:
    assert models_in_question(card(model("a", 0.6, floor=0.6))) == ["a"]


@pytest.mark.parametrize(("cases", "is_out"), [(400, True), (800, False)])
def test_c138_a_row_rated_fail_keeps_a_model_out_once_all_cases_are_answered(
    cases: int, is_out: bool
) -> None:
    asked = model("a", None, calls=400, cases=cases, **failing("qa.question_score_accuracy"))
    assert is_kept_out(asked) is is_out


def test_c138_rows_that_the_document_does_not_rate_do_not_count() -> None:
    rows = failing("entity.cross_language_match_rate")["rows"]
    (slug,) = rows
    undefined = {slug: msgspec.structs.replace(rows[slug], decides=False)}
    assert models_in_question(card(model("a", rows=undefined))) == ["a"]
    assert models_in_question(card(model("a", rows=rows))) == []


def test_c138_cross_language_does_not_decide() -> None:
    metrics = load_spec().metrics
    assert [slug for slug, rule in metrics.items() if not rule.decides] == [
        "entity.cross_language_match_rate"
    ]


def test_c138_card_and_compare_agree_on_the_same_data(tmp_path: Path) -> None:
    path = write_eval(tmp_path, {"provider": "simulated", "model": "small"})
    assert commands.run("run", path).returncode == 0
    compared = callscore.compare(f"{path}:a", f"{path}:b")
    made = json.loads(commands.run("report", path, "--format", "json").stdout)
    assert [line.word for line in compared.decision] == [x["word"] for x in made["decision"]]
    assert [line.why for line in compared.decision] == [x["why"] for x in made["decision"]]


def write_eval(folder: Path, second: Json, **extra: Any) -> Path:
    lines = [json.dumps(case) for case in calls(30)]
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    models = [{"name": "a", "provider": "simulated"}, {"name": "b", **second}]
    value = {"name": "trial", "data": "cases.jsonl", "models": models, **extra}
    path = folder / "eval.yaml"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_c138_every_place_states_the_same_decision(tmp_path: Path) -> None:
    path = write_eval(tmp_path, {"provider": "baseline"})
    summary = tmp_path / "summary.md"
    job = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    run = commands.run("run", path, env={"COLUMNS": "400", **job})
    made = callscore.run(path)
    stated = [f"{each.keyword:<17}{each.text}" for each in state_decision(made)]
    assert all(line in run.stdout.splitlines() for line in stated)
    markdown = commands.run("report", path, "--format", "md").stdout
    page = commands.run("report", path, "--format", "html").stdout
    notebook = made._repr_html_()
    for each in state_decision(made):
        assert each.text in markdown
        assert each.text in summary.read_text(encoding="utf-8")
        for text in (page, notebook):
            assert each.text.replace("&", "&amp;").replace("'", "&#x27;") in text
            assert each.keyword.capitalize() in text


def test_c138_simulated_models_and_rules_are_marked(tmp_path: Path) -> None:
    made = callscore.run(write_eval(tmp_path, {"provider": "baseline"}))
    assert [model.origin for model in made.models] == ["simulated", "baseline"]
    assert any("a (simulated)" in each.text for each in state_decision(made))


def test_c138_decide_is_read_and_is_no_part_of_the_results(tmp_path: Path) -> None:
    outputs = answers("big", 200, 10.0) + answers("small", 200, 1.0, wrong=16)
    plain = score(calls(200), outputs, tmp_path, intervals=True).card
    by_quality = score(calls(200), outputs, tmp_path, intervals=True, decide={"by": "quality"}).card
    assert words(by_quality)[0].split()[-1] == "big"
    assert plain.signature == by_quality.signature


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"by": "loss"}, "decide.by: 'loss' needs prices of errors; expected one of recommended"),
        ({"by": "price"}, "decide.by: 'price'; expected one of recommended, quality, efficiency"),
        ({"margin": 2}, "decide.margin: 2; expected a number from 0 to 1"),
        ({"margin": "wide"}, "decide.margin: 'wide'; expected a number from 0 to 1"),
        ({"allow_fail": 3}, "decide.allow_fail: 3; expected true or false"),
        ({"margins": 1}, "decide.margins: unknown key; did you mean margin?"),
    ],
)
def test_c138_wrong_settings_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_decide(given)
    assert says in str(refused.value)


def test_c138_settings_of_the_command_line_and_the_file(tmp_path: Path) -> None:
    assert read_decide({"by": "quality", "margin": "0.05", "allow_fail": "true"}) == Decide(
        "quality", 0.05, True
    )
    path = write_eval(tmp_path, {"provider": "baseline"}, decide={"by": "loss"})
    refused = commands.run("run", path)
    assert (refused.returncode, "decide.by: 'loss' needs prices" in refused.stderr) == (2, True)
    path = write_eval(tmp_path, {"provider": "baseline"}, decide={"by": "quality"})
    shown = commands.run("run", path, "--decide", "by=efficiency")
    assert shown.returncode == 0, shown.stderr


def test_c138_a_report_reads_a_stored_card_in_another_way(tmp_path: Path) -> None:
    outputs = answers("big", 200, 10.0) + answers("small", 200, 1.0, wrong=16)
    path, page = tmp_path / "card.json", tmp_path / "card.md"
    made = score(calls(200), outputs, tmp_path, intervals=True).card
    path.write_bytes(msgspec.json.encode(made))
    done = commands.run("report", path, "-o", page, "--decide", "by=efficiency")
    assert done.returncode == 0, done.stderr
    assert "best cost efficiency, as decide says" in page.read_text(encoding="utf-8")


def test_c138_a_plan_begins_with_what_the_pilot_decides(tmp_path: Path) -> None:
    path = write_eval(tmp_path, {"provider": "simulated", "model": "small"})
    assert commands.run("run", path).returncode == 0
    planned = commands.run("plan", path, "--json", tmp_path / "plan.json")
    made = json.loads(commands.run("report", path, "--format", "json").stdout)
    assert json.loads((tmp_path / "plan.json").read_bytes())["decision"] == made["decision"]
    first = made["decision"][0]
    assert planned.stdout.startswith(f"{first['word']:<17}")


def test_c138_adding_a_blocked_model_does_not_change_the_choice() -> None:
    two = [model("big", 0.93, 10.0), model("small", 0.85, 1.0)]
    gaps = [gap("small", "big", 0.08, (0.05, 0.11), (0.04, 0.12))]
    alone = choose(card(*two, gaps=gaps))
    beside = choose(card(*two, model("c", None, blockers=[broken(1)]), gaps=gaps))
    assert (alone.word, alone.models) == (beside.word, beside.models) == ("RECOMMENDED", ["big"])


@pytest.mark.parametrize("by", ["recommended", "quality"])
def test_c138_compare_decides_by_its_own_settings(by: str) -> None:
    """The cheap model is not worse; by quality the dear one is better."""
    replies = [*answers("big", 400, 1.0), *answers("small", 400, 0.1, wrong=2)]
    found = callscore.score(calls(400), replies, decide={"by": by}, judge="offline")
    both = callscore.compare(found, found, a="big", b="small", decide={"by": by})
    assert both.decision[0] == found.decision[0]
    assert ("by quality, as decide says" in both.decision[0].why) == (by == "quality")


def test_c138_the_ratings_of_the_report_are_those_that_the_decision_counts() -> None:
    rows = {
        "qa.question_score_accuracy": row(0.5, "Fail"),
        "translation.cross_language": row(0.5, "Fail", decides=False),
    }
    shown = card(model("a", 0.9, rows=rows), model("b"))
    assert len(failing_rows(shown.model("a"))) == 1
    text = str(models_table(shown, []))
    assert "1 Fail" in text and "2 Fail" not in text
