"""Docs cannot lie: commands run, examples hold, generated pages are fresh, everything is named."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from callscore.cli.main import COMMANDS
from callscore.suites.calls import spec
from commands import run

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
EXAMPLES = ("qa", "entity", "text", "translation")
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def generator() -> ModuleType:
    found = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    ["api.md", "extension.md", "metrics.md", "settings.md", "commands.md", "judge-requests.md"],
)
def test_generated_pages_are_fresh(name: str) -> None:
    page = generator().PAGES[name]()
    assert (DOCS / "reference" / name).read_text(encoding="utf-8") == page, "run `make docs`"


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("tutorial.md", {"json", "console", "python"}),
        ("run.md", {"yaml", "console"}),
        ("race.md", {"yaml", "console", "python"}),
        ("decide.md", {"yaml", "console", "python"}),
        *((f"examples/{task}.md", {"json", "console"}) for task in EXAMPLES),
        ("first-hour.md", {"vtt", "json", "csv", "text", "yaml", "console"}),
        ("qa-form.md", {"json", "csv", "yaml", "console", "python"}),
        ("import.md", {"csv", "console"}),
        ("export.md", {"yaml", "console"}),
        ("report.md", {"console", "python"}),
        ("scale.md", {"python"}),
        ("python.md", {"json", "yaml", "python"}),
        ("agents.md", {"json", "yaml", "console"}),
        ("scenarios.md", {"json", "yaml", "text", "console"}),
    ],
)
def test_a_page_runs_from_top_to_bottom(
    page: str, wanted: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = set()
    for kind, options, body in FENCE.findall((DOCS / page).read_text(encoding="utf-8")):
        kinds.add(kind)
        if "file=" in options:
            path = Path(options.split("file=")[1].strip())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        elif kind == "console":
            run_console(body)
        elif kind == "python":
            exec(compile(body, page, "exec"), {})
    assert wanted <= kinds


def test_the_page_on_runs_shows_the_file_that_ships() -> None:
    shown = (DOCS / "run.md").read_text(encoding="utf-8")
    built_in_library = ROOT / "src" / "callscore" / "demo" / "eval.yaml"
    assert f"```yaml file=eval.yaml\n{built_in_library.read_text(encoding='utf-8')}```" in shown


def run_console(session: str) -> None:
    """Run every `$ callscore …` line; where output follows, it must be what was printed."""
    for block in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = block.partition("\n")
        program, *args = shlex.split(command)
        assert program == "callscore"
        done = run(*args)
        assert done.returncode == 0, done.stderr
        if expected.strip():
            assert done.stdout == expected


def test_every_metric_setting_and_command_is_documented() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    names = [*spec.load_spec().metrics, *spec.load_spec().benchmarks.criteria, *COMMANDS]
    assert [name for name in names if name not in text] == []


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_names_the_two_commands_and_make_has_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
