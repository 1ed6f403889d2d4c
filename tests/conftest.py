"""Two ways to search: the same examples every time, or new ones.

The default tests must not turn red by luck, so they draw the same examples each time. `make slow`
searches on: what it finds becomes an example or a fix.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.register_profile("searching", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
