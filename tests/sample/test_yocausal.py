from pathlib import Path

import pytest
from yocausal_world import read_metadata, write_release

from lmms_eval_tasks.sample.writers.yocausal import SUBSETS, draw_subset
from lmms_eval_tasks.utils.data.motion import frame_difference, measure_motion


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = write_release(tmp_path / "a", 1), write_release(tmp_path / "b", 1)
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) == 4 * 3 + 1
    assert all((first / file).read_bytes() == (second / file).read_bytes() for file in files)
    assert draw_subset(1, "animal", 1) != draw_subset(0, "animal", 1)


@pytest.mark.slow
def test_every_subset_has_both_kinds(tmp_path: Path) -> None:
    root = write_release(tmp_path, 2)
    for subset in SUBSETS:
        entries = read_metadata(root, subset)
        assert {entry["vlm_causality"] for entry in entries} == {True, False}
        assert list(entries[0]) == [
            "id", "video_path_forward", "video_path_backward", "prompt", "dataset_source", "category", "meta",
            "vlm_causality", "human_discriminable",
        ]  # fmt: skip
        for entry in entries:
            forward, backward = (root / "subset" / entry[f"video_path_{way}"] for way in ("forward", "backward"))
            counts = {measure_motion(clip, frame_difference).frames for clip in (forward, backward)}
            assert counts == {entry["meta"]["total_frames"]}
