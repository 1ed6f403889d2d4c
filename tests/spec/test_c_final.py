"""C-79 … C-87 and the final-score examples of document 003; each test carries its entry's id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders import (
    entity_case,
    form,
    output,
    qa_case,
    question,
    score,
    text_case,
    text_outcome,
)
from calls_suite import final_weights, rank, template
from callscore.core.errors import ConfigError, DataError
from callscore.core.scorecard import (
    BenchmarkScore,
    Cost,
    FinalScore,
    ModelScore,
    Scorecard,
    TaskScore,
)
from callscore.report.cells import scorecard_rows
from callscore.scorecard.final import final_score
from callscore.scorecard.ranking import cost_at_volume, model_cost
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls import spec

NOT_RUN = BenchmarkScore("not_run", None, {})


def task(score_: float | None, status: Any = None) -> TaskScore:
    return TaskScore(
        status=status or ("valid" if score_ is not None else "invalid"),
        score=score_,
        ungated_score=score_,
        reasons=[],
        n=1,
        cases=1,
        official=score_ is not None,
        coverage=1.0,
        blocked_calls=0,
        subscores={},
        metrics={},
    )


def tasks(*scores: float | None) -> Mapping[str, TaskScore]:
    return {name: task(value) for name, value in zip(spec.load_spec().tasks, scores, strict=True)}


def final(
    *scores: float | None,
    benchmark: float | None = None,
    settings: Mapping[str, Any] | None = None,
    weights: Mapping[str, float] | None = None,
) -> FinalScore:
    done = BenchmarkScore("valid", benchmark, {}) if benchmark is not None else NOT_RUN
    rule = final_weights(spec.make_settings(settings), weights)
    return final_score(rule, tasks(*scores), done)


def model(
    name: str,
    final_: float | None,
    cost: float | None,
    *,
    official: bool = True,
    option: str = "B",
) -> ModelScore:
    status = "valid" if final_ is not None else "invalid"
    known = "unknown" if cost is None else "zero" if cost == 0 else "known"
    return ModelScore(
        model=name,
        tasks={},
        benchmarks=NOT_RUN,
        final=FinalScore(option, status, final_, None, official, None, final_, ["qa"], {}),  # type: ignore[arg-type]
        cost=Cost(known, "USD", cost, cost, 1),  # type: ignore[arg-type]
        blockers=[],
        blocked_calls=0,
    )


def test_c79_without_benchmarks_option_b_is_official() -> None:
    result = final(0.9, 0.8, 0.7, 0.6)
    assert (result.option, result.a, result.score) == ("B", None, result.b)


def test_c79_complete_benchmarks_make_option_a_official_and_b_stays() -> None:
    result = final(0.9, 0.8, 0.7, 0.6, benchmark=0.5)
    assert (result.option, result.score) == ("A", result.a)
    assert result.b == pytest.approx(0.785)


def test_c79_a_card_names_the_official_one_of_two_options() -> None:
    scored = model("m", 0.7, 1.0, option="A")
    both = msgspec.structs.replace(scored.final, a=0.7, b=0.785)
    card = Scorecard("6.0", "", [msgspec.structs.replace(scored, final=both)], rank([scored]))
    cells = {row.template.kind: row.cells[0].text for row in scorecard_rows(card, template())}
    assert (cells["final_a"], cells["final_b"]) == ("0.700 (official)", "0.785")


def test_c79_options_are_not_ranked_together() -> None:
    models = [model("a", 0.7, 1.0, option="A"), model("b", 0.9, 1.0), model("c", 0.6, 1.0)]
    ranking = rank(models)
    assert [(e.model, e.rank, e.quality_rank) for e in ranking] == [
        ("a", 1, 1),
        ("b", None, None),
        ("c", None, None),
    ]
    assert ranking[1].reason == "its Final Score is of option B, that of others of option A"
    assert [e.rank for e in rank(models[1:])] == [1, 2]
    # estimates stand apart anyway
    estimate = model("d", 0.9, 1.0, official=False)
    assert [e.rank for e in rank([models[0], estimate])] == [1, 1]


def test_c82_own_weights_are_the_weights_of_the_official_score() -> None:
    halves = {"qa": 0.5, "entity": 0.5}
    without = final(0.9, 0.8, 0.7, 0.6, benchmark=0.5, weights=halves)
    assert (without.option, without.a, without.score) == ("B", None, without.b)
    assert without.score == pytest.approx(0.85)
    none = final(0.9, 0.8, 0.7, 0.6, benchmark=0.5, weights={**halves, "benchmarks": 0.0})
    assert none == msgspec.structs.replace(without, weights=none.weights)
    among = final(0.9, 0.8, 0.7, 0.6, benchmark=0.5, weights={"qa": 0.5, "benchmarks": 0.5})
    assert (among.option, among.b, among.score) == ("A", None, among.a)
    assert among.score == pytest.approx(0.7)


def test_c80_both_options_and_the_proportional_weights() -> None:
    assert final(0.9, 0.8, 0.7, 0.6).score == pytest.approx(0.785)
    assert final(0.9, 0.8, 0.7, 0.6, benchmark=0.5).score == pytest.approx(0.70)
    proportional = final(0.9, 0.8, 0.7, 0.6, settings={"weights": "proportional"})
    assert proportional.score == pytest.approx(0.7857142857142858)


def test_examples_weights_w_wt_and_w_fs() -> None:
    scores, finals = spec.load_spec().scores, spec.load_spec().final
    percent = {
        "W-WT-Full-QA": ([70, 20, 10], scores["qa"].weights),
        "W-WT-Entity": ([47, 29, 24], scores["entity"].weights),
        "W-WT-Sentiment": ([60, 40], scores["text"].parts["sentiment"].weights),
        "W-WT-Summary": ([30, 10, 10, 20, 30], scores["text"].parts["summary"].weights),
        "W-WT-Text": ([30, 50, 20], {n: p.weight for n, p in scores["text"].parts.items()}),
        "W-WT-Translation": ([10, 35, 10, 20, 10, 15], scores["translation"].weights),
        "W-WT-Option-A": ([25, 20, 15, 10, 30], finals["a"]),
        "W-WT-Option-B": ([35, 30, 20, 15], finals["b"]),
    }
    for name, (printed, weights) in percent.items():
        assert [100 * weight for weight in weights.values()] == pytest.approx(printed), name
        assert sum(weights.values()) == pytest.approx(1), name
    exact = final_weights(spec.make_settings({"weights": "proportional"})).of("b")
    assert [100 * weight for weight in exact.values()] == pytest.approx(  # W-FS-1
        [35.714285714285715, 28.571428571428573, 21.428571428571427, 14.285714285714286]
    )


def test_c81_an_invalid_task_leaves_no_final_score_but_a_floor() -> None:
    result = final(0.9, None, 0.7, 0.6)
    assert (result.status, result.score, result.reasons) == ("invalid", None, ["entity"])
    assert result.floor_score == pytest.approx(0.545)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"qa": 0.5, "entity": 0.6}, "the sum is 1.1; expected 1"),
        ({"qa": 0.5, "entity": 0.4}, "the sum is 0.9; expected 1"),
        ({"qa": 1.5, "entity": -0.5}, "expected a number of at least 0"),
        ({"quality": 1.0}, "unknown task 'quality'"),
    ],
)
def test_c82_weights_that_cannot_be_are_refused(
    tmp_path: Path, weights: dict[str, float], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        score([qa_case([question()])], [output("c1", form(question()))], tmp_path, weights=weights)


def test_c83_cost_per_thousand_calls(tmp_path: Path) -> None:
    cases = [qa_case([question()], f"c{i}") for i in range(200)]
    outputs = [output(f"c{i}", form(question()), cost_usd=0.0025) for i in range(200)]
    cost = score(cases, outputs, tmp_path).model.cost
    assert cost.total == pytest.approx(0.50)
    assert cost.per_1000_calls == pytest.approx(2.50)
    given = score(cases, outputs, tmp_path, cost_per_1000={"m": 9.0}).model.cost
    assert (given.per_1000_calls, given.status) == (9.0, "given")


FOUR_TASKS = {
    "qa": TaskTally(spend=1.0, calls=1000),
    "entity": TaskTally(spend=4.0, calls=2000),
    "text": TaskTally(spend=1.5, calls=500),
    "translation": TaskTally(spend=0.4, calls=100),
}
"""One, two, three and four dollars for a thousand cases of each."""


@pytest.mark.parametrize(("workload", "expected"), [({}, 10), ({"translation": 0.5}, 8)])
def test_c83_a_telephone_call_goes_through_every_task(
    workload: dict[str, float], expected: float
) -> None:
    cost = model_cost(FOUR_TASKS, workload)
    assert cost.per_1000_calls == pytest.approx(expected)
    assert cost.per_1000_requests == {"qa": 1, "entity": 2, "text": 3, "translation": 4}
    assert cost.workload["qa"] == 1
    assert cost.total == pytest.approx(6.9)


def test_c83_the_cost_of_a_volume_and_its_limits_are_in_proportion() -> None:
    cost = msgspec.structs.replace(model_cost(FOUR_TASKS), ci95=(8.0, 13.0))
    found = cost_at_volume(cost, 2_500)
    assert found is not None
    assert found.value == pytest.approx(25)
    assert found.ci95 == (20.0, 32.5)
    assert cost_at_volume(msgspec.structs.replace(cost, per_1000_calls=None), 2_500) is None


def test_c83_an_unknown_task_in_the_workload_is_refused(tmp_path: Path) -> None:
    given = [output("c1", form(question()))]
    with pytest.raises(ConfigError, match="workload: unknown task 'chat'; expected one of qa"):
        score([qa_case([question()])], given, tmp_path, workload={"chat": 1.0})
    with pytest.raises(ConfigError, match="workload: qa = -1.0; expected a number of at least 0"):
        score([qa_case([question()])], given, tmp_path, workload={"qa": -1.0})


def test_c83_the_workload_is_part_of_what_may_be_compared(tmp_path: Path) -> None:
    given = [output("c1", form(question()), cost_usd=0.001)]
    plain = score([qa_case([question()])], given, tmp_path)
    half = score([qa_case([question()])], given, tmp_path, workload={"qa": 0.5})
    assert "workload" not in plain.card.signature
    assert "|workload:qa=0.5|" in half.card.signature
    assert half.model.cost.per_1000_calls == pytest.approx(0.5)


def test_c84_the_cheapest_model_costs_one() -> None:
    ranking = rank([model("A", 0.90, 2.0), model("B", 0.80, 1.0)])
    assert [entry.model for entry in ranking] == ["B", "A"]
    assert [entry.efficiency for entry in ranking] == pytest.approx([0.80, 0.45])
    assert [entry.normalised_cost for entry in ranking] == [1.0, 2.0]


def test_c85_a_free_model_ranks_first_and_is_marked() -> None:
    ranking = rank([model("B", 0.95, 1.0), model("local", 0.70, 0.0), model("?", 0.9, None)])
    assert [(e.model, e.rank) for e in ranking] == [("local", 1), ("B", 2), ("?", None)]
    assert (ranking[0].cost_status, ranking[0].efficiency) == ("zero", None)
    assert ranking[2].reason == "the cost is unknown"


def test_c85_a_negative_cost_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cost_usd: -1.0 is negative"):
        score([qa_case([question()])], [output("c1", form(question()), cost_usd=-1)], tmp_path)


def test_c86_equal_efficiency_shares_a_rank() -> None:
    models = [
        model("d", 0.1, 1.0),
        model("c", 0.5, 1.0),
        model("b", 0.5, 1.0),
        model("a", 0.8, 1.0),
    ]
    ranking = rank([*models, model("broken", None, 1.0)])
    assert [(e.model, e.rank) for e in ranking] == [
        ("a", 1),
        ("b", 2),
        ("c", 2),
        ("d", 4),
        ("broken", None),
    ]
    assert ranking[-1].reason == "Final Score invalid: QA"


@pytest.mark.parametrize(("gap", "ranks"), [(5e-10, [1, 1]), (5e-9, [1, 2])])
def test_c86_scores_within_the_tolerance_share_every_rank(gap: float, ranks: list[int]) -> None:
    ranking = rank([model("a", 0.8, 1.0), model("b", 0.8 - gap, 1.0)])
    assert [e.rank for e in ranking] == ranks
    assert [e.quality_rank for e in ranking] == ranks
    assert [e.pareto for e in ranking] == [place == 1 for place in ranks]


def test_c86_quality_is_ranked_apart_and_the_pareto_front_marked() -> None:
    ranking = rank([model("big", 0.9, 10.0), model("mid", 0.8, 1.0), model("bad", 0.7, 2.0)])
    assert {e.model: (e.quality_rank, e.pareto) for e in ranking} == {
        "big": (1, True),
        "mid": (2, True),
        "bad": (3, False),
    }


def test_c87_blocked_calls_below_the_limit_are_counted_not_triggered(tmp_path: Path) -> None:
    cases = [qa_case([question(score=0)], f"c{i}") for i in range(50)]
    outputs = [output(f"c{i}", form(question(score=5 if i == 0 else 0))) for i in range(50)]
    scored = score(cases, outputs, tmp_path)
    assert blocker_cell(scored.card) == "No (1 of 50 calls breaches a limit on its own)"


@pytest.mark.parametrize("intervals", [True, False])
def test_c87_the_first_example_of_c03_says_one_of_a_hundred_calls(
    tmp_path: Path, intervals: bool
) -> None:
    expected = text_outcome()
    expected["summary"]["call_extracted_info"] = {f"field {n}": "known" for n in range(20)}
    cases = [text_case(expected, f"c{i}") for i in range(100)]
    word = {"case_id": "c7", "model": "m", "metric": "text.fabrication_free"}
    verdicts = [
        {
            **word,
            "item": f"claim:{number}",
            "text": f"fact {number}",
            "verdict": "not_found" if number == 1 else "supported_by_transcript",
        }
        for number in range(1, 21)
    ]
    outputs = [output(f"c{i}", expected) for i in range(100)]
    scored = score(cases, outputs, tmp_path, verdicts, intervals=intervals)
    assert scored.task("text").status == "valid"
    assert blocker_cell(scored.card) == "No (1 of 100 calls breaches a limit on its own)"


def test_c87_a_telephone_call_blocked_in_several_tasks_counts_once(tmp_path: Path) -> None:
    ids = [f"call {number}" for number in range(13)]
    cases = [qa_case([question()], f"qa/{name}", call_id=name) for name in ids]
    cases += [text_case(case_id=f"text/{name}", call_id=name) for name in ids]
    cases += [entity_case(["refund"], [], ["refund"], f"e/{name}", call_id=name) for name in ids]
    outputs = [output(case["id"], "{") for case in cases]
    model = score(cases, outputs, tmp_path).model
    assert sum(task.blocked_calls for task in model.tasks.values()) == 39
    assert (model.blocked_calls, model.calls) == (13, 13)


def blocker_cell(card: Scorecard) -> str:
    return scorecard_rows(card, template())[-1].cells[0].text


def test_c87_a_row_without_a_verdict_leaves_the_question_undecided(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"] = {**answer["summary"], "call_purpose": "Refund", "highlights": ["A refund"]}
    scored = score([text_case()], [output("c1", answer)], tmp_path)
    assert scored.task("text").undecided_gates == ["text.call_intent", "text.fabrication_free"]
    assert blocker_cell(scored.card) == "undecided (2 rows not judged)"


def test_c87_a_row_without_anything_to_judge_is_decided(tmp_path: Path) -> None:
    scored = score(
        [qa_case([question(kind="SCORE")])], [output("c1", form(question(kind="SCORE")))], tmp_path
    )
    assert scored.value("qa.false_pass_rate") is None
    assert blocker_cell(scored.card) == "No"


def test_c87_a_breach_that_formula_only_leaves_out_is_shown_as_not_gating(tmp_path: Path) -> None:
    given = [output("c1", form(question(score=5)))]
    cases = [qa_case([question(score=0)])]
    scored = score(cases, given, tmp_path, settings={"gates": "formula_only"})
    assert scored.task().status == "valid"
    (blocker,) = scored.model.blockers
    assert (blocker.metric, blocker.gating, blocker.value) == ("qa.false_pass_rate", False, 100)
    assert blocker_cell(scored.card) == "Yes (not gating)"
    assert scored.rating("qa.false_pass_rate") == "Blocker"


def thousand_calls(model: str, broken: int) -> list[dict[str, Any]]:
    """Answers to a thousand calls, some of which are no JSON."""
    return [
        output(f"c{i}", "{broken" if i < broken else text_outcome(emotion=EMOTION), model)
        for i in range(1000)
    ]


EMOTION = {"anger": 40, "neutral": 60}
"""The wrong emotion: every readable answer scores 0.8."""


def test_c129_the_closest_model_is_named_where_none_passes(tmp_path: Path) -> None:
    cases = [text_case(case_id=f"c{i}") for i in range(1000)]
    outputs = thousand_calls("B", 40) + thousand_calls("A", 3)
    scored = score(cases, outputs, tmp_path, weights={"text": 1.0}, cost_per_1000={"A": 1, "B": 2})
    tasks = {model.model: model.tasks["text"] for model in scored.card.models}
    assert {name: task.status for name, task in tasks.items()} == {"A": "invalid", "B": "invalid"}
    assert tasks["A"].zeroed_score == pytest.approx(0.8 * 0.997)
    low, high = tasks["A"].blocked_share_ci95 or (0, 0)
    assert 0 < low < 0.003 < high < 0.01
    assert [entry.rank for entry in scored.card.ranking] == [None, None]
    first, second = scored.card.zeroed_ranking
    assert (first.model, first.rank, second.model, second.rank) == ("A", 1, "B", 2)
    assert second.zeroed_final == pytest.approx(0.8 * 0.96)
    assert first.obstacles == ["Text: Response Structure Compliance, 3 of 1000 calls"]


def test_c129_a_call_that_breaches_a_rate_gate_on_its_own_counts_0(tmp_path: Path) -> None:
    cases = [qa_case([question("Q1", 0), question("Q2")], f"c{i}") for i in range(4)]
    right = form(question("Q1", 0), question("Q2"))
    wrong = form(question("Q1", 5), question("Q2"))
    given = [output(f"c{i}", wrong if i == 0 else right) for i in range(4)]
    scored = score(cases, given, tmp_path, weights={"qa": 1.0})
    task, (entry,) = scored.task(), scored.card.zeroed_ranking
    assert (task.status, task.unblocked_share, task.blocked_calls) == ("invalid", 1, 1)
    assert task.ungated_score is not None
    assert task.zeroed_score == pytest.approx(task.ungated_score * 3 / 4)
    assert scored.model.final.zeroed_final == task.zeroed_score == entry.zeroed_final
    low, high = task.blocked_share_ci95 or (0, 0)
    assert low < 1 / 4 < high
    assert entry.obstacles == ["QA: Compliance False Pass Rate 12.5 %, above 3"]


def test_c129_a_false_pass_in_most_calls_is_below_a_model_without_a_blocker(tmp_path: Path) -> None:
    cases = [qa_case([question("Q1", 0), question("Q2")], f"c{i}") for i in range(10)]
    wrong = form(question("Q1", 5), question("Q2"))
    modest = form(question("Q1", 0), question("Q2", 0))
    outputs = [
        output(f"c{i}", answer, model)
        for model, answer in (("lenient", wrong), ("strict", modest))
        for i in range(10)
    ]
    cost = {"lenient": 1, "strict": 1}
    scored = score(cases, outputs, tmp_path, weights={"qa": 1.0}, cost_per_1000=cost)
    assert [line.model for line in scored.card.zeroed_ranking] == ["strict", "lenient"]
    assert scored.card.zeroed_ranking[1].zeroed_final == 0


def test_c129_an_incomplete_model_is_not_ranked_with_blocked_calls_as_0(tmp_path: Path) -> None:
    cases = [qa_case([question()], f"c{i}") for i in range(2)]
    outputs = [output("c0", form(question()))]
    scored = score(cases, outputs, tmp_path, weights={"qa": 1.0})
    assert (scored.model.final.status, scored.card.zeroed_ranking) == ("incomplete", [])


def test_c129_tasks_that_were_not_run_are_left_out_and_named(tmp_path: Path) -> None:
    cases = [text_case(case_id=f"c{i}") for i in range(10)]
    outputs = [output(f"c{i}", "{" if i == 0 else text_outcome()) for i in range(10)]
    scored = score(cases, outputs, tmp_path)
    final = scored.model.final
    assert (final.score, final.zeroed_final, final.zeroed_tasks) == (None, 0.9, ["text"])


def test_c129_nothing_is_zeroed_where_every_model_passes(tmp_path: Path) -> None:
    scored = score([qa_case([question()])], [output("c1", form(question()))], tmp_path)
    assert scored.card.zeroed_ranking == []
    assert scored.task().zeroed_score is None
