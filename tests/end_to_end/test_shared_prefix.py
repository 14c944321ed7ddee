"""`shared_prefix` through the real command: each clip is encoded once, and two ranks answer as one."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest
from host_run import SampleWorld, numbers, run_host

from lmms_eval_tasks.runs.folder import read_run

pytestmark = pytest.mark.host

TASKS = ("countervqa", "causalvqa_debug_paired", "causalvqa_debug_paired_shuffled")
ITEMS = 8
"""Items of each task: each clip has two questions of the same benchmark, one after the other."""


def shown(home: Path) -> set[tuple[str, str]]:
    """The clips that the tasks show, each with its view."""
    clips: set[tuple[str, str]] = set()
    for benchmark, split, views in (("countervqa", "test", ("",)), ("causalvqa", "debug", ("", "shuffled"))):
        table = pyarrow.parquet.read_table(home / benchmark / f"{split}.parquet", columns=["clip"])
        clips |= {(f"{benchmark}/{clip}", view) for clip in table["clip"].to_pylist()[:ITEMS] for view in views}
    return clips


@pytest.mark.nightly
def test_each_clip_and_view_is_encoded_once_and_two_ranks_answer_as_one(
    tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    sizes = "max_num_frames=4,min_pixels=3136,max_pixels=25088,mode=fast,dtype=float32"
    one, two = (
        run_host(
            "--model", "shared_prefix", "--model_args", f"pretrained={tiny_qwen},{sizes}", "--device", "cpu",
            "--gen_kwargs", "max_new_tokens=6", "--tasks", ",".join(TASKS), "--limit", str(ITEMS),
            home=sample_world.home, out=tmp_path / str(ranks), ranks=ranks,
        )
        for ranks in (1, 2)
    )  # fmt: skip
    for ranks, run in ((1, one), (2, two)):
        card = read_run(run.out).card
        work = numbers(card["throughput"])
        assert work["times encoded"] == len(shown(sample_world.home)) == work["clips"]
        assert work["questions"] == ITEMS * len(TASKS) and work["share of prompt tokens reused in %"] > 25
        assert work["ranks in fast mode"] == ranks and work["questions an hour"] > work["clips an hour"] > 0
        stages = ("decoding", "waiting for clips", "encoding", "prefilling", "generating")
        assert {f"seconds {stage}" for stage in stages} <= work.keys()
        assert card["sharing"] == {
            "mode": "fast", "why": "as asked", "positions": "library", "attention": "sdpa",
            "questions at once": "up to 32",
        }  # fmt: skip
    for task in TASKS:
        assert two.scores(task) == one.scores(task)
        assert two.samples_in_order(task) == one.samples(task)
