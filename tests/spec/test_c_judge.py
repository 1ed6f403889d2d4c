"""C-83, C-100 … C-103, C-125: what judge and embedder may do to a score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
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
from callscore.core.case import Message
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Question
from callscore.judges.document_judge import DocumentJudge
from callscore.judges.fakes import FakeVerdict, LiteralModel, ParsedPrompt, PromptItem
from callscore.judges.llm import LLMJudge, Sender
from callscore.suites.calls.framework import framework_judge
from fake_judges import ScriptedEmbedder, ScriptedJudge, best_word
from judge_cases import WritingModel

EVIDENCE = "qa.evidence_backed_reasoning"
REASON = "The agent greeted the customer"
THREE = [question(f"Q{n}", reason="the human's words") for n in (1, 2, 3)]
ANSWERED = form(*(question(f"Q{n}", reason=f"{REASON} ({n})") for n in (1, 2, 3)))


def judged(folder: Path, judge: ScriptedJudge, **options: Any) -> ScoreResult:
    return score([qa_case(THREE)], [output("c1", ANSWERED)], folder, judge=judge, **options)


def records(folder: Path, **options: Any) -> dict[str, Json]:
    path = folder / "records.jsonl"
    callscore.score([qa_case(THREE)], [output("c1", ANSWERED)], records=path, **options)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["slug"]: line for line in lines}


def other_summary() -> Json:
    """An answer whose every statement needs a judge."""
    answer = text_outcome()
    answer["summary"] = {
        "call_purpose": "Customer wants the second payment back",
        "highlights": ["The double charge was confirmed"],
        "call_extracted_info": {"customer_name": "Ana M.", "resolution": "Refunded"},
    }
    return answer


def test_c100_items_are_judged_and_the_score_is_computed_by_code(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda q: "vague" if q.item == "Q3" else "as_described")
    found = records(tmp_path, judge=judge)
    assert found[EVIDENCE]["score"] == pytest.approx(2 / 3)
    assert "4 of 6" in found[EVIDENCE]["reason"]


class Adding(LiteralModel):
    """Finds all but the third reason in the call, and adds a score of its own."""

    def answer(self, messages: Sequence[Message]) -> str:
        return super().answer(messages).replace("{", '{"score": 1.0, ', 1)

    def entry(self, item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        if item.text.startswith(REASON):
            word = "vague" if item.text.endswith("(3)") else "as_described"
            return FakeVerdict(
                "Good morning" if word != "vague" else "",
                "turn 1" if word != "vague" else "none",
                word,
            )
        return super().entry(item, seen)


def test_c100_items_yes_yes_no_and_a_score_of_1_are_two_thirds(tmp_path: Path) -> None:
    found = records(tmp_path, judge=LLMJudge(Adding()))
    assert found[EVIDENCE]["score"] == pytest.approx(0.6667, abs=5e-5)


def test_c100_a_record_holds_the_relevant_value_and_observation(tmp_path: Path) -> None:
    found = records(tmp_path, judge=LLMJudge(Adding()))
    reference = found[EVIDENCE]["expected_outcome_reference"]
    assert "the human's words" in reference and "max_score" not in reference
    assert found[EVIDENCE]["model_output_observed"].startswith("questions[")
    path = tmp_path / "r.jsonl"
    wrong = form(*(question(f"Q{n}", score=5 if n != 2 else 0) for n in (1, 2, 3)))
    callscore.score([qa_case(THREE)], [output("c1", wrong)], records=path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    accuracy = next(line for line in lines if line["slug"] == "qa.question_score_accuracy")
    assert json.loads(accuracy["expected_outcome_reference"]) == [{"question_id": "Q2", "score": 5}]
    assert json.loads(accuracy["model_output_observed"]) == [{"question_id": "Q2", "score": 0}]


def document_judge(*texts: str) -> DocumentJudge:
    return DocumentJudge([Sender(WritingModel(*texts))], framework_judge())


def intent_record(score: float, **more: Any) -> Json:
    return {
        "metric": "Call Intent Match",
        "score": score,
        "expected_outcome_reference": text_outcome()["summary"]["call_purpose"],
        "model_output_observed": "Customer wants the second payment back",
        "reason": "the same goal",
        **more,
    }


@pytest.mark.parametrize(("score_given", "value"), [(0.5, 0.5), (0.7, None)])
def test_c100_the_documents_judge_is_believed_only_at_its_steps(
    tmp_path: Path, score_given: float, value: float | None
) -> None:
    judge = document_judge(json.dumps(intent_record(score_given)))
    found = score([text_case()], [output("c1", other_summary())], tmp_path, judge=judge)
    assert found.results[0]["metrics"]["text.call_intent"] == value
    metric = found.task("text").metrics["text.call_intent"]
    assert value is not None or (metric.why or "").startswith("failed")
    assert value is not None or "none of 0, 0.5, 1" in " ".join(found.results[0]["flags"])
    assert "judge:document(" in found.card.signature


def test_c100_five_key_records_are_verdicts(tmp_path: Path) -> None:
    given = [intent_record(0.5, case_id="c1", model="m")]
    found = score([text_case()], [output("c1", other_summary())], tmp_path, given)
    assert found.value("text.call_intent") == 0.5
    assert "judge:document|" in found.card.signature


def test_c100_no_item_is_open_where_metrics_are_scored_as_a_whole(tmp_path: Path) -> None:
    case, reply = text_case(), output("c1", other_summary())
    given = [intent_record(0.5, case_id="c1", model="m")]
    paths = tmp_path / "items.jsonl", tmp_path / "whole.jsonl"
    for path, verdicts in zip(paths, ([], given), strict=True):
        callscore.score([case], [reply], verdicts=verdicts, open_items=path)
    items, whole = (path.read_text(encoding="utf-8") for path in paths)
    assert "text.call_intent" in items
    assert whole == ""


def test_c100_a_record_that_cites_what_is_not_there_is_flagged(tmp_path: Path) -> None:
    right = intent_record(0.5, case_id="c1", model="m")
    wrong = {**right, "model_output_observed": "Customer sells a boat"}
    flag = "citation_not_found: text.call_intent"
    for given, flagged in ((right, False), (wrong, True)):
        found = score([text_case()], [output("c1", other_summary())], tmp_path, [given])
        assert (flag in found.results[0]["flags"]) is flagged
        assert found.value("text.call_intent") == 0.5
        counted = [note for note in found.card.notes if note.startswith("citation_not_found in 1 ")]
        assert len(counted) == flagged


def test_c100_the_citations_of_the_documents_judge_are_flagged_and_counted(tmp_path: Path) -> None:
    paraphrase = {**intent_record(0.5), "model_output_observed": "wants money back for the bill"}
    judge = document_judge(json.dumps(paraphrase))
    found = score([text_case()], [output("c1", other_summary())], tmp_path, judge=judge)
    assert found.results[0]["metrics"]["text.call_intent"] == 0.5
    flag = "citation_not_found: text.call_intent"
    assert flag in found.results[0]["flags"]
    assert found.card.judging is not None
    assert found.card.judging.flags[flag] == 1


def test_c17_a_record_between_the_steps_is_refused(tmp_path: Path) -> None:
    given = [intent_record(0.7, case_id="c1", model="m")]
    with pytest.raises(DataError, match="0.7 is none of 0, 0.5, 1"):
        score([text_case()], [output("c1", other_summary())], tmp_path, given)


def test_c100_records_of_a_run_score_it_again(tmp_path: Path) -> None:
    judged_once = score(
        [text_case()],
        [output("c1", other_summary())],
        tmp_path,
        judge=ScriptedJudge(),
        records=tmp_path / "r.jsonl",
    )
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    again = score([text_case()], [output("c1", other_summary())], tmp_path, lines)
    assert again.results[0]["metrics"] == judged_once.results[0]["metrics"]
    assert any("metrics that code computes" in note for note in again.card.notes)


@pytest.mark.parametrize("with_judge", [True, False])
def test_c100_the_documents_scores_are_never_mixed_with_words(
    tmp_path: Path, with_judge: bool
) -> None:
    given = [intent_record(0.5, case_id="c1", model="m")]
    word = {"case_id": "c1", "metric": "text.highlight_recall", "item": "expected_highlights[0]"}
    options: dict[str, Any] = {"judge": ScriptedJudge()} if with_judge else {}
    given += [] if with_judge else [word | {"verdict": "stated"}]
    with pytest.raises(UsageError, match="cannot be mixed"):
        score([text_case()], [output("c1", other_summary())], tmp_path, given, **options)


def test_c100_fabrication_scored_as_a_whole_makes_the_hallucination_rate(tmp_path: Path) -> None:
    given = [
        {**intent_record(0.985, case_id="c1", model="m"), "metric": "text.fabrication_free"},
        {**intent_record(1, case_id="c1", model="m"), "metric": "bench.hallucination_rate"},
    ]
    found = score([text_case()], [output("c1", other_summary())], tmp_path, given)
    metrics = found.results[0]["metrics"]
    assert metrics["text.fabrication_free"] == 0.985
    assert metrics["text.hallucination_rate"] == pytest.approx(1.5)
    assert metrics["bench.hallucination_rate"] == 0.0


def test_c100_every_metric_has_its_five_keys(tmp_path: Path) -> None:
    found = records(tmp_path, benchmarks=True)
    assert {"qa.question_score_accuracy", EVIDENCE, "qa.structure", "bench.exact_match"} <= set(
        found
    )
    for record in found.values():
        assert list(record) == [
            *("case_id", "model", "run", "slug", "metric", "score"),
            *("expected_outcome_reference", "model_output_observed", "reason"),
        ]
    assert found[EVIDENCE]["score"] is None
    assert found[EVIDENCE]["reason"].startswith("not_run")
    assert found["bench.exact_match"]["score"] == 1
    assert "the human's words" in found[EVIDENCE]["expected_outcome_reference"]
    assert REASON in found[EVIDENCE]["model_output_observed"]


def test_c101_a_fabricated_highlight_leaves_sentiment_alone(tmp_path: Path) -> None:
    judge = ScriptedJudge(
        lambda q: "not_found" if q.metric == "text.highlight_correctness" else best_word(q)
    )
    found = score([text_case()], [output("c1", other_summary())], tmp_path, judge=judge)
    assert found.value("text.highlight_correctness") == 0.0
    assert found.value("text.sentiment_accuracy") == 1.0


def test_c102_a_judge_that_fails_is_an_error_never_a_score(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedJudge(fails="three unusable answers"))
    assert found.results[0]["status"] == "error"
    assert found.results[0]["metrics"][EVIDENCE] is None
    metric = found.task().metrics[EVIDENCE]
    assert (metric.why or "").startswith("failed")
    assert (found.task().status, found.task().score) == ("incomplete", None)
    assert found.results[0]["flags"] == ["unjudged: three unusable answers"]
    assert found.card.notes == ["items got no verdict, for example: three unusable answers"]


def test_c102_one_failed_answer_leaves_the_others_judged(tmp_path: Path) -> None:
    class SometimesFailing(ScriptedJudge):
        async def judge(self, judge_request: Any) -> Any:
            self._fails = "" if len(self.seen) else "unusable"
            return await super().judge(judge_request)

    cases = [qa_case(THREE, "c1"), qa_case(THREE, "c2")]
    answers = [output("c1", ANSWERED), output("c2", ANSWERED)]
    found = score(cases, answers, tmp_path, judge=SometimesFailing())
    assert [line["status"] for line in found.results] == ["error", "valid"]
    metric = found.task().metrics[EVIDENCE]
    assert (found.task().status, metric.value, metric.provisional) == ("incomplete", None, 1.0)


def test_c102_a_failed_embedder_is_no_similarity_of_zero(tmp_path: Path) -> None:
    embedder = ScriptedEmbedder(fails="no connection")
    found = score(
        [qa_case(THREE)],
        [output("c1", ANSWERED)],
        tmp_path,
        embedder=embedder,
        benchmarks=True,
    )
    relevancy = found.model.benchmarks.criteria["bench.answer_relevancy"]
    assert relevancy.value is None
    assert (relevancy.why or "").startswith("failed")


def test_c103_the_judge_never_learns_who_wrote_an_answer(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    lines = [
        output("c1", ANSWERED, "secret-model-9", cost_usd=0.123456),
        output("c1", ANSWERED, "other-model-7"),
    ]
    score([qa_case(THREE)], lines, tmp_path, judge=judge, benchmarks=True)
    shown = msgspec.json.encode(judge.seen).decode()
    assert "secret-model-9" not in shown and "other-model-7" not in shown
    assert "0.123456" not in shown


def test_verdicts_of_people_win_and_are_not_asked_again(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda q: "as_described")
    given = [
        {"case_id": "c1", "model": "m", "metric": EVIDENCE, "item": "Q1", "verdict": "vague"},
    ]
    found = score([qa_case(THREE)], [output("c1", ANSWERED)], tmp_path, given, judge=judge)
    assert found.value(EVIDENCE) == pytest.approx(4 / 6)
    assert [q.item for q in judge.seen[0].questions] == ["Q2", "Q3"]


def test_a_claim_list_of_people_is_not_mixed_with_the_judges(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    given = [
        {
            "case_id": "c1",
            "model": "m",
            "metric": "text.fabrication_free",
            "item": "claim:1",
            "text": "Customer wants money back",
            "verdict": "supported_by_transcript",
        }
    ]
    answers = [output("c1", other_summary())]
    found = score([text_case()], answers, tmp_path, given, judge=judge)
    assert found.task("text").metrics["text.fabrication_free"].micro == 1.0
    asked = {q.metric for judge_request in judge.seen for q in judge_request.questions}
    assert "text.fabrication_free" not in asked


def test_all_that_is_open_about_an_answer_goes_into_one_dossier(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    score([text_case()], [output("c1", other_summary())], tmp_path, judge=judge)
    assert len(judge.seen) == 1
    assert {q.metric for q in judge.seen[0].questions} == {
        *("text.call_intent", "text.highlight_recall"),
        *("text.highlight_correctness", "text.fabrication_free"),
    }


def test_flags_of_the_judge_reach_the_results(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedJudge(flags=["injection_suspected"]))
    assert "injection_suspected" in found.results[0]["flags"]
    assert found.card.judging is not None
    assert found.card.judging.flags == {"injection_suspected": 1}


def test_c83_judging_is_paid_apart_from_the_model(tmp_path: Path) -> None:
    lines = [output("c1", ANSWERED, cost_usd=0.002)]
    found = score([qa_case(THREE)], lines, tmp_path, judge=ScriptedJudge())
    assert found.model.cost.per_1000_calls == pytest.approx(2.0)
    assert found.card.judging is not None
    assert (found.card.judging.cost_usd, found.card.judging.requests) == (0.5, 1)


def test_c83_a_failed_judge_is_paid_too(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedJudge(fails="no"))
    assert found.card.judging is not None
    assert (found.card.judging.cost_usd, found.card.judging.failed) == (0.25, 1)


def test_c125_an_estimate_is_unofficial_and_says_so(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedJudge(approximate=True))
    task = found.task()
    assert (task.status, task.score, task.official) == ("valid", 1.0, False)
    assert task.metrics[EVIDENCE].approximate
    assert not task.metrics["qa.question_score_accuracy"].approximate
    assert found.card.estimate


def test_c125_no_band_and_no_tick_rests_on_an_estimate(tmp_path: Path) -> None:
    estimate, judged_by_model = ScriptedJudge(approximate=True), ScriptedJudge()
    rows = judged(tmp_path, estimate).task().metrics
    assert rows[EVIDENCE].value == 1.0
    assert (rows[EVIDENCE].rating, rows[EVIDENCE].meets_threshold) == (None, None)
    accuracy = rows["qa.question_score_accuracy"]
    assert (accuracy.rating, accuracy.meets_threshold) == ("Good", True)
    row = judged(tmp_path, judged_by_model).task().metrics[EVIDENCE]
    assert (row.rating, row.meets_threshold) == ("Good", True)


def test_c125_a_breach_that_code_finds_is_a_blocker_among_estimates(tmp_path: Path) -> None:
    silent = other_summary()
    silent["summary"] = {**silent["summary"], "call_purpose": ""}
    cases = [text_case(case_id="c1"), text_case(case_id="c2")]
    answers = [output("c1", silent), output("c2", other_summary())]
    found = score(cases, answers, tmp_path, judge=ScriptedJudge(approximate=True))
    assert found.task("text").metrics["text.call_intent"].rating == "Blocker"
    assert found.task("text").metrics["text.highlight_recall"].rating is None


def test_24_9_a_card_of_the_offline_judge_says_what_that_is(tmp_path: Path) -> None:
    found = score([text_case()], [output("c1", other_summary())], tmp_path, judge="offline")
    assert any("finds inserted errors" in note for note in found.card.notes)
    assert found.card.estimate
    estimates = [m for m in found.task("text").metrics.values() if m.approximate]
    assert estimates
    assert {(metric.rating, metric.meets_threshold) for metric in estimates} == {(None, None)}


def test_c125_official_results_are_not_headed_as_an_estimate(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedJudge())
    assert found.task().official
    assert not found.card.estimate


@pytest.mark.parametrize("word", ["supported_by_transcript", "not_found"])
def test_c125_an_estimate_neither_triggers_nor_clears_a_judged_gate(
    tmp_path: Path, word: str
) -> None:
    def answer(asked: Question) -> str:
        return word if asked.metric == "text.fabrication_free" else best_word(asked)

    estimate = ScriptedJudge(answer, approximate=True)
    found = score([text_case()], [output("c1", other_summary())], tmp_path, judge=estimate)
    task = found.task("text")
    assert (task.status, task.official) == ("valid", False)
    assert task.undecided_gates == ["text.call_intent", "text.fabrication_free"]
    assert task.metrics["text.fabrication_free"].gate_value is None
    assert found.model.blockers == []
    assert (found.results[0]["status"], found.results[0]["reasons"]) == ("valid", [])
    assert "estimate" in found.results[0]["flags"]


def test_c125_a_gate_that_code_decides_still_blocks_with_estimates(tmp_path: Path) -> None:
    estimate = ScriptedJudge(approximate=True)
    answer = other_summary()
    answer["sentiment"] = answer["sentiment"][:10]
    found = score([text_case()], [output("c1", answer)], tmp_path, judge=estimate)
    assert found.task("text").status == "invalid"
    assert list(found.task("text").reasons) == ["text.missing_labels"]


def test_judge_and_embedder_are_in_the_signature(tmp_path: Path) -> None:
    found = judged(tmp_path, ScriptedJudge(), embedder=ScriptedEmbedder())
    assert "judge:scripted@1" in found.card.signature
    assert "embedder:scripted-embedder@1" in found.card.signature


def test_many_cases_keep_their_order_whatever_the_judge_does_first(tmp_path: Path) -> None:
    import asyncio

    class Uneven(ScriptedJudge):
        async def judge(self, judge_request: Any) -> Any:
            await asyncio.sleep(0.02 if len(self.seen) % 7 == 0 else 0)
            return await super().judge(judge_request)

    ids = [f"c{n}" for n in range(80)]
    cases = [qa_case(THREE, case_id) for case_id in ids]
    answers = [output(case_id, ANSWERED) for case_id in ids]
    found = score(cases, answers, tmp_path, judge=Uneven())
    assert [line["case_id"] for line in found.results] == ids
    assert found.value(EVIDENCE) == 1.0


def test_answers_that_code_decides_are_not_put_to_the_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    case = entity_case(["refund"], configured=["refund"])
    score([case], [output("c1", entity_output(["refund"]))], tmp_path, judge=judge)
    assert judge.seen == []


def test_translated_sentences_are_compared_in_the_target_language(tmp_path: Path) -> None:
    case = translation_case("Good morning", "Buenos días")
    exact, lexical = ScriptedEmbedder(0.8), ScriptedEmbedder(0.8, approximate=True)
    answers = [output("c1", translation_outcome("Good morning", "Buen día"))]
    judge = ScriptedJudge()
    found = score([case], answers, tmp_path, judge=judge, embedder=exact)
    assert exact.languages == ["es"]
    assert (found.value("translation.meaning"), found.task("translation").official) == (0.8, True)
    estimated = score([case], answers, tmp_path, judge=judge, embedder=lexical)
    assert estimated.task("translation").metrics["translation.meaning"].approximate
    assert not estimated.task("translation").official


@pytest.mark.parametrize(("target", "noted"), [("de", 1), ("es", 0)])
def test_the_card_says_where_an_embedder_is_weak(tmp_path: Path, target: str, noted: int) -> None:
    case = translation_case("Good morning", "Guten Morgen", target)
    answer = output("c1", translation_outcome("Good morning", "Guten Tag"))
    found = score([case], [answer], tmp_path, embedder="muse")
    assert len([note for note in found.card.notes if "mUSE is weak in German" in note]) == noted


def test_c137_a_row_over_some_of_the_calls_has_no_value(tmp_path: Path) -> None:
    """Six reasons are the human's own; the judge fails on all the others."""
    cases = [qa_case(THREE, f"c{i}") for i in range(60)]
    own = {"questions": THREE}
    answers = [output(f"c{i}", own if i < 6 else ANSWERED) for i in range(60)]
    found = score(cases, answers, tmp_path, judge=ScriptedJudge(fails="unusable"))
    metric, task = found.task().metrics[EVIDENCE], found.task()
    assert (metric.value, metric.rating, metric.meets_threshold) == (None, None, None)
    assert (metric.provisional, metric.n, metric.failed) == (1.0, 6, 54)
    assert metric.why == "failed: 6 of 60 calls decided; 54 could not be judged"
    assert (task.status, task.score, task.zeroed_score) == ("incomplete", None, None)
    assert task.reasons == [EVIDENCE]


def test_c137_a_case_is_decided_only_where_all_its_runs_are(tmp_path: Path) -> None:
    own = {"questions": THREE}
    answers = [output("c1", own), output("c1", ANSWERED, run=2), output("c2", own)]
    found = score([qa_case(THREE, "c1"), qa_case(THREE, "c2")], answers, tmp_path)
    metric = found.task().metrics[EVIDENCE]
    assert (metric.value, metric.n) == (None, 1)
    assert metric.why == "not_run: 1 of 2 calls decided; 1 await a verdict"


def test_c137_a_sub_score_is_not_valid_over_some_of_its_calls(tmp_path: Path) -> None:
    cases = [text_case(case_id="c1"), text_case(case_id="c2")]
    answers = [output("c1", text_outcome()), output("c2", other_summary())]
    found = score(cases, answers, tmp_path).task("text")
    assert (found.subscores["summary"].status, found.subscores["summary"].score) == (
        "incomplete",
        None,
    )
    assert found.subscores["summary"].n == 1
    assert found.subscores["sentiment"].status == "valid"


def test_c137_a_proven_breach_of_a_call_gate_counts_among_undecided_calls(tmp_path: Path) -> None:
    silent = other_summary()
    silent["summary"] = {**silent["summary"], "call_purpose": ""}
    cases = [text_case(case_id="c1"), text_case(case_id="c2")]
    answers = [output("c1", silent), output("c2", other_summary())]
    found = score(cases, answers, tmp_path).task("text")
    assert (found.status, found.reasons) == ("invalid", ["text.call_intent"])
    assert found.zeroed_score is None
