"""What holds for every test: chance and order decide nothing.

Property tests draw the same examples in every `make test`, for a rare one must not fail a change that has nothing to do
with it. (From a package that is installed as editable, hypothesis draws constants too, as far as it is loaded by then.)
`HYPOTHESIS_PROFILE=explore` draws others each time, and ten times as many where a test does not say how many.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long a draw or a test takes tells how busy the machine is.
TIMELESS = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("same", TIMELESS, derandomize=True, database=None)
settings.register_profile("explore", TIMELESS, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(autouse=True)
def nothing_of_a_run_is_left() -> Iterator[None]:
    """Which file a process tests next is a matter of chance, and it may score without starting a run of its own."""
    yield
    if hosting := sys.modules.get("lmms_eval_tasks.hosting"):
        hosting.session.start(clips_needed=True)
