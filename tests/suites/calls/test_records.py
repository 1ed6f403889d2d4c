"""Records say which items counted against an answer, in few words (C-100)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import callscore
from builders import (
    Json,
    entity_case,
    entity_output,
    form,
    output,
    qa_case,
    question,
    text_case,
    text_outcome,
    translation_case,
    translation_outcome,
)
from callscore.scorecard.five_key_records import LONGEST_NAMED, MOST_NAMED


def reasons(case: Json, answer: object, folder: Path, verdicts: Sequence[Json] = ()) -> Json:
    path = folder / "records.jsonl"
    callscore.score([case], [output("c1", answer)], verdicts=verdicts, records=path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["slug"]: line["reason"] for line in lines}


def verdict(metric: str, item: str, word: str, **more: str) -> Json:
    return {
        "case_id": "c1", "model": "m", "metric": metric, "item": item, "verdict": word, **more
    }  # fmt: skip


def test_c100_questions_are_named_with_both_scores_the_widest_gap_first(tmp_path: Path) -> None:
    expected = [question("Q1", 5), question("Q2", 0), question("Q3", 4, kind="SCORE")]
    given = form(question("Q1", 5), question("Q2", 5), question("Q3", 3, kind="SCORE", reason=""))
    found = reasons(qa_case(expected), given, tmp_path)
    wrong = 'against it: "Q2" (given 5, expected 0), "Q3" (given 3, expected 4)'
    assert found["qa.question_score_accuracy"] == f"1 of 3; {wrong}"
    assert found["qa.score_gap_accuracy"].endswith(wrong)
    assert found["qa.false_pass_rate"] == '1 of 2; against it: "Q2" (given 5, expected 0)'
    assert found["qa.evidence_backed_reasoning"] == '4 of 6; against it: "Q3" (0 of 2 points)'
    assert found["qa.structure"] == "1 of 1"


def test_c100_a_missing_question_and_another_scale_are_said(tmp_path: Path) -> None:
    given = form(question("Q1", 5, max_score=10))
    found = reasons(qa_case([question("Q1"), question("Q2")]), given, tmp_path)
    assert found["qa.question_score_accuracy"] == (
        '0 of 2; against it: "Q1" (given 5 on another scale, expected 5),'
        ' "Q2" (given no score, expected 5)'
    )


def test_c100_an_answer_without_a_shape_says_why(tmp_path: Path) -> None:
    found = reasons(qa_case([question()]), "no form at all", tmp_path)
    assert found["qa.structure"].startswith("0 of 1; against it: ")
    assert found["qa.question_score_accuracy"].startswith("malformed")


def test_c100_entities_missed_and_made_up_are_named(tmp_path: Path) -> None:
    case = entity_case(["refund", "login"], ["billing"], ["refund", "login", "billing", "card"])
    found = reasons(case, entity_output(["refund", "Sky Dive", "card"], ["billing"]), tmp_path)
    assert found["entity.keyword_recall"] == '1 of 2; against it: missing "login"'
    extra = 'not expected "card", not expected "sky dive"'
    assert found["entity.keyword_precision"] == f"1 of 3; against it: {extra}"
    assert found["entity.keyword_f1"].endswith(f'against it: missing "login", {extra}')
    assert found["entity.fabricated_count"] == '1; against it: made up "sky dive"'
    assert found["entity.config_adherence"].endswith('against it: not configured "sky dive"')
    assert found["entity.topic_recall"] == "1 of 1"


def test_c100_labels_fields_highlights_and_claims_are_named(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["sentiment"][0]["label"] = "negative"
    answer["sentiment"][4]["label"] = None
    answer["summary"]["call_extracted_info"]["resolution"] = "n/a"
    answer["summary"]["highlights"] = ["Duplicate charge confirmed", "The card was stolen"]
    verdicts = [
        verdict("text.highlight_recall", "expected_highlights[1]", "not_stated"),
        verdict("text.highlight_correctness", "highlights[1]", "not_found"),
        verdict("text.fabrication_free", "claim:3", "not_found", text="The card was stolen"),
    ]
    found = reasons(text_case(), answer, tmp_path, verdicts)
    assert found["text.sentiment_accuracy"] == (
        '18 of 20; against it: "1" (given "negative", expected neutral),'
        ' "5" (given no label, expected neutral)'
    )
    assert found["text.missing_labels"] == '1; against it: "5"'
    assert found["text.field_presence"] == '1 of 2; against it: empty "resolution"'
    missed = '1 of 2; against it: expected_highlights[1] "Refund of $49 initiated"; '
    assert found["text.highlight_recall"].startswith(missed)
    assert 'against it: highlights[1] "The card' in found["text.highlight_correctness"]
    assert 'against it: "The card was stolen"; claim:3' in found["text.fabrication_free"]


def test_c100_claims_of_a_verdict_file_are_named_in_its_words(tmp_path: Path) -> None:
    verdicts = [verdict("text.fabrication_free", "claim:1", "not_found", text="It was a gift")]
    found = reasons(text_case(), text_outcome(), tmp_path, verdicts)
    assert 'against it: "It was a gift"' in found["text.fabrication_free"]


def test_c100_facts_lost_and_added_terms_and_sentences_are_named(tmp_path: Path) -> None:
    case = translation_case("Ana pays 49 dollars at 14:30", "Ana paga 49 dólares a las 14:30")
    case["expected_outcome"]["domain_terms_handled"] = [{"term": "KYC", "handled_as": "paga"}]
    case["expected_outcome"]["named_entities_handled"] = [{"entity": "Ana", "handled_as": "Ana"}]
    answer = translation_outcome("x", "Eva abona 94 dólares a las 14:30, ref. AB-1234")
    found = reasons(case, answer, tmp_path)
    drifted = 'against it: lost "49 dólares", added "AB-1234"'
    assert found["translation.critical_facts"] == f"0 of 2; {drifted}; approximate"
    assert found["translation.drift"] == f"2 of 2; {drifted}; approximate"
    assert found["translation.domain_terms"] == '0 of 1; against it: "KYC" (expected "paga")'
    assert found["translation.proper_nouns"] == '0 of 1; against it: "Ana" (expected "Ana")'
    empty = reasons(case, translation_outcome("x", ""), tmp_path)
    assert empty["translation.completeness"] == '0 of 1; against it: "1" (nothing)'


def test_c100_few_items_are_named_and_long_ones_are_cut(tmp_path: Path) -> None:
    made_up = [f"{n} " + "x" * 1000 + '", "' for n in range(9)]
    found = reasons(entity_case(["refund"], [], ["refund"]), entity_output(made_up), tmp_path)
    named = found["entity.fabricated_count"]
    assert named.count("made up") == MOST_NAMED
    assert named.endswith('…" and 4 more')
    assert len(named) < MOST_NAMED * (LONGEST_NAMED + 20) + 40


def test_c100_a_quotation_mark_of_the_model_does_not_end_the_quotation(tmp_path: Path) -> None:
    found = reasons(
        entity_case(["refund"], [], ["refund"]), entity_output(['a", made up "b']), tmp_path
    )
    assert found["entity.fabricated_count"].endswith(r'made up "a\", made up \"b"')


def parts(case: Json, answer: object, folder: Path, verdicts: Sequence[Json] = ()) -> Json:
    """What a record quotes of the reference and of the answer, by metric."""
    path = folder / "records.jsonl"
    callscore.score([case], [output("c1", answer)], verdicts=verdicts, records=path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        line["slug"]: (line["expected_outcome_reference"], line["model_output_observed"])
        for line in lines
    }


def test_c100_records_name_metrics_as_the_framework_does(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    callscore.score(
        [qa_case([question()])], [output("c1", form(question()))], records=path, benchmarks=True
    )
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = {line["slug"]: line["metric"] for line in lines}
    assert names["qa.score_gap_accuracy"] == "Score Gap Accuracy"
    assert names["qa.structure"] == "Response Structure Compliance"
    assert names["bench.exact_match"] == "Exact Match"


def test_c100_records_quote_the_entities_that_count(tmp_path: Path) -> None:
    case = entity_case(["refund", "login"], ["billing"], ["refund", "login", "billing", "card"])
    found = parts(case, entity_output(["refund", "Sky Dive"], ["billing"]), tmp_path)
    assert found["entity.keyword_precision"] == ('["refund","login"]', '["Sky Dive"]')
    assert found["entity.keyword_recall"] == ('["login"]', '["refund","Sky Dive"]')
    listed = '["refund","login","billing","card"]'
    assert found["entity.config_adherence"] == (listed, '{"detected_keywords":["Sky Dive"]}')
    assert found["entity.fabricated_count"][1] == '{"detected_keywords":["Sky Dive"]}'
    assert "valid_entity_set" not in found["entity.fabricated_count"][0]


def test_c100_records_quote_empty_fields_and_fabricated_claims(tmp_path: Path) -> None:
    answer = text_outcome()
    answer["summary"]["call_extracted_info"]["resolution"] = "n/a"
    verdicts = [verdict("text.fabrication_free", "claim:1", "not_found", text='A "gift"')]
    found = parts(text_case(), answer, tmp_path, verdicts)
    assert found["text.field_presence"][1] == '{"resolution":"n/a"}'
    assert found["text.fabrication_free"][1] == r'["A \"gift\""]'


def test_c100_records_quote_the_sentence_of_a_lost_fact(tmp_path: Path) -> None:
    case = translation_case("She pays 49 dollars", "Paga 49 dólares")
    for part in ("expected_outcome",):
        case[part]["sentence_translations"].append(
            {"source_id": 2, "source_text": "At noon", "translated_text": "A mediodía"}
        )
    answer = json.loads(json.dumps(case["expected_outcome"]))
    answer["sentence_translations"][0]["translated_text"] = "Paga 94 dólares"
    expected, observed = parts(case, answer, tmp_path)["translation.critical_facts"]
    assert expected == '[{"source_id":1,"translated_text":"Paga 49 dólares"}]'
    assert observed == '[{"source_id":1,"translated_text":"Paga 94 dólares"}]'
