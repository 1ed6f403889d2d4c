"""C-132: the hash of a data set is of its content, not of its bytes."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import Json, form, output, qa_case, question

CASES = [qa_case([question()], name, note="Café “é”", call_id=7) for name in ("a", "b")]
OUTPUTS = [output(name, form(question())) for name in ("a", "b")]


def data_hash(cases: Any) -> str:
    signature = callscore.score(cases, OUTPUTS).signature
    return next(part for part in signature.split("|") if "data" in part)


def written(tmp_path: Path, lines: list[str]) -> Path:
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def turned(value: Any) -> Any:
    """The same with the keys of every object in the other order."""
    if isinstance(value, dict):
        return {key: turned(inner) for key, inner in reversed(value.items())}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "lines",
    [
        [json.dumps(case) for case in CASES],
        [json.dumps(case, ensure_ascii=False) for case in CASES],
        [json.dumps(case, separators=(" ,  ", " :\t")) + "  " for case in CASES],
        [json.dumps(turned(case)) for case in CASES],
        [json.dumps({**case, "lang": None}) for case in CASES],
        [json.dumps(CASES[0]), "", json.dumps(CASES[1])],
    ],
    ids=["escaped", "unescaped", "spaced", "keys turned", "null is nothing", "blank line"],
)
def test_c132_what_says_the_same_has_the_same_hash(lines: list[str], tmp_path: Path) -> None:
    assert data_hash(written(tmp_path, lines)) == data_hash(CASES)


def test_c132_an_unknown_key_of_a_turn_is_content() -> None:
    turns = [{"text": "Good morning", "mood": mood} for mood in ("calm", "angry")]
    calm, angry = ([{**CASES[0], "transcript": [turn]}, CASES[1]] for turn in turns)
    assert data_hash(calm) != data_hash(angry)
    assert data_hash(calm) == data_hash(turned(calm))


def test_c132_frames_have_the_hash_of_their_file(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    cases: list[Json] = [dict(CASES[0]), {**CASES[1], "lang": "en"}]
    del cases[0]["call_id"]
    expected = data_hash(written(tmp_path, [json.dumps(case) for case in cases]))
    assert data_hash(pandas.DataFrame(cases)) == expected
    assert data_hash(polars.DataFrame(cases)) == expected


@pytest.mark.parametrize(
    "other",
    [
        [{**CASES[0], "note": "Cafe “é”"}, CASES[1]],
        [{**CASES[0], "note": unicodedata.normalize("NFD", "Café “é”")}, CASES[1]],
        CASES[::-1],
        [{**CASES[0], "more": 1}, CASES[1]],
        [{**CASES[0], "transcript": [{"text": "Good morning", "mood": "calm"}]}, CASES[1]],
    ],
    ids=["one letter", "another normal form", "another order", "one key more", "one in a turn"],
)
def test_c132_what_says_something_else_has_another_hash(other: list[Json]) -> None:
    assert data_hash(other) != data_hash(CASES)
