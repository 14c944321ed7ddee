from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from played import BuildSample, Built, Played
from shared import made_once

from lmms_eval_tasks.construct.cli.build import BUILDERS
from lmms_eval_tasks.sample.write_sample import build_sample

SIZES = {
    "cast_bench": {"clips_per_family": 1},
    "causalvqa": {"debug_per_type": 2, "test_per_stratum": 0},
    "countervqa": {"clips": 6},
    "mvp": {"mini_pairs": 4, "full_pairs": 4},
}


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample of each benchmark whose sets can be built; no test may change it."""
    root = made_once(
        tmp_path_factory, "sources", lambda root: build_sample(root / "sample", 3, sizes=SIZES, benchmarks=list(SIZES))
    )
    return root / "sample"


@pytest.fixture(scope="session")
def built(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> BuildSample:
    """Builds the set of a benchmark from the sample, once; no test may change it."""

    @cache
    def build(benchmark: str) -> Built:
        folder, out = sources / benchmark / "build", tmp_path_factory.mktemp(benchmark) / "out"
        with Played.of_sample(folder).at_work() as played:
            made = BUILDERS.found[benchmark](config=folder / "build.yaml", out=out)
        return Built(folder, out, made, played)

    return build
