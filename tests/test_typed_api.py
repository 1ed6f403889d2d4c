"""The package is typed (`py.typed`): a strict consumer is accepted, its mistakes are refused."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import pytest

import callscore
from callscore import extension

CONSUMER = Path(__file__).parent / "typed" / "consumer.py"
FOUND = re.compile(r"^consumer\.py:(\d+): error: .*\[([\w-]+)\]$", re.MULTILINE)
WANTED = re.compile(r"# error: ([\w-]+)$")


@pytest.fixture
def checked(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """What `mypy --strict` says to the consumer, outside of the repository and its settings."""
    cache = getattr(request.config, "cache", None)
    kept = cache.mkdir("mypy") if cache is not None else tmp_path / "mypy"
    (tmp_path / "consumer.py").write_text(CONSUMER.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "consumer.py"]
    done = subprocess.run(
        [*command, "--cache-dir", str(kept)], cwd=tmp_path, capture_output=True, text=True
    )
    return done.stdout


def test_a_strict_consumer_is_accepted_and_its_mistakes_are_refused(checked: str) -> None:
    lines = CONSUMER.read_text(encoding="utf-8").splitlines()
    marked = [(number, WANTED.search(line)) for number, line in enumerate(lines, start=1)]
    wanted = {(number, found[1]) for number, found in marked if found}
    assert len(wanted) == 12
    assert {(int(line), code) for line, code in FOUND.findall(checked)} == wanted, checked


def test_the_consumer_uses_every_public_name() -> None:
    written = CONSUMER.read_text(encoding="utf-8")
    body = written[written.index("\ndef functions") :]
    names = [*callscore.__all__, *extension.__all__]
    assert [name for name in names if not re.search(rf"\b{name}\b", body)] == []


def test_no_public_signature_takes_arbitrary_options() -> None:
    for module in (callscore, extension):
        for name in module.__all__:
            value = getattr(module, name)
            functions = [value, *vars(value).values()] if inspect.isclass(value) else [value]
            for function in filter(inspect.isfunction, functions):
                if not function.__name__.startswith("_"):
                    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
                    assert inspect.Parameter.VAR_KEYWORD not in kinds, (name, function)


def test_the_marker_is_part_of_the_package() -> None:
    from callscore import __file__ as module

    assert (Path(module).parent / "py.typed").is_file()
    assert files("callscore") is not None, "installed, not merely on the path"
