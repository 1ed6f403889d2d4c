"""`make coverage` counts the lines that commands run in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_coverage_sees_forked_commands(tmp_path: Path) -> None:
    """A command that ends by `os._exit` in a forked process is counted, too."""
    env = {**os.environ, "COVERAGE_FILE": str(tmp_path / "data")}
    test = "tests/doors/test_redact_command.py"
    for command in (
        ("run", "-m", "pytest", "-q", "-p", "no:cacheprovider", test),
        ("combine", "--quiet"),
        ("json", "--quiet", "-o", str(tmp_path / "found.json")),
    ):
        subprocess.run([sys.executable, "-m", "coverage", *command], cwd=ROOT, env=env, check=True)
    files = json.loads((tmp_path / "found.json").read_bytes())["files"]
    assert files["src/callscore/cli/redact.py"]["summary"]["percent_covered"] > 80
