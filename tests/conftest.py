"""Two ways to search: the same examples every time, or new ones.

The default tests must not turn red by luck, so they draw the same examples each time. `make slow`
searches on: what it finds becomes an example or a fix.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# a busy machine is no failure
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", PATIENT, derandomize=True)
settings.register_profile("searching", PATIENT, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
