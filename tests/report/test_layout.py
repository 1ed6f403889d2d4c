"""Columns and paragraphs: nothing is lost, nothing is wider than the terminal."""

import os
import pty
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from callscore.demo import sample_calls
from callscore.report.layout import (
    Column,
    StyledText,
    align_columns,
    display_width,
    paragraph,
    table,
    table_width,
)

words = st.text(st.sampled_from("ab1-é漢字 "), max_size=30)
rows = st.lists(st.tuples(words, words, words), max_size=5)


def written(pieces: list[StyledText] | tuple[StyledText, ...]) -> str:
    return "".join(piece.text for piece in pieces)


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(rows=rows, width=st.integers(30, 80), most=st.integers(5, 20))
def test_a_table_keeps_its_width_and_its_text(
    rows: list[tuple[str, str, str]], width: int, most: int
) -> None:
    columns = [Column("One"), Column("Two", max_width=most), Column("Three", is_number=True)]
    cells = [[StyledText(text) for text in row] for row in rows]
    found = [written(tuple(line)) for line in table(columns, cells, width)]
    assert all(display_width(line) <= width for line in found)
    told = squeezed("".join(text for row in rows for text in row))
    assert sorted(squeezed("".join(found)).replace("─", "")) == sorted("OneTwoThree" + told)


@given(texts=st.lists(words, min_size=1, max_size=4), width=st.integers(31, 80))
def test_a_paragraph_is_folded_between_words_and_keeps_its_styles(
    texts: list[str], width: int
) -> None:
    pieces = [StyledText(text, f"style{place}") for place, text in enumerate(texts)]
    lines = [list(line) for line in paragraph(pieces, width)]
    assert "".join(map(written, lines)) == "".join(texts)
    for piece in pieces:
        kept = [p.text for line in lines for p in line if p.style == piece.style]
        assert "".join(kept) == piece.text


def test_wide_letters_take_two_columns_and_marks_none() -> None:
    assert display_width("漢字") == 4
    assert display_width("e\u0301") == 1
    assert display_width("क\u0941") == 1
    line = written(
        tuple(list(table([Column("A"), Column("B")], [[StyledText("漢"), StyledText("x")]], 40))[2])
    )
    assert line.index("x") == 1 + 1 + 3  # a space, one wide letter, the gap


def test_a_word_that_fits_nowhere_is_cut() -> None:
    lines = [
        written(tuple(line)).strip()
        for line in table([Column("A", max_width=4)], [[StyledText("abcdefghij")]], 40)
    ]
    assert lines[2:] == ["abcd", "efgh", "ij"]


def test_a_terminal_has_colours_unless_they_are_unwanted() -> None:
    def shown(**env: str) -> bytes:
        with sample_calls() as config:
            command = [sys.executable, "-m", "callscore", "score", *map(str, config.cases)]
            command += ["--outputs", *map(str, config.outputs)]
            reader, writer = pty.openpty()
            process = subprocess.Popen(command, stdout=writer, env={**os.environ, **env})
            os.close(writer)
            found = b""
            try:
                while part := os.read(reader, 65536):
                    found += part
            except OSError:
                pass  # the other side has closed its end
            os.close(reader)
            assert process.wait() == 0
            return found

    coloured = shown(NO_COLOR="")
    assert b"\x1b[32m" in coloured
    assert b"\x1b[1mQA Score\x1b[0m" in coloured
    assert b"BLOCKER" in coloured
    assert b"\x1b[" not in shown(NO_COLOR="1")


def test_lists_stay_aligned_with_wide_letters() -> None:
    lines = align_columns(("model", "n"), [("日本", "1"), ("abcdef", "23")])
    assert lines == ["model    n", "日本     1", "abcdef  23"]


def test_headings_are_wrapped_before_cells_and_names_after_punctuation() -> None:
    columns = [Column("Model"), Column("$ / 1000 calls", is_number=True)]
    rows = [[StyledText("sample-large-b"), StyledText("$15.77")]]
    narrow = [written(tuple(line)).rstrip() for line in table(columns, rows, 26)]
    assert narrow == [
        " Model            $ / 1000",
        "                     calls",
        " " + "─" * 25,
        " sample-large-b     $15.77",
    ]
    narrower = [written(tuple(line)).rstrip() for line in table(columns, rows, 22)]
    assert narrower[-2:] == [" sample-        $15.77", " large-b"]
    assert table_width(columns, rows) == 1 + 14 + 3 + 14
