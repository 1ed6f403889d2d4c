"""C-88 … C-99 and the benchmark examples of document 003; test names begin with the entry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import (
    Json,
    ScoreResult,
    entity_case,
    entity_output,
    form,
    output,
    qa_case,
    question,
    score,
    text_case,
    text_outcome,
    translation_case,
    translation_outcome,
)
from calls_suite import add_case, score_benchmarks
from callscore.core.judging import Question
from callscore.core.measure import Measure
from callscore.core.scorecard import BenchmarkScore, CriterionScore
from callscore.demo import sample_calls
from callscore.scorecard.criteria import CriterionTallies, CriterionTally, consistency
from callscore.suites.calls import spec
from callscore.suites.calls.benchmarks import measures as formulas
from fake_judges import ScriptedEmbedder, ScriptedJudge, best_word

CRITERIA = spec.load_spec().benchmarks.criteria
REASON = "The agent greeted the customer"


def passes(slug: str, value: float) -> bool:
    return CRITERIA[slug].passes(value)


def score_with_benchmarks(
    cases: Iterable[Json],
    outputs: Iterable[Mapping[str, Any]],
    folder: Path,
    *,
    word: Any = best_word,
    cosine: float = 0.9,
    **options: Any,
) -> ScoreResult:
    """Score with the second layer, a judge that answers `word` and a fixed cosine."""
    return score(
        cases,
        outputs,
        folder,
        judge=ScriptedJudge(word),
        embedder=ScriptedEmbedder(cosine),
        benchmarks=True,
        **options,
    )


def criterion(scored: ScoreResult, slug: str) -> CriterionScore:
    return scored.model.benchmarks.criteria[slug]


def tally_of(slug: str, *values: float) -> CriterionTallies:
    tally = CriterionTally()
    for value in values:
        tally.add([Measure(value)], CRITERIA[slug])
    return {slug: tally}


def test_c07_a_case_with_an_open_run_is_not_the_mean_of_the_others() -> None:
    tally, criterion = CriterionTally(), CRITERIA["bench.faithfulness"]
    assert tally.add([Measure(1.0), Measure(None, absence="not_run")], criterion) is None
    assert tally.add([Measure(1.0), Measure(None, absence="undefined")], criterion) == 1.0
    assert (tally.n, tally.waiting) == (1, 1)


def binaries(*passed: bool, partial: str = "incomplete") -> BenchmarkScore:
    """A Benchmark Score of criteria that pass or fail, in the order of the document."""
    tallies: CriterionTallies = {}
    for slug, is_passed in zip(CRITERIA, passed, strict=False):
        best, worst = (0.0, 100.0) if CRITERIA[slug].unit == "percent" else (1.0, 0.0)
        tallies |= tally_of(slug, best if is_passed else worst)
    settings = spec.make_settings({"benchmarks.partial": partial})
    return score_benchmarks({"qa": tallies}, settings, is_covered=True)


def test_c88_the_mean_decides_the_binary_and_the_share_of_passing_cases_is_shown() -> None:
    tallies = tally_of("bench.faithfulness", 1.0, 0.8)
    found = score_benchmarks({"text": tallies}, spec.make_settings(), is_covered=True)
    entry = found.criteria["bench.faithfulness"]
    assert entry.value == pytest.approx(0.9)
    assert (entry.binary, entry.case_pass_rate) == (1, 0.5)


def test_c88_a_case_passes_by_the_mean_of_its_runs_and_counts_once() -> None:
    tally = CriterionTally()
    criterion = CRITERIA["bench.faithfulness"]
    tally.add([Measure(1.0), Measure(0.85)], criterion)  # 0.925: passes, though one run does not
    tally.add([Measure(1.0), Measure(0.7)], criterion)  # 0.85: fails, though one run passes
    tallies = {"bench.faithfulness": tally}
    found = score_benchmarks({"text": tallies}, spec.make_settings(), is_covered=True)
    entry = found.criteria["bench.faithfulness"]
    assert (entry.n, entry.case_pass_rate) == (2, 0.5)
    assert entry.value == pytest.approx((0.925 + 0.85) / 2)


def test_c89_with_fewer_than_eleven_the_score_is_provisional() -> None:
    ten = [True] * 8 + [False] * 2
    found = binaries(*ten)
    assert (found.status, found.score, found.ran) == ("incomplete", None, 10)
    assert found.provisional == pytest.approx(0.8)
    assert binaries(*ten, partial="zero").score == pytest.approx(8 / 11)
    assert binaries(*ten, partial="mean").score == pytest.approx(0.8)


def test_c89_all_eleven_are_official() -> None:
    found = binaries(*[True] * 11)
    assert (found.status, found.score) == ("valid", 1.0)


def test_c90_entities_alone_leave_argument_correctness_out(tmp_path: Path) -> None:
    cases = [entity_case(["refund"], configured=["refund"])]
    found = score_with_benchmarks(cases, [output("c1", entity_output(["refund"]))], tmp_path)
    assert criterion(found, "bench.argument_correctness").value is None
    assert (criterion(found, "bench.argument_correctness").why or "").startswith("not_run")
    assert criterion(found, "bench.exact_match").value == 1.0
    assert found.model.benchmarks.status == "incomplete"
    assert found.model.final.option == "B"


def test_c90_every_task_has_the_same_weight_whatever_its_number_of_cases() -> None:
    tasks = {
        "qa": tally_of("bench.exact_match", 1.0, 1.0, 1.0),
        "entity": tally_of("bench.exact_match", 0.0),
    }
    found = score_benchmarks(tasks, spec.make_settings(), is_covered=True)
    assert found.criteria["bench.exact_match"].value == pytest.approx(0.5)


def test_c90_a_malformed_answer_has_the_worst_value_everywhere(tmp_path: Path) -> None:
    found = score_with_benchmarks([qa_case([question()])], [output("c1", "no JSON")], tmp_path)
    values = {slug: entry.value for slug, entry in found.model.benchmarks.criteria.items()}
    assert values.pop("bench.hallucination_rate") == 100.0
    assert values.pop("bench.consistency") is None
    assert set(values.values()) == {0.0}


@pytest.mark.parametrize(("fabricated", "of", "rate"), [(1, 50, 2.0), (0, 0, 0.0), (1, 4, 25.0)])
def test_c91_hallucination_is_what_faithfulness_leaves(
    fabricated: int, of: int, rate: float
) -> None:
    claims = [False] * fabricated + [True] * (of - fabricated)
    faithful = formulas.faithfulness(claims).value
    hallucinated = formulas.hallucination_rate(claims).value
    assert faithful is not None and hallucinated is not None
    assert hallucinated == pytest.approx(rate)
    assert hallucinated == pytest.approx(100 * (1 - faithful))


def test_c91_one_of_fifty_passes_both_limits() -> None:
    assert passes("bench.faithfulness", 0.98)
    assert passes("bench.hallucination_rate", 2.0)
    assert not passes("bench.hallucination_rate", 2.0001)


def test_c91_text_shares_the_claim_list_of_fabrication_free(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"] = answer["summary"] | {
        "highlights": ["Agent offered a $20 voucher", "Refund of $49 initiated"]
    }

    def word(asked: Question) -> str:
        return "not_found" if "voucher" in asked.text else best_word(asked)

    found = score_with_benchmarks([text_case()], [output("c1", answer)], tmp_path, word=word)
    assert criterion(found, "bench.faithfulness").value == found.value("text.fabrication_free")
    assert criterion(found, "bench.faithfulness").value == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("verdict", "faithful"), [("as_described", 1.0), ("absent", 0.0), ("vague", 0.0)]
)
def test_c91_a_reason_is_a_claim_and_supported_where_it_occurs_as_described(
    tmp_path: Path, verdict: str, faithful: float
) -> None:
    def word(asked: Question) -> str:
        return verdict if asked.metric.startswith("qa.") else best_word(asked)

    given = form(question(reason=REASON))
    found = score_with_benchmarks(
        [qa_case([question()])], [output("c1", given)], tmp_path, word=word
    )
    assert criterion(found, "bench.faithfulness").value == faithful


def test_c91_an_altered_amount_in_a_translation_is_an_unsupported_claim(tmp_path: Path) -> None:
    case = translation_case("It costs $49.", "Cuesta $49.")

    def faithfulness(text: str) -> float | None:
        answer = output("c1", translation_outcome("It costs $49.", text))
        return criterion(
            score_with_benchmarks([case], [answer], tmp_path), "bench.faithfulness"
        ).value

    assert faithfulness("Cuesta $99.") == 0.0
    assert faithfulness("Son $49.") == 1.0


def test_c92_the_reference_itself_is_perfectly_relevant_without_an_embedder(tmp_path: Path) -> None:
    case = qa_case([question()])
    embedder = ScriptedEmbedder(0.1)
    found = score(
        [case],
        [output("c1", case["expected_outcome"])],
        tmp_path,
        embedder=embedder,
        benchmarks=True,
    )
    assert criterion(found, "bench.answer_relevancy").value == 1.0
    assert embedder.seen == []


def test_c92_a_question_is_what_the_answer_is_compared_with(tmp_path: Path) -> None:
    case = qa_case([question()], question="How good was the agent?")
    embedder = ScriptedEmbedder(0.7)
    given = form(question(reason=REASON))
    found = score([case], [output("c1", given)], tmp_path, embedder=embedder, benchmarks=True)
    assert criterion(found, "bench.answer_relevancy").value == pytest.approx(0.7)
    targets = [reference for _, reference in embedder.seen]
    assert targets[0] == "How good was the agent?"
    assert targets[1] == "PASS_FAIL\nAgent said 'Good morning' at 00:12"


def test_c92_texts_have_no_keys_and_no_ids(tmp_path: Path) -> None:
    embedder = ScriptedEmbedder()
    given = form(question(question_id="Q1", reason=REASON))
    score(
        [qa_case([question()])], [output("c1", given)], tmp_path, embedder=embedder, benchmarks=True
    )
    assert embedder.seen[0][0] == f"PASS_FAIL\n{REASON}"


def test_c92_a_lexical_similarity_is_not_compared_with_the_limit(tmp_path: Path) -> None:
    embedder = ScriptedEmbedder(0.99, approximate=True)
    given = form(question(reason=REASON))
    found = score(
        [qa_case([question()])], [output("c1", given)], tmp_path, embedder=embedder, benchmarks=True
    )
    assert criterion(found, "bench.answer_relevancy").value is None


def test_w_bm_2_three_of_four_facts_and_one_wrong() -> None:
    facts = [True, True, True, False]
    assert formulas.fact_f1(facts, facts).value == pytest.approx(0.75)
    value = formulas.answer_correctness(formulas.fact_f1(facts, facts), 0.9).value
    assert value == pytest.approx(0.825)
    assert not passes("bench.answer_correctness", 0.825)
    assert formulas.answer_correctness(formulas.fact_f1(facts, facts), -0.5).value == 0.375


@pytest.mark.parametrize(
    ("expected", "given", "f1"), [([], [], 1.0), ([], [False], 0.0), ([False], [], 0.0)]
)
def test_c93_empty_sides_follow_c13(
    expected: Sequence[bool], given: Sequence[bool], f1: float
) -> None:
    assert formulas.fact_f1(expected, given).value == f1


def test_c94_needed_and_referenced_turns() -> None:
    needed, used = {1, 2, 3, 4}, {1, 2, 3, 9}
    precision = formulas.contextual_precision(needed, used)
    recall = formulas.contextual_recall(needed, used)
    relevancy = formulas.contextual_relevancy(precision, recall)
    assert [m.value for m in (precision, recall, relevancy)] == [0.75, 0.75, 0.75]
    assert not passes("bench.contextual_precision", 0.75)


def test_c94_an_answer_that_relies_on_nothing_where_something_is_needed_earns_nothing() -> None:
    precision = formulas.contextual_precision({1}, set())
    recall = formulas.contextual_recall({1}, set())
    assert (precision.value, recall.value) == (0.0, 0.0)
    assert formulas.contextual_relevancy(precision, recall).value == 0.0
    assert formulas.contextual_precision(set(), set()).value == 1.0


def test_c94_needed_turns_are_asked_once_per_case_not_once_per_model(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    given = form(question(reason=REASON))
    answers = [output("c1", given, "a"), output("c1", given, "b")]
    score([qa_case([question()])], answers, tmp_path, judge=judge, benchmarks=True)
    asked = [q.metric for judge_request in judge.seen for q in judge_request.questions]
    assert asked.count("bench.contextual_recall") == 1
    assert asked.count("bench.contextual_precision") == 2


def test_c94_turns_judged_by_people_need_no_judge(tmp_path: Path) -> None:
    verdicts = [
        {
            "case_id": "c1",
            "metric": "bench.contextual_recall",
            "item": "turn:1",
            "verdict": "needed",
        },
        {
            "case_id": "c1",
            "model": "m",
            "metric": "bench.contextual_precision",
            "item": "turn:1",
            "verdict": "not",
        },
    ]
    given = form(question(reason=REASON))
    found = score([qa_case([question()])], [output("c1", given)], tmp_path, verdicts)
    assert criterion(found, "bench.contextual_recall").value == 0.0
    assert criterion(found, "bench.contextual_relevancy").value == 0.0


def test_w_bm_3_steps_and_their_mean() -> None:
    assert formulas.argument_correctness([1, 1, 0.5]).value == pytest.approx(5 / 6)
    assert formulas.argument_correctness([0.5]).value == 0.5
    assert not passes("bench.argument_correctness", 5 / 6)


@pytest.mark.parametrize(
    ("mark", "ground", "reason", "step"),
    [
        (5, "yes", REASON, 1.0),
        (5, "no", REASON, 0.5),
        (0, "yes", REASON, 0.5),
        (0, "no", REASON, 0.0),
        (5, "yes", "", 0.0),
    ],
)
def test_c95_a_step_is_a_right_mark_and_a_right_ground(
    tmp_path: Path, mark: int, ground: str, reason: str, step: float
) -> None:
    def word(asked: Question) -> str:
        return ground if asked.metric == "bench.argument_correctness" else best_word(asked)

    given = form(question(score=mark, reason=reason))
    found = score_with_benchmarks(
        [qa_case([question()])], [output("c1", given)], tmp_path, word=word
    )
    assert criterion(found, "bench.argument_correctness").value == step


def test_c96_nine_of_ten_is_not_enough() -> None:
    value = formulas.instruction_following([True] * 9 + [False]).value
    assert value == pytest.approx(0.9)
    assert not passes("bench.instruction_following", 0.9)


@pytest.mark.parametrize(
    ("given", "followed"),
    [
        ([question("Q1"), question("Q2", kind="SCORE")], 6),
        ([question("Q1")], 4),
        ([question("Q1"), question("Q1"), question("Q2", kind="SCORE")], 5),
        ([question("Q1"), question("Q2", kind="SCORE"), question("Q9")], 5),
        ([question("Q1", score=3), question("Q2", kind="SCORE")], 5),
        ([question("Q1"), question("Q2", score=7, kind="SCORE")], 5),
    ],
)
def test_c96_rules_of_a_form_are_checked_by_code(
    tmp_path: Path, given: list[Json], followed: int
) -> None:
    case = qa_case([question("Q1"), question("Q2", kind="SCORE")])
    found = score([case], [output("c1", form(*given))], tmp_path, benchmarks=True)
    assert criterion(found, "bench.instruction_following").value == pytest.approx(followed / 6)


def test_c96_the_judge_decides_free_instructions(tmp_path: Path) -> None:
    case = entity_case(["refund"], configured=["refund"], config={"instructions": ["Be brief."]})
    answers = [output("c1", entity_output(["refund"]))]
    found = score_with_benchmarks([case], answers, tmp_path, word=lambda asked: "not_followed")
    assert criterion(found, "bench.instruction_following").value == pytest.approx(3 / 4)
    open_ = score([case], answers, tmp_path, benchmarks=True)
    assert criterion(open_, "bench.instruction_following").value is None


def test_w_bm_4_leaving_a_label_out_cannot_help(tmp_path: Path) -> None:
    labels = [{"sentence_id": i, "text": "t", "label": "negative"} for i in range(1, 5)]
    parts = {"emotion": "absent", "summary": "absent"}
    case = text_case({"sentiment": labels}, expected_parts=parts)
    found = score([case], [output("c1", {"sentiment": labels[:3]})], tmp_path, benchmarks=True)
    assert criterion(found, "bench.exact_match").value == 0.75
    whole = score([case], [output("c1", {"sentiment": labels})], tmp_path, benchmarks=True)
    assert criterion(whole, "bench.exact_match").value == 1.0


def test_c97_no_margin_and_invented_questions_count(tmp_path: Path) -> None:
    case = qa_case([question(kind="SCORE")])
    near = score(
        [case], [output("c1", form(question(score=4.5, kind="SCORE")))], tmp_path, benchmarks=True
    )
    assert near.value("qa.question_score_accuracy") == 1.0
    assert criterion(near, "bench.exact_match").value == pytest.approx(2 / 3)
    more = form(question(kind="SCORE"), question("Q9"))
    invented = score([case], [output("c1", more)], tmp_path, benchmarks=True)
    assert criterion(invented, "bench.exact_match").value == pytest.approx(3 / 6)


def test_c97_entities_are_sets_under_n2(tmp_path: Path) -> None:
    case = entity_case(["refund", "loan"], configured=["refund", "loan", "card"])
    answers = [output("c1", entity_output(["Refund ", "card"]))]
    found = score([case], answers, tmp_path, benchmarks=True)
    assert criterion(found, "bench.exact_match").value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("scores", "ddof", "value"),
    [
        ([0.91, 0.90, 0.88], 1, 0.9829644026209821),
        ([0.91, 0.90, 0.88], 0, 0.9860904929859705),
        ([1, 0, 0], 1, 0.0),
        ([0, 0, 0], 1, None),
        ([0.5], 1, None),
    ],
)
def test_w_bm_5_consistency(scores: Sequence[float], ddof: int, value: float | None) -> None:
    found = consistency(scores, ddof).value
    assert found == (None if value is None else pytest.approx(value, abs=1e-12))


def test_c98_a_case_that_always_scores_zero_counts_zero() -> None:
    tallies: CriterionTallies = {}
    add_case(tallies, [{}, {}], [Measure(0.0), Measure(0.0)], 1)
    add_case(tallies, [{}, {}], [Measure(0.8), Measure(0.8)], 1)
    tally = tallies["bench.consistency"]
    assert (tally.total, tally.n, tally.passed) == (1.0, 2, 1)


def test_c98_runs_that_failed_are_not_counted_and_invalid_ones_are_zero(tmp_path: Path) -> None:
    case = entity_case(["refund"], configured=["refund"])
    good = entity_output(["refund"])
    steady = [
        output("c1", good, run=1),
        output("c1", good, run=2),
        {"case_id": "c1", "model": "m", "run": 3, "error": "timeout"},
    ]
    found = score([case], steady, tmp_path, benchmarks=True)
    assert criterion(found, "bench.consistency").value == 1.0
    shaky = [output("c1", good, run=1), output("c1", "no JSON", run=2)]
    assert (
        criterion(score([case], shaky, tmp_path, benchmarks=True), "bench.consistency").value == 0.0
    )


def test_c98_three_equal_answers_are_consistent_blocked_or_not(tmp_path: Path) -> None:
    case = entity_case(["refund"], configured=["refund"])
    blocked = entity_output(["refund", "boats", "planes", "trains"])
    outputs = [output("c1", blocked, run=run) for run in (1, 2, 3)]
    found = score([case], outputs, tmp_path, benchmarks=True)
    assert {line["status"] for line in found.results} == {"invalid"}
    assert criterion(found, "bench.consistency").value == 1.0


def test_c98_one_run_is_not_run(tmp_path: Path) -> None:
    case = entity_case(["refund"], configured=["refund"])
    found = score([case], [output("c1", entity_output(["refund"]))], tmp_path, benchmarks=True)
    assert criterion(found, "bench.consistency").value is None
    assert (criterion(found, "bench.consistency").why or "").startswith("not_run")


def test_c99_w_bm_6_nine_of_eleven_meet_the_advice_and_eight_do_not() -> None:
    """W-BM-6"""
    nine, eight = binaries(*[True] * 9, False, False), binaries(*[True] * 8, False, False, False)
    assert [nine.score, eight.score] == [pytest.approx(9 / 11), pytest.approx(8 / 11)]
    assert (nine.meets_recommended, eight.meets_recommended) == (True, False)
    assert eight.status == "valid"


def test_w_bm_1_a_voucher_that_was_not_offered_is_unsupported() -> None:
    assert formulas.faithfulness([False]).value == 0.0
    assert formulas.hallucination_rate([False]).value == 100.0


def test_c79_eleven_benchmarks_make_option_a_official(tmp_path: Path) -> None:
    with sample_calls() as config:
        answers = [
            line | {"run": run}
            for line in _lines(config.outputs[0])
            if line["model"] == "sample-large"
            for run in (1, 2)
        ]
        cases = _lines(config.cases[0])
    found = score_with_benchmarks(cases, answers, tmp_path)
    benchmarks = found.model.benchmarks
    assert {slug for slug, entry in benchmarks.criteria.items() if entry.value is None} == set()
    assert (benchmarks.status, benchmarks.ran, found.model.final.option) == ("valid", 11, "A")
    assert found.model.final.official


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
