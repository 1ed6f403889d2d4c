"""Tables that come with the program are kept by Python, and read again where they changed."""

from __future__ import annotations

import os
import tomllib
from importlib.util import cache_from_source
from pathlib import Path

import pytest

import callscore
from callscore.core.tables import read_table

TABLES = sorted(Path(callscore.__file__).parent.rglob("*.toml"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "limits.toml"
    file.write_text('[limits]\nlow = 0.1\nwords = ["é", "\\"", "%"]\n', encoding="utf-8")
    return file


def kept(file: Path) -> Path:
    return Path(cache_from_source(f"{file}.py"))


@pytest.mark.parametrize("file", TABLES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_table_is_what_its_file_says(file: Path) -> None:
    says = tomllib.loads(file.read_text(encoding="utf-8"))

    assert read_table(file) == says
    assert read_table(file) == says  # from what Python has kept by now


def test_a_table_that_is_kept_is_not_parsed_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    table = read_table(file)
    assert kept(file).exists()

    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("parsed again"))
    assert read_table(file) == table


def test_a_table_that_changed_is_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    read_table(file)
    file.write_text("[limits]\nlow = 0.2\n", encoding="utf-8")

    assert read_table(file) == {"limits": {"low": 0.2}}


def test_a_table_that_only_its_time_tells_apart_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    read_table(file)
    changed = file.stat().st_mtime + 2
    file.write_text(file.read_text(encoding="utf-8").replace("0.1", "0.3"), encoding="utf-8")
    os.utime(file, (changed, changed))

    assert read_table(file)["limits"]["low"] == 0.3


def test_a_table_is_read_where_nothing_may_be_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)

    assert read_table(file)["limits"]["words"] == ["é", '"', "%"]
    assert not kept(file).exists()


def test_a_table_is_read_where_keeping_it_fails(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    monkeypatch.setattr("sys.pycache_prefix", None)
    kept(file).parent.write_text("a file stands where the folder should be")

    assert read_table(file)["limits"]["low"] == 0.1
    assert read_table(file)["limits"]["low"] == 0.1


def test_a_table_and_a_module_of_the_same_name_are_kept_apart(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    read_table(file)

    assert kept(file) != Path(cache_from_source(str(file.with_suffix(".py"))))
