"""An answer is taken as it is, or not at all (C-102)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from callscore.core.case import Failed
from callscore.core.judging import Judged
from callscore.judges.evidence import sources_of
from callscore.judges.llm import LLMJudge
from callscore.judges.reading import read
from judge_cases import WritingModel, asked, dossier, judge, literally, request, words

GIVEN = dossier(
    asked("support", "I was charged twice, 49 dollars each time.", item="true"),
    asked("support", "The agent promised 99 dollars", item="false"),
    asked("recall", "Refund promised", "Refund promised in three days", item="recalled"),
)
ASKED = request(GIVEN)
PLAIN = literally(ASKED.prompt.messages)
Items = list[dict[str, Any]]


def key_of(text: str) -> str:
    return next(key for key, item in ASKED.sheet.items() if item.text.startswith(text))


TRUE = key_of("I was charged")


def apart(text: str) -> str:
    """The same answer with an entry an item."""
    entries = json.loads(text)["items"]
    return json.dumps({"items": [e | {"id": key} for e in entries for key in e["id"].split(" ")]})


def together(*texts: str, **changes: str) -> str:
    """The right answer, the items that begin so in one entry."""
    keys = [key_of(text) for text in texts]
    entries = [e for e in json.loads(apart(PLAIN))["items"] if e["id"] not in keys]
    shared = {"id": " ".join(keys), "quote": "", "source": "none", "verdict": "not_found"}
    return json.dumps({"items": [*entries, shared | changes]})


def answer(change: Callable[[dict[str, Any]], None], key: str = TRUE) -> str:
    value = json.loads(apart(PLAIN))
    change(next(item for item in value["items"] if item["id"] == key))
    return json.dumps(value)


def test_a_right_answer_is_clean() -> None:
    assert read(PLAIN, ASKED).is_clean
    assert words(judge(GIVEN)) == {
        "true": "supported_by_transcript",
        "false": "not_found",
        "recalled": "stated",
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"```json\n{PLAIN}\n```", id="fence"),
        pytest.param(f"<think>is t1 right?</think>\n{PLAIN}", id="thought"),
        pytest.param(PLAIN.replace("{", '{"score": 1.0, ', 1), id="C-100 a score of its own"),
    ],
)
def test_what_stands_around_an_answer_has_no_effect(text: str) -> None:
    assert read(text, ASKED) == read(PLAIN, ASKED)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "JSON"),
        ("N/A", "JSON"),
        ("I cannot help with that.", "JSON"),
        ("null", "items"),
        ("[]", "items"),
        ("{}", "items"),
        ('{"items": {}}', "array"),
        ('{"items": [1]}', "not an object"),
        ('{"items": [{}]}', "missing"),
        (PLAIN + PLAIN, "JSON"),
        (PLAIN[:-3], "JSON"),
        (answer(lambda item: item.update(score=1)), "score"),
        (answer(lambda item: item.update(quote=1)), "text"),
        (PLAIN.replace(TRUE, "ZZZZ"), "not an id"),
        (answer(lambda item: item.update(id=key_of("The agent promised"))), "twice"),
        ("[" * 100_000, "JSON"),
        ('{"items": NaN}', "JSON"),
    ],
)
def test_a_wrong_shape_breaks_the_whole_answer(text: str, part: str) -> None:
    found = read(text, ASKED)
    assert part in found.broken
    assert not found.entries


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"verdict": "supported"}, "no word of support"),
        ({"verdict": "1.0"}, "no word of support"),
        ({"verdict": "stated"}, "no word of support"),
        ({"quote": "I was charged three times"}, "letter by letter"),
        ({"quote": "charged … each time"}, "letter by letter"),
        ({"quote": "I"}, "too short"),
        ({"quote": "…!"}, "no word"),
        ({"quote": "", "source": "none"}, "needs a quote"),
        ({"source": "t1"}, "letter by letter"),
        ({"source": "t99"}, "no source"),
        ({"source": "answer"}, "not from answer"),
        ({"source": "ref:summary.highlights[1]", "quote": "49 dollars refunded"}, "not from ref:"),
        ({"quote": "x" * 301}, "longer than 300"),
        ({"verdict": "not_found", "quote": "", "source": "t1"}, "its source is none"),
    ],
)
def test_a_wrong_item_is_void_and_says_why(change: dict[str, str], part: str) -> None:
    found = read(answer(lambda item: item.update(change)), ASKED)
    assert not found.broken
    assert list(found.faults) == [TRUE]
    assert part in found.faults[TRUE]


def test_a_missing_item_is_void() -> None:
    value = json.loads(apart(PLAIN))
    value["items"] = [item for item in value["items"] if item["id"] != TRUE]
    assert read(json.dumps(value), ASKED).faults == {TRUE: "no verdict given"}


def test_items_with_one_word_and_no_quote_may_share_an_entry() -> None:
    shared = read(together("The agent promised", "I was charged"), ASKED)
    assert shared.is_clean
    assert {shared.entries[TRUE].verdict, shared.entries[key_of("The agent")].verdict} == {
        "not_found"
    }


def test_an_answer_with_an_entry_an_item_is_as_good() -> None:
    one, other = read(apart(PLAIN), ASKED), read(PLAIN, ASKED)
    assert one.is_clean
    assert {key: entry.verdict for key, entry in one.entries.items()} == {
        key: entry.verdict for key, entry in other.entries.items()
    }


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"quote": "I was charged twice", "source": "t2", "verdict": "contradicted"}, "own"),
        ({"verdict": "supported_by_transcript"}, "needs a quote"),
        ({"verdict": "stated"}, "no word of support"),
    ],
)
def test_a_quote_never_stands_for_several_items(changes: dict[str, str], part: str) -> None:
    found = read(together("The agent promised", "I was charged", **changes), ASKED)
    assert set(found.faults) == {TRUE, key_of("The agent promised")}
    assert all(part in fault for fault in found.faults.values())


@pytest.mark.parametrize(
    ("key", "part"),
    [
        (f"{TRUE} {TRUE}", "twice"),
        (f"{TRUE} ZZZZ", "not an id"),
        (f"{TRUE}  {key_of('The agent')}", "not an id"),
        (f"{TRUE},{key_of('The agent')}", "not an id"),
        (f"{TRUE} {key_of('Refund promised')}", "twice"),
        ("", "not an id"),
    ],
)
def test_a_shared_entry_names_issued_ids_once_each(key: str, part: str) -> None:
    assert part in read(together("I was charged", id=key), ASKED).broken


def test_a_wrong_canary_shows_in_a_shared_entry_too() -> None:
    sent = request(dossier(asked("intent", "Asks for a new phone", "Refund of a charge")))
    shared = {"id": " ".join(sent.sheet), "quote": "", "source": "none", "verdict": "different"}
    assert read(json.dumps({"items": [shared]}), sent).obeys_others


def test_a_quote_may_differ_in_case_and_outer_punctuation_only() -> None:
    found = read(answer(lambda item: item.update(quote="“CHARGED twice, 49 dollars!”")), ASKED)
    assert found.is_clean


def test_a_short_turn_may_be_quoted_whole() -> None:
    sources = sources_of(GIVEN)
    assert sources.problem("49", "t2", ("turn",), "") != ""
    assert sources.problem("49 dollars refunded", "ref:summary.highlights[1]", ("field",), "") == ""


def test_a_wrong_canary_shows_that_the_judge_obeys_others() -> None:
    wrong = next(k for k, item in ASKED.sheet.items() if item.canary and not item.canary.right)
    lenient = next(word for word in ASKED.sheet[wrong].rubric.words if word != "cannot_tell")
    assert read(answer(lambda item: item.update(verdict=lenient), wrong), ASKED).obeys_others


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
WITHOUT_SHRINKING = settings(database=None, phases=[Phase.generate], derandomize=True)
WORDS = st.sampled_from(["supported_by_transcript", "stated", "not_found", "1.0", "cannot_tell"])


@st.composite
def answers(draw: st.DrawFn) -> str:
    """Garbage, other JSON, and right answers with wounds, entries joined among them."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.text(max_size=80))
    if kind == 1:
        return json.dumps(draw(JSON))
    if kind == 2:
        start, end = sorted((draw(st.integers(0, len(PLAIN))), draw(st.integers(0, len(PLAIN)))))
        return PLAIN[:start] + draw(st.text(max_size=5)) + PLAIN[end:]
    value = json.loads(PLAIN)
    for _ in range(draw(st.integers(1, 3))):
        item = draw(st.sampled_from(value["items"]))
        field = draw(st.sampled_from(["id", "quote", "source", "verdict", "score"]))
        likely = st.sampled_from([other.get(field) for other in value["items"]])
        item[field] = draw(WORDS if field == "verdict" else st.one_of(likely, JSON))
    if kind == 4:
        value["items"].append(draw(JSON))
    if kind == 5:
        joined = draw(st.lists(st.sampled_from(sorted(ASKED.sheet)), max_size=6))
        value["items"][0]["id"] = draw(st.sampled_from([" ", "  ", ","])).join(joined)
    return json.dumps(value)


@settings(max_examples=300, deadline=None)
@given(answers(), answers())
def test_no_answer_raises_and_none_that_is_invalid_gives_a_verdict(first: str, again: str) -> None:
    check_what_becomes_of(first, again)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(answers(), answers())
def test_none_of_thousands_of_answers_raises_or_gives_a_verdict_if_invalid(
    first: str, again: str
) -> None:
    check_what_becomes_of(first, again)


def check_what_becomes_of(first: str, again: str) -> None:
    outcome = judge(GIVEN, LLMJudge(WritingModel(first, again)))
    if isinstance(outcome, Failed):
        return
    sources = sources_of(GIVEN)
    known = {question.item: question for question in GIVEN.questions}
    assert len(outcome.verdicts) + len(outcome.void) == len(known)
    for verdict in outcome.verdicts:
        question = known[verdict.item]
        assert verdict.verdict in question.offered
        if (verdict.verdict or "").startswith("supported"):
            places = ("turn",) if verdict.verdict == "supported_by_transcript" else ("field",)
            assert sources.problem(verdict.quote, verdict.source, places, "") == ""  # type: ignore[arg-type]


def test_the_fuzz_above_meets_answers_with_and_without_verdicts() -> None:
    def gives_verdicts(text: str) -> bool:
        return isinstance(judge(GIVEN, LLMJudge(WritingModel(text))), Judged)

    assert gives_verdicts(find(answers(), gives_verdicts, settings=WITHOUT_SHRINKING))
    assert not gives_verdicts(
        find(answers(), lambda text: not gives_verdicts(text), settings=WITHOUT_SHRINKING)
    )
