"""The quick reader of documented answers must agree with the careful one, whatever it is given."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls_suite import all_tasks
from callscore.core.case import Case, Malformed, Reply
from callscore.core.errors import DataError
from callscore.core.strict_json import read_object
from callscore.suites.calls.reply_parser import Structure, decode_documented, parse_reply

TASKS = all_tasks()
QUESTION = {"question_id": "Q1", "score": 5, "max_score": 5, "type": "SCORE", "reason": "At 0:12"}
SENTENCE = {"sentence_id": 1, "text": "Hello: you", "label": "neutral"}
TRANSLATED = {"source_id": 1, "source_text": "Hola", "translated_text": "Hello"}
EXPECTED: dict[str, dict[str, Any]] = {
    "qa": {"questions": [QUESTION, {**QUESTION, "question_id": 2}]},
    "entity": {"detected_keywords": ["a"], "detected_topics": [], "valid_entity_set": ["a", "b"]},
    "text": {
        "sentiment": [SENTENCE, {**SENTENCE, "sentence_id": "2"}],
        "summary": {
            "call_purpose": "refund",
            "highlights": ["a refund"],
            "call_extracted_info": {"amount": "$5", "name": None},
        },
        "emotion": {"anger": 60, "neutral": 40},
    },
    "translation": {
        "full_translation": "Hello",
        "sentence_translations": [TRANSLATED, {**TRANSLATED, "source_id": 2}],
        "domain_terms_handled": [{"term": "Hola", "handled_as": "Hello"}],
        "named_entities_handled": [],
    },
}
scalars = st.sampled_from([None, True, 0, -1.5, 10**30, "", "x:y", "é", '":', "\ud800", "a :"])
odd = scalars | st.sampled_from([[], {}, ["x"], {"a": 1}, [{"a": 1}], float("nan")])
seldom = st.integers(0, 30).map(lambda number: number == 0)


def _altered(draw: st.DrawFn, value: Any) -> Any:
    """The same value, with some of its parts replaced, left out, repeated or added."""
    if draw(seldom):
        return draw(odd)
    if isinstance(value, dict):
        kept = {key: _altered(draw, item) for key, item in value.items() if not draw(seldom)}
        return {**kept, "more": draw(odd)} if draw(seldom) else kept
    if isinstance(value, list):
        return [_altered(draw, item) for item in value for _ in range(1 + draw(seldom))]
    return draw(scalars) if draw(seldom) else value


def _written(draw: st.DrawFn, value: Any) -> str:
    """The value as JSON, where keys may be spelt oddly or stand twice."""
    if isinstance(value, dict):
        count_keys = []
        for key, item in value.items():
            spelt = f'"\\u{ord(key[0]):04x}{key[1:]}"' if draw(seldom) else json.dumps(key)
            colon = draw(st.sampled_from([":", ": "])) if not draw(seldom) else "\t:"
            count_keys += [f"{spelt}{colon}{_written(draw, item)}"] * (1 + draw(seldom))
        return "{" + ", ".join(count_keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(draw, item) for item in value) + "]"
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    return text.replace(":", "\\u003a") if draw(seldom) else text


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], str]:
    """A task, what it expects, and what a model made of it."""
    task = draw(st.sampled_from(sorted(EXPECTED)))
    expected = _altered(draw, EXPECTED[task]) if draw(st.booleans()) else EXPECTED[task]
    model = expected if draw(st.booleans()) else EXPECTED[task]
    text = _written(draw, _altered(draw, model))
    before, after = draw(
        st.sampled_from([("", ""), ("", ""), (" \n", "\n"), ("\ufeff", "\x0b"), ("```", "```")])
    )
    return task, expected, before + text[: -1 if draw(seldom) else None] + after


def _structure(task: str, expected: Any) -> Structure | None:
    case = Case("c", task, "Hello", {}, expected)
    try:
        return TASKS[task].reference(case).structure  # type: ignore[no-any-return]
    except DataError:
        return None


@given(call=calls(), as_bytes=st.booleans(), ended=st.sampled_from([None, "stop", "LENGTH"]))
def test_both_readers_say_the_same(
    call: tuple[str, dict[str, Any], str], as_bytes: bool, ended: str | None
) -> None:
    task, expected, text = call
    quick = _structure(task, expected)
    if quick is None:
        return
    careful = Structure(quick.expected, msgspec.structs.replace(quick.sources, form=None))
    given_text = text.encode("utf-8", "replace") if as_bytes else text
    reply = Reply(given_text, ended)
    found, wanted = parse_reply(reply, quick, "fenced"), parse_reply(reply, careful, "fenced")
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize("task", sorted(EXPECTED))
def test_the_quick_reader_knows_the_usual_answer(task: str) -> None:
    structure = _structure(task, EXPECTED[task])
    assert structure is not None
    form = structure.sources.form
    assert form is not None
    text = json.dumps(EXPECTED[task])
    assert decode_documented(text, EXPECTED[task], form) == EXPECTED[task]
    assert decode_documented(text.encode(), EXPECTED[task], form) == EXPECTED[task]
    for odd_one in (text[:-1] + ', "more": 1}', text[:-1] + ', "more:": ":"}', "\ufeff" + text):
        assert decode_documented(odd_one, EXPECTED[task], form) is None
    assert form.fits(EXPECTED[task])
    assert not form.fits({**EXPECTED[task], "more": 1})


@pytest.mark.parametrize("space", ["", " ", "\n", "\t", "\r", " \n"])
@pytest.mark.parametrize("said", ["", "a: b", '":', " :", "\\u003a"])
def test_a_key_that_occurs_twice_is_never_read_quickly(space: str, said: str) -> None:
    structure = _structure("qa", EXPECTED["qa"])
    assert structure is not None
    assert structure.sources.form is not None
    text = json.dumps(EXPECTED["qa"]).replace("At 0:12", json.dumps(said)[1:-1])
    twice = text.replace('"score"', f'"score"{space}:0,"score"', 1)
    assert json.loads(twice) == json.loads(text)
    assert decode_documented(text, EXPECTED["qa"], structure.sources.form) == json.loads(text)
    assert decode_documented(twice, EXPECTED["qa"], structure.sources.form) is None


@pytest.mark.parametrize("task", sorted(EXPECTED))
@pytest.mark.parametrize(
    "more", [b'"more": "\xff"', b'"\xff": 1', b'"more": [{"a": "\xed\xa0\x80"}]']
)
def test_bytes_that_are_no_text_are_found_in_unread_parts_too(task: str, more: bytes) -> None:
    structure = _structure(task, EXPECTED[task])
    assert structure is not None
    reply = Reply(json.dumps(EXPECTED[task]).encode()[:-1] + b", " + more + b"}")
    found = parse_reply(reply, structure, "fenced")
    assert isinstance(found, Malformed)
    assert found.cause == "not_utf8"


OTHER_FORMS: list[tuple[str, dict[str, Any]]] = [
    ("qa", {"questions": [QUESTION, {**QUESTION, "question_id": 2, "more": 1}]}),
    ("qa", {"questions": [QUESTION, {**QUESTION, "question_id": 2, "reason": {"a": 1}}]}),
    ("text", {**EXPECTED["text"], "sentiment": [{**SENTENCE, "more": 1}]}),
    ("text", {**EXPECTED["text"], "sentiment": [{**SENTENCE, "text": []}]}),
    ("text", {**EXPECTED["text"], "summary": {**EXPECTED["text"]["summary"], "more": 1}}),
    ("text", {**EXPECTED["text"], "emotion": {"anger": 60, "neutral": []}}),
    ("text", {**EXPECTED["text"], "emotion": {"anger": 60, "fear": 40}}),
    (
        "text",
        {
            **EXPECTED["text"],
            "summary": {
                **EXPECTED["text"]["summary"],
                "call_extracted_info": {"amount": "$5", "name": {}},
            },
        },
    ),
    ("translation", {**EXPECTED["translation"], "full_translation": {}}),
    (
        "translation",
        {**EXPECTED["translation"], "sentence_translations": [{**TRANSLATED, "more": 1}]},
    ),
    (
        "translation",
        {
            **EXPECTED["translation"],
            "domain_terms_handled": [{"term": "Hola", "handled_as": "Hello", "more": 1}],
        },
    ),
]


@pytest.mark.parametrize(("task", "expected"), OTHER_FORMS)
def test_where_another_structure_is_expected_the_careful_reader_decides(
    task: str, expected: dict[str, Any]
) -> None:
    structure = _structure(task, expected)
    assert structure is not None
    assert structure.sources.form is not None
    answer = json.dumps(EXPECTED[task])
    form = structure.sources.form
    assert not form.fits(expected) or decode_documented(answer, expected, form) is None
    assert isinstance(parse_reply(Reply(answer), structure, "fenced"), Malformed)


def test_the_quick_reader_leaves_what_is_too_long_to_the_careful_one() -> None:
    structure = _structure("entity", EXPECTED["entity"])
    assert structure is not None
    reply = Reply(json.dumps(EXPECTED["entity"]) + " " * 5_000_000 + "\t")
    assert parse_reply(reply, structure, "fenced") == read_object(reply, "fenced")
