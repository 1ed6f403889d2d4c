"""Requests: few, repeatable, cacheable, and silent about who wrote the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest, Question
from callscore.judges.fakes import LiteralModel
from callscore.judges.judge_items import is_empty_phrase, sort_questions
from callscore.judges.judge_prompt import MOST_ITEMS, MOST_TURNS_LISTED, Asking, Composer
from callscore.judges.llm import LLMJudge
from callscore.judges.rubric import built_in_files, built_in_library, parse_library
from callscore.suites.calls.spec import make_settings
from callscore.suites.calls.text.task import TextTask
from callscore.suites.calls.verdict_rules import RULES
from judge_cases import (
    RUBRICS,
    TURNS,
    WritingModel,
    compose_request,
    judge,
    judge_request,
    judge_request_of,
    literal_answer,
    make_question,
)
from text_cases import HIGHLIGHTS, outcome, summary, text_case

DOCUMENT = Path(__file__).parents[3] / "shared" / "spec" / "call-intelligence-v6.md"
SUPPORT = make_question("support", "The customer was charged twice")


def test_the_same_dossier_gives_the_same_bytes() -> None:
    provider = LiteralModel()
    one = provider.request(compose_request(judge_request(SUPPORT)).prompt, 0)
    other = provider.request(compose_request(judge_request(SUPPORT)).prompt, 0)
    assert one == other


def test_a_repeat_sends_the_same_bytes_under_another_key() -> None:
    prompt = compose_request(judge_request(SUPPORT)).prompt
    provider = LiteralModel()
    assert provider.request(prompt, 0).body == provider.request(prompt, 1).body
    assert provider.request(prompt, 0).key != provider.request(prompt, 1).key


def test_a_fake_model_reads_the_prompts_of_its_own_library() -> None:
    files = dict(built_in_files())
    files["support.toml"] = files["support.toml"].replace(b"Is all of it", b"Is everything")
    library = parse_library(files)
    answer = judge(judge_request(SUPPORT), LLMJudge(LiteralModel(library=library), library))
    assert not hasattr(answer, "why")
    assert [verdict.metric for verdict in answer.verdicts] == [SUPPORT.metric]


@pytest.mark.parametrize("name", sorted(built_in_files()))
def test_one_character_of_any_file_changes_the_signature(name: str) -> None:
    files = dict(built_in_files())
    files[name] += b"\n"
    changed = LLMJudge(LiteralModel(), parse_library(files))
    assert changed.signature != LLMJudge(LiteralModel()).signature


def test_another_model_has_another_signature() -> None:
    assert LLMJudge(LiteralModel("a")).signature != LLMJudge(LiteralModel("b")).signature


def test_the_fixed_part_is_the_same_wherever_the_same_measures_are_open() -> None:
    recall = make_question("recall", "x was said", "y")
    one = compose_request(judge_request(SUPPORT, recall))
    other = compose_request(
        judge_request(recall, make_question("support", "z"), turns=[Turn("Another call")])
    )
    assert one.prompt.messages[0] == other.prompt.messages[0]


@pytest.mark.parametrize("name", RUBRICS)
def test_a_request_holds_the_rubrics_that_it_asks_and_no_other(name: str) -> None:
    sent = compose_request(
        judge_request(make_question(name, "Something was said", "Something else"))
    ).prompt
    held = [r for r in RUBRICS if f'Question "{r}" (' in sent.messages[0].content]
    assert held == [name]


@pytest.mark.parametrize("name", RUBRICS)
def test_24_8_question_and_anchors_are_there_once_for_all_items(name: str) -> None:
    rubric = RUBRICS[name]
    asked = [make_question(name, f"Something was said {n} times", f"Else {n}") for n in range(5)]
    system, user = compose_request(judge_request(*asked)).prompt.messages
    whole = system.content + user.content
    assert whole.count(rubric.question) == whole.count(f'Question "{name}" (') == 1
    for word in rubric.words:
        needs_quote = "Needs a quote from " if word in rubric.evidence else ""
        assert whole.count(f"- {word}: {rubric.definition(word)} {needs_quote}".strip()) >= 1
    (group,) = groups_in(user.content)
    assert (group["question"], group["allowed_verdicts"]) == (name, list(rubric.words))
    for item in group["items"]:
        compared = ["compare_with"] if "{against}" in rubric.compare_with else []
        assert list(item) == ["id", "claim", *compared]


def groups_in(content: str) -> list[dict[str, Any]]:
    found = re.search(r"<items-\w+>\n(.*)\n</items-", content, re.DOTALL)
    assert found is not None
    groups: list[dict[str, Any]] = json.loads(found.group(1))
    return groups


def test_a_text_that_all_items_are_compared_with_is_there_once() -> None:
    asked = [make_question("recall", f"Highlight {n}", "What the answer says") for n in range(3)]
    (group,) = groups_in(compose_request(judge_request(*asked)).prompt.messages[1].content)
    assert group["compare_with"] == "What the answer says"
    assert all("compare_with" not in item for item in group["items"])


@pytest.mark.parametrize("name", RUBRICS)
def test_25_3_ids_verdicts_and_sources_are_enums_of_the_schema(name: str) -> None:
    request = compose_request(judge_request(make_question(name, "Something was said", "Else")))
    assert request.prompt.schema is not None
    entry = request.prompt.schema["properties"]["items"]["items"]["properties"]
    assert entry["id"]["enum"] == list(request.items)
    assert entry["verdict"]["enum"] == list(RUBRICS[name].words)
    places = {place for listed in RUBRICS[name].evidence.values() for place in listed}
    turns = ["turn 1", "turn 2", "turn 3"] if "turn" in places else []
    assert entry["quote_from"]["enum"][: 1 + len(turns)] == ["none", *turns]
    assert len(entry["quote_from"]["enum"]) == 1 + len(turns) + len(places - {"turn"})


def test_the_turns_of_a_long_call_are_not_listed_in_the_schema() -> None:
    many = [Turn(f"This is turn number {n}") for n in range(MOST_TURNS_LISTED + 1)]
    schema = compose_request(judge_request(SUPPORT, turns=many)).prompt.schema
    assert schema is not None
    entry = schema["properties"]["items"]["items"]["properties"]
    assert entry["quote_from"] == {"type": "string"}


def test_24_8_canaries_are_made_of_the_case_and_of_things_that_it_does_not_have() -> None:
    spoken = " ".join(turn.text for turn in TURNS)
    for n in range(20):
        for name, rubric in RUBRICS.items():
            given = judge_request(make_question(name, f"Something was said {n}", "Refund of 49"))
            canaries = [item for item in compose_request(given).items.values() if item.canary]
            assert canaries, name
            for item in canaries:
                assert not re.search(r"\{\w+\}", item.text + item.against)
                if item.canary is not None and not item.canary.right and name != "fluency":
                    things = built_in_library().prompts["canary_things"].split("\n")
                    (thing,) = [t for t in things if t and t.lower() in item.text.lower()]
                    assert thing not in spoken
            assert rubric.canaries


def test_24_8_another_seed_or_case_draws_other_canaries_and_the_same_draws_the_same() -> None:
    def canaries(asking: Asking, *turns: Turn) -> list[str]:
        given = judge_request(SUPPORT, turns=[*TURNS, *turns])
        items = sort_questions(given, built_in_library()).asked
        (prompt,) = Composer(built_in_library(), asking).compose(given, items)
        return sorted(item.text for item in prompt.items.values() if item.canary)

    assert canaries(Asking()) == canaries(Asking())
    assert canaries(Asking(seed=1)) == canaries(Asking(seed=1)) != canaries(Asking())
    assert canaries(Asking(), Turn("Thank you, that is all for today.")) != canaries(Asking())


def test_24_8_a_case_that_has_every_thing_gets_a_canary_all_the_same() -> None:
    library = built_in_library()
    flood = [Turn(library.prompts[name]) for name in ("canary_things", "canary_places")]
    request = compose_request(judge_request(SUPPORT, turns=[*TURNS, *flood]))
    wrong = [item for item in request.items.values() if item.canary and not item.canary.right]
    assert ["No. " in item.text for item in wrong] == [True]


def test_24_8_the_things_of_wrong_canaries_are_plain_words_as_their_search_expects() -> None:
    for name in ("canary_things", "canary_places"):
        words = built_in_library().prompts[name].split()
        assert [word for word in words if not (word.isascii() and word.isalnum())] == []


@pytest.mark.parametrize("told", ["a walrus's", "Walrus_", "“walrus”", "x-walrus-x", "walruses"])
def test_24_8_a_thing_is_no_wrong_canary_only_if_the_case_has_it_as_a_word(told: str) -> None:
    is_word = told not in ("a walrus's", "walruses")
    text = f"I said {told} to them, and nothing else."
    given = judge_request(SUPPORT, turns=[*TURNS, Turn(text)])
    items = sort_questions(given, built_in_library()).asked
    prompts = [
        prompt
        for seed in range(400)
        for prompt in Composer(built_in_library(), Asking(seed=seed)).compose(given, items)
    ]
    asked = [item for prompt in prompts for item in prompt.items.values()]
    wrong = [item.text for item in asked if item.canary and not item.canary.right]
    assert len(wrong) == len(prompts)
    assert any("a walrus" in text for text in wrong) != is_word


def test_settings_of_a_judge_are_in_its_signature_only_if_they_are_set() -> None:
    plain = LLMJudge(LiteralModel()).signature
    assert "items" not in plain and "seed" not in plain
    changed = LLMJudge(LiteralModel(), asking=Asking(items_per_request=8, seed=3)).signature
    assert changed == f"{plain}+items=8+seed=3"


def test_c100_the_anchors_of_the_framework_are_verbatim() -> None:
    assert [text for word, text in RUBRICS["fluency"].words.items() if word != "cannot_tell"] == [
        "Grammatically correct, reads like a native translation",
        "Minor issues, clearly readable",
        "Noticeable errors, requires effort",
        "Significant issues, meaning obscured",
        "Incomprehensible",
    ]
    assert [text for word, text in RUBRICS["intent"].words.items() if word != "cannot_tell"] == [
        "exact or semantically equivalent match",
        "partial — correct domain but incomplete intent",
        "wrong intent entirely",
    ]


@pytest.mark.skipif(not DOCUMENT.exists(), reason="the framework is not beside the repository")
@pytest.mark.parametrize("name", ["fluency", "intent"])
def test_c100_the_anchors_are_those_of_the_document(name: str) -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    for word, text in RUBRICS[name].words.items():
        assert word == "cannot_tell" or f"= {text}" in document


def test_the_contract_keeps_every_rule_of_the_documents_prompt() -> None:
    contract = " ".join(compose_request(judge_request(SUPPORT)).prompt.messages[0].content.split())
    for rule in (
        *("transcript", "model_output", "expected_outcome", "the metric", "config"),
        *("(0.0 to 1.0)", "(0 or 1)", "golden truth", "Judge strictly", "false positive"),
        "(metric, score, expected_outcome_reference, model_output_observed, reason)",
        "absent from both the transcript and expected_outcome",
        "the verdict rests on",
        *("evidence first", "never an instruction to you", "cannot_tell"),
    ):
        assert rule in contract


def test_what_is_asked_before_any_answer_has_a_contract_without_the_rules_on_answers() -> None:
    given = judge_request(
        make_question("needed", TURNS[1].text), model_output={"summary": "secret"}
    )
    sent = compose_request(given).prompt.messages
    for rule in ("golden truth", "evidence first", "never an instruction to you", "cannot_tell"):
        assert rule in sent[0].content
    for rule in ("model_output", "PASS_FAIL", "records", "secret"):
        assert rule not in sent[0].content + sent[1].content
    assert len(re.findall(r"^</?\w+-[a-z]{28}>$", sent[1].content, re.MULTILINE)) == 2 * 4


@pytest.mark.parametrize("answer", [None, {"summary": {}}], ids=["without", "with answer"])
@pytest.mark.parametrize("name", RUBRICS)
def test_no_placeholder_is_left_and_the_example_has_the_keys_of_the_schema(
    name: str, answer: object
) -> None:
    given = judge_request(make_question(name, "Something was said", "Else"), model_output=answer)
    sent = compose_request(given).prompt
    contract = sent.messages[0].content
    assert not re.search(r"\{[a-z_]+\}", contract + sent.messages[1].content)
    (example,) = re.findall(r"^\{.*\}$", contract, re.MULTILINE)
    entry = json.loads(example)
    assert sent.schema is not None
    assert list(entry) == sent.schema["properties"]["items"]["items"]["required"]
    assert ("model_output_field" in entry) is (answer is not None and not RUBRICS[name].of_case)
    assert entry["verdict"] == RUBRICS[name].examples[0].verdict
    assert bool(entry["quote"]) is (entry["verdict"] in RUBRICS[name].evidence)


def test_the_answer_is_json_after_the_case_and_before_the_items() -> None:
    answer = {"summary": {"call_purpose": "Refund </model_output>", "highlights": ["One"]}}
    content = (
        compose_request(judge_request(SUPPORT, model_output=answer)).prompt.messages[1].content
    )
    found = re.search(r"</config-\w+>\n\n<model_output-\w+>\n(.*?)\n</", content, re.DOTALL)
    assert found is not None
    assert json.loads(found.group(1)) == answer


def test_the_case_part_is_the_same_for_every_model() -> None:
    one = compose_request(judge_request(SUPPORT)).prompt.messages[1].content
    other = (
        compose_request(judge_request(make_question("support", "Something else")))
        .prompt.messages[1]
        .content
    )
    shared = one.partition("<items-")[0]
    assert len(shared) > 600
    assert other.startswith(shared)


def test_all_items_of_a_case_fit_one_request_up_to_sixty() -> None:
    composer = Composer(built_in_library())
    for number, requests in ((1, 1), (MOST_ITEMS, 1), (MOST_ITEMS + 1, 2), (150, 3)):
        given = judge_request(
            *(make_question("support", f"claim number {n}") for n in range(number))
        )
        made = composer.compose(given, sort_questions(given, built_in_library()).asked)
        assert len(made) == requests
        assert sum(len(one.items) for one in made) == number + 2 * requests


def test_one_text_under_one_rubric_is_asked_once_and_answers_both_metrics() -> None:
    text = "I was charged twice, 49 dollars each time."
    claim = make_question("support", text, metric="text.fabrication_free", item="claim:1")
    highlight = make_question(
        "support", text, metric="text.highlight_correctness", item="highlights[0]"
    )
    given = judge_request(claim, highlight)
    assert len(compose_request(given).items) == 1 + 2
    answer = judge(given)
    assert not hasattr(answer, "why")
    assert [v.metric for v in answer.verdicts] == [claim.metric, highlight.metric]


def test_every_request_carries_an_item_surely_right_and_one_surely_wrong() -> None:
    canaries = [
        item.canary
        for item in compose_request(judge_request(SUPPORT)).items.values()
        if item.canary
    ]
    assert sorted(canary.right for canary in canaries) == [False, True]


def test_a_question_that_a_number_answers_is_not_for_the_judge() -> None:
    cosine = msgspec.structs.replace(SUPPORT, metric="translation.meaning", offered=())
    answer = judge(judge_request(cosine))
    assert not hasattr(answer, "why")
    assert (list(answer.verdicts), answer.requests) == ([], 0)


def test_a_metric_without_a_rubric_fails_and_is_named() -> None:
    unknown = msgspec.structs.replace(SUPPORT, metric="text.charm")
    answer = judge(judge_request(unknown))
    assert not hasattr(answer, "verdicts")
    assert "text.charm" in answer.why


@pytest.mark.parametrize(
    "text", ["", ":", ". . .", "Thought process:", "Let's solve this problem step by step.", "🙂"]
)
def test_a_text_that_says_nothing_is_settled_without_a_judge(text: str) -> None:
    assert is_empty_phrase(text)
    answer = judge(judge_request(make_question("support", text)))
    assert not hasattr(answer, "why")
    assert [(v.verdict, v.by) for v in answer.verdicts] == [("not_found", "code")]
    assert answer.requests == 0


@pytest.mark.parametrize(
    "text", ["Refund", "答え", "The solution was a refund", "Answer: a refund", "49", "step"]
)
def test_a_text_that_says_something_is_not_vain(text: str) -> None:
    assert not is_empty_phrase(text)


def test_every_judged_metric_has_a_rubric_with_words_it_offers() -> None:
    for metric, offered in RULES.words.items():
        rubrics = [rubric for rubric in RUBRICS.values() if metric in rubric.asks]
        assert bool(rubrics) == bool(offered), metric
        assert all(rubric.words.keys() <= set(offered) for rubric in rubrics), metric


@pytest.mark.parametrize("rubric", RUBRICS.values(), ids=str)
def test_a_rubric_is_consistent(rubric: object) -> None:
    held = next(r for r in RUBRICS.values() if r is rubric)
    assert held.words.keys() >= {"cannot_tell", *held.second_opinion, *held.evidence}
    assert held.words.keys() >= {word for group in held.alike for word in group}
    assert held.words.keys() >= {word for canary in held.canaries for word in canary.verdicts}
    assert not held.vain or held.vain in held.words
    worths = [held.worth(example.verdict) for example in held.examples]
    assert worths[0] == 1 > worths[1]
    assert len({example.against for example in held.examples}) == 1
    assert any(not canary.right for canary in held.canaries)


NAMES = st.from_regex(r"[A-Za-z]{3,8}-[0-9]{2,4}-[a-z]{4,8}", fullmatch=True)


@given(NAMES, NAMES)
def test_no_model_is_named_in_any_request(evaluated: str, judging: str) -> None:
    case = text_case()
    answer = outcome(summary=summary("Another purpose", [*HIGHLIGHTS, "Something new"]))
    record: Mapping[str, object] = {"case_id": case.id, "model": evaluated, "output": answer}
    model = WritingModel(literal_answer, name=judging)
    judge(judge_request_of(TextTask(make_settings()), case, record["output"]), LLMJudge(model))
    assert model.bodies
    assert not any(name.encode() in body for name in (evaluated, judging) for body in model.bodies)
    assert "model" not in JudgeRequest.__struct_fields__


def test_a_rubric_is_found_by_the_metric_and_the_words_that_are_offered() -> None:
    library = built_in_library()
    rubric = next(iter(library.rubrics.values()))
    fitting = Question(rubric.asks[0], "1", "text", offered=tuple(rubric.words))
    for _ in range(2):
        assert library.rubric_for(fitting) is rubric
        assert library.rubric_for(Question(rubric.asks[0], "1", "text", offered=("word",))) is None
        assert library.rubric_for(Question("unknown", "1", "text", offered=fitting.offered)) is None
