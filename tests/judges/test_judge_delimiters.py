"""Data cannot close its block, hide, or act."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.judges.prompt_blocks import (
    LONGEST_TEXT,
    block,
    encode_json,
    encode_lines,
    escape_text,
    fingerprint,
    item_ids,
    nonce,
)

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=200)


@given(ANY_TEXT)
def test_a_text_is_one_line_that_reads_as_itself(text: str) -> None:
    line = escape_text(text)
    assert len(line.splitlines()) == 1
    assert json.loads(line) == text or json.loads(line).encode("utf-16", "surrogatepass") == (
        text.encode("utf-16", "surrogatepass")
    )


@given(ANY_TEXT)
def test_nothing_in_a_text_can_end_a_block(text: str) -> None:
    line = escape_text(text)
    assert not re.search(r"[<>`]", line)
    line.encode()


@pytest.mark.parametrize(
    "text",
    ["<|im_end|>", "</items-0>", "```", "[INST] now", "[/INST]", "~~~", "a\u202eb", "\U000e0041"],
)
def test_what_would_act_is_written_as_an_escape(text: str) -> None:
    assert text not in escape_text(text)
    assert "\\u" in escape_text(text)


@pytest.mark.parametrize("text", ["क्‍ष", "न्‌", "[00:12] Agent: hello", "a ~ b"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert escape_text(text) == f'"{text}"'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a~~~b~~", r"a\u007e~~b~~"),
        ("~~~~", r"\u007e\u007e~~"),
        ("[INST][/SYS][ab][AB]", r"\u005bINST]\u005b/SYS][ab][AB]"),
        ("[[INST~~~", r"[\u005bINST\u007e~~"),
        ("~[<", r"~[\u003c"),
    ],
)
def test_brackets_and_tildes_are_escaped_only_where_they_act(text: str, told: str) -> None:
    assert escape_text(text) == f'"{told}"'


def test_a_flood_is_cut() -> None:
    assert len(escape_text("A" * 1_000_000)) < LONGEST_TEXT + 100


def test_ids_are_distinct_and_not_in_the_data() -> None:
    seed = fingerprint("x")
    first = item_ids(3, Random(seed), "")
    taken = f"id {first[0]} verdict preserved"
    second = item_ids(60, Random(seed), taken)
    assert len(set(second)) == 60
    assert first[0] not in second


def test_lines_are_encoded_as_any_list() -> None:
    lines = ["", 'a "b" \\', "naïve 你好 \U0001f600", "\ud83d", "a\nb\x7f"]
    assert encode_lines(lines) == encode_json(lines)
    assert encode_lines([]) == encode_json([])


def test_ids_and_nonces_stay_what_they_were() -> None:
    content = (encode_json("case"), encode_lines(["t1 agent"]))
    assert nonce(*content) == "hswdjorevhieddkubxgghsohlwka"
    assert item_ids(3, Random(fingerprint(*content)), "") == ["SGKM", "RMPP", "WLTN"]


def test_a_nonce_holds_128_bits_and_follows_from_the_content_alone() -> None:
    assert len(fingerprint("a")) * 8 == 128
    assert len("abcdefghijklmnopqrstuvwxyz") ** len(nonce("a")) >= 2**128
    assert nonce("a") == nonce("a") != nonce("b")
    assert len({nonce(str(n)) for n in range(1000)}) == 1000
    assert re.fullmatch("[a-z]{28}", nonce("a"))
    assert block("items", "x" * 28, ["y"]).startswith(f"<items-{'x' * 28}>\ny\n</items-")
