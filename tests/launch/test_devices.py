from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.launch.executors import deal_devices, free_slots, visible_gpus
from lmms_eval_tasks.utils.core.errors import InputError

EIGHT = tuple("01234567")


@pytest.mark.parametrize(
    ("chosen", "gpus"),
    [("2, 5", ("2", "5")), ("", ()), ("-1", ()), ("0,-1,3", ("0",)), ("GPU-a1,MIG-b2", ("GPU-a1", "MIG-b2"))],
)
def test_what_is_set_already_is_respected(chosen: str, gpus: tuple[str, ...]) -> None:
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": chosen}) == gpus


def test_else_those_of_the_machine_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus({}) == ()
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 0\necho 1\n")
    tool.chmod(0o755)
    assert visible_gpus({}) == ("0", "1")


def test_gpus_are_divided_by_jobs_shared_or_counted() -> None:
    assert deal_devices(EIGHT, 4, None) == [("0", "1"), ("2", "3"), ("4", "5"), ("6", "7")]
    assert deal_devices(EIGHT, 2, 3) == [("0", "1", "2"), ("3", "4", "5")]
    assert deal_devices(EIGHT, 3, 0) == [(), (), ()] == deal_devices((), 3, None)


@pytest.mark.parametrize(
    ("jobs", "each", "message"),
    [
        (9, None, r"--jobs 9 cannot have a GPU each: there are 8. Remedy: --jobs 8, or --gpus-per-shard 0"),
        (4, 3, r"--jobs 4 with --gpus-per-shard 3 takes 12 GPUs, but there are 8 \(CUDA_VISIBLE_DEVICES: 0,1,2,"),
    ],
)
def test_too_few_gpus_are_refused(jobs: int, each: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        deal_devices(EIGHT, jobs, each)
    with pytest.raises(InputError, match=r"takes 1 GPUs, but there are none\. Remedy"):
        deal_devices((), 1, 1)


@given(st.integers(1, 8), st.lists(st.lists(st.sampled_from(EIGHT), unique=True, max_size=4), max_size=4))
def test_no_gpu_is_given_twice_and_no_job_too_many_runs(jobs: int, used: list[list[str]]) -> None:
    slots = deal_devices(EIGHT, jobs, None)
    free = free_slots(slots, [tuple(devices) for devices in used])
    given_out = [device for slot in free for device in slot]
    assert len(set(given_out)) == len(given_out) and not set(given_out) & {one for devices in used for one in devices}
    assert len(free) <= max(0, jobs - len(used))
    if not used:
        assert free == slots
