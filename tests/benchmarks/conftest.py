from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from lmms_eval_tasks.utils.scoring import bootstrap as estimates


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """Intervals of a hundred draws: they hold their score, and stand on the same items, as those of ten thousand."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("intervals", "macro_interval"):
            patch.setattr(estimates, name, partial(getattr(estimates, name), draws=100))
        yield
