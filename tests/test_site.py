"""The documentation as a site, and the files that start Callscore elsewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from commands import environment

ROOT = Path(__file__).parent.parent


def site_builder() -> ModuleType:
    found = importlib.util.spec_from_file_location("site_builder", ROOT / "docs" / "site.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_page_is_written_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    pages = site_builder().build(tmp_path)
    assert len(pages) == len(list((ROOT / "docs").rglob("*.md")))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text
        for target in re.findall(r'(?:href|src)="(?!https?:|#)([^"#]+)', text):
            leads_to = (page.parent / target).resolve()
            outside = not leads_to.is_relative_to(tmp_path.resolve())
            assert outside or leads_to.exists(), f"{page.name} links to {target}"


def test_every_fragment_of_a_link_is_an_id_on_its_page(tmp_path: Path) -> None:
    pages = site_builder().build(tmp_path)
    ids = {
        page.resolve(): set(re.findall(r' id="([^"]+)"', page.read_text(encoding="utf-8")))
        for page in pages
    }
    lost = [
        f"{page.name}: {target}#{fragment}"
        for page in pages
        for target, fragment in re.findall(
            r'href="(?!https?:)([^"#]*)#([^"]+)"', page.read_text(encoding="utf-8")
        )
        if fragment
        not in ids.get((page.parent / target).resolve() if target else page.resolve(), ())
    ]
    assert lost == []


def test_an_anchor_is_kept_and_no_other_markup() -> None:
    render = site_builder().render
    page = render('# A\n\n### <a id="c-115"></a>C-115 · Scores & more\n', 0)
    assert '<h3 id="c-115--scores--more"><a id="c-115"></a>C-115 · Scores &amp; more</h3>' in page
    assert "&lt;a id=" in render('# A\n\n`<a id="b"></a>` <a id="b" onclick="c"></a>\n', 0)
    assert "onclick=&quot;" in render('# A\n\n<a id="b" onclick="c"></a>\n', 0)


def test_markup_in_a_page_stays_text() -> None:
    page = site_builder().render("# A\n\n<script>x</script> [b](c.md#d)\n", 1)
    assert "<script>x" not in page and "&lt;script&gt;" in page
    assert 'href="c.html#d"' in page and 'href="../index.html"' in page


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in sorted(pages) if page != "index.md" and f"({page})" not in index] == []


def test_the_hook_of_pre_commit_calls_a_command_that_exists() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].split()[0] == "callscore"
    done = subprocess.run(
        [sys.executable, "-m", *hook["entry"].split(), "--help"],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_are_completed_in_a_shell(shell: str) -> None:
    script = Path(sys.executable).with_name("callscore")
    env = environment({"_CALLSCORE_COMPLETE": f"{shell}_source"})
    done = subprocess.run([script], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "_CALLSCORE_COMPLETE" in done.stdout


def test_the_container_installs_extras_that_exist() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"/src\[([^\]]*)\]", (ROOT / "Dockerfile").read_text())
    assert set(",".join(named).split(",")) <= set(project["optional-dependencies"])
