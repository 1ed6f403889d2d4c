from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Failed, Turn
from callscore.core.judging import Embedder, Judge, JudgeRequest, Question, Verdict
from callscore.embeddings.encoder import CosineEmbedder
from callscore.judges.offline.judge import (
    ABSTAINING,
    BY_METRIC,
    GOAL,
    LEFT_TO_CODE,
    RECALL,
    OfflineJudge,
)
from callscore.judges.offline.support import strip_markup
from callscore.judges.offline.word_lists import find_words, split_words
from callscore.judges.probes import MASTER_KEYS
from callscore.suites.calls.qa import task as qa
from callscore.suites.calls.text import task as text
from callscore.suites.calls.translation import task as translation
from callscore.suites.calls.verdict_rules import RULES
from encoders import FailingEncoder, TableEncoder

TURNS = [
    Turn("I was charged twice and want my money back.", 1, "Customer"),
    Turn("I have approved a refund of $49.", 2, "Agent"),
]
REFERENCE = {
    "summary": {
        "call_purpose": "Refund of a double charge",
        "call_extracted_info": {"resolution": "Refund approved"},
    }
}
OFFERED: Mapping[str, Sequence[str]] = {
    **qa.OFFERED,
    **text.OFFERED,
    **{metric: words for metric, words in translation.OFFERED.items() if words},
}


def judged(questions: Sequence[Question], embedder: Embedder | None = None) -> Sequence[Verdict]:
    judge: Judge = OfflineJudge(embedder)
    found = asyncio.run(judge.judge(JudgeRequest("text", TURNS, {}, REFERENCE, questions, "en")))
    assert not isinstance(found, Failed)
    assert found.requests == 0
    return found.verdicts


def word(metric: str, said: str, reference: str = "", item: str = "x") -> str | None:
    (only,) = judged([Question(metric, item, said, reference, OFFERED.get(metric, ("a",)))])
    return only.verdict


@pytest.mark.parametrize("metric", sorted(OFFERED))
def test_no_judged_metric_is_forgotten(metric: str) -> None:
    assert metric in {GOAL, RECALL, *BY_METRIC, *LEFT_TO_CODE, *ABSTAINING}


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("The agent approved a refund of $49.", "supported_by_transcript"),
        ("Refund of a double charge", "supported_by_reference"),
        ("resolution: Refund approved", "supported_by_transcript"),
        ("The agent approved a refund of $99.", "not_found"),
        ("The agent did not approve a refund.", "contradicted"),
        ("Wonderful bicycle weather pleases everybody.", "not_found"),
    ],
)
def test_a_claim_gets_the_word_of_its_support(said: str, verdict: str) -> None:
    assert word("text.fabrication_free", said) == verdict


def test_an_estimate_says_what_it_rests_on_and_why() -> None:
    (only,) = judged(
        [
            Question(
                "text.fabrication_free", "claim:1", "approved a refund of $99", "", ("not_found",)
            )
        ]
    )
    assert only.approximate
    assert only.text == "approved a refund of $99"
    assert only.source == "t2"
    assert only.quote == "I have approved a refund of $49."
    assert only.note == "number: $99"
    assert only.by.startswith("offline:")


@pytest.mark.parametrize(
    ("said", "purpose", "other"),
    [
        ("Refund of the double charge", "same", "no"),
        ("Refund of a late charge", "same_domain_incomplete", "cannot_tell"),
        ("Change of address", "cannot_tell", "cannot_tell"),
    ],
)
def test_c_54_a_goal_is_never_found_different_offline(said: str, purpose: str, other: str) -> None:
    reference = "Refund of a double charge"
    assert word(GOAL, said, reference, "call_purpose") == purpose
    assert word(GOAL, said, reference, "call_purpose:other_goal") == other


def test_an_embedder_sees_the_same_goal_in_other_words() -> None:
    vectors = {"money returned": (1.0, 0.2), "refund": (1.0, 0.0)}
    question = Question(GOAL, "call_purpose", "money returned", "refund", OFFERED[GOAL])
    assert judged([question])[0].verdict == "cannot_tell"
    (found,) = judged([question], CosineEmbedder(TableEncoder(vectors)))
    assert found.verdict == "same_domain_incomplete"
    assert "table:1" in found.by


def recall(expected: Sequence[str], told: str) -> list[str | None]:
    questions = [
        Question(RECALL, f"expected_highlights[{at}]", said, told, OFFERED[RECALL])
        for at, said in enumerate(expected)
    ]
    return [verdict.verdict for verdict in judged(questions)]


@pytest.mark.parametrize(
    ("expected", "told", "words"),
    [
        (["$49 refund approved"], "refund of $49 approved", ["stated"]),
        (["$49 refund approved"], "refund of $99 approved", ["contradicted"]),
        (["refund approved"], "refund not approved", ["contradicted"]),
        (["refund approved"], "weather was fine", ["not_stated"]),
        (["refund approved"], "", ["not_stated"]),
        (["refund approved", "the refund approved"], "refund approved", ["stated", "not_stated"]),
        (
            ["headset stays", "refund approved"],
            "refund approved\nthe headset stays",
            ["stated", "stated"],
        ),
    ],
)
def test_c_55_offline_highlights_are_matched_one_to_one(
    expected: list[str], told: str, words: list[str]
) -> None:
    assert recall(expected, told) == words


@pytest.mark.parametrize(
    ("metric", "said", "reference", "verdict"),
    [
        ("qa.evidence_backed_reasoning", "Agent was polite", "", "vague"),
        ("bench.argument_correctness", "Said 'approved a refund of $49'", "", "yes"),
        ("bench.argument_correctness", "Agent was polite", "", "no"),
        ("bench.answer_correctness", "refund of $49", "other\n$49 refund", "match"),
        ("bench.answer_correctness", "refund of $49", "$99 refund", "conflict"),
        ("bench.answer_correctness", "refund of $49", "weather", "none"),
        ("bench.contextual_recall", "I have approved a refund of $49.", "", "needed"),
        ("bench.contextual_recall", "Lovely weather today.", "", "not"),
        ("bench.contextual_precision", "I have approved a refund of $49.", "$49 refund", "used"),
        ("bench.contextual_precision", "Yes.", "$49 refund", "not"),
        ("bench.instruction_following", "anything", "Be brief", "cannot_tell"),
        ("translation.fluency", "se aprobó el reembolso", "se aprobó el reembolso", "native"),
        ("translation.fluency", "se aprobó un reembolso", "se aprobó el reembolso", "native"),
        ("translation.fluency", "reembolso aprobado hoy", "se aprobó el reembolso", "minor"),
        ("translation.fluency", "zzz", "se aprobó el reembolso", "incomprehensible"),
        (
            "translation.fluency",
            "reembolso el aprobó se",
            "se aprobó el reembolso",
            "significant",
        ),
        ("translation.critical_facts", "se aprobó el reembolso", "reembolso aprobado", "preserved"),
        ("translation.critical_facts", "se canceló la cita", "reembolso aprobado", "omitted"),
        ("translation.critical_facts", "ninety euros are due", "90 euros", "preserved"),
        ("translation.critical_facts", "ninety euros are due", "19 euros", "omitted"),
        ("translation.critical_facts", "it is extended", "it is not extended", "omitted"),
        ("translation.critical_facts", "it is not extended", "it is extended", "omitted"),
        ("translation.critical_facts", "aprobó un reembolso", "aprobó el reembolso", "preserved"),
    ],
)
def test_each_question_gets_a_word_of_its_own(
    metric: str, said: str, reference: str, verdict: str
) -> None:
    assert word(metric, said, reference) == verdict


@pytest.mark.parametrize("metric", sorted(LEFT_TO_CODE))
def test_c_72_what_code_found_about_names_counts(metric: str) -> None:
    assert judged([Question(metric, "x", "said", "wanted", OFFERED[metric])]) == []


def test_cosines_are_not_its_business() -> None:
    assert judged([Question("translation.meaning", "1", "said", "wanted")]) == []


def test_a_failed_embedder_fails_the_case_and_not_the_model() -> None:
    judge_request = JudgeRequest(
        "text", TURNS, {}, {}, [Question(GOAL, "call_purpose", "a", "b", ("x",))]
    )
    found = asyncio.run(OfflineJudge(CosineEmbedder(FailingEncoder({}))).judge(judge_request))
    assert isinstance(found, Failed)


def test_the_embedder_is_in_the_signature() -> None:
    alone, helped = OfflineJudge(), OfflineJudge(CosineEmbedder(TableEncoder({})))
    assert alone.signature.endswith("embedder=none")
    assert helped.signature.endswith("embedder=table:1;max=20000")
    assert alone.signature.split(";")[0] == helped.signature.split(";")[0]


@given(
    st.sampled_from(sorted(OFFERED)),
    st.text(max_size=120),
    st.text(max_size=120),
    st.sampled_from(["call_purpose", "call_purpose:other_goal", "claim:1"]),
)
def test_every_word_is_one_of_those_offered_and_an_estimate(
    metric: str, said: str, reference: str, item: str
) -> None:
    for verdict in judged([Question(metric, item, said, reference, OFFERED[metric])]):
        assert verdict.approximate
        assert verdict.verdict in OFFERED[metric]
        assert verdict.verdict != "different"


def test_reading_hostile_text_ends() -> None:
    hostile = '"' * 5_000 + "'a " * 200_000 + "not only 1,1," * 50_000
    assert word("text.fabrication_free", hostile) is not None
    assert word("qa.evidence_backed_reasoning", hostile) is not None


@pytest.mark.parametrize("key", MASTER_KEYS)
@pytest.mark.parametrize(
    ("metric", "verdict"),
    [
        ("text.fabrication_free", "not_found"),
        ("text.highlight_correctness", "not_found"),
        ("qa.evidence_backed_reasoning", "vague"),
        (GOAL, "cannot_tell"),
        ("translation.fluency", "incomprehensible"),
    ],
)
def test_a_text_that_says_nothing_never_passes(key: str, metric: str, verdict: str) -> None:
    offered = RULES.words_for(metric, "x")
    (only,) = judged([Question(metric, "x", key, "Refund of a double charge", offered)])
    assert (only.verdict, only.approximate) == (verdict, True)


@pytest.mark.parametrize(
    "said",
    [
        "\n\n- **The agent approved a refund of $49.**\n\n",
        "# The agent approved a `refund` of $49.",
        "* The agent __approved__ a refund of *$49*.",
    ],
)
def test_layout_does_not_matter(said: str) -> None:
    assert strip_markup(said) == "The agent approved a refund of $49."
    assert word("text.fabrication_free", said) == "supported_by_transcript"


@pytest.mark.parametrize(
    "said", ["14. April", "2 * 3 * 4", "account_number_id", "-5 degrees", "5 > 3", "a*b", "**"]
)
def test_what_is_no_layout_stays(said: str) -> None:
    assert strip_markup(said) == said


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            "I don't, I can’t: 3.5 snake_case",
            ["I", "don't", "I", "can't", "3", "5", "snake", "case"],
        ),
        ("'quoted' o'clock's", ["quoted", "o'clock's"]),
        ("मैंने कार्ड बदला", ["मैंने", "कार्ड", "बदला"]),
        ("naïve · 返金 ’ café’s", ["naïve", "返金", "café's"]),
    ],
)
def test_words_are_split_alike_with_and_without_a_low_line(written: str, words: list[str]) -> None:
    assert split_words(written) == words
    assert split_words(f"{written} _") == words
    assert [word for _, word in find_words(written)] == words
