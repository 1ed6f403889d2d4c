"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import callscore.extension
from callscore.suites.registry import BUILT_IN

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 600, 50
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "manager", "misc"}
MACHINE_PATHS = re.compile(r"(^|[^A-Za-z0-9_.])/(work|tmp|root|home)/")


NOT_PLAIN = {
    "whoever": "the caller, the reader, any model",
    "nobody": "no one is involved: say `none`, `unknown`, `not judged`",
    "somebody": "name the part: a person, a judge, the caller",
    "anybody": "any, everyone",
    "told": "the prompt says, is passed, is reported",
    "stand": "is, occurs, appears",
    "stands": "is, occurs, appears",
    "at hand": "available, opened",
    "so many": "this many, at most n",
    "so much": "this much",
    "beside": "next to, besides, in addition to, with",
    "anew": "again",
    "ought": "should, must",
    "under way": "in flight, in progress",
    "in our hands": "stored, loaded",
    "of one's own": "its own",
    "held against": "compared with",
    "hold against": "compare with",
}
"""Words of a private language that this code once had, and what to write instead."""
PROSE = re.compile(rf"\b({'|'.join(NOT_PLAIN)})\b", re.IGNORECASE)
QUOTED = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
"""Code in a page."""
VERBATIM = {"judges/probes.py"}
"""Texts that are data: a judge is tested with them."""


class Function(NamedTuple):
    path: Path
    name: str
    lines: int
    docstring: str


@cache
def parsed() -> tuple[Sequence[Function], Sequence[Path]]:
    """Every function of the sources, and the file of every broad `except`; no tree is kept."""
    functions: list[Function] = []
    broad: list[Path] = []
    for path in SOURCES:
        for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.body[0].lineno + 1
                functions.append(Function(path, node.name, lines, ast.get_docstring(node) or ""))
            elif isinstance(node, ast.ExceptHandler) and _is_broad(node):
                broad.append(path)
    return functions, broad


def _statements(block: ast.AST) -> Iterator[ast.AST]:
    """Functions and handlers are statements, so no expression is looked into."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(block, name, ())
        for node in inner if isinstance(inner, list) else ():
            yield node
            yield from _statements(node)


def _is_broad(node: ast.ExceptHandler) -> bool:
    return node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception")


def test_files_stay_readable() -> None:
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {str(path): size for path, size in sizes.items() if size > MAX_FILE} == {}


def test_functions_stay_readable() -> None:
    long = [f"{one.path.name}:{one.name}" for one in parsed()[0] if one.lines > MAX_FUNCTION]
    assert long == []


def test_no_room_is_called_utils() -> None:
    assert [path for path in SOURCES if path.stem in FORBIDDEN_NAMES] == []


def test_a_class_has_a_name_of_its_own() -> None:
    """One word, one meaning; structs that only one file format needs are private to its module."""
    named: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(path.stem)
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


def test_a_measure_opens_with_its_formula_and_section() -> None:
    files = [path for path in SOURCES if path.name == "measures.py"]
    assert len(files) >= 4
    silent = [
        f"{one.path.parent.name}.{one.name}"
        for one in parsed()[0]
        if one.path in files and not one.name.startswith("_") and not _has_section(one.docstring)
    ]
    assert silent == []


def _has_section(docstring: str) -> bool:
    return bool(re.search(r"003|001|C-\d+", docstring.split("\n")[0]))


def test_docstrings_comments_and_messages_are_plain_english() -> None:
    """As in the glossary of CONTRIBUTING: the field's nouns, no private language."""
    words = [
        f"{name}:{line}: {word!r}; write: {NOT_PLAIN[word]}"
        for path in SOURCES
        if (name := str(path.relative_to(ROOT / "src" / "callscore"))) not in VERBATIM
        for line, word in _private_words(path.read_text(encoding="utf-8"))
    ]
    assert words == [], "\n".join(words)


def test_pages_are_plain_english() -> None:
    """Examples and requests to a judge are quoted, so only the text around them is checked."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")]
    found = [
        f"{page.relative_to(ROOT)}: {match[0]!r}; write: {NOT_PLAIN[match[0].casefold()]}"
        for page in pages
        if page.name != "judge-requests.md"
        for match in PROSE.finditer(QUOTED.sub("", page.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_names_are_plain_english() -> None:
    """Functions, classes and attributes of the sources, and the sentences that name tests."""
    words = re.compile(rf"(?:^|_)({'|'.join(NOT_PLAIN).replace(' ', '_')})(?:_|$)", re.IGNORECASE)
    defined = re.compile(r"^ *(?:async )?(?:def|class) (\w+)|\bself\.(\w+) = ", re.MULTILINE)
    tests = re.compile(r"^ *(?:async )?def (test_\w+)()", re.MULTILINE)
    found = [
        f"{path.name}: {name}"
        for pattern, paths in ((defined, SOURCES), (tests, sorted((ROOT / "tests").rglob("*.py"))))
        for path in paths
        for names in pattern.findall(path.read_text(encoding="utf-8"))
        if words.search(name := "".join(names))
    ]
    assert found == []


def test_a_private_word_is_found_in_prose_and_not_in_code() -> None:
    code = 'told = 1  # Nobody knows\n"""Where it\nstands."""\nx = f"{told} of so many"\n'
    assert list(_private_words(code)) == [(1, "nobody"), (3, "stands"), (4, "so many")]


def _private_words(source: str) -> Iterator[tuple[int, str]]:
    """The line of every word in NOT_PLAIN, in comments and texts; code in f-strings is no text."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        text = token.string
        if text[0] in "fF":
            text = re.sub(r"\{[^{}]*\}", lambda inner: " " * len(inner[0]), text)
        for match in PROSE.finditer(text):
            yield token.start[0] + text.count("\n", 0, match.start()), match[0].casefold()


NAMES_CALLS = {
    "import_job.py": "a filled-in QA form is a case of the task qa",
    "judges/offline/judge.py": "its rules are written for the rubrics of the calls suite",
    "scorecard/criteria.py": "the criterion that repeats decide, of any suite with benchmarks",
}
"""Modules outside the suites that name a task or a metric of the calls suite, and why."""


def test_only_the_calls_suite_names_its_tasks_and_metrics() -> None:
    named = re.compile(
        r'"(?:(?:qa|entity|translation)|(?:qa|entity|text|translation|bench)\.[a-z_]+)"'
    )
    files = {str(path.relative_to(ROOT / "src" / "callscore")): path for path in SOURCES}
    found = {
        name
        for name, path in files.items()
        if not name.startswith("suites/") and named.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(NAMES_CALLS)


NAMES_ORCHESTRATION = {
    "cli/main.py": "the command `orchestration`",
    "config/file.py": "the key `data.orchestration` of eval files",
    "core/scenarios.py": "the task of single steps in `--results`",
    "core/scorecard.py": "the key `orchestration` of a joint scorecard",
    "runner/document.py": "the key `orchestration` of a joint scorecard",
}
"""Modules outside the suites that name the orchestration suite, and why."""


def test_only_fixed_keys_name_the_orchestration_suite() -> None:
    files = {str(path.relative_to(ROOT / "src" / "callscore")): path for path in SOURCES}
    found = {
        name
        for name, path in files.items()
        if not name.startswith("suites/") and '"orchestration"' in path.read_text(encoding="utf-8")
    }
    assert found == set(NAMES_ORCHESTRATION)


CORE_NAMES = {
    "core/scenarios.py": "the task of single steps in `--results`",
    "core/scorecard.py": "the key `orchestration` of a joint scorecard",
    "core/task.py": "the task of a step of a scenario",
}
"""Modules of `core` that name a suite or a task, and why."""


def test_core_names_no_suite_no_task_and_no_metric_and_has_no_text_of_a_suite() -> None:
    core = ROOT / "src" / "callscore" / "core"
    assert {path.suffix for path in core.rglob("*.*") if "__pycache__" not in path.parts} == {".py"}
    tasks = [task for suite in BUILT_IN.values() for task in (*suite.tasks, *suite.also)]
    names = {*BUILT_IN, *tasks} - {"text", "calls"}  # which are also keys of JSON
    slugs = re.compile(rf"({'|'.join((*names, 'text', 'bench'))})\.[a-z_]+")
    found = {
        f"core/{path.relative_to(core)}"
        for path in core.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value in names or slugs.fullmatch(node.value)
    }
    assert found == set(CORE_NAMES)


def test_broad_excepts_are_only_where_calls_are_made_foreign_code_runs_and_pages_answer() -> None:
    broad = [str(path.relative_to(ROOT / "src" / "callscore")) for path in parsed()[1]]
    assert broad == [
        "core/plugins.py",
        "engine/retry.py",
        "processes/child.py",
        "processes/ray_node.py",
        "providers/tools.py",
        "providers/tools.py",
        "web/server.py",
    ]


def test_test_modules_have_names_of_their_own() -> None:
    """Pytest imports them by their names alone: a second one of a name stops the whole suite."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


CLOCKS = re.compile(
    r"\btime\.(?:sleep|time|monotonic|perf_counter|process_time)\(|wait_for_timeout\("
    r"|\btimeout=\d|\.wait\(\d|\blatency\w*\W{0,3} *>=? *0\b"
)
"""What waits for time instead of an event, compares durations, or has a limit of its own."""
READS_CLOCKS = {
    "commands.py": "waits for an event up to NEVER_S, the one limit",
    "growth.py": "compares CPU times, and again while they look bad",
    "doors/test_interrupts.py": "a child that stays where it is until it is interrupted",
    "stub_servers.py": "notes when requests arrive; only slow tests read it",
    "doors/test_slow_server_cli.py": "a server that answers slowly, seconds before the deadline",
    "test_house.py": "names the clocks",
    "test_python_api.py": "a thread that goes on until it is interrupted",
}
"""Default tests that may read a clock, and why."""


def test_no_default_test_depends_on_the_speed_of_the_machine() -> None:
    tests = ROOT / "tests"
    found = {
        str(path.relative_to(tests))
        for path in sorted(tests.rglob("*.py"))
        if CLOCKS.search(_without_slow_tests(path.read_text(encoding="utf-8")))
    }
    assert found == set(READS_CLOCKS)


def test_a_clock_is_found_in_default_tests_and_not_in_slow_ones() -> None:
    waits = "def test_a() -> None:\n    time.sleep(1)\n"
    assert CLOCKS.search(_without_slow_tests(waits))
    assert CLOCKS.search('assert line["latency_ms"] > 0')
    assert not CLOCKS.search(_without_slow_tests(f"@pytest.mark.slow\n{waits}"))
    assert not CLOCKS.search("process.communicate(timeout=NEVER_S)")


def _without_slow_tests(source: str) -> str:
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and any(
            ast.unparse(mark) == "pytest.mark.slow" for mark in node.decorator_list
        ):
            lines[node.lineno - 1 : node.end_lineno] = [""] * len(
                lines[node.lineno - 1 : node.end_lineno]
            )
    return "\n".join(lines)


def test_everything_public_exists() -> None:
    for module in (callscore, callscore.extension):
        assert module.__all__ == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    assert not set(callscore.__all__) & set(callscore.extension.__all__)
    assert len(callscore.__all__) <= 22, "for users; what only extensions need is in extension.py"


def test_no_path_of_a_machine_is_in_the_sources() -> None:
    found = [
        str(path)
        for pattern in ("src/**/*.py", "tests/**/*.py", "bench/*.py", "docs/**/*.md", "*.md")
        for path in ROOT.glob(pattern)
        if path != Path(__file__) and MACHINE_PATHS.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_numbers_of_the_framework_are_in_spec_toml_only() -> None:
    weights = re.compile(r"\b0\.(35|47|29|24|70|88|97|95|90|85)\b")
    suites = ROOT / "src" / "callscore" / "suites" / "calls"
    found = [
        f"{path.name}:{number}"
        for path in sorted(suites.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if weights.search(line.partition("#")[0])
    ]
    assert found == []
