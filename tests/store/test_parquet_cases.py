"""Cases in Parquet: the same results as from JSON Lines, byte for byte, and errors by row."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet
import pytest

from callscore.core.case import turns
from callscore.core.errors import MissingExtra
from callscore.store.parquet_cases import parquet_lines
from commands import CompletedCommand, run
from eval_files import eval_file
from shared_cases import BUNDLED

Json = dict[str, Any]
SAMPLE = BUNDLED.parent


def cases() -> list[Json]:
    return [
        msgspec.json.decode(line) for line in (SAMPLE / "cases.jsonl").read_bytes().splitlines()
    ]


def write(path: Path, rows: list[Json]) -> Path:
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = {key: [row.get(key) for row in rows] for key in keys}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def as_text(case: Json) -> Json:
    """Objects as JSON text, over several lines."""
    return {
        key: value if isinstance(value, str | int) else _pretty(value)
        for key, value in case.items()
    }


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def with_turns(case: Json) -> Json:
    """A native list of structs for the transcript, whose turns may lack a key."""
    return {**as_text(case), "transcript": case["transcript"]}


def test_28_4_a_file_url_names_a_file_and_unknown_schemes_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "my parts"
    folder.mkdir()
    write(folder / "a.parquet", [as_text(case) for case in cases()[:4]])
    url = folder.as_uri()
    assert "%20" in url
    by_path, by_url = (run("validate", given) for given in (folder, url))
    assert (by_url.returncode, by_url.stdout) == (by_path.returncode, by_path.stdout)
    model = {"name": "m", "provider": "baseline"}
    for data, code in ((url, 0), ("memory://x/cases.parquet", 2), ("ftp://host/cases.parquet", 2)):
        done = run("run", eval_file(tmp_path, [model], data=data), "--dry-run")
        assert done.returncode == code, done.stderr
        if code:
            done = run("validate", data)
            expected = f"{data}: cannot be read; expected a path or file://, s3://, gs://"
            assert done.returncode == 2 and expected in done.stderr


def scored(folder: Path, name: str, data: Path, *words: object) -> list[bytes]:
    files = [folder / f"{name}.results", folder / f"{name}.json"]
    done = run(
        "score", data, "--outputs", SAMPLE / "outputs.jsonl", "--results", files[0],
        "--json", files[1], *words,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [file.read_bytes() for file in files]


@pytest.mark.parametrize("form", [as_text, with_turns])
def test_28_4_parquet_gives_the_bytes_of_json_lines(
    form: Callable[[Json], Json], tmp_path: Path
) -> None:
    lines = [
        {**case, "transcript": list(msgspec.to_builtins(turns(case["transcript"])))}
        if isinstance(case["transcript"], str)
        else case
        for case in cases()
    ]
    (tmp_path / "cases.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    table = write(tmp_path / "cases.parquet", [form(case) for case in lines])
    expected = scored(tmp_path, "a", tmp_path / "cases.jsonl")
    assert scored(tmp_path, "b", table) == expected
    assert scored(tmp_path, "c", table, "--workers", 2) == expected


def test_28_4_an_export_is_a_case_file_again(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_bytes(
        b"\n".join(msgspec.json.encode({**case, "queue": {"a": None, "b": 1}}) for case in cases())
    )
    expected = scored(tmp_path, "a", tmp_path / "own.jsonl", "--parquet", tmp_path / "tables")
    assert scored(tmp_path, "b", tmp_path / "tables" / "cases") == expected


def test_28_4_a_run_takes_parts_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    every = [as_text(case) for case in cases()]
    write(tmp_path / "parts" / "part-0.parquet", every[:30])
    write(tmp_path / "parts" / "part-1.parquet", every[30:])
    model = {"name": "m", "provider": "simulated", "params": {"seed": 7}}
    cards = []
    for number, data in enumerate(["parts", {"calls": "parts/*.parquet"}, "sample"]):
        file = tmp_path / f"{number}.yaml"
        content = {"name": "same", "data": data, "models": [model], "store": f"{number}.db"}
        file.write_bytes(msgspec.json.encode(content))
        done = run("run", file, "--json", tmp_path / f"{number}.json")
        assert done.returncode == 0, done.stderr
        cards.append((tmp_path / f"{number}.json").read_bytes())
    assert cards[0] == cards[1] == cards[2]


def refused(*words: object) -> CompletedCommand:
    done = run(*words)
    assert done.returncode == 2, done.stderr
    return done


def test_28_4_an_error_names_the_row(tmp_path: Path) -> None:
    bad = list(map(as_text, cases()))
    bad[1]["config"] = "{'no': JSON}"
    data = write(tmp_path / "cases.parquet", bad)
    done = refused("score", data, "--outputs", SAMPLE / "outputs.jsonl")
    assert f"{data}:2: " in done.stderr
    assert "config" in done.stderr
    listed = refused("validate", data)
    assert f"{data}:2: " in listed.stdout + listed.stderr
    bad[1]["config"] = bad[0]["config"]
    bad[2]["id"] = bad[0]["id"]
    done = refused("score", write(data, bad), "--outputs", SAMPLE / "outputs.jsonl")
    assert f"{data}:3: " in done.stderr and "appears twice" in done.stderr


def test_28_4_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes((SAMPLE / "cases.jsonl").read_bytes())
    done = refused("score", tmp_path / "x.parquet")
    assert "x.parquet: " in done.stderr and "expected Parquet with one case per row" in done.stderr
    assert "no such file" in refused("score", tmp_path / "none.parquet").stderr
    (tmp_path / "empty").mkdir()
    assert "is a folder" in refused("score", tmp_path / "empty").stderr
    table = write(tmp_path / "outputs.parquet", [{"case_id": "x", "model": "m", "output": "{}"}])
    done = refused("score", SAMPLE / "cases.jsonl", "--outputs", table)
    assert "is Parquet" in done.stderr


def test_28_4_personal_data_in_parquet_is_redacted(tmp_path: Path) -> None:
    case = cases()[0]
    case["transcript"] = [{"text": "my mail is jo.doe@example.com"}, *case["transcript"]]
    data = write(tmp_path / "cases.parquet", list(map(as_text, [case, *cases()[1:]])))
    words = ("--redact", "--parquet", tmp_path / "tables")
    assert scored(tmp_path, "a", data, *words)
    table = pyarrow.parquet.read_table(tmp_path / "tables" / "cases" / "part-00000.parquet")
    assert "my mail is [EMAIL" in table["transcript"][0].as_py()
    assert "jo.doe" not in str(table.to_pylist())


def test_28_4_without_pyarrow_reading_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    with pytest.raises(MissingExtra, match=r"callscore\[parquet\]"):
        parquet_lines([tmp_path / "x.parquet"])
