"""The package is typed (`py.typed`); `make check` checks the consumer and its mistakes."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import files
from pathlib import Path

import callscore
from callscore import extension

CONSUMER = Path(__file__).parent / "typed" / "consumer.py"


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
