"""C-21, C-37, C-59, C-66, C-136 as the second reading changed them; each test carries its id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    Json,
    evidence_verdicts,
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
from callscore.suites.calls.translation.sentence_match import is_near, text_similarity

EVIDENCE = "qa.evidence_backed_reasoning"
ANSWER = json.dumps(form(question()))


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        (f"<think>{{maybe 0?}}</think>{ANSWER}", ["thoughts_removed"]),
        (f"\ufeff <think>\n</think>\n\n{ANSWER}\n", ["thoughts_removed"]),
        (f"<think>x</think>```json\n{ANSWER}\n```", ["fence_removed", "thoughts_removed"]),
    ],
)
def test_c21_one_leading_think_block_is_dropped_and_flagged(
    tmp_path: Path, said: str, flags: list[str]
) -> None:
    scored = score([qa_case([question()])], [output("c1", said)], tmp_path)
    assert scored.value("qa.structure") == 1
    assert scored.results[0]["flags"] == flags


@pytest.mark.parametrize(
    "said",
    [
        f"<think>{ANSWER}",
        f"<think>a</think><think>b</think>{ANSWER}",
        f"So: <think>a</think>{ANSWER}",
        "<think>nothing more</think>",
    ],
)
def test_c21_any_other_thinking_aloud_is_part_of_the_answer(tmp_path: Path, said: str) -> None:
    scored = score([qa_case([question()])], [output("c1", said)], tmp_path)
    assert scored.value("qa.structure") == 0


REASON = "Agent said 'Good morning' at 00:12"


@pytest.mark.parametrize("given", [REASON, "agent said 'good  morning' at 00:12."])
def test_c37_the_humans_own_words_earn_two_points_without_a_judge(
    tmp_path: Path, given: str
) -> None:
    answers = [output("c1", form(question(reason=given)))]
    assert score([qa_case([question()])], answers, tmp_path).value(EVIDENCE) == 1


@pytest.mark.parametrize(("word", "value"), [("vague", 0), ("differs", 0.5), ("as_described", 1)])
def test_c37_a_verdict_on_the_humans_own_words_outranks_the_shortcut(
    tmp_path: Path, word: str, value: float
) -> None:
    verdicts = evidence_verdicts("c1", "Q1", verdict=word)
    scored = score([qa_case([question()])], [output("c1", form(question()))], tmp_path, verdicts)
    assert scored.value(EVIDENCE) == value
    assert not any("unused" in note or "fit" in note for note in scored.card.notes)


@pytest.mark.parametrize(
    ("given", "presence"),
    [
        ("\u2713", 0.5),
        ("$", 0.5),
        ("\u2014 \u2026", 0.5),
        ("\u2713 done", 1),
        ("0", 1),
        ("\u0967", 1),
    ],
)
def test_c59_a_text_without_a_letter_or_digit_is_empty(
    tmp_path: Path, given: str, presence: float
) -> None:
    answer = text_outcome()
    answer["summary"] = answer["summary"] | {
        "call_extracted_info": {"customer_name": "Ana", "resolution": given}
    }
    scored = score([text_case()], [output("c1", answer)], tmp_path)
    assert scored.value("text.field_presence") == presence


CHARGED = "I was charged twice for this."
SPANISH = "Me cobraron dos veces por esto."


@pytest.mark.parametrize(
    ("source", "expected", "given", "completeness"),
    [
        pytest.param(CHARGED, SPANISH, f"{CHARGED} ok", 0, id="the source and a word"),
        pytest.param(CHARGED, SPANISH, "I was charged twice for that.", 0, id="a word changed"),
        pytest.param(CHARGED, SPANISH, "Ok, I was charged twice for this.", 0, id="a word before"),
        pytest.param(CHARGED, SPANISH, "Me han cobrado dos veces.", 1, id="a translation"),
        pytest.param(
            CHARGED, "I was charged twice for this!", CHARGED, 1, id="in the language already"
        ),
        pytest.param(
            CHARGED, "I was charged twice for it.", CHARGED, 1, id="nearly the same in both"
        ),
        pytest.param("Nokia 3310", "Un Nokia 3310", "Nokia 3310!", 0, id="short and equal"),
        pytest.param("Nokia 3310", "Un Nokia 3310", "Nokia 33100", 1, id="short and nearly equal"),
    ],
)
def test_c66_nearly_the_source_again_is_not_a_translation(
    tmp_path: Path, source: str, expected: str, given: str, completeness: int
) -> None:
    case = translation_case(source, expected)
    answer = translation_outcome(source, given)
    scored = score([case], [output("c1", answer)], tmp_path)
    assert scored.value("translation.completeness") == completeness


def _padded(supported: int, reference_facts: int) -> tuple[Json, Json, Sequence[Json]]:
    """A summary of so many supported claims and an invention, and what a judge says of them."""
    expected = text_outcome()
    fields = {f"field_{i}": f"value {i}" for i in range(reference_facts - 1)}
    purpose = "Refund of a double charge"
    expected["summary"] = {
        "call_purpose": purpose,
        "highlights": [],
        "call_extracted_info": fields,
    }
    quotes = [f"Quote number {i}" for i in range(supported - 1)]
    answer = text_outcome()
    answer["summary"] = {
        "call_purpose": purpose,
        "highlights": [*quotes, "A manager promised a voucher"],
        "call_extracted_info": {},
    }
    words = ["supported_by_transcript"] * supported + ["not_found"]
    verdicts = [
        {
            "case_id": "c1",
            "model": "m",
            "metric": "text.fabrication_free",
            "item": f"claim:{i}",
            "verdict": word,
        }
        for i, word in enumerate(words, start=1)
    ]
    return expected, answer, verdicts


@pytest.mark.parametrize(
    ("supported", "facts", "counted"), [(250, 8, 24), (24, 8, 24), (23, 8, 23), (250, 2, 12)]
)
def test_c136_supported_claims_beyond_three_times_the_reference_count_for_nothing(
    tmp_path: Path, supported: int, facts: int, counted: int
) -> None:
    expected, answer, verdicts = _padded(supported, facts)
    scored = score([text_case(expected)], [output("c1", answer)], tmp_path, verdicts)
    found = scored.results[0]["metrics"]
    assert found["text.hallucination_rate"] == pytest.approx(100 / (counted + 1))
    assert found["text.fabrication_free"] == pytest.approx(1 - 1 / (counted + 1))
    assert ("padded" in scored.results[0]["flags"]) == (supported > counted)


def test_c136_faithfulness_is_not_diluted_either(tmp_path: Path) -> None:
    expected, answer, verdicts = _padded(250, 8)
    answers = [output("c1", answer)]
    scored = score([text_case(expected)], answers, tmp_path, verdicts, benchmarks=True)
    criteria = scored.model.benchmarks.criteria
    assert criteria["bench.faithfulness"].value == pytest.approx(24 / 25)
    assert criteria["bench.hallucination_rate"].value == pytest.approx(4)


WORDS = st.sampled_from(
    ["I", "was", "charged", "twice", "veces", "cobraron", "दो", "बार", "!!", "x"]
)


@given(st.lists(WORDS, max_size=9).map(" ".join), st.lists(WORDS, max_size=9).map(" ".join))
def test_c66_the_look_at_letters_alone_finds_what_the_likeness_says(one: str, other: str) -> None:
    is_long = sum(map(str.isalpha, one)) >= 12
    assert is_near(one, other) is (is_long and text_similarity(one, other) >= 0.9)
