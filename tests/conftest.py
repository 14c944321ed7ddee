"""Property tests draw the same examples in every run: a rare one must not fail a change that has nothing to do with it.

`HYPOTHESIS_PROFILE=explore` draws others each time, and ten times as many where a test does not say how many.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How long a draw or a test takes tells how busy the machine is.
TIMELESS = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("same", TIMELESS, derandomize=True, database=None)
settings.register_profile("explore", TIMELESS, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
