"""Real, human-labelled cases; they lie beside the repository, and not everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent.parent.parent / "shared" / "data" / "cases"


def shared_cases(name: str) -> list[dict[str, Any]]:
    """The cases of a file, or a visible skip."""
    path = CASES / name
    if not path.is_file():
        pytest.skip(f"../shared/data/cases/{name} is absent")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
