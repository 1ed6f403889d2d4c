from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Case, Reply
from callscore.core.errors import DataError
from callscore.suites.calls.spec import make_settings, metric_names
from callscore.suites.calls.text.task import OFFERED, VALUES, TextTask
from shared_cases import BUNDLED, cases_of, shared_file
from text_cases import (
    TASK,
    case_of_summary,
    claim_verdicts,
    flags,
    measure_answer,
    measures,
    outcome,
    questions,
    score_answer,
    sentences,
    summary,
    text_case,
    values,
    verdict,
    verdicts,
)

SLUGS = set(metric_names().by_task["text"])
ZERO_AT_BEST = {"text.missing_labels", "text.hallucination_rate"}
HARMLESS = {"resolution_limited"}
SUMMARY_SLUGS = {
    "text.call_intent",
    "text.highlight_recall",
    "text.highlight_correctness",
    "text.field_presence",
    "text.fabrication_free",
    "text.hallucination_rate",
}


def assert_perfect(case: Case) -> None:
    """The expected outcome as the answer: best values, no gate, no alarm, nothing to ask."""
    found = measure_answer(case, case.expected_outcome)
    assert set(found.measures) == SLUGS
    for slug, measure in found.measures.items():
        best = 0 if slug in ZERO_AT_BEST else 1
        assert measure.value == best or measure.absence == "absent", (case.id, slug)
    assert set(found.flags) <= HARMLESS
    assert score_answer(case, case.expected_outcome).status != "invalid"
    assert questions(case, case.expected_outcome) == []


def test_the_expected_outcome_is_a_perfect_answer() -> None:
    assert_perfect(text_case())
    assert score_answer(text_case(), outcome()).score == pytest.approx(1)


@pytest.mark.parametrize("name", ["text_harper", "text_goemotions_sentiment_emotion"])
def test_real_cases_are_answered_perfectly_by_their_expected_outcome(name: str) -> None:
    for case in cases_of("text", shared_file(f"{name}.jsonl")):
        assert_perfect(case)


def test_the_bundled_cases_are_answered_perfectly_by_their_expected_outcome() -> None:
    for case in cases_of("text", BUNDLED):
        assert_perfect(case)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", " ", "-", "N/A", "60%", "neutral", "Customer requesting refund", "a. b"]),
)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """Any answer that the structure check lets through."""
    ids = st.one_of(st.integers(0, 4), SCALARS)
    return {
        "sentiment": draw(
            st.lists(st.fixed_dictionaries({"sentence_id": ids, "text": SCALARS, "label": SCALARS}))
        ),
        "summary": {
            "call_purpose": draw(SCALARS),
            "highlights": draw(st.lists(SCALARS)),
            "call_extracted_info": draw(
                st.dictionaries(st.sampled_from(["customer_name", "follow_up"]), SCALARS)
            ),
        },
        "emotion": {name: draw(SCALARS) for name in outcome()["emotion"]},
    }


@given(answers())
def test_no_scalar_anywhere_breaks_the_measures(answer: dict[str, Any]) -> None:
    found = measure_answer(text_case(), json.dumps(answer))
    assert set(found.measures) == SLUGS
    assert found.measures["text.structure"].value == 1
    for slug, measure in found.measures.items():
        assert measure.value is not None or measure.absence in ("not_run", "undefined"), slug
        if measure.value is not None and slug != "text.missing_labels":
            assert 0 <= measure.value <= (100 if slug == "text.hallucination_rate" else 1)
    assert list(found.flags) == sorted(set(found.flags))
    questions(text_case(), json.dumps(answer))


ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("x"), inner)
)


@pytest.mark.parametrize(
    "part",
    ["sentiment", "label", "text", "summary", "call_purpose", "highlights", "call_extracted_info",
     "emotion", "sentence_id", "joy"],
)  # fmt: skip
@given(ANYTHING)
def test_whatever_stands_in_an_absent_part_is_not_looked_at(part: str, junk: object) -> None:
    answer = outcome()
    for holder in (answer, answer["summary"], answer["sentiment"][0], answer["emotion"]):
        if part in holder:
            holder[part] = junk
    found = measure_answer(text_case(parts={part: "absent"}), json.dumps(answer))
    assert found.measures["text.structure"].value == 1
    assert set(found.measures) == SLUGS


@pytest.mark.parametrize(
    ("part", "missing"),
    [
        (
            "sentiment",
            {"text.sentiment_accuracy", "text.sentiment_macro_f1", "text.missing_labels"},
        ),
        ("label", {"text.sentiment_accuracy", "text.sentiment_macro_f1", "text.missing_labels"}),
        ("summary", SUMMARY_SLUGS),
        ("call_purpose", {"text.call_intent"}),
        ("highlights", {"text.highlight_recall", "text.highlight_correctness"}),
        ("call_extracted_info", {"text.field_presence"}),
        ("emotion", {"text.dominant_emotion"}),
        ("text", set()),
    ],
)
@pytest.mark.parametrize("answer", [outcome(), "no JSON"])
def test_an_absent_part_takes_its_metrics_along_and_no_others(
    part: str, missing: set[str], answer: object
) -> None:
    found = measure_answer(text_case(parts={part: "absent"}), answer)
    assert {slug for slug, m in found.measures.items() if m.absence == "absent"} == missing


def test_sentences_without_ids_cannot_be_aligned() -> None:
    expected = outcome(sentiment=[{"text": "hello", "label": "neutral"}])
    case = text_case(expected, {"sentence_id": "absent"})
    assert measures(case, expected)["sentiment_accuracy"].absence == "absent"
    assert measures(case, expected)["missing_labels"].absence == "absent"


def test_a_malformed_answer_has_no_value_but_its_structure() -> None:
    found = measure_answer(text_case(), "I cannot help with that")
    assert found.flags == ("refusal",)
    assert found.measures["text.structure"].value == 0
    others = SLUGS - {"text.structure"}
    assert {found.measures[slug].absence for slug in others} == {"malformed"}


def test_a_paraphrase_is_asked_about_and_not_run_until_it_is_answered() -> None:
    answer = outcome(
        summary=summary("Wants money back", ["Charged twice", "Refund of $49 initiated"])
    )
    asked = questions(text_case(), answer)
    assert [(question.metric, question.item) for question in asked] == [
        ("text.call_intent", "call_purpose"),
        ("text.call_intent", "call_purpose:other_goal"),
        ("text.highlight_recall", "expected_highlights[0]"),
        ("text.highlight_correctness", "highlights[0]"),
        ("text.fabrication_free", "claim:1"),
        ("text.fabrication_free", "claim:2"),
    ]
    assert all(question.offered[-1] == "cannot_tell" for question in asked)
    assert all(set(question.offered) <= set(OFFERED[question.metric]) for question in asked)
    found = measures(text_case(), answer)
    assert found["highlight_recall"].reason() == (
        "not_run: 1 of 2 expected highlights await a verdict"
    )
    assert found["fabrication_free"].reason() == "not_run: 2 of 5 claims await a verdict"
    assert found["hallucination_rate"].absence == "not_run"
    assert score_answer(text_case(), answer).status == "incomplete"


def test_answers_to_all_questions_leave_nothing_open() -> None:
    answer = outcome(summary=summary("Wants money back", ["Charged twice"]))
    given_words = {"text.call_intent": "same", "text.highlight_recall": "stated"}
    given = verdicts(
        *(
            verdict(
                q.metric.removeprefix("text."),
                q.item,
                "no"
                if q.item.endswith("other_goal")
                else given_words.get(q.metric, "supported_by_transcript"),
                text=q.text,
            )
            for q in questions(text_case(), answer)
        )
    )
    result = score_answer(text_case(), answer, given)
    assert result.status == "valid"
    assert result.score == pytest.approx(1)
    assert measures(text_case(), answer, given)["fabrication_free"].denominator == 4


def test_verdicts_with_texts_of_their_own_are_the_claim_list() -> None:
    given = claim_verdicts(["supported_by_transcript"] * 3 + ["not_found"])
    found = measures(text_case(), outcome(), given)["fabrication_free"]
    assert (found.value, found.denominator) == (0.75, 4)


def test_a_verdict_that_repeats_our_claim_answers_it_and_the_others_still_count() -> None:
    answer = outcome(summary=summary("Wants a refund"))
    given = verdicts(verdict("fabrication_free", "claim:1", "contradicted", text="wants a refund"))
    found = measures(text_case(), answer, given)["fabrication_free"]
    assert (found.numerator, found.denominator) == (4, 5)


def test_code_decides_a_claim_of_the_reference_whatever_a_verdict_says() -> None:
    given = verdicts(
        verdict(
            "fabrication_free", "claim:1", "not_found", text=outcome()["summary"]["call_purpose"]
        )
    )
    assert values(text_case(), outcome(), given)["fabrication_free"] == 1


def test_verdicts_with_a_gap_answer_no_claim() -> None:
    answer = outcome(summary=summary(highlights=["Charged twice", "Refund given", "Call back"]))
    given = verdicts(*(verdict("fabrication_free", f"claim:{n}", "not_found") for n in (1, 3, 4)))
    assert values(text_case(), answer, given)["fabrication_free"] is None
    assert "claims_unmatched" in flags(text_case(), answer, given)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["not_found", "supported_by_reference"], 4 / 5),
        (["not_found", "not_found", "contradicted", "cannot_tell", "not_found"], 3 / 5),
        (["not_found"], None),
        (["supported_by_reference"] * 3, None),
    ],
)
def test_verdicts_without_text_answer_all_claims_or_all_that_are_open(
    words: Sequence[str], value: float | None
) -> None:
    answer = outcome(
        summary=summary("Wants money back", ["Charged twice", "Refund of $49 initiated"])
    )
    given = claim_verdicts(words, texts=False)
    assert values(text_case(), answer, given)["fabrication_free"] == value
    assert ("claims_unmatched" in flags(text_case(), answer, given)) is (value is None)


def test_claims_are_taken_in_the_order_of_their_numbers() -> None:
    answer = outcome(summary=summary("A", [f"Highlight {n}" for n in range(1, 11)], {}))
    words = ["supported_by_reference"] * 11
    words[9] = "not_found"
    given = dict(reversed(list(claim_verdicts(words, texts=False).items())))
    case = case_of_summary(purpose="A", highlights=["Highlight 1"], fields={})
    assert values(case, answer, given)["fabrication_free"] == pytest.approx(10 / 11)


def test_verdicts_on_the_percent_twin_are_verdicts_on_the_same_claims() -> None:
    given = verdicts(verdict("hallucination_rate", "claim:1", "not_found", text="a discount"))
    assert values(text_case(), outcome(), given)["fabrication_free"] == 0


@pytest.mark.parametrize("metric", sorted(OFFERED))
def test_every_metric_offers_to_abstain(metric: str) -> None:
    assert "cannot_tell" in OFFERED[metric]
    assert metric in SLUGS


def test_values_are_offered_for_the_intent_alone() -> None:
    assert VALUES == {"text.call_intent": (0, 0.5, 1)}


def test_abstaining_counts_against_facts_and_is_flagged() -> None:
    answer = outcome(summary=summary(highlights=["Agent waived all fees"]))
    given = verdicts(
        verdict("highlight_recall", "expected_highlights[0]", "cannot_tell"),
        verdict("highlight_recall", "expected_highlights[1]", "stated"),
        verdict("highlight_correctness", "highlights[0]", "cannot_tell"),
        verdict("fabrication_free", "claim:2", "cannot_tell"),
    )
    found = values(text_case(), answer, given)
    assert found["highlight_recall"] == 0.5
    assert found["highlight_correctness"] == 0
    assert found["fabrication_free"] == 3 / 4
    assert "abstained" in flags(text_case(), answer, given)


def test_of_several_verdicts_on_one_item_the_strictest_stands() -> None:
    answer = outcome(summary=summary(highlights=["Refund given"]))
    given = verdicts(
        verdict("highlight_correctness", "highlights[0]", "supported_by_transcript"),
        verdict("highlight_correctness", "highlights[0]", "contradicted"),
    )
    assert values(text_case(), answer, given)["highlight_correctness"] == 0


def test_a_highlight_that_is_no_text_is_wrong_and_an_empty_one_is_dropped() -> None:
    answer = outcome(summary=summary(highlights=[*summary()["highlights"], 49, " "]))
    found = measures(text_case(), answer)
    assert found["highlight_correctness"].value == pytest.approx(2 / 3)
    assert found["highlight_recall"].value == 1
    assert {"bad_scalar", "empty_highlight"} <= set(flags(text_case(), answer))


@pytest.mark.parametrize("purpose", [5, True, None])
def test_a_purpose_that_is_no_text_is_empty(purpose: object) -> None:
    answer = outcome(summary=summary(purpose))
    assert values(text_case(), answer)["call_intent"] == 0
    assert "bad_scalar" in flags(text_case(), answer)


def test_all_labels_unknown_is_undefined_not_perfect() -> None:
    case = text_case(outcome(sentiment=sentences(None, None)))
    found = measures(case, outcome(sentiment=sentences("neutral", None)))
    assert found["sentiment_accuracy"].absence == "undefined"
    assert found["sentiment_macro_f1"].absence == "undefined"
    assert found["missing_labels"].value == 0


@pytest.mark.parametrize("share", [0, 1, 2])
def test_sentences_cut_anew_are_noticed_above_a_tenth(share: int) -> None:
    labelled = sentences(*["neutral"] * 10)
    changed = [item | {"text": item["text"].upper()} for item in labelled]
    for item in changed[:share]:
        item["text"] = "quite another part of the call"
    case = text_case(outcome(sentiment=labelled))
    assert ("resegmented" in flags(case, outcome(sentiment=changed))) is (share > 1)


def test_small_slips_in_copying_are_no_new_cut() -> None:
    labelled = sentences(*["neutral"] * 3)
    copied = [item | {"text": item["text"].replace("was", "is")} for item in labelled]
    case = text_case(outcome(sentiment=labelled))
    assert "resegmented" not in flags(case, outcome(sentiment=copied))


def test_strict_parsing_refuses_a_fence() -> None:
    task = TextTask(make_settings({"parse": "strict"}))
    reference = task.reference(text_case())
    reply = Reply("```json\n" + json.dumps(outcome()) + "\n```")
    assert task.measure(reference, task.read(reference, reply), {}).flags == ("fence",)


def test_open_maps_of_the_settings_are_obeyed_without_a_crash() -> None:
    changed = make_settings({"structure.open_maps": ["", "summary", "sentiment[]", "emotion"]})
    found = measure_answer(text_case(), {"summary": {}, "sentiment": [{}]}, changed=changed)
    assert found.measures["text.structure"].value == 1
    assert found.measures["text.missing_labels"].value == 3
    assert found.measures["text.dominant_emotion"].value == 0


def test_a_dataset_error_is_raised_before_any_answer_is_seen() -> None:
    with pytest.raises(DataError):
        TASK.reference(text_case({}))
