"""`shared_vllm` on the real vLLM, in an environment of its own: processor, caches, scheduler and engine on a CPU."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
from dataclasses import asdict
from importlib.metadata import distribution
from pathlib import Path

import fake_vllm
import pytest
from host_run import HostRun, environment, own_command
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
UNSHARED = "enable_prefix_caching=False,mm_processor_cache_gb=0"
HIDDEN = 128
"""vLLM's attention on a CPU takes heads of 32 and more."""
TASK = "causalvqa_debug_paired"
INTERFACE = """
import dataclasses, inspect, json, vllm
from vllm.engine.arg_utils import EngineArgs
from vllm.inputs import TextPrompt
defaults, names = vllm.SamplingParams(), inspect.signature(vllm.SamplingParams).parameters
print(json.dumps({
    "llm": [*inspect.signature(vllm.LLM).parameters, *(field.name for field in dataclasses.fields(EngineArgs))],
    "generate": list(inspect.signature(vllm.LLM.generate).parameters),
    "prompt": list(TextPrompt.__annotations__),
    "sampling": {name: getattr(defaults, name) for name in names},
}, default=str))
"""


def python(folder: Path, *arguments: str | Path) -> str:
    """Run the Python of the environment with vLLM, which finds this installed package and nothing else from here."""
    own = folder / "own"
    own.mkdir(exist_ok=True)
    info = Path(str(distribution("lmms-eval-tasks").locate_file(""))).glob("lmms_eval_tasks-*.dist-info")
    for source in (Path(lmms_eval_tasks.__file__).parent, *info):
        if not (own / source.name).exists():
            (own / source.name).symlink_to(source)
    ended = subprocess.run(
        [Path(os.environ["VLLM_ENV"]).absolute() / "bin" / "python", *arguments],
        cwd=folder, env=environment(folder / "home", {**ON_CPU, "PYTHONPATH": str(own)}), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:]
    return ended.stdout


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def test_answers_are_those_of_a_vllm_that_shares_nothing(family: str, tmp_path: Path) -> None:
    ended = own_command(tmp_path / "home", "sample", "causalvqa", "--out", tmp_path / "sample", "--prepare")
    assert ended.returncode == 0, ended.stderr
    checkpoint = write_tiny_family(family, tmp_path / "tiny", hidden=HIDDEN)

    def run(name: str, *more: str) -> HostRun:
        arguments = ",".join([f"model={checkpoint}", SETTINGS, *more])
        printed = python(
            tmp_path, "-m", "lmms_eval", "--model", "shared_vllm", "--model_args", arguments, "--batch_size", "4",
            "--tasks", f"{TASK},{TASK}_reversed", "--limit", "8", "--output_path", tmp_path / name, "--log_samples",
        )  # fmt: skip
        return HostRun(0, printed, tmp_path / name)

    shared, alone = run("shared"), run("alone", UNSHARED)
    for task in (TASK, f"{TASK}_reversed"):
        answers = [sample["filtered_resps"] for sample in shared.samples(task)]
        assert answers == [sample["filtered_resps"] for sample in alone.samples(task)]
        assert len(answers) == 8 and len(set(map(str, answers))) > 3
    assert read_run(shared.out).card["frames"]["frames"] == 8


def test_the_fake_takes_nothing_that_vllm_does_not(tmp_path: Path) -> None:
    real = json.loads(python(tmp_path, "-c", INTERFACE).splitlines()[-1])
    assert set(real["llm"]) >= fake_vllm.LLM_ARGUMENTS and set(real["prompt"]) == fake_vllm.PROMPT
    assert real["generate"] == list(inspect.signature(fake_vllm.LLM.generate).parameters)
    assert asdict(fake_vllm.SamplingParams()).items() <= real["sampling"].items()
