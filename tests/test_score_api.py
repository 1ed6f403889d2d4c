"""`callscore.score` with records in memory: what errors call them, which verdicts hold, notes."""

from __future__ import annotations

from pathlib import Path

import pytest

import callscore
from builders import (
    Json,
    form,
    output,
    qa_case,
    question,
    text_case,
    text_outcome,
    translation_case,
    translation_outcome,
)
from callscore.core.errors import DataError, UsageError
from callscore.core.scorecard import Scorecard

GOOD = "supported_by_transcript"
CASES = [qa_case([question()], name) for name in ("a", "b")]


def notes_of(card: Scorecard) -> list[str]:
    """The notes without those on floors: one call is answered as well without reading it."""
    return [note for note in card.notes if "reads nothing" not in note]


def test_24_10_none_is_as_good_as_nothing() -> None:
    cases = [{**case, "model_output": form(question())} for case in CASES]
    card = callscore.score(cases, None, verdicts=None, intervals=False)
    assert card == callscore.score(cases, intervals=False)


def test_a_record_is_named_by_its_number_not_by_a_file_that_is_gone() -> None:
    outputs = [output("a", form(question())), output("b", form(question()), run=0)]
    with pytest.raises(DataError, match=r"^outputs: record 2: field run: 0 is not a run"):
        callscore.score(CASES, outputs)


def test_a_line_of_a_file_is_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "outputs.jsonl"
    file.write_text('{"case_id": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=f"^{file}:1: "):
        callscore.score(CASES, file)


def test_an_output_says_whose_it_is() -> None:
    with pytest.raises(DataError, match="field model: is empty; expected the name"):
        callscore.score(CASES, [output("a", form(question()), model=" ")])


def test_a_cost_of_an_unknown_model_is_refused() -> None:
    outputs = [output(name, form(question()), model="gpt") for name in "ab"]
    with pytest.raises(UsageError, match=r"cost of 'gtp': .*expected one of gpt"):
        callscore.score(CASES, outputs, cost_per_1000={"gtp": 1.0})


@pytest.mark.parametrize("second", [{"error": "503"}, None])
def test_runs_without_an_answer_are_noted(second: dict[str, str] | None) -> None:
    outputs = [output("a", form(question())), output("b", form(question()))]
    outputs.append(output("a", form(question()), run=2))
    if second is not None:
        outputs.append({"case_id": "b", "model": "m", "run": 2, **second})
    card = callscore.score(CASES, outputs)
    assert notes_of(card) == [
        "m, qa: 1 of 4 runs have no answer; their cases are the mean of the other runs"
    ]
    assert notes_of(callscore.score(CASES, outputs[:2])) == []


def test_calls_that_wait_are_counted_once_whatever_their_runs() -> None:
    given = form(question(reason="The agent greeted"))
    outputs = [output(name, given, run=run) for name in "ab" for run in (1, 2, 3)]
    metric = callscore.score(CASES, outputs).models[0].tasks["qa"].metrics
    why = metric["qa.evidence_backed_reasoning"].why
    assert why == "not_run: 0 of 2 calls decided; 2 await a verdict"


def test_the_order_of_weights_is_no_other_series() -> None:
    cases = [*CASES, text_case(case_id="t")]
    outputs = [output(name, form(question())) for name in "ab"]
    one = callscore.score(cases, outputs, weights={"qa": 0.5, "text": 0.5})
    other = callscore.score(cases, outputs, weights={"text": 0.5, "qa": 0.5})
    assert one.signature == other.signature


def test_the_tolerance_for_times_reaches_the_offline_judge() -> None:
    call = [{"id": 1, "speaker": "Agent", "start": 0, "text": "Good morning, how can I help you"}]
    answer = form(question(reason="At 00:03 the agent said 'Good morning, how can I help'"))
    case, metric = qa_case([question()], "a", transcript=call), "qa.evidence_backed_reasoning"
    values = [
        callscore.score([case], [output("a", answer)], judge="offline", settings=settings)
        .models[0]
        .tasks["qa"]
        .metrics[metric]
        .value
        for settings in ({}, {"qa.timestamp_tolerance_s": 1})
    ]
    assert values == [1.0, 0.5]


def judged(item: str, word: str, **extra: object) -> Json:
    metric = "qa.evidence_backed_reasoning"
    return {"case_id": "a", "metric": metric, "item": item, "verdict": word, **extra}


def test_a_verdict_for_every_model_holds_besides_one_for_a_model() -> None:
    two = [question("Q1"), question("Q2")]
    given = [{**q, "reason": f"The agent said so in {q['question_id']}"} for q in two]
    verdicts = [judged("Q1", "as_described", model="m"), judged("Q2", "as_described")]
    verdicts.append(judged("Q1", "vague"))
    card = callscore.score([qa_case(two, "a")], [output("a", form(*given))], verdicts=verdicts)
    assert card.models[0].tasks["qa"].metrics["qa.evidence_backed_reasoning"].value == 1.0


def test_a_claim_list_of_a_model_is_not_lengthened_by_a_common_one() -> None:
    claim = {"case_id": "c1", "metric": "text.fabrication_free", "verdict": "not_found"}
    own = [{**claim, "model": "m", "item": "claim:1", "text": "one", "verdict": GOOD}]
    common = [{**claim, "item": f"claim:{n}", "text": f"claim {n}"} for n in (1, 2, 3)]
    other = text_outcome()
    other["summary"] = {**other["summary"], "call_purpose": "Something else"}
    card = callscore.score([text_case()], [output("c1", other)], verdicts=[*own, *common])
    assert card.models[0].tasks["text"].metrics["text.fabrication_free"].value == 1.0


def test_verdicts_that_fit_no_answer_are_counted() -> None:
    outputs = [output(name, form(question())) for name in "ab"]
    verdicts = [
        judged("Q1", "vague", model="nobody"),
        judged("Q1", "vague", run=2),
        {"case_id": "a", "metric": "text.call_intent", "item": "call_purpose", "verdict": "same"},
        judged("Q99", "vague"),
        judged("Q1", "vague"),
    ]
    (note,) = notes_of(callscore.score(CASES, outputs, verdicts=verdicts))
    assert note.startswith("verdicts that were not used: 4;")


TEXT = (text_case(), text_outcome())
TRANSLATION = (translation_case("Pay 49", "Paga 49"), translation_outcome("Pay 49", "Abona 49"))


@pytest.mark.parametrize(
    ("scored", "metric", "item", "word", "is_used"),
    [
        (TEXT, "text.call_intent", "call_purpose:other_goal", "no", True),
        (TEXT, "text.call_intent", "purpose", "same", False),
        (TEXT, "text.highlight_recall", "expected_highlights[1]", "stated", True),
        (TEXT, "text.highlight_recall", "expected_highlights[2]", "stated", False),
        (TEXT, "text.highlight_correctness", "highlights[1]", GOOD, True),
        (TEXT, "text.highlight_correctness", "highlights[17]", GOOD, False),
        ((text_case(), "no shape"), "text.highlight_correctness", "highlights[17]", GOOD, True),
        (TEXT, "text.fabrication_free", "claim:99", GOOD, True),
        (TRANSLATION, "translation.fluency", "1", "native", True),
        (TRANSLATION, "translation.fluency", "2", "native", False),
        (TRANSLATION, "translation.proper_nouns", "Ana", "same_name", False),
        (TRANSLATION, "translation.critical_facts", "fact:1", "preserved", True),
        (TRANSLATION, "translation.critical_facts", "fact:9", "preserved", False),
        (TRANSLATION, "translation.critical_facts", "outcome:1", "no_outcome", True),
        (TRANSLATION, "translation.critical_facts", "outcome:7", "no_outcome", False),
        (TRANSLATION, "translation.critical_facts", "kept:7", "preserved", False),
    ],
)
def test_a_verdict_on_an_item_that_is_not_there_is_counted(
    scored: tuple[Json, object], metric: str, item: str, word: str, is_used: bool
) -> None:
    case, answer = scored
    verdict = {"case_id": "c1", "metric": metric, "item": item, "verdict": word}
    card = callscore.score([case], [output("c1", answer)], verdicts=[verdict])
    unused = [note for note in card.notes if note.startswith("verdicts that were not used: 1;")]
    assert (not unused) is is_used


def test_a_verdict_for_every_model_is_used_where_one_of_them_has_the_item() -> None:
    longer = text_outcome()
    longer["summary"] = {**longer["summary"], "highlights": ["one", "two", "three"]}
    outputs = [output("c1", text_outcome(), "short"), output("c1", longer, "long")]
    verdict = {"case_id": "c1", "metric": "text.highlight_correctness", "verdict": GOOD}
    verdicts = [{**verdict, "item": "highlights[2]"}, {**verdict, "item": "highlights[3]"}]
    (note,) = notes_of(callscore.score([text_case()], outputs, verdicts=verdicts))
    assert note.startswith("verdicts that were not used: 1;")
