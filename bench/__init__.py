"""Speed and memory, measured side by side in one run; the fakes are those of the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
