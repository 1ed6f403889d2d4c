"""The pytest plugin: gates are tests, the card is a fixture, and without the option it is idle."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

from builders import Json
from commands import environment
from eval_files import cases_file, eval_file

ROOT = Path(__file__).parents[2]
MODELS: list[Json] = [
    {"name": "old", "provider": "simulated", "params": {"wrong_scores": 1.0}},
    {"name": "new", "provider": "simulated", "params": {"wrong_scores": 0.0}},
]
TEST = """
def test_the_new_model_reads_forms(callscore_card):
    assert callscore_card.model("new").tasks["qa"].metrics["qa.structure"].value == 1
"""


def pytest_in(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """pytest in a process of its own; without installed metadata the plugin is named."""
    installed = any(point.name == "callscore" for point in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "callscore.pytest_plugin")
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *plugin, *args]
    return subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def with_gates(folder: Path, *gates: Json) -> None:
    cases_file(folder, 6)
    eval_file(folder, MODELS, gates=list(gates))
    (folder / "test_models.py").write_text(TEST, encoding="utf-8")


def test_every_gate_is_a_test_and_the_card_a_fixture(tmp_path: Path) -> None:
    accuracy = {"of": "qa.question_score_accuracy", "at_least": 0.9}
    with_gates(tmp_path, accuracy, {"of": "qa.structure", "at_least": 1, "model": "new"})
    done = pytest_in(tmp_path, "--callscore", "eval.yaml", "--junit-xml", "junit.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    assert "1 failed" in done.stdout
    assert "old: qa.question_score_accuracy is 0, expected at least 0.9 (failed)" in done.stdout
    assert "Traceback" not in done.stdout
    names = [
        case.get("name") for case in ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    ]
    assert "new: qa.structure at least 1" in names


def test_a_broken_eval_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text("models: 3\n", encoding="utf-8")
    done = pytest_in(tmp_path, "--callscore", "eval.yaml")
    assert done.returncode == 4
    assert "eval.yaml" in done.stderr + done.stdout


def test_without_the_option_nothing_of_callscore_is_imported(tmp_path: Path) -> None:
    (tmp_path / "test_idle.py").write_text(
        "import sys\n\ndef test_idle():\n"
        "    known = {'callscore', 'callscore.core', 'callscore.core.version',"
        " 'callscore.pytest_plugin'}\n"
        "    found = {name for name in sys.modules if name.split('.')[0] == 'callscore'}\n"
        "    assert found <= known\n"
        "    assert 'msgspec' not in sys.modules and 'numpy' not in sys.modules\n\n"
        "def test_skipped(callscore_card):\n    raise AssertionError\n",
        encoding="utf-8",
    )
    done = pytest_in(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout


def test_the_package_registers_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"callscore": "callscore.pytest_plugin"}
