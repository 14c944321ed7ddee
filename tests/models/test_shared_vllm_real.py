"""`shared_vllm` on the real vLLM, in an environment of its own: processor, caches, scheduler and engine on a CPU."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
from dataclasses import asdict
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import fake_vllm
import pytest
import real_vllm
from host_run import HostRun, environment, own_command
from numbered_clips import write_numbered
from PIL.Image import new
from tiny_vlms import write_tiny_family

import lmms_eval_tasks
from lmms_eval_tasks.runs.folder import read_run

pytestmark = [
    pytest.mark.host,
    pytest.mark.model,
    pytest.mark.skipif(
        not os.environ.get("VLLM_ENV"),
        reason="VLLM_ENV names no environment with vLLM, lmms-eval and our dependencies: CONTRIBUTING.md",
    ),
]
ON_CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}
SETTINGS = "nframes=8,max_new_tokens=4,max_model_len=4096,enforce_eager=True,dtype=float32,block_size=32"
HIDDEN = 128
"""vLLM's attention on a CPU takes heads of 32 and more."""
FAMILIES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")
A, B, A_AGAIN, PART, BOTH, NOTHING, SHORT, PICTURE, BROKEN = range(9)


def python(folder: Path, *arguments: str | Path, extra: dict[str, str] | None = None) -> str:
    """Run the Python of the environment with vLLM, which finds this installed package and nothing else from here."""
    own = folder / "own"
    own.mkdir(exist_ok=True)
    info = Path(str(distribution("lmms-eval-tasks").locate_file(""))).glob("lmms_eval_tasks-*.dist-info")
    for source in (Path(lmms_eval_tasks.__file__).parent, *info):
        if not (own / source.name).exists():
            (own / source.name).symlink_to(source)
    variables = environment(folder / "home", {**ON_CPU, "PYTHONPATH": str(own), **(extra or {})})
    ended = subprocess.run(
        [Path(os.environ["VLLM_ENV"]).absolute() / "bin" / "python", *arguments],
        cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:]
    return ended.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vllm")


@pytest.fixture(scope="module")
def docs(folder: Path) -> list[dict[str, Any]]:
    """Questions about clips of 40, 25 and 3 frames, a part, two clips, a picture, nothing, and a broken file."""
    a, b, short = (write_numbered(folder / f"{count}.mp4", count) for count in (40, 25, 3))
    broken, picture = folder / "broken.mp4", folder / "picture.png"
    broken.write_bytes(b"no video")
    new("L", (64, 64), 3).save(picture)

    def clip(path: Path, **part: float) -> dict[str, Any]:
        return {"type": "video", "url": str(path), **part}

    shown: list[list[dict[str, Any]]] = [
        [clip(a)], [clip(b)], [clip(a)], [clip(a, start_time=1.0, end_time=2.0)], [clip(a), clip(b)], [],
        [clip(short)], [{"type": "image", "url": str(picture)}], [clip(broken)],
    ]  # fmt: skip
    return [
        {"item_id": f"item-{place}", "shown": parts, "question": f"Which is number {place}?"}
        for place, parts in enumerate(shown)
    ]


@pytest.fixture(scope="module")
def run(folder: Path, docs: list[dict[str, Any]]) -> Any:
    """From a family to what tests/support/real_vllm.py says of it; each is run once."""
    done: dict[str, dict[str, Any]] = {}

    def run(family: str) -> dict[str, Any]:
        if family not in done:
            checkpoint = write_tiny_family(family, folder / family, hidden=HIDDEN)
            job, answers = folder / f"{family}.json", folder / f"{family}_answers.json"
            job.write_text(json.dumps({"arguments": f"model={checkpoint},{SETTINGS}", "batch_size": 2, "docs": docs}))
            python(folder, str(real_vllm.__file__), job, answers)
            done[family] = json.loads(answers.read_text(encoding="utf-8"))
        return done[family]

    return run


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_those_to_each_question_alone(family: str, run: Any) -> None:
    seen = run(family)
    assert seen["answers"] == seen["alone"]
    assert len(set(seen["answers"])) > 3 and seen["answers"][BROKEN] == ""
    assert seen["unanswered"] == [f"item-{BROKEN}"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_clip_is_computed_once_for_all_its_questions(family: str, run: Any) -> None:
    seen = run(family)
    assert seen["order"] == [A, A_AGAIN, B, PART, BOTH, NOTHING, SHORT, PICTURE]
    (a,), (again,), (b,), (part,), both, (short,) = (one["video"] for one in seen["inputs"] if "video" in one)
    assert [one["found"] for one in (a, again, b, part, *both, short)] == [
        False, True, False, False, True, True, False,
    ]  # fmt: skip
    assert a["name"] == again["name"] == both[0]["name"] and b["name"] == both[1]["name"]
    assert len({one["name"] for one in (a, b, part, short)}) == 4
    # A picture has no id of ours, and counts as an item.
    assert (seen["counts"]["mm_cache_queries"], seen["counts"]["mm_cache_hits"]) == (8, 3)
    assert seen["counts"]["prefix_cache_hits"] > 0


def test_qwen2_5_vl_is_told_how_far_frames_are_apart(run: Any) -> None:
    items = [one["video"] for one in run("qwen2_5_vl")["inputs"] if "video" in one]
    seconds = [item["second_per_grid_ts"] for (item, *_) in items if not item["found"]]
    # Two frames of 8 of 40, 8 of 25, 8 of the 14 between the first and the second second, and 2 of 3, at 12.5 a second.
    assert seconds == pytest.approx([2 / (8 / 40 * 12.5), 2 / (8 / 25 * 12.5), 2 / (8 / 14 * 12.5), 2 / (2 / 3 * 12.5)])


def test_qwen3_vl_is_told_the_time_of_each_pair_of_frames(run: Any) -> None:
    items = [one["video"] for one in run("qwen3_vl")["inputs"] if "video" in one]
    whole, _, part, _ = (item["timestamps"] for (item, *_) in items if not item["found"])
    # Frames 0 and 6, 11 and 17, 22 and 28, 33 and 39; of the part 12 and 14, 16 and 18, 19 and 21, 23 and 25.
    assert whole == pytest.approx([3 / 12.5, 14 / 12.5, 25 / 12.5, 36 / 12.5])
    assert part == pytest.approx([13 / 12.5, 17 / 12.5, 20 / 12.5, 24 / 12.5])


def test_the_fake_takes_nothing_that_vllm_does_not(run: Any) -> None:
    real = run("qwen2_5_vl")["interface"]
    assert set(real["llm"]) >= fake_vllm.LLM_ARGUMENTS
    assert set(real["prompt"]) == fake_vllm.PROMPT
    assert real["generate"] == list(inspect.signature(fake_vllm.LLM.generate).parameters)
    taken = asdict(fake_vllm.SamplingParams())
    assert {name: real["sampling"][name] for name in taken} == taken


def test_a_run_of_lmms_eval(folder: Path) -> None:
    ended = own_command(folder / "home", "sample", "causalvqa", "--out", folder / "sample", "--prepare")
    assert ended.returncode == 0, ended.stderr
    checkpoint = write_tiny_family("qwen2_5_vl", folder / "whole_run", hidden=HIDDEN)
    out = folder / "out"
    printed = python(
        folder, "-m", "lmms_eval", "--model", "shared_vllm", "--model_args", f"model={checkpoint},{SETTINGS}",
        "--batch_size", "4", "--tasks", "causalvqa_paired", "--limit", "8", "--output_path", out, "--log_samples",
    )  # fmt: skip
    finished = HostRun(0, printed, out)
    samples = finished.samples("causalvqa_paired")
    assert len(samples) == 8 and all(sample["filtered_resps"] != [""] for sample in samples)
    assert read_run(out).card["frames"]["frames"] == 8
