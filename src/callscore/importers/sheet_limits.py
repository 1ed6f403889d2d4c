"""Refuses spreadsheets that are small as files and huge as tables, before they are read.

The reader allocates every cell between the first and the last: 1.5 kB with a cell at XFD1048576
would take 550 GB and abort the process. A child process with little memory opens the file first.
"""

from __future__ import annotations

import subprocess
import sys

from callscore.core.errors import DataError
from callscore.importers.source import Source

MAX_CELLS = 5_000_000
MAX_MEMORY = 2_000_000_000
_TRIAL = f"""
import io, sys
from python_calamine import CalamineError, CalamineWorkbook
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MAX_MEMORY}, {MAX_MEMORY}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass  # Windows: the child ends by itself
try:
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        print(sheet.total_height * sheet.total_width)
except (CalamineError, OSError, ValueError):
    pass  # the message is that of the reader
"""


def check_cells(source: Source) -> None:
    """Raise DataError if the sheets of a workbook have too many cells to be read."""
    # -I: nothing of the working directory or the user is imported
    trial = subprocess.run(
        [sys.executable, "-I", "-c", _TRIAL], input=source.data, capture_output=True, check=False
    )
    cells = sum(map(int, trial.stdout.split()))
    if trial.returncode or cells > MAX_CELLS:
        number = f"{cells:,}" if not trial.returncode else "too many"
        raise DataError(
            f"has {number} cells from the first to the last; expected at most {MAX_CELLS:,}: "
            "delete stray cells far from the table",
            place=source.name,
        )
