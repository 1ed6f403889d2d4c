"""What our own sources must never hold, whoever writes them (S-11, S-17, S-21, R-13)."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import callscore
from callscore.core.lazy import LazyPattern
from commands import run_python
from growth import grows_in_line

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("yaml", "load"),
    ("yaml", "unsafe_load"),
    ("os", "system"),
    ("os", "popen"),
}
FORBIDDEN_KEYWORDS = {"shell": True, "allow_pickle": True, "trust_remote_code": True}


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
                yield str(node.module)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(call: ast.Call) -> Iterator[str]:
    function = call.func
    if isinstance(function, ast.Name) and function.id in FORBIDDEN_CALLS:
        yield function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        named = (function.value.id, function.attr)
        yield from (".".join(named) for _ in range(named in FORBIDDEN_ATTRIBUTES))
    for keyword in call.keywords:
        wanted = FORBIDDEN_KEYWORDS.get(keyword.arg or "")
        if wanted and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
            yield f"{keyword.arg}="


SAFE_PRINTERS = {"console.py", "output.py", "run_progress.py", "progress.py"}
"""Where commands print themselves: what filters, what draws, and the card, piece by piece."""


def test_s19_commands_print_through_one_filter() -> None:
    """Whatever a file or a server has written cannot speak to the terminal."""
    offenders = []
    for path in [path for path in SOURCES if path.parent.name == "cli"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                prints = called in ("click.echo", "click.secho", "print", "click.echo_via_pager")
                writes = called in ("sys.stdout.write", "sys.stderr.write")
                if (prints or writes) and path.name not in SAFE_PRINTERS:
                    offenders.append(f"{path.name}:{node.lineno}: {called}")
    assert offenders == []


def test_s17_nothing_is_unpickled_evaluated_or_given_to_a_shell() -> None:
    found = [
        f"{path.name}: {offence}"
        for path in SOURCES
        for offence in offences(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from marshal import loads",
        "eval(text)",
        "yaml.load(text)",
        "subprocess.run(text, shell=True)",
        "np.load(path, allow_pickle=flag)",
    ],
)
def test_s17_the_search_finds_what_it_looks_for(line: str) -> None:
    assert list(offences(ast.parse(line)))


def test_s21_every_locked_package_is_pinned_by_hash() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=\S)", lock) if re.match(r"[A-Za-z]", entry)]
    assert len(entries) > 20
    assert [entry.split()[0] for entry in entries if "==" not in entry.split()[0]] == []
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in lock


def test_s21_importing_everything_reaches_for_no_network() -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        "def shut(event, args):\n"
        "    if event.startswith('socket.'): raise SystemExit('reached: ' + event)\n"
        "sys.addaudithook(shut)\n"
        "import callscore\n"
        "for module in pkgutil.walk_packages(callscore.__path__, 'callscore.'):\n"
        "    if not module.name.endswith('__main__'): importlib.import_module(module.name)\n"
    )
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")


METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")
LENGTH = 1_000
PIECES = (
    *("a", "1", " ", "\n", "-", "_", '"', "'", "(", "[", "{", "<", ":", "=", "/", "\\", ".", "!"),
    *(",", "0,", "1.", "a ", "a1", "aA", "é", "日", "।", "1:", "<think>", "http://", "sk-", "Mr."),
    *("no. ", "a.b", "```", "{}", "a\n", "\t", "$1", "12:", "1-", "1/", "ab-", "a@", "“", "A-"),
    *('{"', '\\"', "one ", "twenty-", "* ", "**a", "__", "~~"),
)


def patterns() -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Every pattern of a module, with each way in which its module uses it."""
    for module in pkgutil.walk_packages(callscore.__path__, "callscore."):
        if module.name.endswith("__main__"):
            continue
        found = importlib.import_module(module.name)
        source = inspect.getsource(found)
        for name, value in vars(found).items():
            if isinstance(value, LazyPattern):
                value = re.compile(value.pattern, value.flags)
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                used = set(re.findall(rf"\b{re.escape(name)}\.({'|'.join(METHODS)})\b", source))
                yield from ((f"{module.name}.{name}", value, method) for method in sorted(used))
            elif isinstance(value, (tuple, list)):
                for part in value:
                    inner = part if isinstance(part, tuple) else (part,)
                    shapes = [p for p in inner if isinstance(p, re.Pattern)]
                    yield from ((f"{module.name}.{name}", p, "finditer") for p in shapes)


def is_slow(pattern: re.Pattern[str], method: str, piece: str) -> bool:
    """Whether the time for a flood of the piece grows with the square of its length."""

    def apply(length: int) -> None:
        text = (piece * (length // len(piece) + 1))[:length] + "\0"
        if method == "sub":
            pattern.sub("", text)
        elif method == "finditer":
            for _ in pattern.finditer(text):
                pass
        else:
            getattr(pattern, method)(text)

    return not grows_in_line(apply, LENGTH)


def slow_places() -> Iterator[str]:
    seen: set[tuple[re.Pattern[str], str]] = set()
    for name, pattern, method in patterns():
        if (pattern, method) in seen:
            continue
        seen.add((pattern, method))
        words = sorted(set(re.findall(r"[A-Za-z_]{3,}", pattern.pattern)))[:20]
        slow = next((piece for piece in (*PIECES, *words) if is_slow(pattern, method, piece)), None)
        if slow is not None:
            yield f"{name}.{method} on {slow!r}"


def test_s11_no_pattern_is_slow_on_any_flood() -> None:
    assert len({name for name, _, _ in patterns()}) > 90
    assert list(slow_places()) == []


@pytest.mark.slow
def test_s11_a_slow_pattern_would_be_found() -> None:
    assert is_slow(re.compile(r"\s*\n\s*"), "sub", " ")
