"""`check --thorough` finds nothing wrong with our own benchmarks, on examples that it draws of what is prepared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from submission_world import prepare_world

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.thorough import DIGESTS, check_thoroughly
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import benchmark_dir

BENCHMARKS = registry().benchmarks


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(root / "home"))
        prepare_world(root / "releases")
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_nothing_is_wrong_with_a_benchmark(name: str) -> None:
    if not benchmark_dir(name).is_dir():
        with pytest.raises(InputError, match="no prepared split to draw them of"):
            check_thoroughly(BENCHMARKS[name])
        return
    checked = check_thoroughly(BENCHMARKS[name])
    checked.problems.raise_if_any(name)
    assert DIGESTS in checked.notes[-1], "what its versions stand for is kept among the tests"
