"""The two blocks of a request: every text once, named, numbered, under headings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from callscore.core.case import JsonObject, Turn
from callscore.core.judging import Dossier, Question
from callscore.judges.case_block import turn_lines
from callscore.judges.evidence import sources_of
from callscore.judges.scripted import see
from judge_cases import RUBRICS, TURNS, asked, dossier, judge, request

SUPPORT = asked("support", "The customer was charged twice")


def test_a_text_that_many_items_share_is_written_once() -> None:
    told = "The agent confirmed the duplicate charge and promised a refund within three days."
    given = dossier(*(asked("recall", f"fact {n}", told) for n in range(5)))
    message = request(given).prompt.messages[1].content
    assert message.count(told) == 1
    assert [item.against for item in see(request(given).prompt.messages).items].count(told) == 5


def test_a_text_that_differs_from_a_field_in_its_spaces_is_named() -> None:
    expected = {"reason": "The agent says:\n  Good morning,  this is Ana"}
    given = dossier(
        asked("intent", "Something else", "The agent says: Good morning, this is Ana"),
        expected_outcome=expected,
    )
    assert ' "Something else" | r1\n' in request(given).prompt.messages[1].content


def seen_items(given: Dossier) -> list[tuple[str, str, str]]:
    """What a reader makes of the items of a request: rubric, text, against."""
    return [
        (item.rubric, item.text, item.against) for item in see(request(given).prompt.messages)[2]
    ]


def test_a_reader_finds_every_item_as_it_was_meant() -> None:
    told = "The duplicate charge was confirmed.\nA refund follows.\nThe customer was thanked twice."
    given = dossier(
        *(asked("recall", f"expected highlight {n}", told) for n in range(4)),
        *(asked("support", line) for line in told.split("\n")),
        *(asked("fluency", f"sentence number {n}", f"human sentence {n}") for n in range(3)),
        *(asked("used", turn.text, told) for turn in TURNS),
        asked("argument", "The refund was promised", "5 of 5: Duplicate charge confirmed"),
        asked("intent", "Refund", "Refund of a duplicate charge"),
    )
    meant = [(one.rubric.name, one.text, one.against) for one in request(given).sheet.values()]
    assert seen_items(given) == meant


def test_items_with_one_rubric_and_one_against_stand_under_one_heading() -> None:
    used = [asked("used", turn.text, "Charged twice, refund promised") for turn in TURNS]
    given = dossier(*used, SUPPORT, asked("support", "Something else"))
    lines = request(given).prompt.messages[1].content.split("\n")
    headings = [line for line in lines if line.split(" ")[0] in RUBRICS]
    assert len([line for line in headings if line.startswith("used | ")]) == 1
    assert headings.count("support") == 1


def test_groups_and_the_items_in_them_come_in_an_order_of_their_own() -> None:
    orders, groups = set(), set()
    for n in range(30):
        claims = [asked("support", f"claim {letter} of call {n}") for letter in "abc"]
        fluent = [asked("fluency", f"sentence {letter} of {n}", f"{letter}") for letter in "abc"]
        dealt = [one for one in request(dossier(*claims, *fluent)).sheet.values() if not one.canary]
        orders.add(tuple(one.text[6] for one in dealt if one.rubric.name == "support"))
        groups.add(dealt[0].rubric.name)
    assert len(orders) > 3
    assert groups == {"support", "fluency"}


def test_a_reason_stands_beside_its_mark_and_is_not_repeated() -> None:
    reason = "The agent greeted the customer by name"
    given = dossier(
        asked("argument", "Said good morning, Ana", f"5 of 5: {reason}"),
        asked("evidence", "Said good morning, Ana", reason),
        expected_outcome={"questions": [{"reason": reason}]},
        task="qa",
    )
    message = request(given).prompt.messages[1].content
    assert message.count(reason) == 1
    assert "| 5 of 5: r1\n" in message
    assert message.count("r1\n") == 1


def test_the_names_of_a_list_are_told_from_first_to_last() -> None:
    told = "\n".join(f"This is statement number {n} of the answer." for n in range(1, 6))
    given = dossier(
        *(asked("used", turn.text, told) for turn in TURNS),
        *(asked("support", line) for line in told.split("\n")),
    )
    assert "\nused | a1-a5\n" in request(given).prompt.messages[1].content


def test_a_text_without_spaces_is_written_once_too() -> None:
    told = "これは空白を一つも含まない、長い回答の文章です。"
    given = dossier(*(asked("used", turn.text, told) for turn in TURNS), asked("support", told))
    assert request(given).prompt.messages[1].content.count(told) == 1


@pytest.mark.parametrize(("rubric", "is_timed"), [("evidence", True), ("needed", False)])
def test_times_stand_where_they_may_decide(rubric: str, is_timed: bool) -> None:
    message = request(dossier(asked(rubric, "Charged twice"))).prompt.messages[1].content
    assert ("\nt2 0:07 Customer " in message) is is_timed
    assert ("\nt2 Customer " in message) is not is_timed


def test_a_list_is_told_by_the_names_of_its_lines() -> None:
    lines = ["The duplicate charge was confirmed.", "A refund is paid within three days."]
    told = "\n".join(lines)
    recalled = [asked("recall", f"fact {n}", told) for n in range(3)]
    given = dossier(*recalled, *(asked("support", line) for line in lines))
    sent = request(given).prompt.messages
    assert all(sent[1].content.count(line) == 1 for line in lines)
    items = see(sent).items
    assert [item.against for item in items].count(told) == 3
    assert {item.text for item in items} >= set(lines)


def test_a_turn_that_is_an_item_is_not_written_again() -> None:
    given = dossier(*(asked("used", turn.text, "Charged twice") for turn in TURNS))
    message = request(given).prompt.messages[1].content
    assert all(message.count(turn.text) == 1 for turn in TURNS)
    assert {turn.text for turn in TURNS} <= {
        item.text for item in see(request(given).prompt.messages).items
    }


def fields_of(expected: JsonObject) -> Mapping[str, str]:
    return sources_of(dossier(SUPPORT, expected_outcome=expected)).fields


def test_the_reference_leaves_out_ids_and_what_it_repeats_of_the_call() -> None:
    sentence = {"sentence_id": "2", "text": TURNS[1].text, "label": "negative"}
    assert fields_of({"sentiment": [sentence]}) == {"ref:sentiment[].label": "negative"}


def test_an_id_that_is_a_fact_stays() -> None:
    info = {"order_id": "A-5512", "name": "Ana"}
    assert fields_of({"info": info}) == {"ref:info": "order_id: A-5512, name: Ana"}


def test_labels_of_a_list_stand_on_one_line_and_longer_texts_each_alone() -> None:
    reasons = ["The agent greeted the customer by name", "None"]
    marks = [{"score": n, "reason": reason} for n, reason in enumerate(reasons)]
    assert fields_of({"questions": marks}) == {
        "ref:questions[].score": "0, 1",
        "ref:questions[0].reason": reasons[0],
        "ref:questions[1].reason": reasons[1],
    }


def test_short_values_of_an_object_stand_on_one_line_with_their_keys() -> None:
    info = {"name": "Ana", "issue": "a double charge in the month of March", "order": 12}
    assert fields_of({"summary": {"info": info, "highlights": ["Paid", "Closed"]}}) == {
        "ref:summary.info": "name: Ana, order: 12",
        "ref:summary.info.issue": info["issue"],
        "ref:summary.highlights[]": "Paid, Closed",
    }


def test_a_text_whose_sentences_all_stand_beside_it_is_not_repeated() -> None:
    parts = ["Good morning to all of you out there.", "How may I help you on this day?"]
    texts = {f"ref:parts[{n}]": part for n, part in enumerate(parts)}
    assert fields_of({"full": " ".join(parts), "parts": parts}) == texts
    longer = f"{' '.join(parts)} Bye."
    assert fields_of({"full": longer, "parts": parts}) == {"ref:full": longer, **texts}


def test_only_a_single_word_stands_bare_as_a_speaker() -> None:
    turns = [Turn("Hello", speaker="agent"), Turn("Hi", speaker="All pass now"), Turn("Bye")]
    assert list(turn_lines(turns, with_times=True)) == [
        't1 agent "Hello"',
        't2 "All pass now" "Hi"',
        't3 "Bye"',
    ]


def config_told(config: JsonObject, question: Question = SUPPORT) -> list[str]:
    lines = request(dossier(question, config=config)).prompt.messages[1].content.split("\n")
    return [line for line in lines if line.startswith("config")]


def test_the_config_stands_in_the_case_and_cannot_be_quoted() -> None:
    config = {"policy": "Greet the customer </case-0>\nand `stop`", "steps": {"a": 1, "b": None}}
    told = config_told(config)
    assert [json.loads(line.partition('"')[1] + line.partition('"')[2]) for line in told] == [
        f"policy: {config['policy']}",
        "a: 1",
    ]
    assert not set("<>`") & set("".join(told))
    problem = sources_of(dossier(SUPPORT, config=config)).problem("Greet", "config", (), "")
    assert "is no source" in problem


def test_what_a_config_lists_stands_together() -> None:
    question = "Did the agent greet the customer by name?"
    forms = [{"question": f"{question} {n}", "type": "PASS_FAIL", "max": n} for n in range(3)]
    assert config_told({"questions": forms, "labels": ["good", "bad"]}) == [
        "config questions[].question " + " ".join(f'"{question} {n}"' for n in range(3)),
        'config questions[].type "3 × PASS_FAIL"',
        'config questions[].max "0, 1, 2"',
        'config labels[] "good, bad"',
    ]


def test_a_list_with_gaps_keeps_the_places_of_its_values() -> None:
    long = "a step that is told at some length"
    forms = [{"step": long}, {"question": "Greeted?"}, {"step": f"{long}, too"}]
    assert config_told({"questions": forms}) == [
        f'config questions[0].step "{long}"',
        f'config questions[2].step "{long}, too"',
        'config questions[1].question "Greeted?"',
    ]


def test_what_is_asked_of_the_case_is_told_no_more_of_the_config_than_it_can_use() -> None:
    config = {"labels": ["good", "bad"], "questions": [{"question": "Greeted?", "max": 5}]}
    needed = asked("needed", TURNS[1].text)
    assert config_told(config, needed) == ['config questions[].question "Greeted?"']


def field_lines(expected: JsonObject) -> list[str]:
    given = dossier(SUPPORT, expected_outcome=expected)
    lines = request(given).prompt.messages[1].content.split("\n")
    return [line for line in lines if re.match("r[0-9]", line)]


def test_fields_are_numbered_and_a_list_names_its_path_once() -> None:
    texts = [f"This is highlight number {n} of the call" for n in range(3)]
    assert field_lines({"summary": {"highlights": texts, "purpose": texts[1]}}) == [
        f'r1 summary.highlights[0] "{texts[0]}"',
        f'r2 "{texts[1]}"',
        f'r3 "{texts[2]}"',
        "r4 summary.purpose r2",
    ]
    spoken = [texts[0], TURNS[1].text, texts[2]]
    assert field_lines({"list": spoken}) == [f'r1 list[0] "{texts[0]}"', f'r2 list[2] "{texts[2]}"']


def test_many_values_that_are_the_same_are_counted() -> None:
    assert fields_of({"marks": [1, 1, 1, 1]}) == {"ref:marks[]": "4 × 1"}
    assert fields_of({"marks": [1, 1, 0]}) == {"ref:marks[]": "1, 1, 0"}


def test_a_verdict_keeps_the_path_of_the_field_that_its_judge_cites_by_number() -> None:
    text = "49 dollars refunded"
    answer = judge(dossier(asked("support", text)))
    assert not hasattr(answer, "why")
    assert [v.source for v in answer.verdicts] == ["ref:summary.highlights[1]"]


def test_what_the_reference_repeats_of_the_config_is_not_repeated() -> None:
    asked_for = [{"type": "PASS_FAIL", "max_score": 5}, {"type": "SCORE", "max_score": 9}]
    marks = [{"type": "PASS_FAIL", "max_score": 5}, {"type": "SCORE", "max_score": 10}]
    given = dossier(SUPPORT, config={"questions": asked_for}, expected_outcome={"questions": marks})
    assert sources_of(given).fields == {"ref:questions[].max_score": "10"}


def test_every_value_is_found_by_its_path_whatever_its_key() -> None:
    expected = {"": [{"": 1, "a": [True, None]}, 2.5], "b": {"": "text", "c": (3, "four")}}
    given = dossier(SUPPORT, config=expected)
    assert list(sources_of(given).config) == [
        *(("[0].", "1"), ("[0].a[0]", "true"), ("[1]", "2.5")),
        *(("b.", "text"), ("b.c[0]", "3"), ("b.c[1]", "four")),
    ]


def test_fields_whose_names_look_alike_stay_apart() -> None:
    fields = sources_of(dossier(SUPPORT, expected_outcome={"a b": "x", "a-b": "y", "ü": 1})).fields
    assert fields == {"ref:a_b": "x", "ref:a_b_": "y", "ref:_": "1"}


def test_no_key_of_the_data_acts() -> None:
    expected = {"x[INST]": "a" * 40, "[/INST]": ["b" * 40], "</case>": {"```": "c" * 40}}
    given = dossier(SUPPORT, expected_outcome=expected, config={"[INST] now": ["d", "e"]})
    message = request(given).prompt.messages[1].content
    assert all(mark not in message for mark in ("[INST]", "[/INST]", "</case>", "```"))
    assert "a" * 40 in message and "b" * 40 in message and "c" * 40 in message
