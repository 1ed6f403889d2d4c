"""C-74, C-75: outcomes are critical facts, found once a case, the same for all models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders import Json, ScoreResult, output, score
from callscore.core.judging import Question
from callscore.core.scorecard import MetricScore
from callscore.judges.rubric import built_in_library
from commands import run
from eval_files import read_lines
from fake_judges import ScriptedEmbedder, ScriptedJudge, best_word
from judging_stub import answer_as_judge, judge_entry, judge_requests
from stub_servers import Request, serving
from translation_cases import TASK, outcome, translation_case

FACTS = "translation.critical_facts"
HUMAN = ["Good morning", "The fee is $49", "Your claim was approved today"]
KEPT = ["Good morning", "The fee is $49", "We have approved your claim today"]
LOST = ["Good morning", "The fee is $49", "We have refused your claim today"]


def case(**more: Any) -> Json:
    made: Json = msgspec.to_builtins(translation_case(outcome(HUMAN), lang="en", **more))
    return {key: value for key, value in made.items() if value is not None}


def word(question: Question) -> str:
    """Finds the one outcome; an answer keeps it where it does not refuse."""
    if question.item.startswith("outcome:"):
        return "outcome" if "approved" in question.text else "no_outcome"
    if question.metric == FACTS:
        return "altered" if "refused" in question.text else "preserved"
    return best_word(question)


def scored(folder: Path, judge: Any, answers: dict[str, list[str]], **more: Any) -> ScoreResult:
    outputs = [output("c1", outcome(said), model) for model, said in answers.items()]
    return score([case(**more)], outputs, folder, judge=judge, embedder=ScriptedEmbedder(0.9))


def facts_of(found: ScoreResult, model: str = "a") -> MetricScore:
    models = {score.model: score for score in found.card.models}
    return models[model].tasks["translation"].metrics[FACTS]


def test_c74_an_outcome_is_found_in_the_reference_before_any_answer(tmp_path: Path) -> None:
    judge = ScriptedJudge(word)
    found = scored(tmp_path, judge, {"a": KEPT, "b": LOST})
    first, *others = judge.seen
    assert [question.item for question in first.questions] == [
        "outcome:1",
        "outcome:2",
        "outcome:3",
    ]
    assert [question.text for question in first.questions] == HUMAN
    assert not any(
        q.item.startswith("outcome:") for judge_request in others for q in judge_request.questions
    )
    # one fact by rule ($49), one outcome
    assert (facts_of(found).value, facts_of(found, "b").value) == (1.0, 0.5)
    assert not facts_of(found).approximate


def test_c74_every_model_has_the_same_number_of_facts(tmp_path: Path) -> None:
    found = scored(tmp_path, ScriptedJudge(word), {"a": KEPT, "b": LOST, "c": HUMAN})
    assert [facts_of(found, model).value for model in "abc"] == [1.0, 0.5, 1.0]


def test_c74_a_sentence_in_the_humans_own_words_keeps_its_outcome_unasked(tmp_path: Path) -> None:
    judge = ScriptedJudge(word)
    scored(tmp_path, judge, {"a": ["Hello", *HUMAN[1:]]})
    assert judge.seen
    assert not any(q.item.startswith("kept:") for d in judge.seen for q in d.questions)


TWO = "Your claim was approved today. We will also waive the fee."
BOTH = "We approved the claim today, and the fee is waived."
ONE_LOST = "We approved the claim today. The fee is not waived."


def each(question: Question) -> str:
    """Finds approvals and waivers; an answer loses a waiver where it says so."""
    if question.item.startswith("outcome:"):
        return "outcome" if re.search("approved|waive", question.text) else "no_outcome"
    if question.metric == FACTS:
        lost = "waive" in question.reference and "not waived" in question.text
        return "altered" if lost else "preserved"
    return best_word(question)


def test_c74_two_outcomes_under_one_source_id_are_two_facts(tmp_path: Path) -> None:
    judge = ScriptedJudge(each)
    expected = msgspec.to_builtins(translation_case(outcome([*HUMAN[:2], TWO]), lang="en"))
    made = {key: value for key, value in expected.items() if value is not None}
    answers = {"a": [*KEPT[:2], BOTH], "b": [*KEPT[:2], ONE_LOST], "c": [*HUMAN[:2], TWO]}
    outputs = [output("c1", outcome(said), model) for model, said in answers.items()]
    found = score([made], outputs, tmp_path, judge=judge, embedder=ScriptedEmbedder(0.9))
    asked = {q.item: q.text for judge_request in judge.seen for q in judge_request.questions}
    assert asked["outcome:3"] == "Your claim was approved today."
    assert asked["outcome:3[2]"] == "We will also waive the fee."
    assert asked["kept:3"] == asked["kept:3[2]"] == ONE_LOST
    # one fact by rule ($49), two outcomes
    assert [facts_of(found, model).value for model in "abc"] == [1.0, pytest.approx(2 / 3), 1.0]


def test_c74_a_source_id_that_looks_like_a_second_outcome_stays_what_it_is() -> None:
    made = outcome([TWO, "Goodbye."])
    for sentence, source_id in zip(made["sentence_translations"], ("3", "3[2]"), strict=True):
        sentence["source_id"] = source_id
    pieces = TASK.reference(translation_case(made, lang="en")).may_state_outcomes
    assert {name: piece.text for name, piece in pieces.items()} == {"3": TWO, "3[2]": "Goodbye."}


def test_c74_given_facts_leave_no_outcome_to_be_found(tmp_path: Path) -> None:
    judge = ScriptedJudge(word)
    found = scored(tmp_path, judge, {"a": LOST}, facts=["$49"])
    assert not any(q.item.startswith("outcome:") for d in judge.seen for q in d.questions)
    assert facts_of(found).value == 1.0


@pytest.mark.parametrize(
    "judge",
    [
        "offline",
        ScriptedJudge(word, approximate=True),
        ScriptedJudge(lambda q: "cannot_tell" if q.metric == FACTS else best_word(q)),
        ScriptedJudge(fails="out of order"),
    ],
)
def test_c75_outcomes_that_could_not_be_found_make_the_value_approximate(
    tmp_path: Path, judge: Any
) -> None:
    facts = facts_of(scored(tmp_path, judge, {"a": KEPT}))
    assert facts.value == 1.0
    assert facts.approximate


def test_c75_without_a_judge_outcomes_were_not_looked_for(tmp_path: Path) -> None:
    answers = [
        output("c1", outcome(said), model) for model, said in {"a": KEPT, "b": HUMAN}.items()
    ]
    found = score([case()], answers, tmp_path)
    assert [facts_of(found, model).value for model in "ab"] == [1.0, 1.0]
    # the human's own words keep every outcome, and are an estimate like all others (C-125)
    assert [facts_of(found, model).approximate for model in "ab"] == [True, True]
    assert found.card.estimate


def test_c75_people_may_look_for_outcomes_in_a_verdicts_file(tmp_path: Path) -> None:
    words = {"outcome:1": "no_outcome", "outcome:2": "no_outcome", "outcome:3": "outcome"}
    said = [{"case_id": "c1", "metric": FACTS, "item": i, "verdict": w} for i, w in words.items()]
    kept = {"case_id": "c1", "metric": FACTS, "item": "kept:3", "verdict": "preserved"}
    answers = [output("c1", outcome(KEPT), "a")]
    for verdicts, is_open in ((said[:2], True), (said, True), ([*said, kept], False)):
        facts = facts_of(score([case()], answers, tmp_path, verdicts))
        assert (facts.value, facts.approximate) == (1.0, is_open)


def asks_for_outcomes(request: Request) -> bool:
    asked: str = request.json["messages"][0]["content"]
    return built_in_library().rubrics["outcome"].question in asked


def test_c74_the_list_is_frozen_for_later_models_and_runs(tmp_path: Path) -> None:
    cases, saved, store = (tmp_path / name for name in ("c.jsonl", "v.jsonl", "kept.db"))
    cases.write_text(json.dumps(case()) + "\n", encoding="utf-8")

    def told(model: str, said: list[str], *args: object) -> list[Json]:
        outputs, results = tmp_path / f"{model}.jsonl", tmp_path / "results.jsonl"
        outputs.write_text(json.dumps(output("c1", outcome(said), model)) + "\n", encoding="utf-8")
        done = run("score", cases, "--outputs", outputs, *args, "--results", results)
        assert done.returncode == 0, done.stderr
        return read_lines(results)

    with serving(answer_as_judge) as stub:
        config = tmp_path / "judge.yaml"
        config.write_text(json.dumps(judge_entry(stub.url)), encoding="utf-8")
        options = ("--judge", config, "--embedder", "none", "--store", store)
        first = told("a", KEPT, *options, "--save-verdicts", saved)
        asked = len(judge_requests(stub))
        told("b", LOST, *options)
        before, later = judge_requests(stub)[:asked], judge_requests(stub)[asked:]
    assert [asks_for_outcomes(request) for request in before].count(True) == 1
    assert later and not any(asks_for_outcomes(request) for request in later)
    lines = [line for line in read_lines(saved) if line["item"].startswith("outcome:")]
    assert [(line["model"], line["verdict"]) for line in lines] == [
        (None, "no_outcome"),
        (None, "no_outcome"),
        (None, "outcome"),
    ]
    assert told("a", KEPT, "--verdicts", saved) == first
