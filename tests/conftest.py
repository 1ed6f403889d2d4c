"""Two hypothesis profiles: the same examples in every run, or new ones.

The default tests must not fail by chance, so they draw the same examples every time. `make slow`
draws new ones; what it finds becomes an example or a fix.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# a slow machine is not a failure
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", PATIENT, derandomize=True)
settings.register_profile("searching", PATIENT, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
