"""Records of outputs: the envelope is the file's and read strictly, the text inside is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from callscore.core.case import Malformed, Reply
from callscore.core.errors import DataError
from callscore.core.strict_json import read_object
from callscore.store.files import Line
from callscore.store.input_records import read_output, reply_of, run_of

LONG = "x" * 100
TWICE = b'{"a": 1, "a": 2, "long": "%s"}' % LONG.encode()


def line(text: bytes) -> Line:
    return Line(Path("outputs.jsonl"), 1, 0, text + b"\n")


@pytest.mark.parametrize(
    ("more", "run"),
    [
        (b"", 1),
        (b', "run": 1', 1),
        (b', "run": 2', 2),
        (b', "usage": {"input_tokens": 3}', 1),
        (b', "usage": null, "unknown": {"key": 1}', 1),
    ],
)
def test_the_faults_of_an_answer_are_not_those_of_its_record(more: bytes, run: int) -> None:
    record = read_output(line(b'{"case_id": "c", "model": "m", "output": %s%s}' % (TWICE, more)))
    reply = reply_of(record)
    assert isinstance(reply, Reply)
    assert (run_of(record), reply.text) == (run, TWICE)


@pytest.mark.parametrize("said", [b'{"a": 1, "a": 2}', b'"no \xff text"', b'{"a": 1e400}'])
@pytest.mark.parametrize("more", [b"", b', "unknown": 1', b', "unknown": {"output": 0}'])
def test_nor_are_those_of_a_short_answer(said: bytes, more: bytes) -> None:
    record = read_output(line(b'{"case_id": "c", "model": "m", "output" : %s%s}' % (said, more)))
    reply = reply_of(record)
    assert isinstance(reply, Reply)
    assert reply.text == said


@pytest.mark.parametrize("more", [b', "run": 1, "run": 1', b', "x": {"y": 1, "y": 2}'])
def test_a_key_that_occurs_twice_in_the_record_is_refused(more: bytes) -> None:
    with pytest.raises(DataError, match="duplicate_key"):
        read_output(line(b'{"case_id": "c", "model": "m", "output": %s%s}' % (TWICE, more)))


def test_an_answer_that_begins_like_a_name_is_distinguished_from_it() -> None:
    text = b'"%s and more \\ud800"' % LONG.encode()
    start = b'{"case_id": "c", "model": "%s", "unknown": 1, "output": ' % LONG.encode()
    reply = reply_of(read_output(line(start + text + b"}")))
    assert isinstance(reply, Reply)
    assert reply.text == f"{LONG} and more \ufffd"


@pytest.mark.parametrize("text", [b'"no \xff text"', b'"\xed\xa0\x80"'])
def test_an_answer_that_is_no_text_is_handed_on_as_it_is(text: bytes) -> None:
    record = read_output(line(b'{"case_id": "c", "model": "m", "output": %s}' % text))
    reply = reply_of(record)
    assert isinstance(reply, Reply)
    assert reply.text == text
    found = read_object(reply, "fenced")
    assert isinstance(found, Malformed)
    assert found.cause == "not_utf8"
