"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import callscore

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 400, 50
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "manager", "misc"}
MACHINE_PATHS = re.compile(r"(^|[^A-Za-z0-9_.])/(work|tmp|root|home)/")


@cache
def nodes() -> Sequence[tuple[Path, ast.AST]]:
    trees = [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES]
    return [(path, node) for path, tree in trees for node in ast.walk(tree)]


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, node in nodes():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield path, node


def test_files_stay_readable() -> None:
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {str(path): size for path, size in sizes.items() if size > MAX_FILE} == {}


def test_functions_stay_readable() -> None:
    long = [
        f"{path.name}:{node.name}"
        for path, node in functions()
        if (node.end_lineno or 0) - node.body[0].lineno + 1 > MAX_FUNCTION
    ]
    assert long == []


def test_no_room_is_called_utils() -> None:
    assert [path for path in SOURCES if path.stem in FORBIDDEN_NAMES] == []


def test_a_measure_opens_with_its_formula_and_section() -> None:
    files = [path for path in SOURCES if path.name == "measures.py"]
    assert len(files) >= 4
    silent = [
        f"{path.parent.name}.{node.name}"
        for path, node in functions()
        if path in files and not node.name.startswith("_") and not _has_section(node)
    ]
    assert silent == []


def _has_section(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = (ast.get_docstring(node) or "").split("\n")[0]
    return bool(re.search(r"003|001|C-\d+", first))


def test_there_is_one_broad_except_where_calls_are_made() -> None:
    broad = [
        str(path.relative_to(ROOT / "src" / "callscore"))
        for path, node in nodes()
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]
    assert broad == ["engine/retry.py"]


def test_everything_public_exists() -> None:
    assert callscore.__all__ == sorted(callscore.__all__)
    assert all(hasattr(callscore, name) for name in callscore.__all__)


def test_no_path_of_a_machine_is_in_the_sources() -> None:
    found = [
        str(path)
        for pattern in ("src/**/*.py", "tests/**/*.py", "bench/*.py", "docs/**/*.md", "*.md")
        for path in ROOT.glob(pattern)
        if path != Path(__file__) and MACHINE_PATHS.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_numbers_of_the_framework_stand_in_spec_toml_only() -> None:
    weights = re.compile(r"\b0\.(35|47|29|24|70|88|97|95|90|85)\b")
    suites = ROOT / "src" / "callscore" / "suites" / "calls"
    found = [
        f"{path.name}:{number}"
        for path in sorted(suites.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if weights.search(line.partition("#")[0])
    ]
    assert found == []
